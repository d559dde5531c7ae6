"""The probability that a chat model gives to a person's answers, after all that the person had seen
and answered before: a measure of models of cognition.

One folder for each session and model: ``choices.json`` (who, with which settings, what it took),
``transcripts.jsonl`` (every reply that was paid for, on the disk before it is used) and, when all
is scored, ``choices.csv`` (a line an answer). It is no session, and nothing reads it as one: the
model gives no answers.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from spanlab.agents import TrialContext
from spanlab.agents.chat import Before, ChatAgent, Reply
from spanlab.agents.chat.cost.estimate import Estimate
from spanlab.agents.chat.cost.estimate import sent as tokens_of
from spanlab.agents.chat.cost.totals import describe_account, summary, totals_of
from spanlab.agents.chat.likelihoods import Likelihoods
from spanlab.agents.chat.messages import Request
from spanlab.agents.chat.transport.departure import Departures
from spanlab.agents.interruptions import Unobtainable
from spanlab.core import SpanLabError, as_object, as_tuple, in_number, make_folder, only_writer, write_json, write_whole
from spanlab.core.event_loop import run_to_end
from spanlab.paradigms import Answer, digest
from spanlab.paradigms.identity import canonical
from spanlab.sessions import TakenTrial, Watcher, brief, said_after, same_trials, settings_hash, taken_trials, utc_now
from spanlab.sessions.record import is_practice, read_events, trials_left
from spanlab.sessions.record.reader import read_transcript, replies_by_trial
from spanlab.sessions.record.writer import Recorder, TrialJournal
from spanlab.sessions.session import settings_of
from spanlab.sessions.strategies.concurrently import interruptible, several

INFO, TABLE = "choices.json", "choices.csv"
_VERSION = 1
#: under which name is kept what is asked before the first trial
_NO_TRIAL = "0"
_SEVERAL = "answers of several items, or from more than can be listed"
_NONE = "no answer was given"
_SHARED = "a token may begin several of the allowed answers"


@dataclass(frozen=True, slots=True)
class ScoredChoice:
    """A person's answer, and its probability in a model. Logarithms are natural.

    Parameters
    ----------
    trial, question : which trial, and which question of it, from 1
    answer : as models write it; empty where there was none
    allowed : how many answers were allowed
    answers : the allowed answers, as one text
    logprob : of this answer (and its end), as the server told it
    log_probability : the same among the allowed answers alone
    mass : the probability of all allowed answers together
    at_most : whether the answer is not among those that the server told, so that
        ``log_probability`` is the most that it can be
    left_out : why it is not scored; empty where it is
    """

    trial: int
    question: int
    answer: str
    allowed: int
    answers: str
    logprob: float | None = None
    log_probability: float | None = None
    mass: float | None = None
    at_most: bool = False
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class ChoiceScores:
    """The result of scoring a session's choices.

    Parameters
    ----------
    folder : with the record
    choices : every answer, in the order of the session
    info : content of ``choices.json``
    """

    folder: Path
    choices: Sequence[ScoredChoice]
    info: Mapping[str, Any]

    @property
    def left_out(self) -> Mapping[str, int]:
        """The number of answers that were left out, by reason."""
        return Counter(choice.left_out for choice in self.choices if choice.left_out)


@dataclass(frozen=True, slots=True)
class _Followed:
    """A trial with what the model is told before it."""

    trial: TakenTrial
    context: TrialContext
    before: Before


def score_choices(
    session: str | Path, agent: ChatAgent, output: Path | None = None, watcher: Watcher | None = None
) -> ChoiceScores:
    """Score the answers of a session by a chat model, and record the result; replies that an
    earlier attempt paid for are not requested again.

    Parameters
    ----------
    session : whose answers: of a person, or of anybody whose trials were recorded one by one
    agent : the model; its settings say how a server tells how probable answers are
    output : folder of the record; beside the session when not given

    Raises
    ------
    SpanLabError
        when the session cannot be read or holds nothing to score, and when something has stopped
        it; what was paid for is kept.
    """
    watcher = watcher or Watcher()
    scoring = _Scoring(Path(session), agent, output)
    try:
        with only_writer(scoring.folder):
            return scoring.run(watcher)
    except KeyboardInterrupt:
        raise SpanLabError(
            f"interrupted; the replies so far are kept in {scoring.folder}. The same command goes on"
        ) from None
    except SpanLabError as error:
        raise SpanLabError(
            f"{error}\nReplies so far are kept in {scoring.folder}; run the same command to continue."
        ) from None


def note_summary(scored: ChoiceScores, summary: Mapping[str, Any]) -> ChoiceScores:
    """Add the summary, and how many answers were left out, to the record."""
    info = {**scored.info, "summary": dict(summary), "left_out": dict(scored.left_out)}
    write_json(scored.folder / INFO, info)
    return replace(scored, info=info)


class _Scoring:
    def __init__(self, folder: Path, agent: ChatAgent, output: Path | None) -> None:
        self._session, self._agent = same_trials(folder), agent
        info = self._session.info
        if agent.examples:
            raise SpanLabError(
                "answers are scored given what the person had seen, which had no worked examples: leave out examples"
            )
        self._events = read_events(folder)
        self._taken = list(taken_trials(self._session, self._events, practice=agent.practises))
        if not any(not is_practice(followed.key) for followed in self._taken):
            raise SpanLabError(f"{folder} holds no finished trial, so there are no answers to score")
        self._plan = self._followed()
        self._results: dict[str, list[ScoredChoice]] = {}
        self._count: Callable[[], object] = lambda: None
        who: dict[str, Any] = {
            "format_version": _VERSION,
            "session": info["session"],
            "participant": info["participant"],
            "answered_by": info["agent"],
            "paradigm": info["paradigm"],
            "paradigm_hash": info["paradigm_hash"],
            # whose answers they are, whatever the folder is called
            "answers_hash": digest(
                [
                    [followed.key, followed.start["trial_id"], [line["value"] for line in followed.questions]]
                    for followed in self._taken
                ],
                length=16,
            ),
            "agent": agent.name,
            "agent_settings": settings_of(agent),
            "agent_settings_hash": settings_hash(agent),
        }
        self._who = who
        self.folder = (
            output
            or folder.resolve().parent
            / f"{info['session']}-choices-{_slug(agent.name)}-{who['agent_settings_hash'][:6]}"
        )
        self._check_folder()

    def _check_folder(self) -> None:
        """Make the folder, or check that it belongs to this scoring.

        Raises
        ------
        SpanLabError
            when it holds anything else.
        """
        self._before = _read_info(self.folder / INFO)
        if self._before is None:
            if self.folder.exists() and any(entry.name != ".lock" for entry in self.folder.iterdir()):
                raise SpanLabError(f"{self.folder} holds something else already: give another folder with -o")
            make_folder(self.folder, f"to {self.folder}", "give another folder with -o", 0o700)
            return
        answers = (
            "other answers than those of this session, which may have continued since (delete the folder to score them"
            " all)"
        )
        for name, what in (
            ("answers_hash", answers),
            ("agent", "another model"),
            ("agent_settings_hash", "other chat settings"),
        ):
            if self._before.get(name) != self._who[name]:
                raise SpanLabError(f"{self.folder} was made with {what}: give another folder with -o")

    def _followed(self) -> list[_Followed]:
        """Every trial with what came before it: practice where the settings have it, and the trials
        before where they are one conversation."""
        memory, followed = self._agent.memory(), list[_Followed]()
        language = "en" if "en" in self._session.paradigm.instructions else str(self._session.info["language"])
        for text in said_after(self._session.paradigm, None, self._taken[0], language):
            memory.tell(text)
        for place, trial in enumerate(self._taken):
            seed = int(digest(["choices", self._session.seed, trial.key], length=12), 16)
            briefing = brief(self._agent, self._session.paradigm, language, trial.trial, seed)
            context = replace(briefing, block=1, practice=is_practice(trial.key))  # somebody remembers all blocks
            one = _Followed(trial, context, memory.before(context))
            followed.append(one)
            if not context.practice and not self._agent.remembers:
                continue
            memory.keep(context, run_to_end(self._gone_through(one)))
            after = next(iter(self._taken[place + 1 :]), None)
            for text in said_after(self._session.paradigm, trial, after, language):
                memory.tell(text)
        return followed

    async def _gone_through(self, followed: _Followed) -> Any:
        follower = self._agent.follow(followed.context, followed.before, scored=False)
        for percept, line in followed.trial.steps:
            follower.conversation.show(percept)
            if percept.ask is not None and "ask" in line:
                await follower.ask(percept.ask, line["ask"])
                follower.hear(percept.ask, _given(line))
        return follower.conversation.ended()

    def run(self, watcher: Watcher) -> ChoiceScores:
        """Score the answers that are not scored yet, and write the record."""
        lines = read_transcript(self.folder)
        self._replies = replies_by_trial(lines)
        self._attempt = 1 + max((line["attempt"] for line in lines), default=0)
        to_score = [followed for followed in self._plan if not followed.context.practice]
        if left := trials_left(self._session.info, self._events):
            watcher.say(
                f"{self._who['session']} is not finished: {left:,} {in_number(left, 'trial')} of it cannot be"
                " scored yet"
            )
        if self._agent.practises and len(to_score) == len(self._plan):
            watcher.say(f"{self._who['session']} had no practice, so that none comes first")
        if self._before is None or "account" not in self._before:
            estimate = self._estimate(to_score)
            watcher.say(f"{self._agent.name}: {estimate}")
            info: dict[str, Any] = {
                **self._who,
                "created": utc_now(),
                **self._agent.recorded_options(),
                "estimate": estimate.to_record(),
                "history": self._history(),
            }
            self._before = {**info, **({"created": self._before["created"]} if self._before else {})}
            write_json(self.folder / INFO, self._before)
        agent, before = self._agent, self._before
        agent.spending.carry(totals_of(lines, self._replies))
        foreseen = before["estimate"]
        agent.spending.foresee(foreseen["requests"], foreseen["prompt_tokens"], foreseen["completion_tokens"])
        agent.spending.warn = watcher.say
        self._recorder = Recorder(self.folder, events=False)
        try:
            with watcher.bar(f"answers of {self._who['session']} · {agent.name}", agent.status_line) as tell:
                done, total = itertools.count(), len(to_score)
                self._count = lambda: tell(next(done), total)
                self._count()
                run_to_end(interruptible(agent, self._all(to_score), watcher.say))
        finally:
            self._recorder.finish()
            agent.close()
            lines = read_transcript(self.folder)
            account = summary(totals_of(lines, replies_by_trial(lines)), agent.spending.prices)
            before = {**before, "account": account}
            write_json(self.folder / INFO, before)
            watcher.say(f"{agent.name}: {describe_account(account)}")
        choices = [choice for followed in to_score for choice in self._results[followed.trial.key]]
        _write_table(self.folder / TABLE, choices)
        return ChoiceScores(self.folder, choices, before)

    def _history(self) -> str:
        """Describe the person's history that the model was given."""
        practice = sum(followed.context.practice for followed in self._plan)
        window = self._agent.settings()["conversation_window"]
        trials = "all trials before" if window is None else f"{window} trials before"
        trials = trials if self._agent.remembers else "none but those of the same trial"
        return f"{trials}; {practice} trials of practice" if practice else f"{trials}; no practice"

    def _estimate(self, to_score: Sequence[_Followed]) -> Estimate:
        """Return the estimated cost, earlier attempts included."""
        totals = {"requests": 0, "pictures": 0, "read": 0}

        async def count(request: Request, departures: Departures | None = None) -> Reply:
            tokens, pictures = tokens_of(request.messages)
            totals["requests"] += 1
            totals["read"] += tokens
            totals["pictures"] += pictures
            return Reply(content="", latency_ms=0)

        async def all_of_them() -> None:
            for followed in to_score:
                await self._follow(followed, count)

        run_to_end(all_of_them())
        prices = self._agent.spending.prices
        cost = None if prices is None else prices.cost(totals["read"], totals["requests"])
        return Estimate(
            len(to_score),
            totals["requests"],
            totals["pictures"],
            totals["read"],
            totals["requests"],
            cost,
        )

    async def _all(self, to_score: Sequence[_Followed]) -> None:
        try:
            await self._agent.setup(
                TrialJournal(self._recorder, _NO_TRIAL, self._attempt, self._replies.get(_NO_TRIAL, []))
            )
            await several(self._agent, to_score, self._take)
        finally:
            await self._agent.teardown()

    async def _take(self, followed: _Followed) -> None:
        try:
            self._results[followed.trial.key] = await self._follow(followed)
        except Unobtainable as reason:
            raise SpanLabError(f"trial {followed.trial.key} cannot be scored: {reason}") from None
        self._count()

    async def _follow(self, followed: _Followed, ask: Any = None) -> list[ScoredChoice]:
        follower = self._agent.follow(followed.context, followed.before, ask=ask)
        key = followed.trial.key
        if ask is None:
            follower.attach(TrialJournal(self._recorder, key, self._attempt, self._replies.get(key, [])))
        choices: list[ScoredChoice] = []
        for percept, line in followed.trial.steps:
            follower.conversation.show(percept)
            if percept.ask is None or "ask" not in line:
                continue
            kind, answer = percept.ask.kind, _given(line)
            answers = kind.written_answers()
            choice = ScoredChoice(
                int(key),
                line["ask"],
                "" if answer is None else kind.write(answer),
                len(answers),
                canonical(list(answers)),
            )
            if not answers or answer is None:
                follower.conversation.ask(kind, follower.conversation.prompt_of(percept.ask))
                choices.append(replace(choice, left_out=_SEVERAL if not answers else _NONE))
            else:
                choices.append(_scored(choice, await follower.ask(percept.ask, line["ask"])))
            follower.hear(percept.ask, answer)
        return choices


