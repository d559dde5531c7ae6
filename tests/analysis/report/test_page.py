"""The report, from real sessions on disk: self-contained, honest about what it compares, and hard
to break."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from chromium import visited
from report_page import read, unfolded

from spanlab.agents.base import Agent
from spanlab.agents.oracles import CapacityAgent, Chance, IdealAgent
from spanlab.agents.registry import make_agent
from spanlab.analysis.data.sessions import Head, facts_of, unfinished
from spanlab.analysis.report import folder as report_folder
from spanlab.analysis.report.page import Options, compare
from spanlab.api import read_rules
from spanlab.core.atomic_files import write_whole
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.design import session_design
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin

PLAIN = Options(all_figures=True)
EVIL = '<script>alert(1)</script> & "co" </script><!--'


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three agents on the same trials of three paradigms."""
    folder = tmp_path_factory.mktemp("data")
    for name, trials in (("vsr", 16), ("sfr", 12), ("smu", 8)):
        paradigm = load_paradigm(name)
        plan = plan_session(paradigm, 3, SessionDesign(), trials=trials)
        for agent in (IdealAgent(), CapacityAgent(), Chance()):
            Runner(begin(folder, paradigm, agent, plan, Request(3)), agent).run()
    return folder


@pytest.fixture(scope="module")
def report(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compare([data], tmp_path_factory.mktemp("out") / "report", PLAIN)


def copy(data: Path, into: Path, *names: str) -> Path:
    for name in names:
        shutil.copytree(data / name, into / name)
    return into


def edit(folder: Path, **values: object) -> None:
    """Change what ``session.json`` says; the table is then rebuilt from the events."""
    file = folder / "session.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | values), encoding="utf-8")
    for table in ("responses.parquet", "responses.csv"):
        (folder / table).unlink(missing_ok=True)


@pytest.mark.slow
def test_the_page_needs_nothing_but_itself(report: Path) -> None:
    page = read(report)
    assert all(address.startswith("#") or (report.parent / address).is_file() for address in page.addresses)
    assert not {"link", "img", "iframe", "object", "embed"} & set(page.tags)
    style = re.search(r"<style>(.*?)</style>", report.read_text(encoding="utf-8"), re.S)
    assert style is not None
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    assert (
        report.read_text(encoding="utf-8").count("window.vegaEmbed = ")
        + report.read_text(encoding="utf-8").count("window.vegaEmbed=")
        == 1
    )


@pytest.mark.usefixtures("page_only")
def test_the_page_tells_the_story(data: Path, tmp_path: Path) -> None:
    text = read(compare([data], tmp_path / "report", PLAIN)).text
    for said in (
        "Everybody took exactly the same 16 trials.",
        "ideal (simulated) 100%",
        "No digitised human data are published for this paradigm",
        "Avons, S. E. (1998)",
        "always gives the most frequent answer, is right in",
        "given the correct answers",
    ):
        assert said in text
    assert re.search(r"spanlab compare \S+ -o \S+report", text)


@pytest.mark.usefixtures("page_only")
def test_whatever_users_call_things_is_escaped(data: Path, tmp_path: Path) -> None:
    sessions = copy(data, tmp_path / "data", "vsr-ideal-s3", "vsr-chance-s3")
    edit(sessions / "vsr-ideal-s3", agent_kind="participant", participant=EVIL, session=EVIL, oracle=False)
    edit(sessions / "vsr-chance-s3", agent=EVIL, label=EVIL, paradigm_title=EVIL)
    report = compare([sessions], tmp_path / "out", PLAIN)
    page = read(report)
    assert page.tags.count("script") == 3
    assert f"Participant {EVIL}" in page.text
    specs = re.search(
        r'<script type="application/json" id="figures">(.*?)</script>', report.read_text(encoding="utf-8"), re.S
    )
    assert specs is not None
    assert EVIL in json.dumps(json.loads(specs[1])["specs"], ensure_ascii=False).replace('\\"', '"')


@pytest.mark.usefixtures("page_only")
@pytest.mark.slow
def test_different_trials_are_called_different(data: Path, tmp_path: Path) -> None:
    paradigm, agent = load_paradigm("vsr"), IdealAgent()
    sessions = copy(data, tmp_path / "data", "vsr-chance-s3")
    Runner(
        begin(sessions, paradigm, agent, plan_session(paradigm, 99, SessionDesign(), trials=8), Request(99)), agent
    ).run()
    text = read(compare([sessions], tmp_path / "out", PLAIN)).text
    assert (
        "Not everybody took the same trials: chance (guessing) took 16 trials; ideal (simulated) took 8 trials; none of"
        " them were taken by everybody." in text
    )
    assert "exactly the same" not in text


@pytest.mark.slow
@pytest.mark.usefixtures("page_only")
def test_scripted_servers_pilots_and_different_files_are_warned_about(data: Path, tmp_path: Path) -> None:
    sessions = copy(data, tmp_path / "data", "vsr-ideal-s3", "vsr-capacity-s3", "vsr-chance-s3")
    edit(
        sessions / "vsr-capacity-s3",
        agent_kind="chat",
        agent="chat:fake",
        label="scripted server, not a model",
        oracle=False,
    )
    edit(sessions / "vsr-chance-s3", paradigm_hash="another", pilot=True)
    text = read(compare([sessions], tmp_path / "out", Options(pilot=True))).text
    for words in (
        "chat:fake (scripted server, not a model) comes from a scripted server.",
        "Session vsr-chance-s3 is a pilot.",
        "2 different versions of the paradigm file",
        "--pilot",
    ):
        assert words in text
    without = read(compare([sessions], tmp_path / "without", PLAIN)).text
    assert "pilot rows left out." in without
    assert "chance (guessing)" not in without


@pytest.mark.slow
@pytest.mark.usefixtures("page_only")
def test_several_people_become_one_answerer(data: Path, tmp_path: Path) -> None:
    for name in ("A", "B", "C"):
        shutil.copytree(data / "vsr-capacity-s3", tmp_path / "data" / name)
        edit(
            tmp_path / "data" / name,
            session=name,
            agent_kind="participant",
            agent="participant",
            participant=name,
            oracle=False,
        )
    report = compare([tmp_path / "data"], tmp_path / "out", PLAIN)
    total = pd.read_csv(report.parent / "tables" / "vsr_overall.csv")
    assert total[["agent", "unit", "n_units", "n_trials"]].to_numpy().tolist() == [
        ["People (n = 3)", "participant", 3, 48]
    ]
    assert "Everybody took exactly the same 16 trials." in read(report).text
    events = tmp_path / "data" / "C" / "events.jsonl"
    events.write_bytes(events.read_bytes()[:-3000])
    said = read(compare([tmp_path / "data"], tmp_path / "again", PLAIN)).text
    assert re.search(
        r"Not everybody took the same trials: People \(n = 3\) took (1\d) to 16 trials each, 16 in all; \1 of them"
        r" were taken by everybody\.",
        said,
    )


@pytest.mark.slow
@pytest.mark.usefixtures("page_only")
def test_the_same_session_given_twice_counts_once_and_equal_names_stay_apart(data: Path, tmp_path: Path) -> None:
    one = data / "vsr-ideal-s3"
    total = pd.read_csv(
        compare([one, one, one.parent / "." / one.name], tmp_path / "once", PLAIN).parent / "tables" / "vsr_overall.csv"
    )
    assert total["n_trials"].item() == 16
    copied = copy(data, tmp_path / "elsewhere", "vsr-ideal-s3")
    edit(copied / "vsr-ideal-s3", agent="ideal:other")
    total = pd.read_csv(compare([one, copied], tmp_path / "apart", PLAIN).parent / "tables" / "vsr_overall.csv")
    assert total["n_trials"].tolist() == [16, 16]


@pytest.mark.slow
@pytest.mark.usefixtures("page_only")
def test_unfinished_and_unreadable_sessions_are_named(data: Path, tmp_path: Path) -> None:
    sessions = copy(data, tmp_path / "data", "vsr-ideal-s3", "vsr-capacity-s3", "vsr-chance-s3")
    cut, broken = sessions / "vsr-capacity-s3", sessions / "vsr-chance-s3"
    edit(cut)
    events = (cut / "events.jsonl").read_bytes()
    (cut / "events.jsonl").write_bytes(events[: int(len(events) * 0.6)])
    (broken / "session.json").write_text("{", encoding="utf-8")
    text = read(compare([sessions, tmp_path / "nowhere"], tmp_path / "out", PLAIN)).text
    assert re.search(
        r"Session vsr-capacity-s3 \(capacity, vsr\) is unfinished: its \d+ finished trials of 16 are used\.", text
    )
    assert f"Left out: {broken / 'session.json'} cannot be read" in text
    assert f"{tmp_path / 'nowhere'}: there is no session here" in text


@pytest.mark.parametrize(
    ("trials", "said"), [(1, "its 1 finished trial of 360 is used"), (2, "trials of 360 are used")]
)
def test_one_finished_trial_is_used_and_two_are(trials: int, said: str) -> None:
    assert said in unfinished(facts_of(Head(Path("s"), "s", {"plan": [{}] * 360}), trials))[0]


@pytest.mark.usefixtures("page_only")
def test_a_session_killed_before_its_first_trial_gives_a_page_that_says_so(data: Path, tmp_path: Path) -> None:
    sessions = copy(data, tmp_path / "data", "vsr-ideal-s3")
    edit(sessions / "vsr-ideal-s3")
    (sessions / "vsr-ideal-s3" / "events.jsonl").unlink()
    text = read(compare([sessions], tmp_path / "out", PLAIN)).text
    assert "Nothing to compare yet" in text
    assert "its 0 finished trials of 16 are used" in text


@pytest.mark.usefixtures("page_only")
@pytest.mark.slow
def test_damaged_tables_do_not_hide_the_others(data: Path, tmp_path: Path) -> None:
    sessions = copy(data, tmp_path / "data", "vsr-ideal-s3", "vsr-chance-s3")
    (sessions / "vsr-chance-s3" / "responses.parquet").write_bytes(b"PAR1 this is not a table")
    text = read(compare([sessions], tmp_path / "out", PLAIN)).text
    assert f"{sessions / 'vsr-chance-s3'} is damaged and cannot be read" in text
    assert "ideal (simulated)" in text


def test_nothing_readable_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match="no session could be read"):
        compare([tmp_path], tmp_path / "out", PLAIN)
    with pytest.raises(SpanLabError, match="no session could be read"):
        compare([], tmp_path / "out", PLAIN)


