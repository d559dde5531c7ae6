"""A look at any page of a study, under any condition, without taking part: nothing of it is kept."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from typing_extensions import override

from spanlab.agents import Option, PageContent, Response, TrialContext, WindowEpisode
from spanlab.core import SpanLabError
from spanlab.core.locale import sentence
from spanlab.paradigms import Percept, Truth
from spanlab.sessions.studies import Study

from ..participant.agent import BrowserEpisode, BrowserParticipant
from ..participant.channel import Channel
from ..participant.frames import FrameStore
from ..participant.screen import PageScreen
from .offers import End, Host, Looks, ParadigmOffer, StudyOffer

#: The pages at which a preview may begin, in their order.
PreviewPage = Literal["consent", "instructions", "trial", "break", "debrief"]
PAGES: tuple[PreviewPage, ...] = get_args(PreviewPage)
_BY_NAME: Mapping[str, PreviewPage] = {page: page for page in PAGES}
#: parameters of the link to a preview
WISHES = ("preview", "page", "paradigm", "group", "set", "language", "ending")


class SkippedEpisode(WindowEpisode):
    """A trial that nobody sees."""

    @override
    def expect(self, steps: Sequence[Sequence[Percept]]) -> None:
        """Nothing is shown."""

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        """Nothing is answered."""
        return None if percept.ask is None else Response(None, None, {}, "omitted", {})


class PreviewParticipant(BrowserParticipant):
    """Somebody who looks at a study from a page of it on; what comes before is skipped.

    Parameters
    ----------
    since : the first page that is shown
    others : as for :class:`BrowserParticipant`
    """

    def __init__(
        self, channel: Channel, frames: FrameStore, screen: Callable[[], PageScreen], looks: Looks, since: PreviewPage
    ) -> None:
        super().__init__(channel, frames, screen, looks.theme, looks.palette, looks.refractory)
        self._since: PreviewPage = since

    def _shows(self, page: PreviewPage) -> bool:
        """Return whether the preview has come to a page; from then on everything is shown."""
        if PAGES.index(page) >= PAGES.index(self._since):
            self._since = PAGES[0]
            return True
        return False

    @override
    def page(self, page: PageContent) -> None:
        titles: dict[str, PreviewPage] = {
            sentence("study.break", self.language): "break",
            sentence("study.thanks", self.language): "debrief",
        }
        if self._shows(titles.get(page.title, "instructions")):
            super().page(page)

    @override
    def choose(self, title: str, text: str, options: Sequence[Option], *, usual: str, clicks: bool = True) -> str:
        page: PreviewPage = "consent" if title == sentence("study.consent", self.language) else "instructions"
        return super().choose(title, text, options, usual=usual, clicks=clicks) if self._shows(page) else usual

    @override
    def start(self, context: TrialContext) -> BrowserEpisode:
        if self._shows("trial"):
            return super().start(context)
        return SkippedEpisode()  # type: ignore[return-value]


def wished_study(study: Study, wishes: Mapping[str, str]) -> Study:
    """The study as somebody wants to see it: a group, a paradigm, levels and a language.

    Raises
    ------
    SpanLabError
        for what the study does not have.
    """
    group = wishes.get("group", "")
    seen = study.of_group(group or study.groups[0].name) if study.groups else study.of_group(group)
    if name := wishes.get("paradigm", ""):
        numbers = [number for number, one in enumerate(seen.paradigms) if one.name == name]
        if not numbers:
            raise SpanLabError(
                f"{study.name} has no paradigm '{name}'; it has {', '.join(one.name for one in seen.paradigms)}"
            )
        seen = replace(seen, sessions=((numbers[0],),))
    if chosen := wishes.get("set", ""):
        levels = dict(_level(part) for part in chosen.split(","))
        seen = replace(
            seen,
            paradigms=tuple(
                replace(one, entry=one.entry.model_copy(update={"set_": _set(one, levels)})) for one in seen.paradigms
            ),
        )
    if (language := wishes.get("language", "")) and language not in study.languages:
        raise SpanLabError(f"{study.name} has no '{language}'; its languages are {', '.join(study.languages)}")
    return replace(
        seen,
        groups=(),
        people=None,
        languages=(language,) if language else study.languages[:1],
        sessions=seen.sessions[:1],
    )


def _level(part: str) -> tuple[str, Any]:
    name, _, value = part.partition(":")
    return name.strip(), int(value) if value.strip().lstrip("-").isdigit() else value.strip()


def _set(one: Any, levels: Mapping[str, Any]) -> dict[str, Any]:
    """The levels of a paradigm, with those that were wished for and that it has.

    Raises
    ------
    SpanLabError
        for a level that a factor does not have.
    """
    wished = {name: level for name, level in levels.items() if name in one.paradigm.factors}
    for name, level in wished.items():
        one.paradigm.level(name, level)
    return {**one.entry.set_, **wished}


def preview(
    offer: Any, wishes: Mapping[str, str], host: Host, seat: Callable[[Looks, PreviewPage], PreviewParticipant]
) -> End:
    """Lead somebody through the pages of an offer, from the wished one on, in a folder that is
    removed.

    Raises
    ------
    SpanLabError
        for what there is not.
    """
    wished = wishes.get("page", PAGES[0])
    since = _BY_NAME.get(wished)
    if since is None:
        raise SpanLabError(f"a preview begins at {', '.join(PAGES)}; found '{wished}'")
    with tempfile.TemporaryDirectory(prefix="spanlab-preview-", ignore_cleanup_errors=True) as folder:
        data = Path(folder)
        if isinstance(offer, ParadigmOffer):
            seen: ParadigmOffer | StudyOffer = replace(offer, data=data)
        else:
            study = wished_study(offer.study, wishes)
            seen = StudyOffer(study, data, "pilot")
            if ending := wishes.get("ending", ""):
                return seen.preview_of_ending(ending)
        return seen.take("preview", "", PreviewHost(host, seat, since))


class PreviewHost:
    """The host of a visit, but for the record: there is none.

    Parameters
    ----------
    host : of the visit
    seat : makes somebody who looks, from a page on
    """

    def __init__(
        self, host: Host, seat: Callable[[Looks, PreviewPage], PreviewParticipant], since: PreviewPage
    ) -> None:
        self._host, self._seat = host, seat
        self._since: PreviewPage = since
        self.link: Mapping[str, str] = {}

    @property
    def screen(self) -> PageScreen:
        """That of the page."""
        return self._host.screen

    def seat(self, looks: Looks, language: str) -> PreviewParticipant:
        """Somebody who looks."""
        return self._seat(looks, self._since)

    def ask(self, title: str, questions: Any, wrong: Mapping[str, str]) -> Mapping[str, str]:
        """Return what is typed."""
        return self._host.ask(title, questions, wrong)

    def recorded_in(self, folder: Path) -> None:
        """Nothing is kept."""

    def turned_away(self) -> None:
        """A preview takes no place."""

    def calibrate(self, what: Sequence[str], canvas_deg: float | None, language: str) -> None:
        """As in a visit, where the preview begins at the beginning."""
        if self._since == PAGES[0]:
            self._host.calibrate(what, canvas_deg, language)
