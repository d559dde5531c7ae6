"""Nobody is named by what data sets hold: a dictionary attack with candidates' identifiers, against
every byte of every format."""

from __future__ import annotations

import csv
import re
import zipfile
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest
from session_tools import AtTheWindow, Guessing, Saying, take

from spanlab.core.errors import SpanLabError
from spanlab.exchange import FORMATS, Report
from spanlab.paradigms import load_paradigm, resolve_levels
from spanlab.paradigms.identity import digest, trial_id, trial_seed
from spanlab.sessions import find_sessions, read_session
from spanlab.sessions.people import drawn_seeds, seed_for
from spanlab.sessions.plan import plan_trials, trials_like
from spanlab.sessions.replaying import recorded_agent
from spanlab.sessions.run import begin, session_stem
from spanlab.sessions.runner import Runner

PEOPLE = ("ada_lovelace", "p-0417", "mjw1987", "S23", "anna.b", "k_7f")
#: who might have taken part, so far as the attacker knows; the first six did
CANDIDATES = (*PEOPLE, "grace_hopper", "p-0418", "mjw1986", "S24", "anna.c", "k_7e")
SHARED = [name for name in FORMATS if (side := FORMATS.get(name).writes) is not None and side.content == "sessions"]
#: formats in which no trial is, with its seed or without, and that therefore have no option about
#: seeds, trials, times and answers
NO_TRIALS = ("scores",)
formats = pytest.mark.parametrize("form", SHARED)
VSR = load_paradigm("vsr")
LEVELS = {"list_length": [2, 3]}
TRIALS = 4


def old_seed(who: str) -> int:
    """The seed of somebody's first session before seeds were drawn at random."""
    return next(drawn_seeds(["vsr", session_stem("", who, 0), 1]))


def known_digests(who: str) -> set[str]:
    """Everything that SpanLab ever made of an identifier, and that whoever knows the identifier can
    make, too."""
    words = {who, session_stem("", who, 0)[1:-3], digest(["keys", who], length=8), digest(["keys", who])}
    for number in (1, 2):
        for seed in islice(drawn_seeds(["vsr", session_stem("", who, 0), number]), 2):
            words |= {str(seed), session_stem("vsr", who, seed)}
            for purpose, index in product(("session", "practice", "replacement"), range(20)):
                of_trial = trial_seed(purpose, seed, index)
                words.add(str(of_trial))
                for level in LEVELS["list_length"]:
                    words.add(
                        trial_id(
                            "vsr",
                            VSR.version,
                            "corrected",
                            resolve_levels(VSR, {"list_length": level}, of_trial),
                            of_trial,
                        )
                    )
    return words


