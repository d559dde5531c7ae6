"""The key ``online`` of a study file: how people at home come to the study, what their computers
need, and how visits end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, get_args
from urllib.parse import quote

from pydantic import Field, model_validator

from ...core.registry import StrictModel

_Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
_Address = Annotated[str, Field(pattern=r"^https?://[^\s\"'<>]+$", max_length=500)]
_Parameter = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$")]
#: How a visit may end.
EndingName = Literal["completed", "no_consent", "screened_out", "failed_check", "time_out", "full"]
#: What a placeholder may stand for besides parameters of the link.
_OWN_PLACEHOLDERS = ("participant", "code")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class Ending(StrictModel):
    """The end of a visit, as its participant sees it."""

    code: _Code | None = Field(default=None, description="code that is shown")
    redirect: _Address | None = Field(
        default=None,
        description=(
            "address to which the participant is sent; {participant}, {code} and the parameters under keep are replaced"
            " by their values"
        ),
    )

    post: bool = Field(
        default=False,
        description=(
            "whether the redirect is sent as a form (POST), as MTurk needs it; what follows its question mark becomes"
            " fields"
        ),
    )

    def filled(self, participant: str, link: Mapping[str, str]) -> tuple[str, str]:
        """The code and the address for a participant, empty where there is none.

        Parameters
        ----------
        link : parameters of the link that are kept
        """
        values = {**link, "participant": participant, "code": self.code or ""}
        return self.code or "", _PLACEHOLDER.sub(
            lambda match: quote(values.get(match[1], ""), safe=""), self.redirect or ""
        )


class Endings(StrictModel):
    """The ways in which visits end, each with a code and an address of its own."""

    completed: Ending | None = Field(
        default=None, description="the session is finished; the same as code and redirect above"
    )
    no_consent: Ending | None = Field(default=None, description="the participant does not agree to take part")
    screened_out: Ending | None = Field(default=None, description="the computer does not have what the study requires")
    failed_check: Ending | None = Field(
        default=None, description="a quiz was not passed, or too many trials had to be replaced"
    )
    time_out: Ending | None = Field(default=None, description="nothing has happened at the page for drop_out_minutes")
    full: Ending | None = Field(default=None, description="there is no place left; the same as full above")


class Requirements(StrictModel):
    """Requirements on a participant's computer. It is checked before anything is asked, and before
    a place is taken."""

    hz: Annotated[float, Field(ge=5, le=500)] | None = Field(
        default=None, description="minimum refresh rate of the screen"
    )
    width_px: Annotated[int, Field(ge=100, le=10_000)] | None = Field(
        default=None, description="minimum width of the page in CSS pixels"
    )
    height_px: Annotated[int, Field(ge=100, le=10_000)] | None = Field(
        default=None, description="minimum height of the page in CSS pixels"
    )
    browsers: (
        Annotated[list[Literal["chrome", "edge", "firefox", "safari", "opera", "samsung"]], Field(min_length=1)] | None
    ) = Field(default=None, description="only these browsers: chrome, edge, firefox, safari, opera or samsung")
    fullscreen: bool = Field(default=False, description="whether the page must fill the screen")
    phones: Literal["allowed", "refused"] | None = Field(
        default=None, description="whether participants may use a phone; the same as phones above"
    )


class Online(StrictModel):
    """Settings of taking part in a browser (spanlab serve)."""

    code: _Code | None = Field(default=None, description="completion code, shown at the end of a session")
    redirect: _Address | None = Field(
        default=None, description="address to which participants are sent at the end of a session"
    )
    full: Ending | None = Field(default=None, description="code and redirect for somebody for whom there is no place")
    endings: Endings = Field(
        default_factory=Endings, description="how visits end, each with a code and a redirect of its own"
    )
    identifier: _Parameter | None = Field(
        default=None,
        description=(
            "parameter of the link that says who takes part, such as PROLIFIC_PID; participant or PROLIFIC_PID if not"
            " given"
        ),
    )
    keep: Annotated[list[_Parameter], Field(max_length=20)] = Field(
        default=[], description="further parameters of the link that are recorded"
    )
    admission: Literal["open", "links", "list"] = Field(
        default="open",
        description=(
            "open: whoever has the address; links: signed links (spanlab study links); list: the identifiers of the"
            " file under allow"
        ),
    )
    allow: str | None = Field(
        default=None, description="file (relative to the study file) with one identifier in a line, for admission: list"
    )
    require: Requirements = Field(default_factory=Requirements, description="what a participant's computer needs")
    calibrate: list[Literal["card", "distance"]] = Field(
        default=[],
        description=(
            "card: measure the screen with a bank card; distance: measure the distance of the eyes by the blind spot"
        ),
    )
    canvas_deg: Annotated[float, Field(gt=0, le=60)] | None = Field(
        default=None,
        description=(
            "width of the canvas in degrees of visual angle, where the screen fits it; needs calibrate: [card,"
            " distance]"
        ),
    )
    most_replacements: Annotated[int, Field(ge=0, le=10_000)] | None = Field(
        default=None, description="largest number of trials of a session that may be cut off and replaced"
    )
    after_replacements: Literal["flag", "end"] = Field(
        default="flag", description="what happens to a session with more of them: it is marked (flag) or ends (end)"
    )
    drop_out_minutes: Annotated[float, Field(ge=1, le=100_000)] | None = Field(
        default=None,
        description=(
            "after so many minutes without any activity, an unfinished session counts as a drop-out, and its place"
            " becomes free"
        ),
    )
    phones: Literal["allowed", "refused"] = Field(default="allowed", description="whether participants may use a phone")

    @model_validator(mode="after")
    def _sensible(self) -> Online:
        if (self.admission == "list") != (self.allow is not None):
            raise ValueError("admission: list and allow: FILE go together")
        if "distance" in self.calibrate and "card" not in self.calibrate:
            raise ValueError(
                "calibrate: the distance is measured in centimetres of the screen, so it needs card, too: [card,"
                " distance]"
            )
        if self.canvas_deg is not None and "distance" not in self.calibrate:
            raise ValueError(
                "canvas_deg needs calibrate: [card, distance], because nobody knows the screens of people at home"
                " otherwise"
            )
        if self.endings.completed is not None and (self.code or self.redirect):
            raise ValueError("the end of a session is given twice: leave out code and redirect, or endings > completed")
        if self.endings.full is not None and self.full is not None:
            raise ValueError("the end for somebody without a place is given twice: leave out full, or endings > full")
        known = (*_OWN_PLACEHOLDERS, *self.keep)
        for name in get_args(EndingName):
            for placeholder in _PLACEHOLDER.findall(self.ending(name).redirect or ""):
                if placeholder not in known:
                    raise ValueError(
                        f"a redirect has {{{placeholder}}}, which stands for nothing: there are {', '.join(known)}; add"
                        " it to keep"
                    )
        return self

    def ending(self, name: str) -> Ending:
        """An ending (:data:`EndingName`), as the file has it."""
        listed: Ending | None = getattr(self.endings, name)
        if listed is not None:
            return listed
        if name == "completed":
            return Ending(code=self.code, redirect=self.redirect)
        return self.full or Ending() if name == "full" else Ending()

    @property
    def phones_refused(self) -> bool:
        """True if phones will not do."""
        return "refused" in (self.phones, self.require.phones)
