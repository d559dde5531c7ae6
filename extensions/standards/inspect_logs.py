"""A paradigm as a task of inspect_ai, and sessions as its logs: a log for each session, with
a sample for each trial. Its conversation, its answers and SpanLab's scores are in the sample.

The correct answers are the targets of the samples and stand with the scores, where inspect_ai has
them; no message of a conversation has one that the participant was not given.
"""

from __future__ import annotations

import base64
import importlib
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from spanlab.agents.chat import NO_ANSWER, ChatAgent, ChatSettings, Reply
from spanlab.agents.chat.transport import InspectHook
from spanlab.core import SpanLabError, __version__, as_tuple, grouped, kind_named, need, whole_folder
from spanlab.exchange import Format, Place, Report, Side, counted
from spanlab.paradigms import Generator, PlannedTrial, Trial
from spanlab.sessions import Session, TakenTrial, brief, plan_trials, same_trials, taken_trials, utc_now
from spanlab.sessions.plan import try_out
from spanlab.sessions.practice import items_of
from spanlab.sessions.record import finished_trials, is_practice, read_events, response_rows, trial_key
from spanlab.sessions.replaying import walk
from spanlab.sessions.transcripts import SentMessage, SentPicture, Talk, Transcript

from .conversations import trial_in_words
from .sharing import OTHER, SESSIONS, SharedData, SharedSession, Sharing, gather

if TYPE_CHECKING:
    from spanlab.sessions.trial_log import Judged


#: settings that need the trials before, which a sample of inspect_ai does not have
_OF_SESSIONS = {"practice": "none", "conversation": "trial", "examples": 0}


def inspect_task(
    paradigm: str,
    *,
    trials: int | None = None,
    seed: int = 1,
    levels: Mapping[str, Any] | None = None,
    design: str | None = None,
    generator: Generator = "corrected",
    chat: Mapping[str, Any] | None = None,
) -> Any:
    """A paradigm as an ``inspect_ai.Task``: each sample is a trial, which any model of inspect_ai
    takes step by step; its log holds the scores of the items.

    The right answers are the targets of the samples, for the log, and go to no model.

    Parameters
    ----------
    paradigm : name in the library, or a YAML file
    trials, seed, levels, design, generator : as for :func:`spanlab.replay`
    chat : settings of chat agents; practice, examples and one conversation for a block need a
        session

    Raises
    ------
    SpanLabError
        when inspect_ai is not installed, and for what is unknown or impossible.
    """
    need("inspect", "inspect_ai", "a task of inspect_ai")
    settings = ChatSettings.read(chat or {})
    for name, alone in _OF_SESSIONS.items():
        if settings.model_dump()[name] != alone:
            raise SpanLabError(
                f"inspect_ai takes each trial by itself: leave out {name}, or take a session with --agent"
                " chat:inspect/PROVIDER/MODEL"
            )
    wanted = {
        name: list(value) if isinstance(value, (list, tuple)) else [value] for name, value in (levels or {}).items()
    }
    chosen = plan_trials(paradigm, seed, wanted, trials, design, generator)
    loaded = chosen.paradigm
    by_number = {str(planned.trial): planned for planned in chosen.plan}
    # a model that nobody asks: whether replies to these questions can be read
    request = chosen.request()
    try_out(loaded, ChatAgent("model", settings, hook=InspectHook("mockllm/model")), chosen.plan, request)
    inspect, models, datasets, scorers, solvers = (
        importlib.import_module(f"inspect_ai{name}") for name in ("", ".model", ".dataset", ".scorer", ".solver")
    )

    def compiled(planned: PlannedTrial) -> Trial:
        return planned.compile(loaded, generator)

    @solvers.solver(name="spanlab_trial")
    def take() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            trial = compiled(by_number[str(state.sample_id)])
            agent = ChatAgent(str(state.model), settings, hook=InspectHook(models.get_model()))
            steps = [step for step in trial.steps if step.percept.model_step]
            judged = await walk(agent, brief(agent, loaded, request.language, trial, trial.seed), steps)
            await agent.teardown()
            state.store.set(
                "spanlab",
                {"answers": [_answer(one) for one in judged], "taken_at": utc_now(), "settings": agent.settings()},
            )
            state.output = models.ModelOutput.from_content(
                str(state.model), "\n".join(str(one.response.raw) for one in judged)
            )
            return state

        return solve

    @scorers.scorer(metrics=[scorers.mean(), scorers.stderr()], name="spanlab_items")
    def items() -> Any:
        async def score(state: Any, target: Any) -> Any:
            answers = state.store.get("spanlab")["answers"]
            right = [one for answer in answers for one in items_of(answer["scores"])]
            share = sum(right) / len(right) if right else 0.0
            return scorers.Score(
                value=share, answer="; ".join(answer["said"] for answer in answers), metadata={"answers": answers}
            )

        return score

    samples = []
    for planned in chosen.plan:
        trial = compiled(planned)
        right = [
            step.percept.ask.kind.write(step.truth.answer)
            for step in trial.steps
            if step.percept.ask is not None and step.truth.answer is not None
        ]
        about = {"trial_id": trial.trial_id, "seed": trial.seed, "levels": dict(trial.levels)}
        samples.append(
            datasets.Sample(
                id=str(planned.trial), input=f"{loaded.name}, trial {planned.trial}", target=right, metadata=about
            )
        )
    facts = {
        "paradigm": loaded.name,
        "paradigm_hash": loaded.hash,
        "seed": seed,
        "design": chosen.design,
        "generator": generator,
    }
    return inspect.Task(dataset=samples, solver=take(), scorer=items(), name=f"spanlab_{loaded.name}", metadata=facts)