def told(path: Path) -> Iterator[bytes]:
    """Every byte of a file or folder, with names, and with what is packed."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        yield str(file.relative_to(path.parent)).encode()
        if file.is_file():
            yield file.read_bytes()
            if zipfile.is_zipfile(file):
                with zipfile.ZipFile(file) as packed:
                    for name in packed.namelist():
                        yield name.encode()
                        yield packed.read(name)


def named(path: Path) -> set[str]:
    """The candidates whom a data set names."""
    content = b"\n".join(told(path)).decode("utf-8", "replace")
    tokens = set(re.findall(r"[A-Za-z0-9]+", content))

    def there(word: str) -> bool:
        return word in tokens if word.isalnum() else word in content

    return {who for who in CANDIDATES if any(map(there, known_digests(who)))}


def old_data(folder: Path) -> Path:
    """Sessions as they were recorded when seeds followed from identifiers; a network takes the
    trials of each, and each is replayed."""
    for who in PEOPLE:
        extra = {"seed_from": {"given": False, "session_number": 1}}
        take(folder, VSR, AtTheWindow(Guessing()), TRIALS, old_seed(who), LEVELS, participant=who, extra=extra)
    repeated(folder)
    return folder


def repeated(folder: Path) -> None:
    for session in find_sessions([folder]):
        chosen = trials_like(session)
        for agent in (Saying(Guessing(), f"network:{session.name[-3:]}"), recorded_agent(f"recorded:{session}")):
            Runner(begin(folder, chosen.paradigm, agent, chosen.plan, chosen.request()), agent).run()


def new_data(folder: Path) -> Path:
    """The same with the seeds that sessions of people get."""
    for who in PEOPLE:
        seed = seed_for(folder, "vsr", who)
        take(
            folder,
            VSR,
            AtTheWindow(Guessing()),
            TRIALS,
            seed.seed,
            LEVELS,
            participant=who,
            extra={"seed_from": seed.as_json()},
        )
    repeated(folder)
    return folder


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return old_data(tmp_path_factory.mktemp("old") / "data")


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_data(tmp_path_factory.mktemp("new") / "data")


def shared(form: str, data: Path, output: Path, **options: Any) -> tuple[Path, str]:
    """A data set with everything that is not left out, and the notes on it."""
    writing, notes = FORMATS.get(form), list[str]()
    assert writing.writes is not None
    everything = {} if form in NO_TRIALS else {"dates": True, "free_text": True}
    everything |= {"machines": True} if form in ("psych101", "chat-jsonl") else {}
    writing().write(
        [str(data)],
        output,
        writing.writes.options(**everything, **options),
        Report(done=lambda _: None, note=notes.append),
    )
    return output, "\n".join(notes)


def assert_everybody_is_there_without_trials(found: Path, notes: str) -> None:
    """Everybody has a row of scores under a pseudonym; nothing that was drawn for their trials is
    there, so that nothing need be said of it."""
    with (found / "scores.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert {row["participant"] for row in rows} == {f"sub-{number}" for number in range(1, len(PEOPLE) + 1)}
    assert all(any(value for name, value in row.items() if name.startswith("vsr_")) for row in rows)
    assert drawn(found) == set()
    assert "seeds" not in notes
    assert "NOT PSEUDONYMOUS" not in notes


@pytest.mark.sampled(2)
@formats
def test_nobody_is_named_in_data_sets_of_old_sessions_and_the_trials_cannot_be_made_again(
    form: str, old: Path, tmp_path: Path
) -> None:
    found, notes = shared(form, old, tmp_path / "set")
    assert named(found) == set()
    if form in NO_TRIALS:
        assert_everybody_is_there_without_trials(found, notes)
        return
    for words in (
        "18 sessions with seeds that may tell who took part",
        "NOT PSEUDONYMOUS: 18 sessions",
        "these trials cannot be made again; --with-seeds shares them",
    ):
        assert words in notes


@pytest.mark.sampled(3)
@formats
def test_nobody_is_named_by_the_seeds_of_new_sessions_and_these_are_shared(
    form: str, new: Path, tmp_path: Path
) -> None:
    found, notes = shared(form, new, tmp_path / "set")
    assert named(found) == set()
    assert "seeds" not in notes
    if form in NO_TRIALS:
        assert_everybody_is_there_without_trials(found, notes)
    elif form not in ("psych101", "chat-jsonl"):
        seeds = {str(read_session(session)["plan"][0]["seed"]).encode() for session in find_sessions([new])}
        content = b"\n".join(told(found))
        assert len(seeds) == len(PEOPLE)
        assert all(seed in content for seed in seeds)


@pytest.mark.sampled(3)
@formats
def test_the_attack_finds_everybody_by_name(form: str, new: Path, tmp_path: Path) -> None:
    named_so = {
        "".join(
            part[:1].upper() * bool(place) + part[1 - (not place) :]
            for place, part in enumerate(re.split("[^A-Za-z0-9]", who))
        )
        for who in PEOPLE
    }
    found, _ = shared(form, new, tmp_path / "set", real_ids=True)
    if form in NO_TRIALS:
        assert named(found) == set(PEOPLE), "as they are"
        return
    content = b"\n".join(told(found))
    assert all(one.encode() in content for one in named_so)


def test_what_a_session_shares_is_a_matter_of_its_own(old: Path, new: Path, tmp_path: Path) -> None:
    (both := tmp_path / "both").mkdir()
    for source in (old, new):
        (both / source.parent.name).symlink_to(source)
    rows = [
        line.split(",")
        for line in (
            (shared("csv", both, tmp_path / "set")[0] / "responses.csv").read_text(encoding="utf-8").splitlines()
        )
    ]
    seeds = [row[rows[0].index("seed")] for row in rows[1:]]
    assert 0 < seeds.count("") < len(seeds)
    assert named(tmp_path / "set") == set()


def test_all_seeds_and_none_contradict_each_other(old: Path, tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match="--with-seeds shares all seeds, and --no-seeds none"):
        shared("csv", old, tmp_path / "set", with_seeds=True, seeds=False)


# trials that are made again -----------------------------------------------------------------------


def drawn(path: Path) -> set[tuple[str, ...]]:
    """What was drawn for a session, in order: the right answers of a table, or the patterns that a
    text describes."""
    found: set[tuple[str, ...]] = set()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.suffix in (".csv", ".tsv") and file.is_file():
            found |= right_answers(file)
        elif file.is_file() and zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as packed:
                found |= {
                    patterns(packed.read(name).decode("utf-8", "replace"))
                    for name in packed.namelist()
                    if name.startswith("samples/")
                }
        elif file.is_file():
            found |= {patterns(line) for line in file.read_text(encoding="utf-8", errors="replace").splitlines()}
    return found - {()}


def right_answers(file: Path) -> set[tuple[str, ...]]:
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t" if file.suffix == ".tsv" else ","))
    sessions: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if (row.get("correct_answer") or "n/a") != "n/a":
            sessions.setdefault((row.get("participant_id", ""), row.get("session", "")), []).append(
                row["correct_answer"]
            )
    return {tuple(answers) for answers in sessions.values()}


def patterns(text: str) -> tuple[str, ...]:
    """Descriptions of grids, as rows of signs."""
    return tuple(re.sub("[^#.]", "", found[0]) for found in re.finditer(r"(?:[#.]{6}(?:\\n|\n)?){6}", text))


@pytest.fixture(scope="module")
def guesses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The trials of every candidate, made again from the identifier and taken by the attacker."""
    folder = tmp_path_factory.mktemp("guesses")
    for who in CANDIDATES:
        take(folder / who, VSR, AtTheWindow(Guessing()), TRIALS, old_seed(who), LEVELS, participant="me")
    return {who: folder / who for who in CANDIDATES}


