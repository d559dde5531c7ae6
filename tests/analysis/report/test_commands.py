"""Every command that a report prints gives the numbers that stand beside it."""

from __future__ import annotations

import html
import re
import shlex
from pathlib import Path
from typing import ClassVar

import pandas as pd
import pytest
from command_line import Run, output_of

from spanlab.agents.oracles import CapacityAgent, Chance
from spanlab.core.agent_kinds import NETWORK, AgentKind
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin

RULES = "exclude:\n  - {leave_out: trials, where: accuracy, below: 0.05, whose: everybody, reason: asleep}\n"


pytestmark = pytest.mark.usefixtures("page_only")


class Dull(Chance):
    """Somebody who guesses and is not a yardstick."""

    kind: ClassVar[AgentKind] = NETWORK
    name = "dull"


def take(data: Path, name: str, trials: int, pilot: bool = False) -> None:
    paradigm = load_paradigm(name)
    plan = plan_session(paradigm, 4, SessionDesign(), trials=trials)
    for agent in (CapacityAgent(), Chance(), Dull()):
        Runner(begin(data, paradigm, agent, plan, Request(4, pilot=pilot)), agent).run()


def printed(report: Path) -> list[list[str]]:
    """The commands of a page, each as its words."""
    found = re.findall(r"<pre><code>(.*?)</code></pre>", report.read_text(encoding="utf-8"), re.S)
    return [shlex.split(html.unescape(one)) for one in found]


def same(first: Path, second: Path) -> None:
    pd.testing.assert_frame_equal(pd.read_csv(first), pd.read_csv(second))


def ended(words: list[str], file: Path) -> list[str]:
    """The same command with another file for its result."""
    return [*words[: words.index("-o") + 1], str(file), *words[words.index("-o") + 2 :]]


def check(run: Run, out: Path, folder: Path) -> set[str]:
    """Run each command of a report anew, and compare what it writes with what the report wrote; the
    names of the commands that were there."""
    seen = set()
    for number, words in enumerate(printed(out / "report.html")):
        name = words[1]
        seen.add(name)
        if name == "figure":
            written = Path(words[words.index("-o") + 1])
            assert written == Path("out") / "figures" / f"{words[words.index('--paradigm') + 1]}_{words[2]}.svg"
            file = folder / f"{number}.csv"
            assert run(*ended(words, file)[1:])[0] == 0
            same(file, out / "tables" / f"{written.stem}.csv")
        elif name == "scores":
            file = folder / f"{number}.csv"
            shown = output_of(*run(*(ended(words, file) if "-o" in words else words)[1:]))
            if "-o" in words:
                same(file, out / "tables" / Path(words[words.index("-o") + 1]).name)
            else:
                assert "Errors on the same trials (kappa)" in shown
        elif name == "stats":
            assert run(*words[1:], "-o", folder / f"{number}")[0] == 0
    return seen


@pytest.mark.slow
def test_commands_make_the_numbers_again(tmp_path: Path, run: Run) -> None:
    """With a folder whose name must be quoted, rules, and pilot sessions."""
    take(tmp_path / "my data (1)", "vsr", 8, pilot=True)
    (tmp_path / "the rules.yaml").write_text(RULES, encoding="utf-8")
    options = ("--exclude", "the rules.yaml", "--pilot")
    assert run("compare", "my data (1)", "-o", "out", *options)[0] == 0
    assert check(run, tmp_path / "out", tmp_path / "again") == {"figure", "scores", "stats", "compare"}
    assert printed(tmp_path / "out" / "report.html")[-1] == ["spanlab", "compare", "my data (1)", "-o", "out", *options]
    assert "Rule 1, trials whose accuracy is below 0.05 (asleep):" in (tmp_path / "out" / "report.html").read_text(
        encoding="utf-8"
    )


@pytest.mark.slow
@pytest.mark.soaked(4)
@pytest.mark.parametrize(
    "name", ["cd", "cs", "lsr", "sc", "sfr", "si", "smu", "sts", "vir", "vsr", "vsrec", "nback_verbal", "nback_spatial"]
)
def test_commands_of_a_paradigm_make_the_numbers_again(tmp_path: Path, run: Run, name: str) -> None:
    take(tmp_path / "data", name, 24)
    assert run("compare", "data", "-o", "out")[0] == 0
    check(run, tmp_path / "out", tmp_path / "again")