@pytest.mark.usefixtures("page_only")
def test_an_unwritable_folder_is_one_clear_sentence(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(SpanLabError, match="cannot write the report"):
        compare([data / "vsr-ideal-s3"], tmp_path / "file" / "out", PLAIN)


@pytest.mark.slow
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_page_draws_everything_in_a_browser_without_network_and_without_complaints(
    report: Path, tmp_path: Path, colours: str
) -> None:
    preference = [] if colours == "light" else ["--blink-settings=preferredColorScheme=0"]
    run = visited(unfolded(report, tmp_path), tmp_path, *preference)
    assert 'data-ready="yes"' in run.stdout
    assert run.stdout.count('class="marks"') == report.read_text(encoding="utf-8").count('class="chart"') >= 8
    assert [line for line in run.stderr.splitlines() if "CONSOLE" in line] == []


@pytest.mark.slow
def test_answerers_and_intervals_can_be_switched_off_in_every_figure(report: Path, tmp_path: Path) -> None:
    html = report.read_text(encoding="utf-8")
    end = html.rindex("</body>")
    click = (
        "document.querySelector('button.who[data-agent^=ideal]').click();"
        " document.querySelector('button.who.intervals').click()"
    )
    (page := tmp_path / "clicked.html").write_text(
        f"{html[:end]}<script>setTimeout(() => {{ {click} }}, 8000)</script>{html[end:]}", encoding="utf-8"
    )
    before, after = (visited(one, tmp_path).stdout for one in (report, page))
    drawn = re.compile(r'aria-label="[^"]*who: ideal')
    bars = re.compile(r'aria-roledescription="rule mark"')
    assert drawn.search(before)
    assert bars.search(before)
    assert not drawn.search(after)
    assert not bars.search(after)
    assert "who: capacity" in after


def adaptive(folder: Path, agent: Agent, participant: str = "", stops: int = 0, **other: object) -> Path:
    """A span test of digits (backwards): of a machine, or as if a person had given its answers."""
    paradigm = load_paradigm("digit_span")
    session = begin(
        folder,
        paradigm,
        agent,
        plan_session(paradigm, 1, session_design(paradigm, "backward")),
        Request(design="backward"),
    )
    Runner(session, agent).run()
    if participant:
        edit(
            session.folder,
            agent_kind="participant",
            agent="participant",
            participant=participant,
            oracle=False,
            session=f"of-{participant}",
            **other,
        )
    if stops:
        lines = (session.folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
        ends = [place for place, line in enumerate(lines) if '"trial_end"' in line]
        (session.folder / "events.jsonl").write_text("\n".join(lines[: ends[stops - 1] + 1]) + "\n", encoding="utf-8")
    return session.folder


@pytest.mark.usefixtures("page_only")
def test_a_page_of_adaptive_sessions_alone_has_the_span_of_everybody(tmp_path: Path) -> None:
    data = tmp_path / "data"
    adaptive(data, make_agent("capacity:4"))
    adaptive(data, make_agent("capacity:4"), "ada")
    adaptive(data, make_agent("capacity:6"), "bea")
    adaptive(data, IdealAgent(), "cleo")
    adaptive(data, Chance(), "dora")
    adaptive(data, IdealAgent(), "emil", stops=3)
    adaptive(data, IdealAgent(), "pia", pilot=True)
    report = compare([data], tmp_path / "report", PLAIN)
    text = read(report).text
    assert "People and machines: spans" in text
    assert "Nothing to compare" not in text
    assert "Left out" not in text
    assert "1 adaptive session left out: pilot." in text
    spans = pd.read_csv(tmp_path / "report" / "tables" / "spans.csv").set_index("who")
    found = spans["span"]
    assert found["cleo"] == 9
    assert found["ada"] == found["capacity:4"] < found["bea"] < 9
    assert found.isna()[["dora", "emil"]].all()
    assert spans["below_start"]["dora"]
    assert spans["conditions"].eq("direction: backward").all()
    assert "the longest list was passed" in spans["note"]["cleo"]
    assert spans["note"]["emil"] == "unfinished, 3 trials so far"
    assert "below 2" in text
    (people,) = pd.read_csv(tmp_path / "report" / "tables" / "mean_spans.csv").to_dict("records")
    assert (people["who"], people["n"]) == ("People", 3)
    assert people["mean"] == pytest.approx(found[["ada", "bea", "cleo"]].mean())
    assert people["note"] == "without 1 session below the first level, so the mean is too high"
    empty = re.findall(r"<section[^>]*>\s*(?:<h2>[^<]*</h2>)?\s*</section>", report.read_text(encoding="utf-8"))
    assert not empty, "no section is without content"


@pytest.mark.usefixtures("page_only")
@pytest.mark.slow
def test_spans_stand_beside_the_curves_of_other_sessions(tmp_path: Path, data: Path) -> None:
    both = copy(data, tmp_path / "both", "vsr-ideal-s3")
    adaptive(both, make_agent("capacity:4"))
    page = read(compare([both], tmp_path / "report", PLAIN))
    assert "1 session is adaptive: it is in the table of spans alone." in page.text
    assert "digit_span-capacity-4-s1" in page.text
    assert {"#spans", "#paradigm-vsr"} <= set(page.addresses)


def at_window(folder: Path, participant: str, late: int) -> None:
    """Make a session one of a person at a window: displays of 6 refreshes, of which the first few
    last for one too many, unnoticed."""
    edit(
        folder,
        agent_kind="participant",
        agent="participant",
        participant=participant,
        oracle=False,
        session=folder.name,
    )
    edit(folder, apparatus={"hz": 60.0, "frames_by": "screen", "keyboard": "ptb"})
    events, onset, frame = [], 0.0, 1000 / 60
    for line in (folder / "events.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["event"] == "step" and "ask" not in event:
            frames, late = (7, late - 1) if late else (6, 0)
            display = {
                "planned_ms": 6 * frame,
                "onset_ms": onset,
                "shown_ms": frames * frame,
                "planned_frames": 6,
                "shown_frames": frames,
                "dropped_frames": 0,
            }
            event["shown"], onset = [display], onset + frames * frame
        events.append(json.dumps(event))
    (folder / "events.jsonl").write_text("\n".join(events) + "\n", encoding="utf-8")


@pytest.mark.usefixtures("page_only")
@pytest.mark.slow
def test_timing_verdicts_and_what_rules_left_out_stand_on_the_page(data: Path, tmp_path: Path) -> None:
    for name, late in (("good", 0), ("bad", 3)):
        shutil.copytree(data / "vsr-capacity-s3", tmp_path / "data" / name)
        at_window(tmp_path / "data" / name, f"P-{name}", late)
    copy(data, tmp_path / "data", "vsr-chance-s3")
    text = read(compare([tmp_path / "data"], tmp_path / "all", PLAIN)).text
    assert "2 sessions at a window: 1 pass, 1 to look at." in text
    assert re.search(r"pass good, P-good[\d,]+ of [\d,]+ timed displays on plan", text)
    assert re.search(r"look bad, P-bad.*3 displays off plan without a recorded late frame", text)
    assert re.search(r"spanlab timing \S+bad \S+good", text)
    (rules := tmp_path / "rules.yaml").write_text(
        "exclude:\n  - {leave_out: sessions, where: timing, above: 0, reason: timing did not hold}\n", encoding="utf-8"
    )
    report = compare([tmp_path / "data"], tmp_path / "left", Options(rules=read_rules(rules), rules_file=rules))
    text = read(report).text
    assert "(timing did not hold): 1 of 3 sessions left out" in text
    assert "Participant P-good" in text
    assert "People (n = 2)" not in text
    assert f"--exclude {rules}" in text
    assert pd.read_csv(report.parent / "tables" / "exclusions.csv")["session"].tolist() == ["bad"]


def test_a_report_that_was_killed_on_its_way_to_its_place_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at every step by which a report takes the place of an earlier one: the old one is whole, or the new one,
    which the next command puts in its place, whatever becomes of that command. No page stands beside the tables of
    another."""

    def report(number: int) -> report_folder.Folder:
        made = report_folder.Folder(tmp_path / f"new{number}")
        for name in ("a", "b"):
            made.table(name, pd.DataFrame({"of": [number]}))
        (made.path / "report.html").write_text(str(number), encoding="utf-8")
        return made

    def numbers() -> set[str]:
        tables = {(place / "tables" / f"{name}.csv").read_text(encoding="utf-8")[-2] for name in ("a", "b")}
        return tables | {(place / "report.html").read_text(encoding="utf-8")}

    def killed(step: Callable[..., object]) -> Callable[..., object]:
        def one(*arguments: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            return step(*arguments, **named)

        return one

    place, left, moment, standing = tmp_path / "report", 0, 0, list[set[str]]()
    for moment in range(20):
        for old in tmp_path.iterdir():
            shutil.rmtree(old)
        place.mkdir()
        report(1).replace(place)
        later, left = report(2), moment
        with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
            for name in ("replace", "rename", "unlink"):
                patched.setattr(Path, name, killed(getattr(Path, name)))
            patched.setattr(shutil, "rmtree", killed(shutil.rmtree))
            later.replace(place)
            break
        assert not (place / "report.html").exists() or numbers() in ({"1"}, {"2"})
        with pytest.raises(SpanLabError, match="no session"):
            compare([tmp_path / "nothing"], place)
        standing.append(numbers())
        assert not (place / ".report.new").exists()
    assert standing == [{"1"}] * standing.count({"1"}) + [{"2"}] * (moment - standing.count({"1"}))
    assert 5 < moment < 19


@pytest.mark.parametrize("linked", ["tables", "figures", "../elsewhere", "../tables"])
def test_what_others_have_left_as_a_report_takes_no_files_from_elsewhere(tmp_path: Path, linked: str) -> None:
    mine, whole = tmp_path / "mine", tmp_path / "report" / report_folder.WHOLE
    for file in (mine / "thesis", whole / "gone", whole / "report.html"):
        write_whole(file, bytes(mine / "thesis"), folders="all")
    (whole / linked).symlink_to(mine)
    if linked == "../tables":
        write_whole(whole / "tables" / "thesis", b"ours", folders="all")
    report_folder.finish(report_folder.Folder(whole).path.parent)
    assert (mine / "thesis").read_bytes() == bytes(mine / "thesis")
