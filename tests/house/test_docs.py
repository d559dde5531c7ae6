"""What the documents say is true: their commands run, their paradigms compile, their tables are
those of the code."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image
from suite import checkout_files
from typer import Context
from typer.core import TyperGroup

from spanlab.agents.chat import RequestLimits
from spanlab.agents.chat.settings import ChatSettings
from spanlab.analysis.data.coding import plain_name
from spanlab.analysis.effects.registry import EFFECTS
from spanlab.cli import main
from spanlab.cli.command_table import Commands
from spanlab.paradigms import compile_trial, load_paradigm
from spanlab.sessions.studies.study import load_study

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: commands that a package of the reader's own adds
EXAMPLES = {"slowest", "lab-json"}
_BLOCK = re.compile(r"(?:<!-- (?P<mark>[^>]*?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)```", re.DOTALL)


#: what programs of a document have named so far
_NAMES: dict[Path, dict[str, object]] = {}


@dataclass(frozen=True)
class Block:
    """A fenced block: ``mark`` is the comment before it, such as ``not run: needs a screen`` or
    ``slow``."""

    document: Path
    number: int
    language: str
    mark: str
    text: str

    def __str__(self) -> str:
        return f"{self.document.stem}-{self.number}"


def blocks() -> Iterator[Block]:
    for document in DOCUMENTS:
        for number, match in enumerate(_BLOCK.finditer(document.read_text(encoding="utf-8")), start=1):
            yield Block(document, number, match["language"], match["mark"] or "", match["text"])


def consoles() -> list[object]:
    found = []
    for block in blocks():
        if block.language == "console":
            marks = [pytest.mark.slow] if block.mark.startswith("slow") else []
            if block.mark.startswith("not run"):
                marks.append(pytest.mark.skip(reason=block.mark))
            found.append(pytest.param(block, id=str(block), marks=marks))
    return found


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """A working folder for each document, with the paradigms that it shows; later blocks find what
    earlier ones made."""
    made: dict[Path, Path] = {}
    for block in blocks():
        folder = (
            made.setdefault(block.document, tmp_path_factory.mktemp(block.document.stem))
            if block.document not in made
            else made[block.document]
        )
        if block.language == "yaml" and (name := re.match(r"(?:paradigm|study): (\w+)\n", block.text)):
            written(block, folder / f"{name[1]}.yaml")
    return made


def written(block: Block, path: Path) -> Path:
    """The file that a block is, with any picture for each that it names in full."""
    path.write_text(block.text, encoding="utf-8")
    for name in re.findall(r"[\[ ](\w+/\w+\.png)", block.text):
        (path.parent / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 8), "green").save(path.parent / name)
    return path


@pytest.mark.parametrize("block", consoles())
def test_commands_do_what_the_documents_say(
    block: Block, folders: dict[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders[block.document])
    for name, value in (
        ("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"),
        ("COLUMNS", "160"),
        ("NO_COLOR", "1"),
    ):
        monkeypatch.setenv(name, value)
    for command, expected in commands(block.text):
        status, said = typed(command, monkeypatch)
        assert "Traceback" not in said, said
        if not expected:
            assert status == 0, f"{command}\n{said}"
        elif not doctest.OutputChecker().check_output(expected, said, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE):
            pytest.fail(f"{command}\nexpected:\n{expected}\nfound:\n{said}")


@pytest.mark.parametrize(
    "block",
    [pytest.param(one, id=str(one)) for one in blocks() if one.language == "python" and one.text.startswith(">>>")],
)
def test_programs_do_what_the_documents_say(
    block: Block, folders: dict[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later blocks of a document know the names of earlier ones."""
    monkeypatch.chdir(folders[block.document])
    test = doctest.DocTestParser().get_doctest(block.text, _NAMES.get(block.document, {}), str(block), None, None)
    said = io.StringIO()
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(
        test, out=said.write, clear_globs=False
    )
    assert not outcome.failed, said.getvalue()
    _NAMES[block.document] = test.globs


