"""Who answered what, from response tables."""

from __future__ import annotations

from pathlib import Path

from observed import change_detection, table, together

from spanlab.analysis.data.loading import load

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
