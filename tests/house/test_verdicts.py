"""Every verdict is declared, has a planted case each way, and nothing that SpanLab prints judges
without a declaration."""

from __future__ import annotations

import ast
import functools
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from analysis_tables import mixed, responses
from command_line import Run
from docs_verdicts import declared, rules_of
from observed import change_detection, table, together
from planted_groups import planted_groups
from statements import modules
from verdict_words import EXPLANATIONS, Page, undeclared

from spanlab.analysis.report import folder
from spanlab.analysis.report.page import Options, compare
from spanlab.analysis.stats.equivalence import read_margins

ROOT = Path(__file__).resolve().parents[2]
RULES = [rule for _, rule in declared()]
SAID = [sentence for rule in RULES for sentence in rule.says]


@functools.cache
def functions(file: str) -> frozenset[str]:
    """The tests of a file, those of classes as ``Class::test``."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    inside = {
        f"{node.name}::{name}"
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for name in names_of_tests(node.body)
    }
    return frozenset(inside | set(names_of_tests(tree.body)))


def names_of_tests(body: list[ast.stmt]) -> Iterator[str]:
    yield from (
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    )


def test_verdicts_are_declared_once_and_in_full() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    for rule in RULES:
        assert rule.says, rule.name
        assert all(text.strip("… ") for text in (rule.name, rule.rests_on, rule.says_no_when, *rule.says)), rule.name
        assert len(rule.tests) == 2, rule.name
        assert rule.tests[0] != rule.tests[1], f"{rule.name}: one test cannot plant both cases"


@pytest.mark.parametrize("node", sorted({node for rule in RULES for node in rule.tests}))
def test_both_tests_of_a_verdict_are_there(node: str) -> None:
    file, _, name = node.partition("::")
    assert file.startswith(("tests/", "extensions/"))
    assert Path(file).name.startswith("test_")
    assert name.partition("[")[0] in functions(file), f"{node} is not there: write it, or say where it is now"


def test_declared_sentences_are_those_of_the_code() -> None:
    """All words of a declared sentence stand in one module or template: what is no longer said is
    no longer declared."""
    declarations = re.compile(r"^VERDICTS = \(\n.*?^\)\n", re.MULTILINE | re.DOTALL)
    templates = [path for room in ("analysis", "extensions", "sessions") for path in (ROOT / room).rglob("*.jinja")]
    texts = ((ROOT / path).read_text(encoding="utf-8") for path in (*modules(ROOT), *templates))
    words = [frozenset(re.findall(r"\w+", declarations.sub("", text))) for text in texts]
    assert (
        "\n".join(sentence for sentence in SAID if not any(said >= {*re.findall(r"\w+", sentence)} for said in words))
        == ""
    )


@pytest.mark.slow
def test_both_tests_of_every_verdict_are_collected() -> None:
    nodes = sorted({node for rule in RULES for node in rule.tests})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", *nodes]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_declaration_is_read_without_an_import() -> None:
    source = (
        'import nowhere\nVERDICTS = (VerdictRule(name="a", says=("… is fine",), rests_on="b", says_no_when="c",'
        ' tests=("d", "e")),)\n'
    )
    assert [rule.name for rule in rules_of(source)] == ["a"]
    with pytest.raises(ValueError, match="malformed"):
        list(rules_of(source.replace('"a"', "nowhere.name()")))


def test_a_sentence_that_judges_is_found_and_one_that_is_declared_is_not() -> None:
    text = "vsr is fine. It is significant\nThe other half\n\nname  valid  3"
    assert undeclared(text, ()) == ["It is significant", "valid", "vsr is fine."]
    assert undeclared(text, ("… is fine", "It … significant", "valid")) == []
    assert undeclared("a is fine and b is significant", ("… is fine",)) == ["a is fine and b is significant"]
    assert undeclared(Page("<p>a <b>is</b> fine</p><script>is safe</script><td>valid</td>").text, ()) == [
        "a is fine",
        "valid",
    ]


#: commands whose words are looked through, in a folder with golden sessions (``golden``, ``study``)
#: and tables of people and networks
COMMANDS = (
    "list",
    "timing golden",
    "status study/study.yaml --data study",
    "monitor study/study.yaml --data study --all --once",
    "methods vsr --preregistration",
    "resume golden/vsr-ideal-s11",
)
SLOW_COMMANDS = (
    "check study/study.yaml own.yaml",
    "formats",
    "check vsr",
    "plan --accuracy 75% --difference -8points --people 8,64 --trials 24 --samples 100 --margin 10points",
    "check --language de",
    "plan answers.csv --people 12 --trials 12 --samples 100",
    "methods golden",
    "methods study/study.yaml --preregistration --margin 5points",
    "export csv golden out",
    "export psychds golden out",
    "export bids golden out",
    "export psych101 golden out --machines",
    "export chat-jsonl golden out --machines",
    "migrate golden/vsr-ideal-s11 golden/vsr-p01-s3",
    "replay vsr --agent ideal --agent chance --trials 3",
    "stats answers.csv --margin 5points",
    "stats golden",
    "stats groups.csv",
    "scores golden",
    "scores-by-person study",
    "fit detection.csv --model slots --model resource",
    "transcript golden/vsr-chat-scripted-s31",
    "transcript golden/vsr-chat-scripted-s31 -o transcript.html",
    "train laptop-nback --toy -o trained",
    "neural laptop-recognition -o units --trials 20",
)
#: files that those commands write, and whose words are looked through as well
WRITTEN = ("transcript.html", "trained/laptop-nback.md", "units/index.html")


def tables(place: Path) -> None:
    """Nine people and three networks, and two groups of people, as response tables."""
    people = [
        responses(
            lambda length, place, off=0.02 * (at % 4): 0.9 - 0.06 * length + off,
            agent="participant",
            kind="participant",
            participant=f"P{at}",
            seed=at,
        )
        for at in range(9)
    ]
    networks = [
        responses(lambda length, place, off=0.1 * at: 0.6 - off, agent=f"network:n{at}", seed=50 + at)
        for at in range(3)
    ]
    mixed(*people, *networks).to_csv(place / "answers.csv", index=False)
    detected = [
        table(
            change_detection(3 + 0.2 * at),
            40,
            agent="participant",
            kind="participant",
            participant=f"P{at}",
            paradigm="cd",
            seed=at,
        )
        for at in range(9)
    ]
    machines = [
        table(change_detection(1.0 + at), 40, agent=f"network:n{at}", paradigm="cd", seed=90 + at) for at in range(3)
    ]
    together(*detected, *machines).to_csv(place / "detection.csv", index=False)
    planted_groups({"old": (8, 0.3), "young": (9, 1.4)}, np.random.RandomState(1)).to_csv(
        place / "groups.csv", index=False
    )


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with golden sessions and studies, and tables of people and networks."""
    golden, place = ROOT / "tests" / "golden", tmp_path_factory.mktemp("prepared")
    shutil.copytree(golden / "record", place / "golden")
    shutil.copytree(golden / "sessions" / "studies", place / "study")
    shutil.copy(golden / "sessions" / "own.yaml", place)
    tables(place)
    return place


@pytest.fixture
def answered(prepared: Path, tmp_path: Path) -> Path:
    """A copy of that folder, to be written in."""
    return shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)


@pytest.mark.parametrize(
    "typed", [*COMMANDS, *(pytest.param(typed, marks=pytest.mark.slow) for typed in SLOW_COMMANDS)]
)
def test_what_commands_print_judges_only_as_declared(typed: str, run: Run, answered: Path) -> None:
    status, out, err = run(*typed.split())
    assert status == 0, err
    written = [(answered / name).read_text(encoding="utf-8") for name in WRITTEN if (answered / name).exists()]
    texts = [Page(text).text if text.lstrip().startswith("<") else text for text in written]
    assert undeclared("\n".join([out, err, *texts]), [*SAID, *EXPLANATIONS]) == []


@pytest.mark.parametrize(
    "data",
    [
        "golden",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("answers.csv", "detection.csv", "groups.csv")),
    ],
)
def test_what_a_page_says_judges_only_as_declared(data: str, answered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "save", lambda *_: [])
    page = compare([answered / data], answered / "out", Options(models=True, margins=read_margins(["5points"])))
    assert undeclared(Page(page.read_text(encoding="utf-8")).text, [*SAID, *EXPLANATIONS]) == []