def typed(command: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """The exit status of a command, and what it says. ``spanlab`` by itself runs in this process,
    where all is loaded; whatever needs a shell gets one."""
    if not command.startswith("spanlab ") or set(command) & set("|&;<>$`*?~"):
        done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    said, status = io.StringIO(), 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
    return status, said.getvalue()


def commands(text: str) -> Iterator[tuple[str, str]]:
    """(command, expected output) pairs; a command may go on after a backslash."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = re.sub(r"\\\n", "", part).partition("\n")
        yield command, expected


@pytest.mark.parametrize(
    "block",
    [pytest.param(one, id=str(one)) for one in blocks() if one.language == "yaml" and one.text.startswith("paradigm:")],
)
def test_paradigms_in_documents_compile(block: Block, tmp_path: Path) -> None:
    paradigm = load_paradigm(written(block, tmp_path / "shown.yaml"))
    for levels in paradigm.combinations():
        assert compile_trial(paradigm, levels, seed=1).asks


@pytest.mark.parametrize(
    "block",
    [pytest.param(one, id=str(one)) for one in blocks() if one.language == "yaml" and one.text.startswith("study:")],
)
def test_studies_in_documents_are_fine(block: Block, tmp_path: Path) -> None:
    (tmp_path / "shown.yaml").write_text(block.text, encoding="utf-8")
    assert load_study(tmp_path / "shown.yaml").order_for(1, 1)


def test_generated_parts_are_those_of_the_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    script = runpy.run_path(str(ROOT / "scripts" / "docs.py"))
    assert script["main"](["--check"]) == 0, f"{capsys.readouterr().out}\nrun: python scripts/docs.py"


def test_settings_that_documents_name_are_there() -> None:
    """Commands that need a model are not run; their settings are looked up."""
    assert not [
        f"{block}: --{option} {name}"
        for block in blocks()
        for option, settings in (("chat", ChatSettings), ("care", RequestLimits))
        for name in re.findall(rf"--{option} ['\"]?(\w+)=", block.text)
        if name not in settings.model_fields
    ]


def called(text: str) -> Iterator[tuple[str, list[str]]]:
    """Of each command that a text names, in a block or in a sentence: the line, and its words."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line for language, block in blocks if language in ("", "console", "text") for line in block.splitlines()]
    lines = [line.partition("  #")[0].removeprefix("$ ") for line in lines]
    for line in (*lines, *re.findall(r"`(spanlab [^`]+)`", text)):
        if re.match(r"spanlab [a-z]", line):
            yield line, line.partition(" | ")[0].split()[1:]


def options_of(words: list[str]) -> set[str] | None:
    """The options of a command, or of one of a group; None where there is no such command."""
    name, rest = words[0], words[1:]
    if name not in (commands := Commands()):
        return None
    command = commands[name]
    if isinstance(command, TyperGroup) and rest and re.match(r"[a-z]", rest[0]):
        command.parse_args(context := Context(command), rest[:1])  # formats are read here
        inner = command.get_command(context, rest[0])
        if inner is None:
            return None
        command = inner
    return {"--help", *(one for given in command.params for one in (*given.opts, *given.secondary_opts))}


def test_commands_and_options_that_documents_name_are_there() -> None:
    """Also those that are not run; pages that are made from the code are not looked at."""
    unknown = []
    for document in (path for path in DOCUMENTS if not (ROOT / "scripts" / "pages" / path.name).exists()):
        for line, words in called(document.read_text(encoding="utf-8")):
            if EXAMPLES.isdisjoint(words):
                options = options_of(words)
                given = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
                if options is None or given - options:
                    unknown.append(f"{document.name}: {line}")
    assert not unknown, "\n".join(unknown)


def test_columns_that_switch_an_effect_on_stand_in_the_documents() -> None:
    (section,) = re.findall(r"\n### Effects\n(.*?)\n## ", (ROOT / "docs" / "designs.md").read_text("utf-8"), re.DOTALL)
    needs = {one for effect in EFFECTS for one in effect.needs if one.startswith(("factor_", "record_"))}
    assert [one for one in sorted(needs) if f"`{plain_name(one)}`" not in section] == []


def test_folders_of_the_map_exist() -> None:
    """The map of the repository in the README names every folder, and no other."""
    listed = set(
        re.findall(r"^\| `([a-z_]+)/` \|", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    )
    folders = {name.split("/")[0] for name in checkout_files() if "/" in name and not name.startswith(".")}
    assert listed == folders


SECURITY = re.findall(r"`((?:tests|extensions)/[\w/]+\.py)::(\w+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("file", "test"), SECURITY)
def test_what_is_promised_of_a_file_has_the_test_that_is_named(file: str, test: str) -> None:
    assert len(SECURITY) >= 10
    assert f"\ndef {test}(" in (ROOT / file).read_text(encoding="utf-8")


def test_a_guide_that_shows_a_picture_has_the_command_that_draws_it() -> None:
    """``scripts/site_pages/guide_figures.py`` runs it."""
    shown: list[str] = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for name in re.findall(rf"\]\(images/guides/{document.stem}-([\w.-]+)\)", text):
            assert re.search(rf"^\$ spanlab .*-o {re.escape(name)}$", text, re.MULTILINE), f"{document.name}: {name}"
            shown.append(f"{document.stem}-{name}")
    assert sorted(shown) == sorted(path.name for path in (ROOT / "docs" / "images" / "guides").iterdir())
