"""Who answered what, from response tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from observed import change_detection, table, together

from spanlab.analysis.data.loading import load

from ..models import models_named
from ..reading import answerers


def test_people_and_machines_of_one_table_are_answerers_by_their_names(tmp_path: Path) -> None:
    """Columns of a file are categories, each with words of its own: a person's name is none of the
    machine's."""
    people = [
        table(
            change_detection(3),
            4,
            agent="participant",
            kind="participant",
            participant=f"P{at}",
            paradigm="cd",
            seed=at,
        )
        for at in range(3)
    ]
    together(*people, table(change_detection(1), 4, agent="network:n", paradigm="cd", seed=9)).to_csv(
        tmp_path / "answers.csv", index=False
    )
    everybody, notes = answerers(load([tmp_path / "answers.csv"]))
    assert {answerer.name: answerer.person for answerer in everybody} == {
        "P0": True,
        "P1": True,
        "P2": True,
        "network:n": False,
    }
    assert notes == ["cd: answers at all levels of feature are fitted together."]


def test_tables_of_anybody_have_words_and_letters_for_answers_and_their_own_loads(tmp_path: Path) -> None:
    """Answers as others write them, N-back by its level, and lists of which nobody says how many letters
    there were."""
    lists = [
        {"id": f"S{person}", "trial": trial, "position": at + 1, "target": letter, "response": "BDCF"[at]}
        for person in range(2)
        for trial in range(4)
        for at, letter in enumerate("BCDF")
    ]
    pd.DataFrame(lists).to_csv(tmp_path / "lists.csv", index=False)
    everybody, notes = answerers(load([tmp_path / "lists.csv"]))
    assert [one.trials.answer.tolist() for one in everybody] == [[1, 3, 2, 4] * 4] * 2
    assert set(everybody[0].trials.beside["options"]) == {4}
    assert "does not say how many answers could be given (chance): 4 are taken" in " ".join(notes)
    for row in lists[:2]:
        row["response"] = None
    pd.DataFrame(lists).to_csv(tmp_path / "lists.csv", index=False)
    blanks = answerers(load([tmp_path / "lists.csv"]))[0][0].trials
    assert (len(blanks), set(blanks.beside["once"])) == (14, {1}), "what was not given is no other item"
    errors = [{"id": "S1", "set_size": size, "error": 4.5 * size} for size in (1, 2) for _ in range(3)]
    pd.DataFrame(errors).to_csv(tmp_path / "errors.csv", index=False)
    ((one,), _) = answerers(load([tmp_path / "errors.csv"]))
    assert (len(one.trials), one.trials.loads) == (6, (1, 2))
    assert "it is not said what they were" in models_named("slots+swaps")[0].refusal(one.trials)
    nback = [
        {"id": "S1", "nback": n, "type": kind, "response": kind, "correct_answer": kind, "acc": 1}
        for n in (1, 2)
        for kind in ("yes", "no") * 6
    ]
    pd.DataFrame(nback).to_csv(tmp_path / "nback.csv", index=False)
    ((one,), _) = answerers(load([tmp_path / "nback.csv"]))
    assert one.trials.loads == (1, 2)


def test_a_model_whose_replies_could_hardly_be_read_is_not_fitted(tmp_path: Path) -> None:
    """What is fitted is compared: as everywhere, not above 20 % unread without --accept-unread."""
    parts = []
    for name, many in (("chat:read", 8), ("chat:unread", 2)):
        answers = table(change_detection(2), 20, agent=name, kind="chat", paradigm="cd", seed=many)
        answers.loc[answers.index % many == 0, ["outcome", "answer", "correct"]] = ["invalid", None, False]
        parts.append(answers)
    together(*parts).to_csv(tmp_path / "answers.csv", index=False)
    everybody, notes = answerers(load([tmp_path / "answers.csv"]))
    assert [answerer.name for answerer in everybody] == ["chat:read"]
    lost = sum(parts[0]["outcome"] == "invalid")
    assert notes[:2] == [
        f"cd: {lost / len(parts[0]):.0%} of the answers are left out: estimates are of the others.",
        f"cd: {lost} omitted or invalid answers ({lost} of {len(parts[0])} of chat:read) left out: the models describe"
        " answers.",
    ]
    everybody, _ = answerers(load([tmp_path / "answers.csv"], accept_unread=True))
    assert [answerer.name for answerer in everybody] == ["chat:read", "chat:unread"]
