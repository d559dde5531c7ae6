"""Studies, as the app makes them and looks after them: the file as a form, sessions and their people,
and what follows. Everything is a public function or a command of SpanLab."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import segno
import yaml
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import spanlab
from spanlab.core import SpanLabError, make_folder
from spanlab.sessions.studies import Study, is_study, load_study

from .jobs import Jobs
from .web import MissingError, asked_by, jobs_as_json

#: what begins the names of what jobs are about, where that is a study
OF_STUDY = "study:"

_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
#: formats that a study is shared in
FORMATS = ("bids", "psychds", "csv", "psych101")
#: the most people of whom the page has links at once
_MOST_LINKS = 500


class Studies:
    """The studies of a laboratory.

    Parameters
    ----------
    data : folder of the sessions; the files of studies stand beside it
    """

    def __init__(self, data: Path) -> None:
        self.data = data
        self.folder = data.resolve().parent

    def names(self) -> list[str]:
        """The studies whose files are here, by the names of the files."""
        files = sorted(self.folder.glob("*.y*ml"))
        return [file.stem for file in files if _NAME.fullmatch(file.stem) and is_study(file)]

    def file(self, name: str) -> Path:
        """The file of a study.

        Raises
        ------
        SpanLabError
            when there is none of this name.
        """
        if name not in self.names():
            raise SpanLabError(f"there is no study {name}")
        return next(file for file in (self.folder / f"{name}{end}" for end in (".yaml", ".yml")) if file.is_file())

    def make(self, name: str, title: str) -> str:
        """A new study from the template, and its name."""
        name = re.sub(r"[^a-z0-9]+", "_", (name or title).lower()).strip("_")
        file = spanlab.new(cast("Any", "study"), name, output=self.folder).file
        if title.strip():
            data = yaml.safe_load(file.read_text(encoding="utf-8"))
            file.write_text(written({**data, "title": title.strip()}), encoding="utf-8")
        return name

    def draft(self, name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """A study that is being written, as a form and as text, and what the check says of it.

        Parameters
        ----------
        asked : ``text`` of the file, or ``data`` of the form; with ``save`` it is written if nothing
            is wrong
        """
        file = self.file(name)
        text = str(asked["text"]) if "text" in asked else written(asked["data"])
        said = self._checked(file, text, details=bool(asked.get("save")))
        data = None
        with suppress(yaml.YAMLError):
            data = yaml.safe_load(text)
        if asked.get("save") and not said["wrong"]:
            if not isinstance(data, dict) or data.get("study") != load_study(file).name:
                raise SpanLabError("the name of a study stays: its data are found by it")
            file.write_text(text, encoding="utf-8")
        return {"text": text, "data": data if isinstance(data, dict) else None, **said}

    def _checked(self, file: Path, text: str, *, details: bool) -> dict[str, Any]:
        """What ``spanlab check`` says of a text that stands in the place of a file."""
        tried = file.with_name(f".{file.stem}.trying.yaml")
        tried.write_text(text, encoding="utf-8")
        try:
            found = spanlab.check(tried, details=details)
            wrong, lines = "\n".join(found.wrong).splitlines(), found.lines
        except SpanLabError as error:
            wrong, lines = str(error).splitlines(), []
        finally:
            tried.unlink(missing_ok=True)
        lines = [] if wrong else "\n".join(lines).splitlines()
        return {
            "wrong": [line.replace(tried.name, file.name) for line in wrong],
            "said": [line.replace(f"{tried.name}: ", "") for line in lines],
        }

    def add_questions(self, name: str, asked: Mapping[str, Any]) -> str:
        """A file of questions for a study, each answered on a scale; its name, as the study's file
        has it.

        Parameters
        ----------
        asked : ``questions``, one on each line, ``low`` and ``high``, what the ends of the scale are
            called, and ``points``
        """
        self.file(name)
        questions = [line.strip() for line in str(asked.get("questions", "")).splitlines() if line.strip()]
        points = str(asked.get("points", "7"))
        if not questions or not points.isdecimal():
            raise SpanLabError("write at least one question, one on each line")
        ends = {1: str(asked.get("low", "")).strip(), int(points): str(asked.get("high", "")).strip()}
        rating = {"from": 1, "to": int(points), "labels": {at: label for at, label in ends.items() if label}}
        number, taken = 1, {file.name for file in self.folder.glob("*.y*ml")}
        while (file := f"{name}_questions{number if number > 1 else ''}.yaml") in taken:
            number += 1
        steps = [
            {"phase": f"question_{at}", "show": {"blank": {}}, "ask": {"rating": rating, "prompt": {"en": question}}}
            for at, question in enumerate(questions, start=1)
        ]
        content = {
            "paradigm": file.removesuffix(".yaml"),
            "version": 1,
            "title": {"en": "Questions"},
            "timeline": steps,
            "instructions": {"en": "Please answer some questions."},
            "questionnaire": True,
        }
        (self.folder / file).write_text(written(content), encoding="utf-8")
        if found := spanlab.check(self.folder / file).wrong:
            (self.folder / file).unlink()
            raise SpanLabError("; ".join(found))
        return file

    def now(self, name: str) -> dict[str, Any]:
        """Who has done what, and what runs, as the commands tell it."""
        file = self.file(name)
        try:
            status = spanlab.study_status(file, data=self.data)
            monitor = spanlab.study_monitor(file, data=self.data, once=True, everything=True)
        except SpanLabError as error:
            return {"problem": str(error), "people": [], "sessions": [], "visits": []}
        study = load_study(file)
        visits = sorted((self.data / study.name).glob("*/session-*"))
        return {
            "problem": "",
            "people": status.to_dict().get("participants", []),
            "sessions": monitor.to_dict().get("sessions", []),
            "visits": [str(visit.relative_to(self.data / study.name)) for visit in visits],
        }

    def study(self, name: str) -> Study:
        """A study as its file has it."""
        return load_study(self.file(name))

    def links(self, name: str, asked: Mapping[str, Any]) -> list[dict[str, str]]:
        """Links for people at home, each with its picture to be read by a phone."""
        count = str(asked.get("n", "1"))
        if not count.isdecimal() or not 1 <= int(count) <= _MOST_LINKS:
            raise SpanLabError(f"the number of links is 1 to {_MOST_LINKS}; found '{count}'")
        address = str(asked.get("address", "")).strip().rstrip("/")
        given = {"address": address} if address else {}
        made = _added("study_links")(self.file(name), n=int(count), data=self.data, **given)
        found = [word for line in made.lines for word in line.split() if word.startswith(("http://", "https://"))]
        return [{"link": link, "picture": segno.make(link).svg_data_uri(scale=3, border=2)} for link in found]

    def act(self, name: str, asked: Mapping[str, Any]) -> list[str]:
        """Note something about a session, or remove a participant; what the command says."""
        if asked.get("what") == "note":
            return _added("study_note")(self.visit(name, asked), str(asked.get("text", ""))).lines
        if asked.get("what") == "withdraw":
            person = str(asked.get("participant", ""))
            if not person or asked.get("again") != person:
                raise SpanLabError("type the code of the participant a second time: the data are removed for good")
            return spanlab.study_withdraw(self.file(name), person, data=self.data, yes=True).lines
        raise SpanLabError("there is no such action")

    def visit(self, name: str, asked: Mapping[str, Any]) -> Path:
        """The folder of a session of the study.

        Raises
        ------
        SpanLabError
            when it is none.
        """
        if (visit := str(asked.get("visit", ""))) not in self.now(name)["visits"]:
            raise SpanLabError("choose a session of the study")
        return self.data / self.study(name).name / visit

    def command(self, kind: str, asked: Mapping[str, Any], port: int) -> tuple[list[str], str]:
        """The arguments of a command for a study, and the address to open; empty where it serves no
        page.

        Raises
        ------
        SpanLabError
            when something is missing, or there is no such command.
        """
        name = str(asked.get("study", ""))
        file, data = self.file(name), ["--data", str(self.data)]
        of_study = str(self.data / self.study(name).name)
        if kind == "study-run":
            return ["run", str(file), *_who(self.study(name), asked), *data], ""
        if kind == "study-serve":
            host = "0.0.0.0" if asked.get("network") else "127.0.0.1"
            pilot = ["--pilot"] if asked.get("pilot") else []
            arguments = ["serve", str(file), "--host", host, "--port", str(port), *pilot, *data]
            return arguments, f"http://127.0.0.1:{port}/"
        if kind == "study-resume":
            more = [word for option in ("skip", "repeat", "reason") for word in _option(option, asked)]
            return ["resume", str(self.visit(name, asked)), *more], ""
        rules = self.folder / f"{name}_exclusions.yaml"
        excluded = ["--exclude", str(rules)] if rules.is_file() else []
        if kind == "study-scores":
            return ["scores-by-person", of_study, *excluded, "-o", f"{of_study}-scores"], ""
        if kind == "study-export" and asked.get("format") in FORMATS:
            form = str(asked["format"])
            return ["export", form, of_study, "-o", f"{of_study}-{form}"], ""
        raise SpanLabError("there is no such command")

    def keep_exclusions(self, name: str, text: str) -> None:
        """Write the rules by which data of a study are left out, or remove them where there are
        none."""
        self.file(name)
        rules = self.folder / f"{name}_exclusions.yaml"
        if text.strip():
            make_folder(self.folder, f"rules to {self.folder}")
            rules.write_text(text, encoding="utf-8")
        else:
            rules.unlink(missing_ok=True)

    def exclusions(self, name: str) -> str:
        """The rules by which data of a study are left out; empty where there are none."""
        rules = self.folder / f"{name}_exclusions.yaml"
        return rules.read_text(encoding="utf-8") if rules.is_file() else ""


class StudyPages:
    """The pages of studies.

    Parameters
    ----------
    page : makes a page from a template and its values
    """

    def __init__(self, studies: Studies, jobs: Jobs, page: Callable[..., Response]) -> None:
        self._studies, self._jobs, self._page = studies, jobs, page

    def routes(self) -> list[Route]:
        """Their addresses."""
        return [
            Route("/studies", self.all_studies),
            Route("/studies", self.make_study, methods=["POST"]),
            Route("/studies/{name}", self.study),
            Route("/studies/{name}/live", self.study_live),
            Route("/studies/{name}/{what}", self.study_does, methods=["POST"]),
        ]

    async def all_studies(self, request: Request) -> Response:
        """The studies whose files are beside the data."""
        return self._page("studies.html", names=await run_in_threadpool(self._studies.names))

    async def make_study(self, request: Request) -> Response:
        """Make a study from the template."""
        asked = await asked_by(request)
        name = await run_in_threadpool(self._studies.make, str(asked.get("name", "")), str(asked.get("title", "")))
        return JSONResponse({"address": f"/studies/{name}"})

    async def study(self, request: Request) -> Response:
        """One study: its file as a form, its people, and what follows."""
        name = str(request.path_params["name"])
        if name not in await run_in_threadpool(self._studies.names):
            raise MissingError
        text = self._studies.file(name).read_text(encoding="utf-8")
        fields = ()
        with suppress(SpanLabError):
            fields = self._studies.study(name).fields
        return self._page(
            "study.html",
            name=name,
            text=text,
            fields=fields,
            paradigms=spanlab.list_paradigms(),
            formats=FORMATS,
            exclusions=self._studies.exclusions(name),
        )

    async def study_live(self, request: Request) -> Response:
        """Who has done what in a study, and what runs."""
        name = str(request.path_params["name"])
        now = await run_in_threadpool(self._studies.now, name)
        jobs = [job for job in await run_in_threadpool(self._jobs.all) if job.paradigm == f"{OF_STUDY}{name}"]
        return JSONResponse({**now, "jobs": await jobs_as_json(jobs)})

    async def study_does(self, request: Request) -> Response:
        """What the page of a study asks for at once."""
        name, what = str(request.path_params["name"]), str(request.path_params["what"])
        asked = await asked_by(request)
        if what == "draft":
            return JSONResponse(await run_in_threadpool(self._studies.draft, name, asked))
        if what == "questions":
            return JSONResponse({"file": await run_in_threadpool(self._studies.add_questions, name, asked)})
        if what == "links":
            return JSONResponse({"links": await run_in_threadpool(self._studies.links, name, asked)})
        if what == "exclusions":
            await run_in_threadpool(self._studies.keep_exclusions, name, str(asked.get("text", "")))
            return JSONResponse({})
        if what == "act":
            return JSONResponse({"said": await run_in_threadpool(self._studies.act, name, asked)})
        raise MissingError


def _added(name: str) -> Callable[..., Any]:
    """A public function that another extension adds.

    Raises
    ------
    SpanLabError
        when that extension is not installed.
    """
    function = getattr(spanlab, name, None)
    if function is None:
        raise SpanLabError(f"spanlab {name.replace('_', ' ')} is not installed here")
    return function


def _who(study: Study, asked: Mapping[str, Any]) -> list[str]:
    """The options that say who takes a session; none where a dialog asks."""
    if asked.get("simulate"):
        return ["--simulate", "capacity@20"]
    if not str(asked.get("participant", "")).strip():
        return []
    named = [word for option in ("participant", "session") for word in _option(option, asked)]
    for field in study.fields:
        if value := str(asked.get(f"field_{field.name}", "")).strip():
            named += ["--field", f"{field.name}={value}"]
    return named


def _option(name: str, asked: Mapping[str, Any]) -> list[str]:
    value = str(asked.get(name, "")).strip()
    if value.startswith("-"):
        raise SpanLabError(f"'{value}' cannot be the {name}")
    return [f"--{name}", value] if value else []


class _Text(yaml.SafeDumper):
    """YAML as people write it: several lines stand below each other."""


def _as_lines(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Text.add_representer(str, _as_lines)


def written(data: Any) -> str:
    """A file as YAML."""
    return yaml.dump(data, Dumper=_Text, sort_keys=False, allow_unicode=True, width=100)