def _given(line: Mapping[str, Any]) -> Answer | None:
    return as_tuple(line["value"])


def _scored(choice: ScoredChoice, likelihoods: Likelihoods | None) -> ScoredChoice:
    """An answer with what a model makes of it."""
    if likelihoods is None:
        return replace(choice, left_out=_SHARED)
    by_answer = likelihoods.logprobs
    missing = likelihoods.at_most if likelihoods.missing else None
    # of those that are missing nothing is known but a bound: the answer has at most its own, and
    # all that is known may be all that there is
    likelihood = by_answer.get(choice.answer, missing)
    assert likelihood is not None
    total = _log_sum([*[value for answer, value in by_answer.items() if answer != choice.answer], likelihood])
    return replace(
        choice,
        logprob=by_answer.get(choice.answer),
        log_probability=likelihood - total,
        mass=None if likelihoods.missing else math.exp(_log_sum([*by_answer.values()])),
        at_most=bool(likelihoods.missing),
    )


def _log_sum(values: Sequence[float]) -> float:
    most = max(values)
    return most + math.log(math.fsum(math.exp(value - most) for value in values)) if math.isfinite(most) else most


def _write_table(path: Path, choices: Sequence[ScoredChoice]) -> None:
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow([field.name for field in fields(ScoredChoice)])
    for choice in choices:
        writer.writerow([str(value).lower() if isinstance(value, bool) else value for value in asdict(choice).values()])
    write_whole(path, table.getvalue().encode())


def _read_info(path: Path) -> dict[str, Any] | None:
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise SpanLabError(
            f"{path} cannot be read ({getattr(error, 'strerror', None) or error}): give another folder with -o"
        ) from None
    return as_object(info)


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()[:40]
