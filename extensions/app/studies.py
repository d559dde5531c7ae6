"""Studies, as the app makes them and looks after them: the file as a form, sessions and their people,
and what follows. Everything is a public function or a command of SpanLab."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import get_ident
from typing import Any, cast

import segno
import yaml
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import spanlab
from spanlab.analysis.data import load, timing_in_short
from spanlab.api import read_rules
from spanlab.core import SpanLabError, as_object, write_whole
from spanlab.core.locale import by_language, sentence
from spanlab.paradigms.language import read
from spanlab.paradigms.language.yaml_source import scalar
from spanlab.sessions.studies import Monitor, Study, load_study, table_of

from .asking import listed_in
from .curves import Kept
from .index import SessionIndex, SessionLine
from .jobs import Job, Jobs
from .web import MissingError, RefusedError, as_others_open, asked_by, first_free, free_port, jobs_as_json

#: what begins the names of what jobs are about, where that is a study
OF_STUDY = "study:"

#: files whose names have nothing else can be studies
_NAME = re.compile(r"\w[\w .()-]*")
#: the name of a study in its file, even where the file is not valid
_STUDY = re.compile(r"^[{\"']*study[\"']*\s*:\s*[\"']?(\w+)", re.MULTILINE)
#: pages of a study, which have a text in each of its languages
_PAGES = ("consent", "debrief", "breaks")
#: where public functions are that other extensions add
_ADDED: Any = spanlab
#: formats that a study is shared in
FORMATS = ("bids", "psychds", "csv", "psych101")
#: the most people of whom the page has links at once
_MOST_LINKS = 500


class Studies:
    """The studies of a laboratory.

    Parameters
    ----------
    index : of the sessions; the files of studies stand beside their folder
    jobs : what was started
    """

    def __init__(self, index: SessionIndex, jobs: Jobs) -> None:
        self.data, self._index, self._jobs = index.data, index, jobs
        self.folder, self._monitors = self.data.resolve().parent, Kept[Monitor]()

    def names(self) -> list[str]:
        """The studies whose files are here, by the names of the files."""
        return sorted(
            {file.stem for file in self.folder.glob("*.y*ml") if _NAME.fullmatch(file.stem) and study_in(file)}
        )

    def file(self, name: str) -> Path:
        """The file of a study.

        Raises
        ------
        SpanLabError
            when there is none of this name.
        """
        if name not in self.names():
            raise RefusedError("study", name=name)
        return next(file for file in (self.folder / f"{name}{end}" for end in (".yaml", ".yml")) if file.is_file())

    def make(self, name: str, title: str) -> str:
        """A new study from the template, and its name."""
        name = re.sub(r"[^a-z0-9]+", "_", (name or title).lower()).strip("_")
        file = spanlab.new(cast("Any", "study"), name, output=self.folder).file
        if title.strip():
            line = written({"title": title.strip()})
            file.write_text(re.sub(r"(?m)^title: .*\n", lambda _: line, file.read_text("utf-8")), encoding="utf-8")
        return name

    def draft(self, name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """A study that is being written, as a form and as text, and what the check says of it.

        Parameters
        ----------
        asked : ``text`` of the file, or ``data`` of the form with the ``texts`` of its pages, by page
            and language; with ``save`` it is written if nothing is wrong
        """
        file = self.file(name)
        text = str(asked["text"]) if "text" in asked else written(_with_texts(asked["data"], asked.get("texts") or {}))
        if asked.get("save") and asked.get("since", _since(file)) != _since(file):
            raise RefusedError("changed")
        if asked.get("save") and "\ufffd" in text:
            raise RefusedError("letters", sign="\ufffd")
        said = self._checked(file, text, details=bool(asked.get("save")))
        if asked.get("save") and not said["wrong"]:
            if said["data"].get("study") != study_in(file):
                raise RefusedError("name")
            write_whole(file.resolve(), text.encode())
        return {"text": text, "texts": _texts(said["data"]), "since": _since(file), **said}

    def _checked(self, file: Path, text: str, *, details: bool) -> dict[str, Any]:
        """What ``spanlab check`` says of a text that stands in the place of a file, and its data."""
        tried, data = file.with_name(f".{file.stem}.{get_ident()}.trying.yaml"), dict[str, Any]()
        write_whole(tried, text.encode())
        try:
            data = as_object(read(tried).data)
            found = spanlab.check(tried, details=details)
            wrong, lines = "\n".join(found.wrong).splitlines(), found.lines
        except SpanLabError as error:
            wrong, lines = str(error).splitlines(), []
        finally:
            tried.unlink(missing_ok=True)
        lines = [] if wrong else "\n".join(lines).splitlines()
        return {
            "data": data,
            "wrong": [line.replace(tried.name, file.name) for line in wrong],
            "said": [line.replace(f"{tried.name}: ", "") for line in lines],
        }

    def add_questions(self, name: str, asked: Mapping[str, Any]) -> dict[str, str]:
        """A file of questions for a study, each answered on a scale; its name, as the study's file
        has it, is the ``file``.

        Parameters
        ----------
        asked : ``questions``, one on each line, ``low`` and ``high``, what the ends of the scale are
            called, ``points``, and the ``languages`` of the study
        """
        languages = listed_in(asked, "languages") or ["en"]
        questions = [line.strip() for line in str(asked.get("questions", "")).splitlines() if line.strip()]
        points = str(asked.get("points", "7"))
        if not questions or not points.isdecimal():
            raise RefusedError("questions")
        ends = {1: str(asked.get("low", "")).strip(), int(points): str(asked.get("high", "")).strip()}
        rating = {"from": 1, "to": int(points), "labels": {at: label for at, label in ends.items() if label}}
        called = first_free(
            f"{study_in(self.file(name))}_questions", lambda one: (self.folder / f"{one}.yaml").exists()
        )
        file = self.folder / f"{called}.yaml"
        content = {
            "paradigm": called,
            "version": 1,
            "title": {language: sentence("app.questionnaire", language) for language in languages},
            "timeline": [
                {
                    "phase": f"question_{at}",
                    "show": {"blank": {}},
                    "ask": {"rating": rating, "prompt": dict.fromkeys(languages, question)},
                }
                for at, question in enumerate(questions, start=1)
            ],
            "instructions": {language: sentence("app.please_answer", language) for language in languages},
            "questionnaire": True,
        }
        write_whole(file, written(content).encode())
        if found := spanlab.check(file).wrong:
            file.unlink()
            raise SpanLabError("; ".join(found))
        return {"file": file.name}

    def now(self, name: str) -> dict[str, Any]:
        """Who has done what, and what runs, as the commands tell it."""
        file = self.file(name)
        try:
            study, status = load_study(file), spanlab.study_status(file, data=self.data)
            monitor = self._monitors.made(
                (name, study.hash), lambda: Monitor(study, self.data, judge=timing_in_short)
            )  # which reads no session again that has not gone on
            seen = table_of(monitor.look(time.time()), time.time(), everything=True)
        except SpanLabError as error:
            return {
                "problem": str(error),
                "summary": "",
                **dict.fromkeys(("people", "sessions", "visits", "fields", "languages"), ()),
            }
        of_study = self.data / study.name
        return {
            "problem": "",
            "summary": str(status).partition("\n\n")[2],
            "people": status.to_dict().get("participants", []),
            "sessions": [dict(zip(seen.header, row, strict=True)) for row in seen.rows],
            "visits": [str(visit.relative_to(of_study)) for visit in sorted(of_study.glob("*/session-*"))],
            "fields": [[field.name, field.label] for field in study.fields],
            "languages": [*study.languages],
        }

    def study(self, name: str) -> Study:
        """A study as its file has it."""
        return load_study(self.file(name))

    def jobs(self, name: str) -> list[Job]:
        """What was started for a study, the newest first."""
        return [job for job in self._jobs.all() if job.paradigm == f"{OF_STUDY}{name}"]

    def links(self, name: str, asked: Mapping[str, Any]) -> dict[str, list[dict[str, str]]]:
        """Links for people at home, each with its picture to be read by a phone. Without an address they
        lead to where the study is being served."""
        count = str(asked.get("n", "1"))
        if not count.isdecimal() or not 1 <= int(count) <= _MOST_LINKS:
            raise RefusedError("links", most=_MOST_LINKS, found=count)
        serves = [as_others_open(job) for job in self.jobs(name) if job.address and job.state == "runs"]
        address = str(asked.get("address", "")).strip() or next(iter(serves), "")
        given = {"address": address.rstrip("/")} if address else {}
        online = self.study(name).online
        if address and (online is None or (online.admission == "open" and online.identifier is None)):
            return {"links": [_pictured({"link": f"{given['address']}/"})]}
        made = _ADDED.study_links(self.file(name), n=int(count), data=self.data, **given)
        return {"links": [*map(_pictured, made.tables["links"])]}

    def act(self, name: str, asked: Mapping[str, Any]) -> dict[str, list[str]]:
        """Note something about a session, or remove a participant; what the command has ``said``."""
        if asked.get("what") == "note":
            return {"said": _ADDED.study_note(self.visit(name, asked), str(asked.get("text", ""))).lines}
        if asked.get("what") == "withdraw":
            person = str(asked.get("participant", ""))
            if not person or asked.get("again") != person:
                raise RefusedError("withdrawal")
            return {"said": spanlab.study_withdraw(self.file(name), person, data=self.data, yes=True).lines}
        raise RefusedError("command")

    def visit(self, name: str, asked: Mapping[str, Any]) -> Path:
        """The folder of a session of the study.

        Raises
        ------
        SpanLabError
            when it is none.
        """
        if (visit := str(asked.get("visit", ""))) not in self.now(name)["visits"]:
            raise RefusedError("visit")
        return self.data / self.study(name).name / visit

    def command(self, kind: str, asked: Mapping[str, Any]) -> tuple[list[str], str]:
        """The arguments of a command for a study, and the address to open; empty where it serves no
        page. A study is served where it was served before, if it can be, so that links live on.

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
            serving = [job.address for job in self.jobs(name) if job.address and job.state == "runs"]
            if serving and not asked.get("only_command"):
                raise RefusedError("served", name=name, address=serving[0])
            port = free_port(next((int(job.option("--port") or 0) for job in self.jobs(name) if job.address), 0))
            host = "0.0.0.0" if asked.get("network") else "127.0.0.1"
            more = [*(["--pilot"] if asked.get("pilot") else []), *data]
            return ["serve", str(file), "--host", host, "--port", str(port), *more], f"http://127.0.0.1:{port}/"
        if kind == "study-resume":
            folder, options = str(self.visit(name, asked)), ("skip", "repeat", "reason")
            return ["resume", folder, *(word for option in options for word in _option(option, asked))], ""
        if kind == "study-scores":
            return ["scores-by-person", of_study, *self.excluding(name), "-o", f"{of_study}-scores"], ""
        if kind == "study-export" and (form := asked.get("format")) in FORMATS:
            return ["export", str(form), *self._kept(name), "-o", first_free(f"{of_study}-{form}", os.path.exists)], ""
        raise RefusedError("command")

    def keep_exclusions(self, name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Write the rules by which data of a study are left out, if they can be applied; empty ones are
        none."""
        rules, text = self._rules(name), str(asked.get("text", ""))
        if text.strip():
            tried = rules.with_name(f".{get_ident()}.{rules.name}")
            write_whole(tried, text.encode())
            try:
                read_rules(tried)
                tried.replace(rules)
            finally:
                tried.unlink(missing_ok=True)
        else:
            rules.unlink(missing_ok=True)
        return {}

    def exclusions(self, name: str) -> str:
        """The rules by which data of a study are left out; empty where there are none."""
        return rules.read_text(encoding="utf-8-sig", errors="replace") if (rules := self._rules(name)).is_file() else ""

    def _rules(self, name: str) -> Path:
        return self.file(name).with_name(f"{name}_exclusions.yaml")

    def sessions(self, name: str) -> list[SessionLine]:
        """The sessions of a study, the newest first.

        Raises
        ------
        SpanLabError
            when there is none.
        """
        of_study = f"{self.study(name).name}/"
        if not (lines := [line for line in self._index.lines() if line.path.startswith(of_study)]):
            raise RefusedError("no_people")
        return lines

    def _kept(self, name: str) -> list[str]:
        """What is exported of a study: everything, or the sessions of which its rules leave something."""
        if not self.excluding(name):
            return [str(self.data / self.study(name).name)]
        folders = {str(self.data / line.path): line.session for line in self.sessions(name)}
        before, left = (
            {*load([*folders], rules=rules, spans_suffice=True).scored.items["session"]}
            for rules in ((), read_rules(self._rules(name)))
        )
        if not left:
            raise RefusedError("nothing_left")
        return [folder for folder, session in folders.items() if session not in before - left]

    def excluding(self, name: str) -> list[str]:
        """The options of commands that leave out data by the rules of a study."""
        return ["--exclude", str(rules)] if (rules := self._rules(name)).is_file() else []


class StudyPages:
    """The pages of studies.

    Parameters
    ----------
    page : makes a page from a template and its values
    """

    def __init__(self, studies: Studies, page: Callable[..., Response]) -> None:
        self._studies, self._page = studies, page

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
        return self._page(
            "study.html",
            name=name,
            text=self._studies.file(name).read_text(encoding="utf-8", errors="replace"),
            since=_since(self._studies.file(name)),
            paradigms=spanlab.list_paradigms(),
            formats=FORMATS,
            exclusions=self._studies.exclusions(name),
        )

    async def study_live(self, request: Request) -> Response:
        """Who has done what in a study, and what runs."""
        name = str(request.path_params["name"])
        now = await run_in_threadpool(self._studies.now, name)
        jobs = await run_in_threadpool(self._studies.jobs, name)
        return self._page("study_now.html", **now, jobs=await jobs_as_json(jobs))

    async def study_does(self, request: Request) -> Response:
        """What the page of a study asks for at once."""
        name, what = str(request.path_params["name"]), str(request.path_params["what"])
        does: Mapping[str, Callable[[str, Mapping[str, Any]], Any]] = {
            "draft": self._studies.draft,
            "questions": self._studies.add_questions,
            "links": self._studies.links,
            "exclusions": self._studies.keep_exclusions,
            "act": self._studies.act,
        }
        if what not in does:
            raise MissingError
        return JSONResponse(await run_in_threadpool(does[what], name, await asked_by(request)))


def _who(study: Study, asked: Mapping[str, Any]) -> list[str]:
    """The options that say who takes a session; none where a dialog asks."""
    if asked.get("simulate"):
        return ["--simulate", "capacity@20"]
    if not str(asked.get("participant", "")).strip():
        return []
    named = [word for option in ("participant", "session", "language") for word in _option(option, asked)]
    for field in study.fields:
        if value := str(asked.get(f"field_{field.name}", "")).strip():
            named += ["--field", f"{field.name}={value}"]
    return named


def _option(name: str, asked: Mapping[str, Any]) -> list[str]:
    value = str(asked.get(name, "")).strip()
    if value.startswith("-"):
        raise RefusedError("option", found=value, option=name)
    return [f"--{name}", value] if value else []


def _since(file: Path) -> str:
    """When a file was changed last."""
    return str(file.stat().st_mtime_ns)


def _pictured(link: Mapping[str, str]) -> dict[str, str]:
    """A link with its picture."""
    return {**link, "picture": segno.make(link["link"]).svg_data_uri(scale=3, border=2)}


def study_in(file: Path) -> str:
    """The name of the study in a file, even where the file is not valid; empty where there is none."""
    readable = file.is_file() and os.access(file, os.R_OK)
    return next(iter(_STUDY.findall(file.read_text(encoding="utf-8-sig", errors="replace") if readable else "")), "")


def _texts(study: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The texts of the pages of a study by language; empty in a language of the study that has none."""
    languages = [str(one) for one in study["languages"]] if isinstance(study.get("languages"), list) else ["en"]
    own = {**study, "breaks": as_object(study.get("breaks")).get("text")}
    return {
        page: dict.fromkeys(languages, "")
        | (texts if isinstance(texts := own.get(page), dict) else dict.fromkeys(languages[:1], str(texts or "")))
        for page in _PAGES
    }


def _with_texts(study: Mapping[str, Any], typed: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """A study whose pages have these texts, by page and language, in the languages of the study alone.
    A language that is new to a page gets our own text; a page without any text is none."""
    made = dict(study)
    for page, texts in typed.items():
        ours = by_language(f"app.first_{page}") if any(texts.values()) else {}
        spoken = {one: text for one in study["languages"] if (text := texts.get(one, ours.get(one, ""))).strip()}
        made[page] = {**as_object(study.get(page)), "text": spoken} if spoken and page == "breaks" else spoken
    return {key: value for key, value in made.items() if value or key not in typed}


class _Text(yaml.SafeDumper):
    """YAML as people write it: several lines stand below each other."""


def _as_lines(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="'" if scalar(text) != text else style)


_Text.add_representer(str, _as_lines)


def written(data: Any) -> str:
    """A file as YAML."""
    return yaml.dump(data, Dumper=_Text, sort_keys=False, allow_unicode=True, width=100)
