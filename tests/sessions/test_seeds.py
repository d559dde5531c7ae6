"""Who gets which trials: nobody those of somebody else, unless it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Run, output_of

from spanlab.agents.oracles import IdealAgent
from spanlab.sessions import find_sessions, read_session
from spanlab.sessions.people import LOWER_HALF, random_seeds, seed_for, seeds_taken
from spanlab.sessions.run import session_stem


def folders(data: Path, *names: str) -> None:
    for name in names:
        (data / name).mkdir(parents=True)
        (data / name / "session.json").write_text("{}", encoding="utf-8")


def test_two_people_and_one_of_them_again_get_other_trials(tmp_path: Path) -> None:
    seeds = []
    for person in ("A", "B", "A", "a"):
        found = seed_for(tmp_path, "vsr", person)
        seeds.append(found.seed)
        folders(tmp_path, session_stem("vsr", person, found.seed))
    assert len(set(seeds)) == 4
    assert seed_for(tmp_path, "vsr", "A").number == 4
    assert (seed_for(tmp_path, "vsr", "B").number, seed_for(tmp_path, "sfr", "A").number) == (2, 1)


def test_seeds_follow_from_nothing_that_tells_who_took_part(tmp_path: Path) -> None:
    folders(tmp_path, "vsr-p01-s7")
    found = [seed_for(tmp_path, "vsr", "P01") for _ in range(20)]
    assert {seed.number for seed in found} == {2}
    assert len({seed.seed for seed in found}) > 15, "fewer by chance once in 10^20"
    assert all(LOWER_HALF <= seed.seed < 2 * LOWER_HALF for seed in found)
    assert seed_for(tmp_path / "elsewhere", "vsr", "P01").number == 1


def test_a_seed_that_somebody_has_is_passed_over_in_studies_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders(tmp_path, "pair/p07/session-1/vsr-p07-s700001-2", "sfr-p07-s700002")
    monkeypatch.setattr("spanlab.sessions.people.random_seeds", lambda: iter([700001, 700002]))
    found = seed_for(tmp_path, "vsr", "P01")
    assert (found.number, found.seed) == (1, 700002), (
        "the first is that of a session of the paradigm, the second of another one"
    )


def test_a_thousand_people_have_a_thousand_seeds(tmp_path: Path) -> None:
    names: list[str] = []
    for number in range(1000):
        taken = seeds_taken(names, "vsr")
        seed = next(seed for seed in random_seeds() if seed not in taken)
        names.append(session_stem("vsr", f"P{number:04}", seed))
    assert len(seeds_taken(names, "vsr")) == 1000


def test_run_gives_every_session_a_seed_of_its_own_and_says_so(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanlab.agents.human.seating.seat", lambda *_: IdealAgent())  # somebody who needs no window
    for participant, more in (("A", []), ("B\r", []), ("A", []), ("C", ["--seed", "7"])):
        options = ["--set", "list_length=2", "--trials", "1", "--simulate", "ideal", "--no-practice", *more]
        output_of(*run("run", "vsr", "--participant", participant, *options))
    infos = sorted(
        (read_session(folder) for folder in find_sessions([tmp_path / "data"])), key=lambda info: info["created"]
    )
    seeds = [info["seed"] for info in infos]
    assert len(set(seeds)) == 4
    assert [info["participant"] for info in infos] == ["A", "B", "A", "C"]
    assert [info["seed_from"] for info in infos] == [
        {"given": False, "independent": True, "session_number": 1},
        {"given": False, "independent": True, "session_number": 1},
        {"given": False, "independent": True, "session_number": 2},
        {"given": True},
    ]
    assert seeds[3] == 7
    assert len({tuple(trial["seed"] for trial in info["plan"]) for info in infos}) == 4