def named_by_trials(form: str, guesses: dict[str, Path], found: Path, folder: Path) -> set[str]:
    """The candidates whose trials, made again and exported in the same format, are in a data set."""
    there = drawn(found)
    assert there
    again = {who: drawn(shared(form, data, folder / f"{who}-again")[0]) for who, data in guesses.items()}
    assert all(again.values())
    return {who for who, trials in again.items() if trials <= there}


def named_by_what_is_drawn(guesses: dict[str, Path], found: Path, folder: Path) -> set[str]:
    """The candidates of whose trials, made again, an identifier, a seed or the right answers in a
    row are anywhere in a data set."""
    content = b"\n".join(told(found)).decode("utf-8", "replace")
    tokens = set(re.findall(r"[A-Za-z0-9]+", content))
    named_so: set[str] = set()
    for who, data in guesses.items():
        made = shared("csv", data, folder / f"{who}-made", with_seeds=True)[0] / "responses.csv"
        with made.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        answers = [row["correct_answer"] for row in rows]
        assert len(answers) >= TRIALS
        in_a_row = any(sign.join(answers) in content for sign in (",", ", ", ";", "\n", "\t", " ", ""))
        if in_a_row or tokens & {word for row in rows for word in (row["trial_id"], row["seed"])}:
            named_so.add(who)
    return named_so


@pytest.mark.sampled(1)
@formats
def test_trials_made_again_name_nobody_among_new_sessions_or_where_old_ones_are_left_out(
    form: str, old: Path, new: Path, guesses: dict[str, Path], tmp_path: Path
) -> None:
    (both := tmp_path / "both").mkdir()
    for source in (old, new):
        (both / source.parent.name).symlink_to(source)
    if form in NO_TRIALS:
        found, notes = shared(form, both, tmp_path / "set")
        assert named_by_what_is_drawn(guesses, found, tmp_path) == set()
        assert_everybody_is_there_without_trials(found, notes)
        return
    found, notes = shared(form, both, tmp_path / "set", pseudonymous=True)
    assert named_by_trials(form, guesses, found, tmp_path) == set()
    assert (
        "18 sessions with seeds that may tell who took part (they were given, or came with the data): left out"
        " (--pseudonymous)" in notes
    )
    assert "NOT PSEUDONYMOUS" not in notes
    if (found / "README.md").is_file():
        assert "seudonymous" not in (found / "README.md").read_text(encoding="utf-8")


def test_where_every_session_may_tell_nothing_is_left_to_share(old: Path, tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match="nothing to share: the trials of every session may tell who took part"):
        shared("csv", old, tmp_path / "set", pseudonymous=True)
    assert not (tmp_path / "set").exists()


def test_seeds_that_somebody_gives_are_not_known_to_be_safe(tmp_path: Path) -> None:
    take(
        tmp_path / "data",
        VSR,
        AtTheWindow(Guessing()),
        2,
        417,
        LEVELS,
        participant="p-0417",
        extra={"seed_from": {"given": True}},
    )
    found, notes = shared("csv", tmp_path / "data", tmp_path / "set")
    assert "1 session with seeds that may tell" in notes
    assert "seed" not in (found / "responses.csv").read_text(encoding="utf-8").splitlines()[0].split(",")


def test_seeds_of_machines_are_shared(tmp_path: Path) -> None:
    chosen, agent = plan_trials("vsr", 5, LEVELS, 2), Saying(Guessing())
    Runner(begin(tmp_path / "data", chosen.paradigm, agent, chosen.plan, chosen.request()), agent).run()
    found, notes = shared("csv", tmp_path / "data", tmp_path / "set")
    assert "seed" not in notes
    assert str(chosen.plan[0].seed) in (found / "responses.csv").read_text(encoding="utf-8")
