"""Every paradigm that ships, taken by every machine agent: what must be true of whoever answers."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conditions import some_conditions, trials_for
from scipy import stats
from session_tools import GO_NOGO, WHO, Saying, lasting, take

from spanlab.agents.at_once import BatchAgent
from spanlab.agents.base import Response, TrialContext
from spanlab.agents.registry import make_agent
from spanlab.paradigms import Paradigm, Percept, PlannedTrial, Trial, compile_trial, list_paradigms, load_paradigm
from spanlab.sessions import Request, Session, read_responses, read_session, reopen
from spanlab.sessions.replaying import recorded_agent

PARADIGMS = list_paradigms()
load = functools.cache(load_paradigm)
#: questions that an agent is asked in each paradigm, about
QUESTIONS, FEW, MOST_TRIALS = 600, 60, 250
#: the quick suite takes one of so many, but of the limited observer, whose effects are looked for
SHARE = 2
#: of the limited observer's buffer
PLACES = 3
#: nothing here may fail by chance more often than this
RARE = 0.001

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module", autouse=True)
def _each_trial_is_compiled_once() -> Iterator[None]:
    """Most agents here take the same trials, and these never change."""
    trials: dict[tuple[Any, ...], Trial] = {}
    compile_anew: Any = PlannedTrial.compile

    def compiled(planned: PlannedTrial, paradigm: Paradigm, generator: str) -> Trial:
        if planned.draws is not None:
            return compile_anew(planned, paradigm, generator)
        key = (paradigm.hash, generator, *planned.levels.items(), planned.seed)
        if key not in trials:
            if len(trials) >= 4 * MOST_TRIALS:
                trials.clear()  # those of earlier paradigms
            trials[key] = compile_anew(planned, paradigm, generator)
        return trials[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlannedTrial, "compile", compiled)
        yield


@pytest.fixture(scope="module", params=[SHARE, pytest.param(1, marks=pytest.mark.slow)])
def taken(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> functools._lru_cache_wrapper[Session]:
    """``taken(paradigm, agent)``: a finished session, each one made once."""
    data = tmp_path_factory.mktemp("data")
    torch.set_num_threads(1)

    @functools.cache
    def session(name: str, spec: str) -> Session:
        paradigm = load(name)
        if spec == "recorded":
            like = session(name, "chance")
            return take(data, paradigm, recorded_agent(f"recorded:{like.folder}"), like.plan, like.seed, like=like.name)
        trials = min(MOST_TRIALS, trials_for(paradigm, QUESTIONS if spec in ("chance", "capacity") else FEW))
        return take(
            data,
            paradigm,
            make_agent(spec),
            trials if spec == "capacity" else math.ceil(trials / request.param),
            seed=3,
        )

    return session


def trials_of(session: Session) -> list[Trial]:
    return [planned.compile(session.paradigm, "corrected") for planned in session.plan]


def known(name: str) -> bool:
    """Whether the network that ships was trained on the paradigm."""
    return name in make_agent("network:laptop").settings()["trained_on"]  # type: ignore[attr-defined]


@pytest.mark.sampled(5)
@pytest.mark.soaked(120)
@pytest.mark.parametrize("spec", ["chance", "ideal", "capacity", "network:laptop", "recorded"])
@pytest.mark.parametrize("name", PARADIGMS)
def test_every_agent_takes_every_paradigm(taken: functools._lru_cache_wrapper[Session], name: str, spec: str) -> None:
    if spec == "network:laptop" and not known(name):
        pytest.skip("not a task of this network")
    session = taken(name, spec)
    table, info = read_responses(session.folder), read_session(session.folder)
    trials = trials_of(session)
    kind = spec.partition(":")[0]
    assert set(table["agent_kind"]) == {kind}
    assert set(table["oracle"]) == {info["oracle"]} == {kind in ("ideal", "capacity")}, (
        "oracles, and only they, are labelled"
    )
    assert set(table["agent_settings_hash"]) == {info["agent_settings_hash"]}
    assert list(dict.fromkeys(table["trial_id"])) == [trial.trial_id for trial in trials]
    asked = [
        (n, step.index + 1) for n, trial in enumerate(trials, 1) for step in trial.steps if step.percept.ask is not None
    ]
    assert list(dict.fromkeys(zip(table["trial"], table["step"], strict=True))) == asked
    assert table["ask"].groupby(table["trial"]).max().sum() == sum(trial.asks for trial in trials)
    given = table["answer"].notna()
    assert ((table["outcome"] == "answered") | (table["correct_answer"].notna() & ~given)).all()
    assert (given | (table["outcome"] != "answered") | table["output_position"].isna()).all()
    exact = table["correct"] & table["tolerance"].isna()
    assert table.loc[exact, "answer"].equals(table.loc[exact, "correct_answer"])
    near = table["error"].abs() <= table["tolerance"]
    assert near[table["tolerance"].notna()].tolist() == table.loc[table["tolerance"].notna(), "correct"].tolist()
    assert table["chance"].between(0, 1).all()
    assert len({planned["seed"] for planned in info["plan"]}) == len(trials)


@pytest.mark.sampled(11)
@pytest.mark.parametrize("name", PARADIGMS)
def test_ideal_makes_no_mistake(taken: functools._lru_cache_wrapper[Session], name: str) -> None:
    table = read_responses(taken(name, "ideal").folder)
    assert table["correct"].all()
    assert table.loc[table["correct"].notna(), "correct_answer"].notna().all(), "no intrusions"
    assert set(table["outcome"]) == {"answered"}


@pytest.mark.slow
@pytest.mark.parametrize("name", PARADIGMS)
def test_chance_is_chance(taken: functools._lru_cache_wrapper[Session], name: str) -> None:
    """The number of correct items lies within exact bounds: a uniform guess at a choice is right by
    a coin with so many sides, and the cells of one free recall are drawn without replacement."""
    session = taken(name, "chance")
    table = read_responses(session.folder)
    distribution = np.ones(1)
    for trial in trials_of(session):
        for step in trial.steps:
            if step.percept.ask is not None and step.percept.ask.scored:
                distribution = np.convolve(distribution, step.percept.ask.kind.right_by_guessing())
    below = np.cumsum(distribution)
    rare = RARE / len(PARADIGMS)
    low, high = int(np.searchsorted(below, rare / 2)), int(np.searchsorted(below, 1 - rare / 2))
    assert low <= int(table["correct"].sum()) <= high
    items = table[table["correct_answer"].notna()]
    assert low / len(items) < items["chance"].mean() < high / len(items), (
        "the chance line of the figures is where guessing ends up"
    )


#: paradigms with trials that ask for more than the buffer of the limited observer holds, and others
#: that ask for less
LISTS = (
    *("corsi", "digit_span", "lsr", "lsr_long", "lsr_published", "lsr_published_long", "running_span", "sfr"),
    *("vsr", "vsrec"),
)
OVERLOADING = (
    *LISTS,
    *(
        "cd",
        "cd_noise",
        "continuous_colour",
        "continuous_orientation",
        "keep_track",
        "operation_span",
        "retro_cue",
        "smu",
        "sternberg",
        "symmetry_span",
    ),
)


def overloads(name: str) -> bool:
    """Whether some trials ask for more than the buffer of the limited observer holds, and some for
    less."""
    paradigm = load(name)
    sizes = {compile_trial(paradigm, levels, 1).set_size or 0 for levels in some_conditions(paradigm)}
    return min(sizes) <= PLACES < max(sizes)


@pytest.mark.slow
def test_the_paradigms_that_overload_a_limited_observer() -> None:
    assert {name for name in PARADIGMS if overloads(name)} == set(OVERLOADING)
    assert {name for name in OVERLOADING if "temporal" in load(name).domains} == set(LISTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", OVERLOADING)
def test_a_limited_observer_gets_worse_with_set_size(taken: functools._lru_cache_wrapper[Session], name: str) -> None:
    items = read_responses(taken(name, "capacity").folder).query("correct_answer.notna()")
    small, large = (
        items["set_size"] <= items["set_size"].quantile(0.3),
        items["set_size"] >= items["set_size"].quantile(0.7),
    )
    assert fewer_right(items.loc[small, "correct"], items.loc[large, "correct"]) < RARE
    falling: Any = stats.spearmanr(items["set_size"], items["correct"], alternative="less")
    assert falling.pvalue < RARE
    within = items[items["set_size"] <= PLACES]
    assert within["correct"].mean() > 0.75, "what fits into the buffer is mostly there"


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.slow
def test_a_limited_observer_remembers_the_ends_of_a_list_best(
    taken: functools._lru_cache_wrapper[Session], name: str
) -> None:
    items = read_responses(taken(name, "capacity").folder).query("correct_answer.notna() and list_length >= 4")
    middle = items["serial_position"].between(2, items["list_length"] - 2)
    assert fewer_right(items.loc[items["serial_position"] == 1, "correct"], items.loc[middle, "correct"]) < RARE, (
        "primacy"
    )
    assert (
        fewer_right(
            items.loc[items["serial_position"] == items["list_length"], "correct"], items.loc[middle, "correct"]
        )
        < RARE
    ), "recency"


def fewer_right(more: pd.Series, fewer: pd.Series) -> float:
    """The p of Fisher's exact test that the second group has fewer correct ones."""
    result: Any = stats.fisher_exact(
        [[more.sum(), (~more).sum()], [fewer.sum(), (~fewer).sum()]], alternative="greater"
    )
    return float(result.pvalue)


