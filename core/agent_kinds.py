"""Every kind of agent in one table: what it is, whether it was handed the answers, and how lists
and figures show it.

Colours follow Okabe & Ito (2008, "Color Universal Design"), darkened or lightened to stay legible
as thin lines on white and on black. Nothing is told by colour alone: people are thick and solid,
oracles are dashed, published people are hollow diamonds, guessing is grey.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from .doors import entry_points_of
from .registry import nearest

#: The entry-point group of agents in other packages.
AGENT_GROUP = "spanlab.agents"

#: What a kind is there for. ``person`` and ``stand-in`` (a simulated person) sit at a window; a
#: ``model`` is what a study is about; a ``script`` answers in place of a model; a ``replay`` gives
#: recorded answers again; a ``yardstick`` is there to compare with; ``print`` are means read off
#: print.
Role = Literal["person", "stand-in", "model", "script", "replay", "yardstick", "print"]

_SOLID, _DASHED, _DOTTED = (1, 0), (6, 3), (2, 2)


@dataclass(frozen=True, slots=True)
class Mark:
    """The style in which figures draw a kind of agent.

    Parameters
    ----------
    light, dark : colours on white and on black, one for each agent of the kind
    dash : lengths of strokes and gaps in px; ``(1, 0)`` is solid
    width : of a line in px
    shape : of its points, as Vega names them
    size : area of its points in px²
    """

    light: tuple[str, ...] = ("#555555",)
    dark: tuple[str, ...] = ("#bbbbbb",)
    dash: tuple[int, int] = _SOLID
    width: float = 1.6
    shape: str = "square"
    size: int = 40


@dataclass(frozen=True, slots=True)
class AgentKind:
    """A kind of agent.

    Parameters
    ----------
    name : in records (``agent_kind``), and before the colon where an agent is named
    help : who it is, in a line of help
    role : what it is there for
    oracle : whether its episodes are handed the truth; every record and figure says so
    label : what it is, in two or three words of a report; its name when empty
    order : its place in lists; kinds that say nothing come last
    reads : whether it reads how questions are put, so that records keep these sentences
    converses : whether its sessions are conversations, which records keep
    mark : how figures draw it
    """

    name: str
    help: str = ""
    role: Role = "model"
    oracle: bool = False
    label: str = ""
    order: int = 10
    reads: bool = False
    converses: bool = False
    mark: Mark = Mark()

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            near = nearest(self.role, get_args(Role)) or "."
            raise ValueError(
                f"the role of the kind '{self.name}' is {self.role!r}{near} Roles are {', '.join(get_args(Role))}"
            )

    @property
    def at_window(self) -> bool:
        """True if it sits at a window: it gets every step, also those that only people get, and is
        given practice and pages of text."""
        return self.role in ("person", "stand-in")

    @property
    def person(self) -> bool:
        """True if it is a person."""
        return self.role == "person"

    @property
    def yardstick(self) -> bool:
        """True if it is there to compare with, and competes with nobody: it enters no test, no
        family of tests, and stretches no axis."""
        return self.role in ("stand-in", "yardstick")

    @property
    def competes(self) -> bool:
        """True if it is what a study is about: neither a yardstick nor a script."""
        return not self.yardstick and self.role != "script"

    @property
    def described(self) -> str:
        """A description in two or three words."""
        return self.label or self.name


_KNOWS = "simulated, knows the answers"
_GREEN = ("#00805c", "#3fae8c", "#00543d"), ("#37e0b0", "#98ecd3", "#17a97f")

CHANCE = AgentKind(
    name="chance",
    help="guesses",
    role="yardstick",
    label="random guesses",
    order=9,
    mark=Mark(("#8a8a8a", "#a9a9a9"), ("#858585", "#6c6c6c"), _SOLID, 1.4, "cross", 34),
)
IDEAL = AgentKind(
    name="ideal",
    help="oracle: remembers everything",
    role="yardstick",
    oracle=True,
    label=_KNOWS,
    order=8,
    mark=Mark(("#5d5a88", "#8d8ab5"), ("#b3b0e0", "#8885bb"), _DASHED, 1.6, "triangle-down", 44),
)
CAPACITY = AgentKind(
    name="capacity",
    help="oracle: a limited buffer with decay; capacity:PLACES sets its size",
    role="yardstick",
    oracle=True,
    label=_KNOWS,
    order=7,
    mark=Mark(("#d8bf86", "#e6d4a8"), ("#7d682f", "#63542b"), _DASHED, 1.4, "triangle-right", 38),
)
PRECISION = AgentKind(
    *(
        "precision",
        "oracle: everything, with limited precision; precision:SD sets it, in degrees of a circle",
        "yardstick",
        True,
        _KNOWS,
    ),
    order=7,
    mark=Mark(("#9a86c2", "#c3b5de"), ("#8f79bd", "#6c5a94"), _DASHED, 1.4, "triangle-left", 38),
)
SIMULATED = AgentKind(
    name="simulated",
    help="oracle: presses real keys and clicks in the real window; simulated:OBSERVER",
    role="stand-in",
    oracle=True,
    label=_KNOWS,
    order=6,
    reads=True,
    mark=Mark(("#b5488c", "#d68fb8"), ("#ec97c8", "#bf6d9b"), _DASHED, 2.0, "triangle-left", 48),
)
RECORDED = AgentKind(
    name="recorded",
    help="repeats the answers of a recorded session: recorded:SESSION",
    role="replay",
    label="replay of a recorded session",
    order=5,
    mark=Mark(("#6b705c", "#969b87"), ("#b7bca5", "#8d927d"), _SOLID, 1.8, "stroke", 60),
)
PUBLISHED = AgentKind(
    name="published",
    help="a model known only by its published answers",
    role="model",
    label="model, published answers",
    order=4,
    mark=Mark(("#3d6b00", "#79a63c", "#284600"), ("#a5d65f", "#cdeba3", "#7eae3a"), _SOLID, 1.8, "wedge", 60),
)
CHAT = AgentKind(
    name="chat",
    help=("a chat model behind an OpenAI-compatible endpoint: chat:MODEL, or chat:MODEL@PROVIDER (list --providers)"),
    role="model",
    label="chat model",
    order=2,
    reads=True,
    converses=True,
    mark=Mark(*_GREEN, _SOLID, 2.0, "triangle-up", 52),
)
#: a chat model whose server is a script; its sessions say so in their label
SCRIPTED = AgentKind(
    name="scripted",
    help="a scripted server in place of a chat model",
    role="script",
    label="scripted server, not a model",
    order=3,
    mark=Mark(*_GREEN, _DOTTED, 1.8, "triangle-up", 52),
)
NETWORK = AgentKind(
    name="network",
    help=(
        "a trained network: network:laptop ships, network:limited has noise in its memory, network:FILE is a checkpoint"
        " of yours, torch:FILE.py:build one made without SpanLab"
    ),
    role="model",
    label="trained network",
    order=1,
    mark=Mark(("#0069b0", "#4d9fd6", "#00406b"), ("#5cb3f0", "#a3d5f8", "#2e86c4"), _SOLID, 2.0, "square", 42),
)
#: published human data in curve tables, which are means of groups; sessions of the kind
#: ``published`` hold what a model answered, trial by trial
PRINTED = AgentKind(
    name="group means",
    help="published means of groups of people",
    role="print",
    label="published group means",
    mark=Mark(("#2b2b2b", "#6a6a6a"), ("#f2f2f2", "#bdbdbd"), _SOLID, 1.4, "diamond", 56),
)
PARTICIPANT = AgentKind(
    name="participant",
    help="a person at the window",
    role="person",
    label="person",
    order=0,
    reads=True,
    mark=Mark(("#c84a00", "#e58a4f"), ("#ff8c42", "#ffb98a"), _SOLID, 3.2, "circle", 66),
)

#: All kinds that SpanLab has, in the order in which figures draw them: later ones lie on top.
KINDS = (
    CHANCE,
    IDEAL,
    CAPACITY,
    PRECISION,
    SIMULATED,
    RECORDED,
    PUBLISHED,
    CHAT,
    SCRIPTED,
    NETWORK,
    PRINTED,
    PARTICIPANT,
)
_BY_NAME = {kind.name: kind for kind in KINDS}
#: Those that records have, in the order of lists.
RECORDED_KINDS = tuple(
    sorted((kind for kind in KINDS if kind.role not in ("script", "print")), key=lambda kind: kind.order)
)


def kind_named(name: str) -> AgentKind:
    """The kind that a record names. One of another package looks as that package says, where it is
    installed, and else like any model."""
    return _BY_NAME.get(name) or _installed(name) or AgentKind(name)


@cache
def _installed(name: str) -> AgentKind | None:
    """The kind of an agent from another package; None where there is none, or the package cannot be
    loaded."""
    for point in entry_points_of(AGENT_GROUP):
        try:
            kind = point.load().kind
        except Exception:
            continue  # whoever asks for the agent itself is told
        if isinstance(kind, AgentKind) and kind.name == name:
            return kind
    return None