def _answer(judged: Judged) -> dict[str, Any]:
    """One answer for the log."""
    response = judged.response
    return {
        "said": str(response.raw),
        "value": response.value,
        "outcome": response.outcome,
        "verdict": judged.verdict,
        "scores": list(judged.scores),
    }


#: what SpanLab's scores are called in a log, here as in tasks that inspect_ai runs
SCORER = "spanlab_items"
#: of the columns of the response table those that belong to an answered item
_OF_ITEMS = (
    *(
        "ask",
        "phase",
        "outcome",
        "answer",
        "correct_answer",
        "correct",
        "serial_position",
        "output_position",
        "edit_distance",
        "error",
        "tolerance",
    ),
    *("rt_ms", "feedback_shown", "extraction", "warm_up", "chance", "blind"),
)
_OF_TRIALS = ("trial", "block", "trial_id", "seed", "set_size", "list_length", "started_at")


class InspectLogs(Format[Any, Sharing]):
    """Sessions as logs that inspect_ai reads and its viewer shows."""

    name = "inspect"
    writes = Side(
        "sessions",
        "Sessions as logs of inspect_ai: one log for each session, one sample for each trial.",
        Sharing,
        SESSIONS,
        Place("new folder", "DIR"),
    )

    @override
    def task(self, paradigm: str, **options: Any) -> Any:

        return inspect_task(paradigm, **options)

    @override
    def write(self, sources: Sequence[str], output: Path, options: Sharing, report: Report) -> None:
        need("inspect", "inspect_ai", "a log of inspect_ai")
        data = gather(sources, options, report, output)
        sessions = data.sessions
        if any(is_practice(key) for one in sessions for key in finished_trials(read_events(one.folder))):
            report.note("NOTE practice trials are left out: the samples of a log all count")
        samples = 0
        with whole_folder(output) as folder:
            for number, one in enumerate(sessions, start=1):
                samples += _Log(one, data, options, report).write(folder, number)
        report.done(
            f"{output}: {counted(len(sessions), 'log')}, {counted(samples, 'sample')}; to see them: inspect view"
            f" --log-dir {output}"
        )