# -- batches ---------------------------------------------------------------------------------------


class InBatches(Saying, BatchAgent):
    """Answers so many trials at once."""

    def __init__(self, name: str, batch_size: int) -> None:
        super().__init__(
            lambda percept, number: Response(0 if isinstance(percept.ask.kind.options, int) else "x"),  # type: ignore[union-attr]
            name,
        )
        self.batch_size = batch_size
        self.batches: list[int] = []

    def answer(
        self, contexts: Sequence[TrialContext], trials: Sequence[Sequence[Percept]], keep: Any = None
    ) -> list[list[Response | None]]:
        assert len(contexts) == len(trials)
        self.batches.append(len(trials))
        self.seen += [(context, list(percepts)) for context, percepts in zip(contexts, trials, strict=True)]
        return [[None if percept.ask is None else self.say(percept, 1) for percept in percepts] for percepts in trials]


def test_batches_are_as_large_as_the_agent_wants_and_see_what_steps_see(tmp_path: Path) -> None:
    vsr = load_paradigm("vsr")
    batched, stepped = InBatches("zero", 7), Saying(lambda percept, number: Response(0), "zero")
    table, other = (
        lasting(take(tmp_path / str(n), vsr, agent, 17).folder) for n, agent in enumerate((batched, stepped))
    )
    assert batched.batches == [7, 7, 3]
    assert batched.seen == stepped.seen
    pd.testing.assert_frame_equal(table, other)


