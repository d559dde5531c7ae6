"""The pages of the app, and what their buttons do."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from starlette.concurrency import run_in_threadpool
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

import spanlab
from spanlab.analysis.figures import MarkedAnswers
from spanlab.core.kit import page_files
from spanlab.core.locale import sentences
from spanlab.paradigms import Paradigm, load_paradigm
from spanlab.paradigms.language.yaml_source import titled

from . import shown
from .asking import (
    estimate,
    listed_in,
    providers,
    replay_arguments,
    resume_arguments,
    serve_arguments,
    served,
    source_of,
    window_arguments,
)
from .curves import Curves, Theme
from .index import SessionIndex, SessionLine
from .jobs import Job, Jobs, command_of
from .points import trials_of
from .replies import COLUMNS, Replies
from .reports import KINDS, SANDBOX, Report, Reports
from .studies import OF_STUDY, Studies, StudyPages
from .web import NEWEST, MissingError, RefusedError, asked_by, free_port, jobs_as_json, say
from .writing import Writing

#: what the first page leads to: its sentence, and its address
_DOORS = (
    ("take", "/paradigms"),
    ("studies", "/studies"),
    ("look", "/sessions"),
    ("replies", "/replies"),
    ("compare", "/reports"),
)
#: what the page of replies does not show of its table, and what it shows as numbers
_HIDDEN = ("session", "kind")
_NUMBERS = frozenset({"question", "tokens_read", "tokens_written", "cost", "latency_ms"})
#: sessions on a page of the list
_ON_PAGE = 100


class AppPages:
    """The pages.

    Parameters
    ----------
    data : folder of the sessions
    language : of the pages
    file : of a paradigm that is being written, if there is one
    """

    def __init__(self, data: Path, language: str, file: Path | None = None) -> None:
        self.data, self.language = data, language
        self.writing = None if file is None else Writing(file)
        self.index, self.jobs, self.curves = SessionIndex(data), Jobs(data), Curves(data)
        self.reports = Reports(data, self.jobs, self.curves)
        self.replies, self.studies = Replies(self.index, language=language), Studies(self.index, self.jobs)
        self.catalogue = shown.Catalogue(data / ".app" / "networks.json")
        self._texts = {
            key.removeprefix("app."): text for key, text in sentences(language).items() if key.startswith("app.")
        }
        self._files = page_files("spanlab.extensions.app")
        self._environment = jinja2.Environment(
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            loader=jinja2.FunctionLoader(_template),
        )
        self._environment.globals.update(
            signs={"right": "✓", "wrong": "✗", "partly": "½", "unread": "?", "none": "·"},
            writes=file is not None,
            data=str(data),
            shell=command_of,
            library=frozenset(spanlab.list_paradigms()),
        )
        self._environment.filters.update(
            here=_here,
            path=lambda text: quote(str(text), safe="/"),
            source=shown.as_source,
            say=lambda word: say(word, language),
            titled=lambda titles: titled(titles, language),
        )

    def routes(self) -> list[Route]:
        """All addresses."""
        return [
            Route("/", self.home),
            Route("/paradigms", self.wall),
            Route("/paradigms/{name}", self.paradigm),
            Route("/paradigms/{name}/thumbnail.png", self.thumbnail),
            Route("/paradigms/{name}/play", self.play),
            Route("/paradigms/{name}/live", self.live),
            Route("/paradigms/{name}/{figure}.svg", self.figure),
            Route("/paradigms/{name}/points", self.points),
            Route("/sessions", self.sessions),
            Route("/sessions/{path:folder}/trials/{key}", self.trial),
            *([] if self.writing is None else self._of_writing(self.writing)),
            *StudyPages(self.studies, self._page).routes(),
            Route("/replies", self.all_replies),
            Route("/replies/state", self.replies_state),
            Route("/replies/data/table", self.replies_table),
            Route("/replies/data/{path:folder}/{key}", self.conversation),
            Route("/reports", self.all_reports),
            Route("/reports/{name}", self.report),
            Route("/reports/{name}/page", self.report_page),
            Route("/reports/{name}/state", self.report_state),
            Route("/reports/{name}/points", self.report_points),
            Route("/reports/{name}/files/{path:path}", self.report_file),
            Route("/page/{file}", self.file),
            Route("/jobs/estimate", self.estimate, methods=["POST"]),
            Route("/jobs/{kind}", self.start, methods=["POST"]),
            Route("/jobs/{name}/stop", self.stop, methods=["POST"]),
        ]

    def _of_writing(self, writing: Writing) -> list[Route]:
        """The addresses of a paradigm that is being written."""

        async def page(request: Request) -> Response:
            return self._page("writing.html", file=writing.file)

        async def state(request: Request) -> Response:
            return JSONResponse({"state": await run_in_threadpool(writing.state)})

        async def faults(request: Request) -> Response:
            return JSONResponse(await run_in_threadpool(writing.faults))

        async def trial(request: Request) -> Response:
            return JSONResponse(await run_in_threadpool(writing.trial, _levels(request), _number(request)))

        return [
            Route("/writing", page),
            Route("/writing/state", state),
            Route("/writing/faults", faults),
            Route("/writing/trial", trial),
        ]

    def look_ahead(self) -> None:
        """Read what takes longest, before anybody asks for it."""
        self.index.lines()
        self.catalogue.cards()

    # -- pages -------------------------------------------------------------------------------------

    async def home(self, request: Request) -> Response:
        """The doors to all else, what was done last, and what is running."""
        lines = await run_in_threadpool(self.index.lines)
        return self._page(
            "home.html",
            doors=_DOORS,
            lines=lines[:NEWEST],
            count=len(lines),
            jobs=[job for job in await run_in_threadpool(self.jobs.all) if job.state == "runs"],
            unread=await self._unread(jobs=True),
        )

    async def wall(self, request: Request) -> Response:
        """All paradigms."""
        cards = await run_in_threadpool(self.catalogue.cards)
        return self._page(
            "wall.html",
            cards=cards,
            kinds={
                kind: sorted({name for card in cards for name in getattr(card, kind)})
                for kind in ("domains", "functions")
            },
        )

    async def paradigm(self, request: Request) -> Response:
        """One paradigm: play it, take it, let others take it, see the curves."""
        paradigm = await self._paradigm(request)
        return self._page(
            "paradigm.html",
            card=await run_in_threadpool(self.catalogue.card, paradigm),
            factors=shown.factors(paradigm),
            observers=_OBSERVERS,
            data=str(self.data),
            providers=[one["name"] for one in await run_in_threadpool(providers)],
        )

    async def sessions(self, request: Request) -> Response:
        """Everything recorded."""
        wanted, paradigm = request.query_params.get("search", "").strip(), request.query_params.get("paradigm", "")
        lines = _searched(await run_in_threadpool(self.index.lines), wanted, paradigm)
        pages = max(1, -(-len(lines) // _ON_PAGE))
        number = min(pages, max(1, int(text))) if (text := request.query_params.get("page", "1")).isdecimal() else 1
        return self._page(
            "sessions.html",
            lines=lines[(number - 1) * _ON_PAGE : number * _ON_PAGE],
            count=len(lines),
            number=number,
            pages=pages,
            wanted=wanted,
            paradigm=paradigm,
            unread=await self._unread(),
        )

    async def trial(self, request: Request) -> Response:
        """One trial, side by side."""
        path, key = str(request.path_params["path"]), str(request.path_params["key"])
        lines = await run_in_threadpool(self.index.lines)
        line = next((line for line in lines if line.path == path), None)
        if line is None:
            raise MissingError
        looked = await run_in_threadpool(shown.look_at, self.data, path, key, _with_its_trials(line, lines), line.who)
        return self._page("trial.html", trial=looked, path=path)

    async def all_replies(self, request: Request) -> Response:
        """What chat models answered, in one table."""
        return HTMLResponse(self.replies_page(bundled=False))

    def replies_page(self, *, bundled: bool) -> str:
        """The page of all replies, in the app or as a file."""
        return self._part(
            "replies.html",
            layout="bundle.html" if bundled else "base.html",
            bundled=bundled,
            columns=[name for name in COLUMNS if name not in _HIDDEN],
            numbers=_NUMBERS,
        )

    async def replies_state(self, request: Request) -> Response:
        """By which the page of replies sees that something has changed."""
        return JSONResponse({"state": await run_in_threadpool(self.replies.state)})

    async def replies_table(self, request: Request) -> Response:
        """All replies."""
        return JSONResponse(await run_in_threadpool(self.replies.page_data))

    async def conversation(self, request: Request) -> Response:
        """One trial of a session, with its conversation."""
        path, key = str(request.path_params["path"]), str(request.path_params["key"])
        return JSONResponse(await run_in_threadpool(self.conversation_page, path, key))

    def conversation_page(self, path: str, key: str) -> str:
        """A conversation, as the page of all replies shows it."""
        return self._part("conversation.html", talk=self.replies.conversation(path, key))

    async def all_reports(self, request: Request) -> Response:
        """The reports that were made."""
        return self._page(
            "reports.html",
            reports=await run_in_threadpool(self.reports.all),
            unread=await self._unread(jobs=True),
        )

    async def report(self, request: Request) -> Response:
        """A report, as it was made; or how far it is."""
        report = await self._report(request)
        return self._page(
            "report.html", report=report, changed=report.changed(await run_in_threadpool(self.index.lines))
        )

    async def report_points(self, request: Request) -> Response:
        """The trials behind a mark of a report."""
        report, asked = await self._report(request), request.query_params
        everything = await run_in_threadpool(self.index.lines)
        lines = [line for line in everything if line.path in report.sessions]
        number = int(text) if (text := asked.get("mark", "")).isdecimal() else -1
        answers = (
            await run_in_threadpool(self.reports.answers, report, lines, asked.get("figure", ""), number)
            if lines and number >= 0
            else None
        )
        return await self._points(
            answers,
            lines,
            {
                "address": f"/reports/{report.name}#{quote(asked.get('figure', ''))}",
                "titles": {},
                "changed": report.changed(everything),
            },
        )

    async def _unread(self, *, jobs: bool = False) -> list[str]:
        """The folders that could not be read, below the data folder: of sessions, and of what was
        started (``jobs``)."""
        unread = await run_in_threadpool(self.index.unread)
        if jobs:
            unread += [
                *(f".app/jobs/{name}" for name in await run_in_threadpool(self.jobs.unread)),
                *(f".app/reports/{name}" for name in await run_in_threadpool(self.reports.unread)),
            ]
        return unread

    async def _report(self, request: Request) -> Report:
        """The report of an address."""
        report = await run_in_threadpool(self.reports.report, str(request.path_params["name"]))
        if report is None:
            raise MissingError
        return report

    async def _points(
        self, answers: MarkedAnswers | None, lines: Sequence[SessionLine], source: Mapping[str, Any]
    ) -> Response:
        """The trials of some answers.

        Parameters
        ----------
        lines : sessions that they may be of
        source : address and titles of the page of the figure, and whether its sessions have changed
            since it was drawn
        """
        if answers is None:
            raise MissingError
        found = await run_in_threadpool(answers.find)
        names = [line.session for line in lines]
        return self._page(
            "points.html",
            source=source,
            agents=sorted(set(found["agent"].astype(str))),
            conditions=answers.conditions,
            trials=await run_in_threadpool(trials_of, found),
            paths={line.session: line.path for line in lines if names.count(line.session) == 1},
        )

    async def _paradigm(self, request: Request) -> Paradigm:
        """The paradigm of an address."""
        if not (source := await run_in_threadpool(source_of, request.path_params["name"], self.data, self.index.lines)):
            raise MissingError
        return load_paradigm(source)

    def _answered(self, request: Request) -> list[SessionLine]:
        """The sessions with finished trials of the paradigm of an address."""
        return [line for line in self.index.of_paradigm(str(request.path_params["name"])) if line.done]

    # -- parts of pages ----------------------------------------------------------------------------

    async def thumbnail(self, request: Request) -> Response:
        """A display of a paradigm."""
        return Response(
            await run_in_threadpool(shown.thumbnail, (await self._paradigm(request)).name),
            media_type="image/png",
            headers={"cache-control": "private, max-age=3600"},
        )

    async def play(self, request: Request) -> Response:
        """The displays of a trial that nobody takes."""
        paradigm = await self._paradigm(request)
        return JSONResponse(
            [
                {**asdict(one), "phase": say(one.phase, self.language)}
                for one in await run_in_threadpool(shown.played, paradigm, _levels(request), _number(request))
            ]
        )

    async def live(self, request: Request) -> Response:
        """The sessions of a paradigm, what is running, and which figures there are."""
        name = str(request.path_params["name"])
        lines = await run_in_threadpool(self.index.of_paradigm, name)
        answered = [line for line in lines if line.done]
        jobs = [job for job in await run_in_threadpool(self.jobs.all) if job.paradigm == name]
        await run_in_threadpool(self._end_served, jobs, lines)
        return self._page(
            "paradigm_now.html",
            lines=lines[:_ON_PAGE],
            jobs=await jobs_as_json(jobs),
            running=any(job.state == "runs" for job in jobs),
            figures=await run_in_threadpool(self.curves.names, answered) if answered else (),
            state=hash(tuple(line.state for line in answered)),
        )

    async def figure(self, request: Request) -> Response:
        """A figure of all sessions of a paradigm."""
        lines = await run_in_threadpool(self._answered, request)
        theme: Theme = "dark" if request.query_params.get("theme") == "dark" else "light"
        if not lines or not (
            drawn := await run_in_threadpool(self.curves.curve, str(request.path_params["figure"]), lines, theme)
        ):
            raise MissingError
        return Response(drawn, media_type="image/svg+xml")

    async def points(self, request: Request) -> Response:
        """The trials behind a point of a figure."""
        asked = request.query_params
        lines = await run_in_threadpool(self._answered, request)
        mark = _value(asked.get("mark", "{}"))
        if not lines or not isinstance(mark, dict):
            raise MissingError
        return await self._points(
            await run_in_threadpool(self.curves.answers, (asked.get("figure", ""), lines[0].paradigm), lines, mark),
            lines,
            {"address": f"/paradigms/{quote(lines[0].paradigm)}", "titles": lines[0].titles, "changed": False},
        )

    async def report_page(self, request: Request) -> Response:
        """The page of a report, which runs in a sandbox."""
        if not (page := await run_in_threadpool(self.reports.page, (await self._report(request)).name)):
            raise MissingError
        return HTMLResponse(page, headers={"content-security-policy": SANDBOX})

    async def report_state(self, request: Request) -> Response:
        """Say how far a report is."""
        return self._page("report_now.html", job=(await self._report(request)).job)

    async def report_file(self, request: Request) -> Response:
        """A figure, a table or a conversation of a report."""
        report = await self._report(request)
        try:
            content, ending = await run_in_threadpool(self.reports.file, report.name, str(request.path_params["path"]))
        except OSError:
            raise MissingError from None
        return Response(content, media_type=KINDS[ending], headers={"content-security-policy": SANDBOX})

    async def file(self, request: Request) -> Response:
        """Styles, scripts and letters."""
        name = str(request.path_params["file"])
        if name not in self._files or name.endswith(".html"):
            raise MissingError
        content, media_type = self._files[name]
        return Response(content, media_type=media_type)

    # -- buttons -----------------------------------------------------------------------------------

    async def estimate(self, request: Request) -> Response:
        """Say what a session of a machine is going to cost, before it begins."""
        asked, lines = await asked_by(request), await run_in_threadpool(self.index.lines)
        asked["paradigm"] = await run_in_threadpool(source_of, str(asked.get("paradigm")), self.data, lambda: lines)
        return JSONResponse({"said": await run_in_threadpool(estimate, asked, self.data, lines)})

    async def start(self, request: Request) -> Response:
        """Start a command."""
        kind, asked = str(request.path_params["kind"]), await asked_by(request)
        if kind == "compare":
            return await self._compare(asked)
        if kind.startswith("study-"):
            arguments, address = await run_in_threadpool(self.studies.command, kind, asked)
            return await self._begin(arguments, f"{OF_STUDY}{asked['study']}", asked, address)
        about, lines = str(asked.get("paradigm")), await run_in_threadpool(self.index.lines)
        if not (source := await run_in_threadpool(source_of, about, self.data, lambda: lines)):
            raise RefusedError("paradigm")
        asked["paradigm"] = source
        commands: dict[str, Callable[[], tuple[list[str], str]]] = {
            "take": lambda: serve_arguments(asked, self.data, lines, self.language, free_port()),
            "window": lambda: (window_arguments(asked, self.data, lines, self.language), ""),
            "replay": lambda: (replay_arguments(asked, self.data, lines), ""),
            "resume": lambda: resume_arguments(asked, self.data, lines, free_port()),
        }
        if kind not in commands:
            raise MissingError
        arguments, address = await run_in_threadpool(commands[kind])
        return await self._begin(arguments, about, asked, address, *await run_in_threadpool(served, asked))

    async def _begin(
        self,
        arguments: Sequence[str],
        about: str,
        asked: Mapping[str, Any],
        address: str = "",
        environment: Mapping[str, str] | None = None,
        secret: Mapping[str, str] | None = None,
    ) -> Response:
        """Start a command, or say what it is."""
        if asked.get("only_command"):
            return JSONResponse({"command": command_of(arguments, environment)})
        job = await run_in_threadpool(self.jobs.start, arguments, about, address, environment, secret)
        return JSONResponse({"name": job.name, "command": job.command, "address": job.address})

    async def _compare(self, asked: Mapping[str, Any]) -> Response:
        """Make a report of the chosen sessions, or of all that were searched for."""
        lines = await run_in_threadpool(self.index.lines)
        wanted, rules = {*map(str, listed_in(asked, "sessions"))}, list[str]()
        if study := str(asked.get("study", "")):
            wanted = {line.path for line in await run_in_threadpool(self.studies.sessions, study)}
            rules = await run_in_threadpool(self.studies.excluding, study)
        chosen = (
            [line for line in lines if line.path in wanted]
            if wanted
            else _searched(lines, str(asked.get("search", "")), str(asked.get("in", "")))
        )
        arguments = self.reports.arguments(chosen, lines, rules)
        if asked.get("only_command"):
            return JSONResponse({"command": command_of(arguments)})
        job = await run_in_threadpool(self.reports.start, arguments, chosen, f"{OF_STUDY}{study}" if study else "")
        return JSONResponse({"name": job.name, "command": job.command, "report": job.report})

    async def stop(self, request: Request) -> Response:
        """End what was started, as Ctrl-C does."""
        name = str(request.path_params["name"])
        if all(job.name != name for job in await run_in_threadpool(self.jobs.all)):
            raise MissingError
        await run_in_threadpool(self.jobs.stop, name)
        return JSONResponse({})

    def _end_served(self, jobs: Sequence[Job], lines: Sequence[SessionLine]) -> None:
        """End servers of the page whose participant has finished: nobody else is going to come."""
        finished = {line.participant for line in lines if line.finished and line.participant}
        for job in jobs:
            if job.state == "runs" and job.address and job.address.rpartition("=")[2] in finished:
                self.jobs.stop(job.name)

    def _page(self, template: str, **values: Any) -> Response:
        return HTMLResponse(self._part(template, **values))

    def _part(self, template: str, **values: Any) -> str:
        return self._environment.get_template(template).render(app=self._texts, language=self.language, **values)


def _here(moment: str) -> str:
    """A moment in a record, by the clock on the wall of this computer."""
    with suppress(ValueError, OverflowError):  # a foreign record may have any words
        return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%d %H:%M}"
    return moment


class _Folder(PathConvertor):
    """The path of a session: names of folders may have any sign, also the end of a line."""

    regex = r"(?s:.+)"


register_url_convertor("folder", _Folder())


#: simulated observers that every paradigm has
_OBSERVERS = ("ideal", "capacity:4")


def _with_its_trials(line: SessionLine, lines: Sequence[SessionLine]) -> list[tuple[str, str]]:
    """The sessions that may have the trials of one, with their answerers: those that repeat it,
    that it repeats, and that have its seed."""
    names = {line.session, line.like} - {""}
    return [
        (one.path, one.who)
        for one in lines
        if one.paradigm == line.paradigm
        and (one.session in names or one.like in names or (line.seed is not None and one.seed == line.seed))
    ]


def _searched(lines: Sequence[SessionLine], text: str, paradigm: str) -> list[SessionLine]:
    """The sessions that have all words of a text, of one paradigm if it is named."""
    words = text.casefold().split()
    lines = [line for line in lines if not paradigm or line.paradigm == paradigm]
    return [
        line
        for line in lines
        if all(
            word in f"{line.paradigm} {' '.join(line.titles.values())} {line.who} {line.path} {line.kind}".casefold()
            for word in words
        )
    ]


def _value(text: str) -> Any:
    """A value of an address, which is JSON."""
    try:
        return json.loads(text)
    except RecursionError:
        raise MissingError from None


def _levels(request: Request) -> dict[str, Any]:
    """The levels of the trial that is wanted."""
    return {name: _value(level) for name, level in request.query_params.items() if name != "number"}


def _number(request: Request) -> int:
    """Which of the trials that can be played is wanted."""
    text = request.query_params.get("number", "0")
    return int(text) % 1000 if text.isdecimal() else 0


def _template(name: str) -> str:
    return (files("spanlab.extensions.app") / "page" / name).read_text("utf-8")