class _Log:
    """The log of one session."""

    def __init__(self, shared: SharedSession, data: SharedData, options: Sharing, report: Report) -> None:
        self._shared, self._data, self._options, self._report = shared, data, options, report
        self._participant = data.participant(shared)
        self._model = f"person/sub-{shared.label}" if shared.person else self._participant.agent
        self._logs, self._models, self._scorers = (
            importlib.import_module(f"inspect_ai.{name}") for name in ("log", "model", "scorer")
        )

    def write(self, folder: Path, number: int) -> int:
        """Write the log into a folder, and return how many samples it has."""
        shared, info = self._shared, self._shared.info
        session = same_trials(shared.folder)
        events = read_events(shared.folder)
        transcript = Transcript(shared.folder) if kind_named(info["agent_kind"]).converses else None
        rows = grouped(
            (trial_key(bool(row["practice"]), int(str(row["trial"]))), row)
            for row in self._data.of_session(shared, response_rows(info, events))
        )
        taken = list(taken_trials(session, events))
        samples = [self._sample(session, one, rows.get(one.key, []), transcript) for one in taken]
        created = str(info["created"]) if self._options.dates else utc_now()
        task, identity = f"spanlab_{info['paradigm']}", f"sub{shared.label}run{number}"
        scored = [float(sample.scores[SCORER].value) for sample in samples if sample.scores]
        log = self._logs.EvalLog(
            status="success" if shared.finished else "cancelled",
            eval=self._logs.EvalSpec(
                created=created,
                eval_id=identity,
                run_id=identity,
                task_id=identity,
                task=task,
                task_version=info["paradigm_version"],
                dataset=self._logs.EvalDataset(
                    name=info["paradigm"], samples=len(samples), sample_ids=[one.key for one in taken], shuffled=False
                ),
                model=self._model,
                config=self._logs.EvalConfig(),
                packages={"spanlab": __version__},
                metadata=self._about(),
            ),
            results=self._logs.EvalResults(
                total_samples=len(samples),
                completed_samples=len(samples),
                scores=_results(self._logs, scored, len(samples)),
            ),
            stats=self._logs.EvalStats(),  # no duration: a session may have lain for a night between two trials
            samples=samples,
        )
        stamp = created[:19].replace(":", "-")
        path = folder / f"{stamp}_{task.replace('_', '-')}_{identity}.eval"
        try:
            self._logs.write_eval_log(log, str(path))
        except OSError:
            raise
        except Exception as error:  # whatever another version of inspect_ai makes of it
            raise SpanLabError(
                f"inspect_ai cannot write the log of {shared.folder} ({type(error).__name__}:"
                f" {str(error).splitlines()[0]})"
            ) from None
        return len(samples)

    def _about(self) -> dict[str, Any]:
        info, who = self._shared.info, self._participant
        about = {
            name: info[name]
            for name in ("paradigm", "paradigm_version", "paradigm_hash", "generator", "design", "language")
        }
        about["agent_settings_hash"] = self._shared.settings_hash
        person: dict[str, Any] = {
            "participant_id": f"sub-{who.label}",
            "participant_type": "person" if who.person else "machine",
            "caution": who.caution,
            "session": self._shared.number,
            "study_session": self._shared.visit or None,
            **self._data.fields_of(self._shared),
        }
        conversation = (
            "as it was sent"
            if kind_named(info["agent_kind"]).converses
            else "in words; the participant saw or heard displays, or took them as numbers"
        )
        return {
            **person,
            "agent_kind": who.agent_kind,
            "agent": who.agent,
            **about,
            "conversation": conversation,
            "finished": self._shared.finished,
        }

    def _sample(
        self, session: Session, one: TakenTrial, rows: Sequence[Mapping[str, Any]], transcript: Transcript | None
    ) -> Any:
        models = self._models
        usage: Any = None
        about: dict[str, Any] = {}
        if transcript is not None and one.key in transcript.trials:
            talk = transcript.talk(one.key)
            messages, replies = self._sent(talk)
            usage = _usage(models, replies)
            # within one conversation, earlier trials are samples of their own, and their messages
            # are not repeated here
            about = {"messages_of_earlier_trials": talk.past} if talk.past else {}
            if not any(turn.sent for turn in talk.turns):
                about["conversation"] = "the record has the replies alone: what was sent was not kept"
        else:
            kinds = {
                "system": models.ChatMessageSystem,
                "user": models.ChatMessageUser,
                "assistant": models.ChatMessageAssistant,
            }
            messages = [
                kinds[role](content=text) for role, text in trial_in_words(session, one, self._shared, self._data)
            ]
        for place, message in enumerate(messages):
            message.id = f"{one.key}-{place + 1}"
        first = next((place for place, message in enumerate(messages) if message.role == "assistant"), len(messages))
        last = next((message for message in reversed(messages) if message.role == "assistant"), None)
        asked = [
            (step.percept.ask.kind, step.truth.answer)
            for step in one.trial.steps
            if step.percept.ask is not None and step.percept.model_step
        ]
        head = rows[0] if rows else {}
        about |= {
            name: value
            for name, value in head.items()
            if (name.startswith("factor_") or name in _OF_TRIALS) and value is not None
        }
        return self._logs.EvalSample(
            id=one.key,
            epoch=1,
            input=messages[:first],
            target=[kind.write(answer) for kind, answer in asked if answer is not None],
            messages=messages,
            output=models.ModelOutput.from_message(last) if last is not None else models.ModelOutput(model=self._model),
            scores=self._scores(one, rows),
            model_usage={} if usage is None else {self._model: usage},
            metadata=about,
        )

    def _scores(self, one: TakenTrial, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the share of right answers among the items that count; nothing where there was no
        right answer."""
        counts = [line for line in one.questions if not line["notes"].get("warm_up")]
        right = [correct for line in counts for correct in items_of(line["scores"])]
        if not right:
            return {}
        answers = [self._written(one, place) for place in range(len(one.questions))]
        listed = [
            {
                name: row[name]
                for name in row
                if (name in _OF_ITEMS or name.startswith("record_")) and row[name] not in (None, "")
            }
            for row in rows
        ]
        return {
            SCORER: self._scorers.Score(
                value=sum(right) / len(right), answer="; ".join(answers), metadata={"items": listed}
            )
        }

    def _written(self, one: TakenTrial, place: int) -> str:
        """An answer as text."""
        line = one.questions[place]
        percept = next(percept for percept, recorded in one.steps if recorded is line)
        value = as_tuple(line["value"])
        if value is None or percept.ask is None:
            return NO_ANSWER
        right = all(score["correct"] is not False for score in line["scores"])
        return (
            percept.ask.kind.write(value)
            if right or not self._shared.hides_text(self._options, percept.phase)
            else OTHER
        )

    def _sent(self, talk: Talk) -> tuple[list[Any], list[Reply]]:
        """The messages of a chat model as they were sent, with what it replied."""
        messages: list[Any] = []
        replies: list[Reply] = []
        for turn in talk.turns:
            messages += [self._message(message) for message in turn.sent]
            content: Any = turn.reply.content
            if turn.reply.reasoning:
                content = [
                    self._models.ContentReasoning(reasoning=turn.reply.reasoning),
                    self._models.ContentText(text=turn.reply.content),
                ]
            messages.append(self._models.ChatMessageAssistant(content=content, model=self._model))
            replies.append(turn.reply)
        return messages, replies

    def _message(self, message: SentMessage) -> Any:
        kinds = {"user": self._models.ChatMessageUser, "assistant": self._models.ChatMessageAssistant}
        kind = kinds.get(message.role, self._models.ChatMessageSystem)
        if all(isinstance(part, str) for part in message.parts):
            return kind(content="\n\n".join(str(part) for part in message.parts))
        return kind(content=[self._part(part) for part in message.parts])

    def _part(self, part: str | SentPicture) -> Any:
        if isinstance(part, str):
            return self._models.ContentText(text=part)
        if part.file is None or not part.same:
            return self._models.ContentText(
                text=f"[a picture that cannot be drawn again as it was; in words: {part.words}]"
            )
        return self._models.ContentImage(
            image=f"data:image/png;base64,{base64.b64encode(part.file).decode('ascii')}", detail="auto"
        )


def _usage(models: Any, replies: Sequence[Reply]) -> Any:
    if not any(reply.prompt_tokens or reply.completion_tokens for reply in replies):
        return None
    cached = sum(reply.cached_tokens or 0 for reply in replies)
    prompt, completion = (
        sum(reply.prompt_tokens or 0 for reply in replies),
        sum(reply.completion_tokens or 0 for reply in replies),
    )
    return models.ModelUsage(
        input_tokens=prompt - cached,
        output_tokens=completion,
        total_tokens=prompt + completion,
        input_tokens_cache_read=cached or None,
    )


def _results(logs: Any, scored: Sequence[float], samples: int) -> list[Any]:
    if not scored:
        return []
    stderr = statistics.stdev(scored) / len(scored) ** 0.5 if len(scored) > 1 else 0.0
    metrics = {
        "mean": logs.EvalMetric(name="mean", value=statistics.fmean(scored)),
        "stderr": logs.EvalMetric(name="stderr", value=stderr),
    }
    return [
        logs.EvalScore(
            name=SCORER,
            scorer=SCORER,
            scored_samples=len(scored),
            unscored_samples=samples - len(scored),
            metrics=metrics,
        )
    ]
