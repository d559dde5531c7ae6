"""What a program gets is what the command line gets: the same records, from a script, from an event
loop, from a notebook."""

from __future__ import annotations

import asyncio
import doctest
import inspect
import json
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, output_of

import spanlab
from spanlab.agents.human import virtual_screen
from spanlab.agents.oracles import IdealAgent
from spanlab.extensions.demonstration.scripted import MODEL, ScriptedServer

#: what is measured, or says where the record lies
MEASURED = {"created", "session", "account"}


def info_of(folder: Path) -> dict[str, Any]:
    return {
        name: value
        for name, value in json.loads((folder / "session.json").read_text("utf-8")).items()
        if name not in MEASURED
    }


def test_a_program_records_what_the_command_records(run: Run, tmp_path: Path) -> None:
    printed = output_of(
        *run(
            "replay",
            "vsr",
            "--agent",
            "capacity:3",
            "--trials",
            4,
            "--set",
            "list_length=3,4",
            "--seed",
            5,
            "--pilot",
            "--data",
            "typed",
        )
    )
    result = spanlab.replay(
        "vsr", "capacity:3", trials=4, levels={"list_length": [3, 4]}, seed=5, pilot=True, data="called"
    )
    assert info_of(result.folder) == info_of(tmp_path / printed.splitlines()[-1])


def test_without_numbers_a_program_plans_what_the_command_plans(run: Run, tmp_path: Path) -> None:
    printed = output_of(*run("replay", "nback_verbal", "--agent", "ideal", "--data", "typed"))
    assert (
        info_of(spanlab.replay("nback_verbal", "ideal", data="called").folder)["plan"]
        == info_of(tmp_path / printed.splitlines()[-1])["plan"]
    )


