"""Protocols from notebooks: what SpanLab sends is what the notebook sends, byte for byte. The
notebooks are of the study's form, in words of ours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from chat_trials import hold, sent
from command_line import Run

from spanlab.agents.chat import ChatSettings
from spanlab.core import SpanLabError
from spanlab.paradigms import Paradigm, Step, Trial, compile_trial, load_paradigm

from ..nback.protocols import PARADIGMS, presets_of, read_notebook

PLAIN = """
# The {n}-back blocks
for b in range(blocks):
    messages = [
        # {{"role": "system", "content" : "an older text"}},
        {{"role": "{role}", "content" : {text}}}
    ]
    for i in range(len(all_trials['{n}back_{{}}'.format(b)])):
{turn}
        completion = openai.ChatCompletion.create(
            model="gpt-3.5-turbo",
            messages=messages{sampling}
        )
        chat_response = completion.choices[0].message.content
        if chat_response not in ('m', '-'):
            chat_response_0 = chat_response[0]
{again}
            chat_response = chat_response_0
        all_trials['{n}back_{{}}'.format(b)][i]['correct'] = all_trials['{n}back_{{}}'.format(b)][i]['target'] == chat_response
        messages.append({{"role": "assistant", "content": chat_response}})
    time.sleep(5)
"""  # noqa: E501
BARE = """        input = all_trials['{n}back_{{}}'.format(b)][i]['stimulus']
        messages.append({{"role": "user", "content": input}})"""
LABELLED = """        input = 'Here it comes: ' + all_trials['{n}back_{{}}'.format(b)][i]['stimulus']
        messages.append({{"role": "user", "content": input}})"""
FED_BACK = """        if i == 0:
            input = 'It is: ' + all_trials['{n}back_{{}}'.format(b)][i]['stimulus'] + '. You say:'
        else:
            if all_trials['{n}back_{{}}'.format(b)][i-1]['correct'] == 1:
                feedback = 'correct'
            else:
                feedback = 'wrong'
            input = 'Before, you were ' + feedback + '. It is: ' + all_trials['{n}back_{{}}'.format(b)][i]['stimulus'] + '. You say:'
        messages.append({{"role": "user", "content": input}})"""  # noqa: E501
WITHOUT_END = """            while chat_response_0 not in ('m', '-'):
                messages.append({{"role": "assistant", "content": chat_response}})
                messages.append({{"role": "user", "content": "Not so! Say 'm' or '-'."}})
                completion = openai.ChatCompletion.create(
                    model="gpt-3.5-turbo",
                    messages=messages{sampling}
                )
                chat_response = completion.choices[0].message.content
                chat_response_0 = chat_response[0]"""
WHILE_TRUE = """            while True:
                if chat_response_0 == 'm' or chat_response_0 == '-':
                    break
                else:
                    messages.append({{"role": "assistant", "content": chat_response}})
                    messages.append({{"role": "user", "content": "Not so! Say 'm' or '-'."}})
                    completion = openai.ChatCompletion.create(
                        model="gpt-3.5-turbo",
                        messages=messages{sampling}
                    )
                    chat_response = completion.choices[0].message.content
                    chat_response_0 = chat_response[0]"""
STOPS = """            if chat_response_0 not in ('m', '-'):
                raise ValueError('Invalid')"""
TEXTS = (
    "It's a {n}-back game: say \"m\" or '-', nothing more!! ``` |X|_|_| ``` \\\\ {{}} é",
    "\n          Several lines for {n}-back.\n          1. 'm: a and a'.\n         ",
)


def written(step: Step) -> str:
    """The right answer to a question, as a model writes it."""
    assert step.percept.ask is not None
    assert step.truth.answer is not None
    return step.percept.ask.kind.write(step.truth.answer)


def notebook(
    folder: Path,
    name: str,
    turns: Sequence[str],
    again: str = WHILE_TRUE,
    *,
    text: int = 0,
    role: str = "system",
    sampling: str = "",
) -> tuple[Path, list[str]]:
    """Write a notebook and return its path and the source of the cells with blocks."""
    cells = []
    for n, turn in enumerate(turns, start=1):
        words = TEXTS[text].replace("{n}", str(n)).replace("{{}}", "{}").replace("\\\\", "\\")
        parts = {
            "turn": turn.format(n=n),
            "again": again.format(sampling=sampling),
            "role": role,
            "sampling": sampling,
            "text": repr(words),
        }
        cells.append(PLAIN.format(n=n, **parts))
    sources = [
        "%matplotlib inline\nimport openai\n",
        "n_list = [1, 2, 3]\nblocks = 50\n",
        *cells,
        "for n in n_list:\n    print(n)\n",
    ]
    (path := folder / f"{name}.ipynb").write_text(
        json.dumps(
            {"cells": [{"cell_type": "code", "source": source.splitlines(keepends=True)} for source in sources]}
        ),
        "utf-8",
    )
    return path, cells


def run_notebook(
    source: str, n: int, items: list[str], targets: list[str], replies: list[str]
) -> list[list[dict[str, str]]]:
    """Run a cell with a server of ours, and return what it sends."""
    said, heard = iter(replies), []

    def create(model: str, messages: list[dict[str, str]], **_: Any) -> Any:
        heard.append([dict(message) for message in messages])
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=next(said)))])

    trials = [{"stimulus": item, "target": target, "correct": ""} for item, target in zip(items, targets, strict=True)]
    scope = {
        "openai": SimpleNamespace(ChatCompletion=SimpleNamespace(create=create)),
        "time": SimpleNamespace(sleep=lambda _: None),
        "all_trials": {f"{n}back_0": trials},
        "blocks": 1,
    }
    exec(compile(source, "notebook", "exec"), scope)
    return heard


def block(paradigm: Paradigm, n: int, grid: int | None) -> Trial:
    chosen = {"n": n} | ({"grid": grid} if grid else {})
    return compile_trial(
        paradigm, {**paradigm.combinations(chosen)[-1], "block_length": 24}, seed=3, generator="published"
    )


def as_here(
    preset: dict[str, Any], folder: Path, trial: Trial, paradigm: Paradigm, replies: list[str]
) -> list[list[dict[str, Any]]]:
    """What SpanLab sends with a preset that was written to a file."""
    import yaml

    (path := folder / "preset.yaml").write_text(
        yaml.safe_dump(preset, allow_unicode=True, sort_keys=False, width=10_000), "utf-8"
    )
    said, verdict, percepts = iter(replies), "right", []
    for step in trial.steps:
        percepts.append(step.shown_after(verdict))
        if step.percept.ask is not None:
            first = next(said)
            while first[0] not in "m-":
                first = next(said)
            verdict = "right" if first[0] == written(step) else "wrong"
    again = iter(replies)
    requests, _ = hold(trial, paradigm, ChatSettings.read({"preset": str(path)}), lambda *_: next(again), percepts)
    return [sent(request) for request in requests]


CASES = [
    ("verbal", (BARE, BARE, BARE), STOPS, 0),
    ("verbal_with_noise", (BARE, BARE, BARE), WHILE_TRUE, 0),
    ("verbal_with_feedback", (FED_BACK, FED_BACK, FED_BACK), WHILE_TRUE, 0),
    ("verbal_think_by_step", (BARE, BARE, BARE), WITHOUT_END, 1),
    ("spatial_4*4", (BARE, BARE, BARE), STOPS, 0),
    ("spatial_with_feedback", (FED_BACK, FED_BACK, FED_BACK), WHILE_TRUE, 0),
    ("spatial_abstraction", (BARE, BARE, LABELLED), WHILE_TRUE, 0),
]


@pytest.mark.parametrize(("name", "turns", "again", "text"), CASES)
def test_what_is_sent_is_what_the_notebook_sends_byte_for_byte(
    name: str, turns: Sequence[str], again: str, text: int, tmp_path: Path
) -> None:
    path, cells = notebook(tmp_path, name, turns, again, text=text)
    presets = presets_of(read_notebook(path))
    paradigm_name, grid = PARADIGMS[name]
    paradigm = load_paradigm(paradigm_name)
    assert len(presets) == len(set(turns))
    for n in (1, 2, 3):
        preset = next(made for key, made in presets.items() if "-" not in key or str(n) in key.rpartition("-")[2])
        trial = block(paradigm, n, grid)
        asked = [step for step in trial.steps if step.percept.ask is not None]
        items = [step.percept.for_machine.stimulus.words() for step in asked]
        targets = [written(step) for step in asked if step.percept.ask is not None]
        replies = ["m, since it is so" if number % 5 == 0 else "-" for number in range(len(items))]
        if again != STOPS:
            replies[2:2] = ["Well", "I do not know"]  # asked again twice in the third trial
        expected = run_notebook(cells[n - 1], n, items, targets, list(replies))
        assert as_here(preset, tmp_path, trial, paradigm, replies) == expected


def test_instructions_as_a_user_and_sampling_and_prefilled_answers_are_read(tmp_path: Path) -> None:
    prefilled = """        if i < 6:
            messages.append({{"role": "user", "content": all_trials['{n}back_{{}}'.format(b)][i]['stimulus']}})
            messages.append({{"role": "assistant", "content": all_trials['{n}back_{{}}'.format(b)][i]['target']}})
            continue
        else:
            input = all_trials['{n}back_{{}}'.format(b)][i]['stimulus']
            messages.append({{"role": "user", "content": input}})"""
    path, cells = notebook(
        tmp_path,
        "verbal_other_models",
        (prefilled,) * 3,
        STOPS,
        role="user",
        sampling=", temperature=0.7, max_tokens=5",
    )
    (preset,) = presets_of(read_notebook(path)).values()
    assert (
        preset["settings"]
        | {
            "instructions_as": "user",
            "delivery": "separate",
            "warm_up": 6,
            "temperature": 0.7,
            "max_tokens": 5,
        }
        == preset["settings"]
    )
    trial = block(paradigm := load_paradigm("nback_verbal"), 2, None)
    asked = [step for step in trial.steps if step.percept.ask is not None]
    items = [step.percept.for_machine.stimulus.words() for step in asked]
    targets = [written(step) for step in asked if step.percept.ask is not None]
    heard = run_notebook(cells[1], 2, items, targets, targets[6:])
    # a model that answers the first six rightly has the same conversation; that the notebook does
    # not ask is the one thing that is not taken over
    assert as_here(preset, tmp_path, trial, paradigm, targets)[6:] == heard


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('messages.append({"role": "user", "content": input})', "messages.insert(0, input)"),
            "changed in a way that is not known",
        ),
        (("messages=messages", "messages=messages, logit_bias=bias"), "which no preset can say"),
        (("[i]['stimulus']", "[i]['stimulus'].upper()"), "put together in a way that is not known"),
    ],
)
def test_what_is_not_known_is_refused(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    path, _ = notebook(tmp_path, "verbal", (BARE,) * 3)
    content = json.loads(path.read_text("utf-8"))
    for cell in content["cells"]:
        cell["source"] = "".join(cell["source"]).replace(*change)
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(SpanLabError, match=message):
        read_notebook(path)


def test_another_level_or_grid_has_no_text(tmp_path: Path) -> None:
    path, _ = notebook(tmp_path, "spatial_4*4", (BARE,) * 3)
    (preset,) = presets_of(read_notebook(path)).values()
    paradigm = load_paradigm("nback_spatial")
    with pytest.raises(SpanLabError):
        as_here(preset, tmp_path, block(paradigm, 2, 3), paradigm, ["m"] * 24)


def test_the_command_writes_a_file_for_each_notebook(run: Run, tmp_path: Path) -> None:
    (folder := tmp_path / "study").mkdir()
    for name in ("verbal", "spatial_3*3"):
        notebook(folder, name, (BARE,) * 3)
    (folder / "analysis.ipynb").write_text("{}", "utf-8")
    status, _, err = run("import", "nback-protocols", folder, "-o", tmp_path / "presets")
    assert status == 0, err
    assert sorted(path.name for path in (tmp_path / "presets").iterdir()) == ["spatial_3x3.yaml", "verbal.yaml"]
    assert "left out" in err
    assert "analysis.ipynb" in err
    status, _, err = run("import", "nback-protocols", folder, "-o", tmp_path / "presets")
    assert status != 0
    assert "is there already" in err
