"""Sessions with people at the screen, and sessions of anybody that go on."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer
from typing_extensions import Doc, Unpack

from ..core.errors import SpanLabError
from .machines import GivenInPython, SessionResult, Taker, care_given, made_in_python, prices_of, refuse_options
from .options import (
    DataOption,
    DesignOption,
    GeneratorOption,
    LevelsOption,
    PathLike,
    TrialsOption,
    TriggersOption,
    Words,
    as_lists,
    leave_out,
    parse_generator,
    part,
    public,
    watcher,
    window_options,
    words,
)
from .studies import VisitOptions, decide, parse_fields, resume_visit, run_study, unfinished

if TYPE_CHECKING:
    from ..agents.base import Agent


class Looks(TypedDict, total=False):
    """How the window looks."""

    palette: Annotated[
        str,
        typer.Option(
            "--palette",
            help="colours of the stimuli for people: safe (also for those who cannot tell red from green) or published",
        ),
    ]


class Answering(TypedDict, total=False):
    """By which keys somebody answers."""

    keys: Annotated[
        str,
        typer.Option(
            "--keys",
            help=(
                "keys for questions with two words: standard, swapped (they change sides) or counterbalanced (swapped"
                " for every other participant)"
            ),
        ),
    ]
    key: Annotated[
        Words,
        typer.Option("--key", help="another key for an answer, such as same=s; may be repeated", metavar="ANSWER=KEY"),
    ]


class AtWindow(TypedDict, total=False):
    """How somebody sits at the window, and what it sends."""

    windowed: Annotated[bool, typer.Option("--windowed", help="use a window instead of the full screen")]
    screen: Annotated[
        int | None,
        typer.Option(
            "--screen",
            help="number of the screen on which the window opens, from 0; by default 0, or that of the display file",
            min=0,
            max=99,
        ),
    ]
    width_cm: Annotated[
        float | None,
        typer.Option("--screen-width", help="visible width of the screen in cm, for sizes in degrees", min=1, max=1000),
    ]
    distance_cm: Annotated[
        float | None,
        typer.Option(
            "--distance", help="distance from the eyes to the screen in cm; 57 when not given", min=1, max=1000
        ),
    ]
    display: Annotated[
        PathLike | None,
        typer.Option(
            "--display", help="display file made by spanlab display, instead of width and distance", metavar="FILE"
        ),
    ]
    canvas: Annotated[
        float | None,
        typer.Option(
            "--canvas",
            help=(
                "width of the canvas in degrees of visual angle; by default 10 on a measured screen, else as large as"
                " the screen allows"
            ),
            min=0.1,
            max=90,
        ),
    ]
    patch: Annotated[
        str | None,
        typer.Option(
            "--patch",
            help=("show a square for a photodiode, white on the first frame of displays: upper-left:2 (cm)"),
            metavar="PATCH",
        ),
    ]
    font: Annotated[
        PathLike | None,
        typer.Option("--font", help="font file for letters that the shipped typeface lacks", metavar="FILE"),
    ]
    triggers: TriggersOption
    buttons: Annotated[
        str,
        typer.Option(
            "--buttons",
            help="button box: keys:1+2 (a box that types keys) or serial:PORT[@BAUD]",
            metavar="BOX",
        ),
    ]


class RunOptions(AtWindow, Looks, Answering, VisitOptions, total=False):
    """How somebody sits at the window, and which session of a study it is."""

    say: Annotated[
        Callable[[str], None] | None, Doc("takes the sentences that the command prints on stderr, in their place")
    ]


@public
def run(
    paradigm: Annotated[
        str,
        typer.Argument(
            help="name in the library (spanlab list), or a YAML file: a paradigm or a study",
            metavar="PARADIGM_OR_STUDY",
        ),
    ],
    participant: Annotated[str, typer.Option("--participant", help="identifier of the person")] = "",
    *,
    levels: LevelsOption = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="seed of the session; drawn at random by default", min=0),
    ] = None,
    trials: TrialsOption = None,
    design: DesignOption = None,
    data: DataOption = "data",
    generator: GeneratorOption = None,
    language: Annotated[
        str,
        typer.Option("--language", help="language of the instructions; by default en, or the study's first language"),
    ] = "",
    practice: Annotated[bool, typer.Option("--practice/--no-practice", help="begin with practice")] = True,
    pilot: Annotated[bool, typer.Option("--pilot", help="mark the data as pilot data")] = False,
    simulate: Annotated[
        str | None,
        typer.Option(
            "--simulate",
            help=(
                "let a simulated participant take it: ideal, capacity[:PLACES], precision[:SD] or chance, and how many"
                " times as fast as a person: capacity:5@8"
            ),
            metavar="OBSERVER[@SPEED]",
        ),
    ] = None,
    **options: Unpack[RunOptions],
) -> SessionResult:
    """Run a session with a person at the screen: one paradigm, or a session of a study.

    Raises
    ------
    SpanLabError
        when there is no display, for what is unknown or impossible, and when something has stopped
        the session; :func:`resume` goes on.

    Examples
    --------
    A simulated participant presses real keys in the window, in place of a person:

    >>> result = spanlab.run("cd", simulate="capacity@20", trials=2, seed=1, practice=False, windowed=True)
    >>> result.info["agent"], result.responses["trial"].nunique()
    ('simulated:capacity', 2)
    """
    from ..paradigms import load_paradigm
    from ..sessions.key_mapping import key_setting
    from ..sessions.people import Seat, begin_with_somebody, plan_for_somebody
    from ..sessions.run import carry_out
    from ..sessions.studies.study import is_study
    from ..sessions.studies.visit import VisitRequest

    window: dict[str, Any] = {
        **window_options(options),
        "triggers": options.get("triggers") or "",
        "buttons": options.get("buttons", ""),
        **part(options, Looks),
    }
    if (font := options.get("font")) is not None:
        window["font"] = str(font)
    if is_study(paradigm):
        of_paradigms = {"levels": levels, "seed": seed, "trials": trials, "design": design, "generator": generator}
        of_paradigms |= {"no_practice": not practice, **part(options, Answering)}
        leave_out(of_paradigms, "the study file says that")
        kind = "pilot" if pilot else "person"
        request = VisitRequest(
            participant=participant,
            session=options.get("session", ""),
            number=options.get("number", ""),
            fields=parse_fields(words(options.get("field", ()))),
            existing=options.get("existing", ""),
            language=language,
            kind=kind if simulate is None else "simulated",
        )
        seat = Seat(participant, window, simulate)
        said = run_study(paradigm, Path(data), request, seat, dialog=options.get("dialog", True))
        return SessionResult(Path(data), told=said)
    load_paradigm(paradigm)  # whether there is one is told before who takes part is asked
    leave_out(dict.fromkeys(part(options, VisitOptions), True), f"{paradigm} is not a study file")
    watching = watcher(options.get("say"))
    seat = Seat(participant.strip(), {"palette": "safe", **window}, simulate)
    chosen_levels = as_lists(levels)
    chosen = plan_for_somebody(
        Path(data),
        paradigm,
        seat.who(),
        seed=seed,
        levels=chosen_levels,
        trials=trials,
        design=design,
        generator=None if generator is None else parse_generator(generator),
    )
    begun, agent = begin_with_somebody(
        Path(data),
        chosen,
        seat,
        say=watching.say,
        levels=chosen_levels,
        language=language or "en",
        practice=practice,
        pilot=pilot,
        keys=key_setting(options.get("keys", "standard"), words(options.get("key", ()))),
    )
    return SessionResult(begun.folder, carry_out(begun, agent, watching))


@public
def resume(
    session: Annotated[
        PathLike,
        typer.Argument(
            help="an unfinished session, a session of a study, or a folder that contains one",
            metavar="FOLDER",
        ),
    ],
    *,
    skip: Annotated[str, typer.Option("--skip", help="studies: skip the rest of this paradigm", metavar="NAME")] = "",
    repeat: Annotated[
        str,
        typer.Option(
            "--repeat", help="studies: repeat this paradigm; its earlier data are kept, and set aside", metavar="NAME"
        ),
    ] = "",
    reason: Annotated[
        str, typer.Option("--reason", help="why it is skipped or repeated, for the record", metavar="TEXT")
    ] = "",
    triggers: TriggersOption = None,
    agent: Annotated[
        Taker | None,
        typer.Option(
            "--agent",
            help="the network of your own that began it (torch:FILE.py:build): your code runs only if you name it",
            metavar="SPEC",
        ),
    ] = None,
    screen: Annotated[
        int | None,
        typer.Option(
            "--screen",
            help="people: number of the screen on which the window opens, from 0; by default the one on which it began",
            min=0,
            max=99,
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="chat agents: ask again for trials that failed")
    ] = False,
    **options: Unpack[GivenInPython],
) -> SessionResult:
    """Continue whatever was interrupted, with its next trial and its own settings: a session with a
    person or a machine, or a session of a study.

    Raises
    ------
    SpanLabError
        when it cannot go on, and when something has stopped it again.

    Examples
    --------
    >>> result = spanlab.replay("vsr", agent="chance", trials=4)
    >>> spanlab.resume(result.folder) == result
    True
    """
    from ..sessions import reopen
    from ..sessions.record.reader import has_failed
    from ..sessions.run import agent_again, carry_out, make_machine
    from ..sessions.session import complete

    folder = place = Path(session)
    if skip or repeat:
        decide(folder, skip, repeat, reason)
    elif reason:
        raise SpanLabError("goes with {skip} or {repeat}", option="reason", names=["skip", "repeat"])
    if not (folder / "session.json").exists():
        if (visits := unfinished(folder)) is not None:
            if not visits:
                return SessionResult(folder, told=(f"nothing to do: every session of the study in {folder} is over",))
            window = {"triggers": triggers or "", **({} if screen is None else {"screen": screen})}
            return SessionResult(folder, told=resume_visit(_only(visits, folder), window))
        folder = _only_unfinished(place)
    over = complete(folder)
    failed = over and has_failed(folder)
    if over and not (failed and retry_failed):
        of_others = f"trials of {folder} failed, and all others are finished; retry-failed tries them again"
        _tell_rest(folder)
        said = f"nothing to do: {of_others if failed else f'every trial of {place} is finished'}"
        return SessionResult(folder, told=(said,))
    opened = reopen(folder)
    if triggers and "triggers" not in opened.info:
        why = f"{folder} began without trigger codes: leave out {{triggers}}, or begin a new session"
        raise SpanLabError(why, names=["triggers"])
    spec, before = opened.info["agent"], opened.info.get("care")
    given: Agent | None = None
    watching = watcher(options.get("say"))
    if isinstance(agent, str) and agent != spec:
        raise SpanLabError(f"{folder} was begun by {spec}; leave out {{agent}}, or give that", names=["agent"])
    if isinstance(agent, str) and not agent.startswith("torch:"):
        agent = None
    if isinstance(agent, str):
        given = make_machine(agent, opened.seed, trials=opened, typed=True)
    elif agent is not None:
        given = made_in_python(agent, opened, options)
    else:
        refuse_options({**options, "retry_failed": retry_failed}, [spec])
    values = {"care": care_given(options, before), "price": prices_of(options.get("price"), [spec]).get(spec)}
    opened, taker = agent_again(opened, values, watching.say, triggers or "", screen, given=given)
    own = given is not None and not isinstance(agent, str)
    span = carry_out(opened, taker, watching, fresh=False, retry_failed=retry_failed, given=own)
    _tell_rest(folder)
    return SessionResult(folder, span)


def _only_unfinished(folder: Path) -> Path:
    """The only unfinished session in a folder that is none itself; of finished ones the first with
    failed trials, or else the first; the folder where it has no sessions.

    Raises
    ------
    SpanLabError
        where several are unfinished, with the command for each.
    """
    from ..sessions.record.reader import find_sessions, has_failed
    from ..sessions.session import complete

    try:
        inside = find_sessions([folder])
    except SpanLabError:
        return folder
    left = [session for session in inside if not complete(session)]
    return _only(left, folder) if left else next(filter(has_failed, inside), inside[0])


def _only(left: Sequence[Path], folder: Path) -> Path:
    """The unfinished session of a folder.

    Raises
    ------
    SpanLabError
        where there are several, with the command for each.
    """
    if len(left) > 1:
        commands = [f"spanlab resume {shlex.quote(str(one))}" for one in left]
        several = f"{folder} has several unfinished sessions; continue each with its own command:"
        raise SpanLabError("\n".join([several, *commands]))
    return left[0]


def _tell_rest(session: Path) -> None:
    """Of a session of a study: what goes on with the paradigms that are left."""
    for visit in unfinished(session.resolve().parent) or []:
        again = f"spanlab resume {shlex.quote(str(visit))}"
        print(f"spanlab: it belongs to a session of a study; continue that with: {again}", file=sys.stderr)