def test_a_program_asks_of_a_person_what_the_command_asks(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sits down is replaced here; seeds, keys and trigger codes are those of people."""
    seated: list[tuple[Any, ...]] = []

    def seat(*asked: Any) -> IdealAgent:
        seated.append(asked)
        return IdealAgent()

    monkeypatch.setattr("spanlab.agents.human.seating.seat", seat)
    monkeypatch.setattr("spanlab.sessions.people.random_seeds", lambda: iter([700_001, 700_002]))
    (file := tmp_path / "own.yaml").write_text("extends: cd\ntriggers: {phases: {probe: 20}}\n", encoding="utf-8")
    asked = ["--participant", "p1", "--trials", "4", "--triggers", "dry", "--language", "de", "--no-practice"]
    printed = output_of(*run("run", file, *asked, "--data", "typed"))
    result = spanlab.run(str(file), "p1", trials=4, triggers="dry", language="de", practice=False, data="called")
    typed = info_of(tmp_path / printed.splitlines()[-1])
    assert info_of(result.folder) == typed
    assert typed["triggers"] == {"port": "dry", "codes": {"phases": {"probe": 20}}}
    assert [one[:2] for one in seated] == [(None, typed["seed"])] * 2


@pytest.fixture
def chat(run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a chat model behind a server of our own."""
    with ScriptedServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield f"chat:{MODEL}"


def test_an_agent_of_ones_own(tmp_path: Path) -> None:
    result = spanlab.replay("smu", IdealAgent(), trials=4, data=tmp_path)
    assert result.info["agent"] == "ideal"
    assert result.accuracy == 1.0
    several = spanlab.SessionResult(tmp_path, told=("It is over.",))
    assert several.to_dict()["told"] == ["It is over."]
    assert "It is over." in several._repr_html_()
    assert str(tmp_path) in repr(several)


def test_what_nobody_asked_for_is_in_no_accuracy(tmp_path: Path) -> None:
    result = spanlab.replay("sfr", "capacity:2", levels={"list_length": [4]}, trials=8, data=tmp_path)
    assert len(result.responses[result.responses["correct_answer"].notna()]) < len(result.responses)
    assert f"{result.accuracy:.0%}" in result.summary[0]


def test_an_event_loop_may_be_running(tmp_path: Path) -> None:
    """As in a notebook: the ordinary form blocks, the awaitable one lets other tasks go on."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    async def cell() -> tuple[Any, Any, int, int]:
        blocking = spanlab.replay("vsr", "ideal", trials=2, data=tmp_path)
        ticking = asyncio.ensure_future(tick())
        await asyncio.sleep(0)
        before = ticks
        awaited = await asyncio.to_thread(spanlab.replay, "vsr", "ideal", trials=2, data=tmp_path)
        ticking.cancel()
        return blocking, awaited, before, ticks

    blocking, awaited, before, after = asyncio.run(cell())
    assert blocking.accuracy == awaited.accuracy == 1.0
    assert after > before


@pytest.mark.slow
def test_chat_models_are_asked_from_a_running_loop(chat: str, tmp_path: Path) -> None:
    async def cell() -> spanlab.SessionResult:
        return spanlab.replay(
            "vsr", chat, trials=1, levels={"list_length": 2}, data=tmp_path, say=lambda sentence: None
        )

    assert set(asyncio.run(cell()).responses["outcome"]) == {"answered"}


def test_a_session_goes_on_and_one_that_is_over_stays(tmp_path: Path) -> None:
    result = spanlab.replay("vsr", "chance", trials=4, data=tmp_path)
    before = result.responses
    lines = (result.folder / "events.jsonl").read_text("utf-8").splitlines(keepends=True)
    third = next(number for number, line in enumerate(lines) if json.loads(line).get("trial") == "3")
    (result.folder / "events.jsonl").write_text("".join(lines[:third]), encoding="utf-8")
    for table in ("responses.csv", "responses.parquet"):
        (result.folder / table).unlink()
    again = spanlab.resume(result.folder)
    assert again.responses["answer"].tolist() == before["answer"].tolist()
    assert spanlab.resume(result.folder) == again


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: spanlab.replay("vsr"), "who takes the trials? Give agent"),
        (
            lambda: spanlab.replay("vsr", "ideal", like="x", trials=3),
            "like takes exactly the trials of that session: leave out levels, trials, trials_from, design, seed and"
            " generator",
        ),
        (lambda: spanlab.replay("vsr", "ideel"), "unknown agent 'ideel'"),
        (lambda: spanlab.run("vsr"), "who takes part? Give participant"),
        (lambda: spanlab.figure("serial_position", "nowhere"), "nowhere"),
        (lambda: spanlab.replay("vsr", "chat:m", max_wait=-1), "max_wait: expected a number above 0"),
        (lambda: spanlab.sweep("x", "y", status=True), "status only reports: leave out output"),
        (lambda: spanlab.transcript("x", output="y"), "output is for reread"),
        (lambda: spanlab.export("csv", "x", "y", machins=True), "machins: unknown key"),
        (lambda: spanlab.check(), "or give language"),
    ],
)
def test_complaints_name_what_the_program_gave(call: Callable[[], object], told: str) -> None:
    with pytest.raises(spanlab.SpanLabError) as caught:
        call()
    assert told in str(caught.value)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"care": {"max_cost": 1}},
            "care is for chat agents, and there is none; add agent chat:MODEL, or leave it out",
        ),
        (
            {"chat": {"temperature": 0}, "price": (1, 2)},
            "chat and price is for chat agents, and there is none; add agent chat:MODEL, or leave it out",
        ),
        ({"trials": 0}, "a session has at least one trial; found 0"),
        ({"trials": 2.5}, "the number of trials is a whole number, 1 or more; found 2.5"),
        ({"seed": -1}, "seed"),
        ({"generator": "odd"}, "the generator is corrected or published; found 'odd'"),
        ({"agent": "chat:any", "care": {"max_csot": 1}}, "care: unknown key 'max_csot'"),
        ({"agent": "chat:any", "care": {"concurrency": 0}}, "care: expected a number from 1; found 0"),
        (
            {"agent": "chat:any", "price": (-1, 2)},
            "price is what a million tokens cost, read and written, such as (0.5, 2); found (-1, 2)",
        ),
        (
            {"agent": "chat:any", "price": 3},
            "price is what a million tokens cost, read and written, such as (0.5, 2); found 3",
        ),
    ],
)
def test_nothing_that_is_given_is_passed_over(options: dict[str, Any], told: str, run: Run, tmp_path: Path) -> None:
    given: dict[str, Any] = {"agent": "ideal", "trials": 2, "data": tmp_path / "data", **options}
    with pytest.raises(spanlab.SpanLabError) as caught:
        spanlab.replay("vsr", **given)
    assert told in str(caught.value)
    assert not list((tmp_path / "data").glob("*"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"care": {"max_cost": 1}},
            "care is for chat agents, and there is none; add agent chat:MODEL, or leave it out",
        ),
    ],
)
def test_nothing_that_is_given_when_a_session_goes_on_is_passed_over(
    options: dict[str, Any], told: str, tmp_path: Path
) -> None:
    result = spanlab.replay("vsr", "chance", trials=2, data=tmp_path)
    events = (result.folder / "events.jsonl").read_text("utf-8").splitlines(keepends=True)
    second = next(number for number, line in enumerate(events) if json.loads(line).get("trial") == "2")
    (result.folder / "events.jsonl").write_text("".join(events[:second]), encoding="utf-8")
    with pytest.raises(spanlab.SpanLabError) as caught:
        spanlab.resume(result.folder, **options)
    assert told in str(caught.value)


@pytest.mark.slow
def test_figures_draw_themselves_and_can_be_saved(tmp_path: Path) -> None:
    result = spanlab.replay("vsr", "capacity:3", trials=20, levels={"list_length": 4}, data=tmp_path)
    figure = spanlab.figure("serial_position", result.folder)
    assert figure._repr_svg_().startswith("<svg")
    assert figure.save(tmp_path / "figure.svg").read_text("utf-8").startswith("<svg")
    assert sorted(figure.table.loc[figure.table["agent_kind"] == "capacity", "serial_position"]) == [1, 2, 3, 4]


#: functions whose examples need a screen, or work for long
SLOW = {"run", "display", "train", "neural", "benchmark", "fit", "plan", "Dataset"}
#: those whose examples end only when somebody ends them, take minutes or need other packages
SKIPPED = {"demo", "serve", "reproduce", "inspect_task"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW))
        for name in sorted(dir(spanlab))
        if name not in {"SpanLabError", "app", "gym"} and not name.startswith("_")
    ],
)
def test_everything_public_has_an_example_that_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    public = getattr(spanlab, name)
    runner = doctest.DocTestRunner(optionflags=(doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE))
    screen = virtual_screen() if name in {"run", "display"} else nullcontext()
    with screen:
        for test in doctest.DocTestFinder(recurse=False).find(public, name, globs={"spanlab": spanlab}):
            assert test.examples, "an example"
            runner.run(test)
    assert runner.tries or name in SKIPPED
    assert not runner.failures


def test_examples_of_the_package_itself_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(spanlab, extraglobs={"spanlab": spanlab}, optionflags=doctest.ELLIPSIS)
    assert found.attempted
    assert not found.failed


def test_each_name_has_a_description() -> None:
    for name in spanlab.__all__:
        assert (getattr(spanlab, name).__doc__ or "").strip(), name


@pytest.mark.slow
def test_trials_draw_themselves_in_ipython() -> None:
    import subprocess
    import sys

    pytest.importorskip("IPython")
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell.instance()\nimport"
        " spanlab\ntrial = spanlab.compile_trial(spanlab.load_paradigm('vsr'), {'list_length': 3}, 1)\npictures, _ ="
        " shell.display_formatter.format(trial)\nassert pictures['image/png'].startswith(b'\\x89PNG') if"
        " isinstance(pictures['image/png'], bytes) else pictures['image/png'], pictures\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


@pytest.mark.parametrize("name", spanlab.__all__)
def test_every_public_name_says_what_it_does_and_what_each_parameter_is(name: str) -> None:
    thing = getattr(spanlab, name)
    documentation = inspect.getdoc(thing) or ""
    assert len(documentation.split("\n")[0].split()) > 2
    if inspect.isclass(thing):
        members = [
            getattr(value, "func", getattr(value, "fget", value))
            for member, value in vars(thing).items()
            if not member.startswith("_")
        ]
        assert [member.__name__ for member in members if inspect.isfunction(member) and not member.__doc__] == []
        return
    if re.search(":func:`[^`]+` in a thread|see :func:`", documentation):
        return  # another function describes them
    listed = {
        one.strip() for line in re.findall(r"^(\w[\w, ]*) : ", documentation, re.MULTILINE) for one in line.split(",")
    }
    assert set(inspect.signature(thing).parameters) - listed == set()