def test_trials_with_feedback_are_stepped_through(tmp_path: Path) -> None:
    """What is shown depends on the answer, so that no batch can know it."""
    (file := tmp_path / "gonogo.yaml").write_text(GO_NOGO, encoding="utf-8")
    agent = InBatches("x", 4)
    table = read_responses(take(tmp_path, load_paradigm(file), agent, 10).folder)
    assert not agent.batches
    assert table["trial"].nunique() == 10
    assert (table["feedback_shown"] == table["correct"].map({True: "right", False: "wrong"})).all()


# -- the same trials for others --------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", PARADIGMS)
def test_a_recorded_session_scored_again_gives_the_same_table(
    taken: functools._lru_cache_wrapper[Session], name: str
) -> None:
    again, original = taken(name, "recorded"), taken(name, "chance")
    pd.testing.assert_frame_equal(lasting(again.folder, without=WHO), lasting(original.folder, without=WHO))
    info = read_session(again.folder)
    assert info["like"] == info["agent_settings"]["recorded_session"] == original.name
    assert info["agent_settings"]["recorded_agent"] == "chance"


def test_what_was_recorded_comes_back_with_invalid_and_missing_answers_feedback_and_times(tmp_path: Path) -> None:
    (file := tmp_path / "gonogo.yaml").write_text(GO_NOGO, encoding="utf-8")
    replies = [Response("x", 312.25), Response(None, outcome="omitted"), Response(None, 99.0, "?", "invalid")]
    original = take(tmp_path, load_paradigm(file), Saying(lambda percept, number: replies[number % 3]), 9)
    again = take(
        tmp_path, load_paradigm(file), recorded_agent(f"recorded:{original.folder}"), original.plan, original.seed
    )
    pd.testing.assert_frame_equal(lasting(again.folder, without=WHO), lasting(original.folder, without=WHO))
    assert (
        list(read_responses(again.folder)["rt_ms"].dropna())
        == list(read_responses(original.folder)["rt_ms"].dropna())
        != []
    )


def test_the_same_trials_are_the_same_in_another_order_of_agents(taken: functools._lru_cache_wrapper[Session]) -> None:
    """Agents differ in who answered and what, never in what was asked."""
    asked = ["trial", "trial_id", "seed", "step", "ask", "set_size", "list_length", "chance"]
    first, second = (
        read_responses(taken("vsr", spec).folder)[[*asked, "correct_answer"]] for spec in ("ideal", "network:laptop")
    )
    pd.testing.assert_frame_equal(first, second)


def test_the_paradigm_in_the_record_gives_the_same_trials(taken: functools._lru_cache_wrapper[Session]) -> None:
    session = taken("smu", "chance")
    again = reopen(session.folder)
    assert again.paradigm.hash == session.paradigm.hash
    assert trials_of(again) == trials_of(session)
    assert Request().seed == 1
    assert isinstance(again.paradigm, Paradigm)
