"""Which key means which answer: sides that are swapped or counterbalanced, keys of one's own.
Without a screen."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import Run
from conditions import some_conditions
from effort import HANGS_S
from hypothesis import given
from hypothesis import strategies as st

from spanlab.agents.human import Participant, WindowOptions
from spanlab.agents.human.input.answering import AnswerSheet, Press
from spanlab.agents.human.input.buttons import BoxAddress, open_box, read_box
from spanlab.agents.human.input.keymap import named
from spanlab.agents.oracles import IdealAgent
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import AnswerKeys, Ask, ResponseKind, compile_trial, list_paradigms, load_paradigm, plan_session
from spanlab.paradigms.design import session_design
from spanlab.paradigms.responses import Cells, Choice, Continuous, SerialOrder
from spanlab.paradigms.responses.keys import KEY_NAMES, is_key, key_label
from spanlab.paradigms.responses.text import OpenText, TypedText
from spanlab.sessions import Request, begin
from spanlab.sessions.key_mapping import (
    KeySetting,
    check_answerable,
    check_buttons,
    check_keys,
    key_request,
    key_setting,
)
from spanlab.sessions.record.reader import read_session
from spanlab.sessions.record.table import read_responses
from spanlab.sessions.session import recorded_keys
from spanlab.stimuli.render.fonts import undrawable

SAME = Choice.model_validate({"options": ["same", "different"], "keys": ["f", "j"]})
MATCH = Choice.model_validate({"options": ["m", "-"], "keys": ["m", "minus"]})
SIDES = Choice.model_validate({"options": ["left", "right"], "keys": ["f", "j"], "swap": False})
NINE = Choice.model_validate({"options": 9, "layout": "3x3"})
SEEN = Choice.model_validate({"options": ["red", "blue"], "layout": "2x1"})


def means(kind: ResponseKind) -> dict[str, int | str]:
    return dict(kind.surface().keys)


@pytest.mark.slow
def test_two_words_change_sides_and_the_legend_says_so() -> None:
    swapped = SAME.with_keys(AnswerKeys(swapped=True))
    assert means(SAME) == {"f": "same", "j": "different"}
    assert means(swapped) == {"f": "different", "j": "same"}
    assert "f = different, j = same" in swapped.legend("participant")
    assert "f = different, j = same" in swapped.legend("participant", "de")
    one = AnswerSheet(Ask(swapped), 10.0)
    one.take(Press("key", 10.5, key="f"))
    assert one.answer() == "different"
    assert one.presses[0] | {"key": "f", "value": "different"} == one.presses[0]  # each press says which key meant what


@pytest.mark.parametrize("kind", [MATCH, SIDES, NINE, SEEN, Cells.model_validate({"grid": 4, "take": 2})])
def test_letters_that_are_words_sides_and_places_are_never_swapped(kind: ResponseKind) -> None:
    assert kind.with_keys(AnswerKeys(swapped=True)) is kind


def test_own_keys_take_the_place_of_others_and_are_swapped_too() -> None:
    own = {"same": "s", "different": "button_2"}
    assert means(SAME.with_keys(AnswerKeys(False, own))) == {"s": "same", "button_2": "different"}
    swapped = SAME.with_keys(AnswerKeys(True, own))
    assert means(swapped) == {"s": "different", "button_2": "same"}
    assert "button 2 = same" in swapped.legend("participant")
    assert "Knopf 2 = same" in swapped.legend("participant", "de")
    letters = MATCH.with_keys(AnswerKeys(True, {"m": "j", "-": "f"}))
    assert means(MATCH) == {"m": "m", "minus": "-", "num_subtract": "-"}
    assert means(letters) == {"f": "m", "j": "-"}  # once they are mere keys, they change sides
    pad = means(NINE.with_keys(AnswerKeys(False, {str(n): f"button_{n}" for n in range(1, 10)})))
    assert pad == {f"button_{n}": n - 1 for n in range(1, 10)}


def test_a_key_that_would_mean_two_things_is_refused() -> None:
    with pytest.raises(ValueError, match="'j' would stand for 'same' and 'different'"):
        SAME.with_keys(AnswerKeys(False, {"same": "j"}))


def test_keys_are_told_as_they_are_labelled() -> None:
    assert MATCH.legend("participant").endswith("m, -.")
    assert (key_label("space", "de"), key_label("left"), key_label("k")) == ("Leertaste", "left arrow", "k")
    assert not any(undrawable(key_label(key, language)) for key in KEY_NAMES for language in ("en", "de"))
    assert all(key_label(name) for name in KEY_NAMES)
    assert is_key("button_12")
    assert not any(map(is_key, ("escape", "button_0", "", "ß")))


@pytest.mark.slow
@given(st.booleans(), st.sampled_from(list_paradigms()))
def test_whatever_the_keys_the_answers_stay_what_they_are(swapped: bool, name: str) -> None:
    paradigm, keys = load_paradigm(name), AnswerKeys(swapped)
    for levels in some_conditions(paradigm, most=2):
        for step in compile_trial(paradigm, levels, seed=5).steps:
            if step.percept.ask is not None:
                kind = step.percept.ask.kind
                other = kind.with_keys(keys)
                assert set(means(kind)) == set(means(other))
                assert set(means(kind).values()) == set(means(other).values())
                assert other.allows(step.truth.answer)
                assert other.score(step.truth.answer, step.truth.answer) == kind.score(  # type: ignore[arg-type]
                    step.truth.answer,
                    step.truth.answer,  # type: ignore[arg-type]
                )


def test_every_other_participant_has_the_sides_swapped() -> None:
    setting = KeySetting(sides="counterbalanced")
    assert [key_request(setting, "", number)["swapped"] for number in range(1, 7)] == [False, True] * 3
    assert key_request(setting, "12")["swapped"]
    assert "number 12" in key_request(setting, "12")["why"]
    by_hash = [key_request(setting, f"vp-{number}")["swapped"] for number in range(200)]
    assert 70 < sum(by_hash) < 130
    assert by_hash == [key_request(setting, f"vp-{number}")["swapped"] for number in range(200)]


@given(st.integers(1, 12), st.integers(0, 20))
def test_every_order_of_paradigms_comes_with_both_sides_equally_often(orders: int, rounds: int) -> None:
    setting = KeySetting(sides="counterbalanced")
    met = [
        (number % orders, key_request(setting, "", number + 1, orders)["swapped"])
        for number in range(rounds * orders * 2)
    ]
    assert {met.count(pair) for pair in met} <= {rounds}


def test_the_setting_is_a_word_or_has_parts() -> None:
    assert key_setting("swapped", ["same=s", "-=n", "1=button_1"]) == KeySetting(
        sides="swapped", own={"same": "s", "-": "n", "1": "button_1"}
    )
    for sides, pairs, told in (
        ("sideways", (), "standard, swapped or counterbalanced"),
        ("standard", ("same",), "ANSWER=KEY"),
        ("standard", ("same=s", "same=d"), "each answer once"),
        ("standard", ("same=escape",), "'escape' is kept for the session itself"),
        ("standard", ("same=spcae",), "did you mean 'space'"),
    ):
        with pytest.raises(SpanLabError, match=told):
            key_setting(sides, pairs)


def test_keys_are_named_by_the_signs_on_them() -> None:
    signs = {
        "y": "yY",
        "minus": "-_",
        "slash": "/?",
        "2": "é2",
        "6": "-6",
        "ssharp": "ßẞ",
        "adiaeresis": "äÄ",
        ")": ")°",
    }
    assert {name: named(*map(ord, both)) for name, both in signs.items()} == {name: name for name in signs}
    assert (
        named(0xFF51, 0) == named(0x6C6, 0x6E6) == named(0x1008FF13, 0x1008FF13) == ""
    )  # an arrow, a Cyrillic letter, a louder one: by place


def test_keys_for_answers_that_nobody_can_give_are_refused() -> None:
    kinds = [SAME, NINE]
    with pytest.raises(SpanLabError, match="did you mean 'same'"):
        check_keys(AnswerKeys(False, {"sam": "s"}), kinds)
    with pytest.raises(SpanLabError, match="would stand for"):
        check_keys(AnswerKeys(False, {"same": "j"}), kinds)
    check_keys(AnswerKeys(False, {"symmetric": "s"}), kinds, others=True)
    check_keys(AnswerKeys(True, {"same": "s", "9": "z"}), kinds)


def test_the_record_keeps_the_keys(tmp_path: Path) -> None:
    paradigm = load_paradigm("cd")
    plan = plan_session(paradigm, 1, session_design(paradigm, None), {}, 3)
    noted = key_request(key_setting("swapped", ["same=s"]), "p1")
    session = begin(tmp_path, paradigm, IdealAgent(), plan, Request(extra={"keys": noted}))
    assert read_session(session.folder)["keys"] == noted
    assert session.answer_keys == recorded_keys(noted) == AnswerKeys(True, {"same": "s"})
    with pytest.raises(SpanLabError, match="not an answer to any question"):
        begin(
            tmp_path,
            paradigm,
            IdealAgent(),
            plan,
            Request(extra={"keys": key_request(key_setting(pairs=["yes=s"]), "p1")}),
        )
    from spanlab.sessions import Runner

    Runner(session, IdealAgent()).run()
    assert set(read_responses(session.folder)["keys"]) == {"swapped"}
    info = json.loads((session.folder / "session.json").read_text())
    info["keys"] = {"swapped": 1}
    (session.folder / "session.json").write_text(json.dumps(info))
    with pytest.raises(SpanLabError, match="missing"):
        read_session(session.folder)


def test_button_boxes_are_named_and_what_is_wrong_is_said() -> None:
    assert read_box("keys:1+2") == BoxAddress("keys", "1+2")
    assert read_box("serial:COM3@9600,presses=ab") == BoxAddress("serial", "COM3", 9600, b"ab")
    assert read_box("serial:/dev/ttyUSB0,presses=0x01+0xff").presses == b"\x01\xff"
    for text, told in (
        ("cedrus", "unknown button box"),
        ("serail:COM3", "did you mean 'serial'"),
        ("keys:1+1", "each once"),
        ("keys:1+ä", "each once"),
        ("serial:COM3@fast", "number of baud"),
        ("serial:COM3,presses=aa", "all different"),
        ("serial:COM3,pulse=2", "no setting 'pulse'"),
    ):
        with pytest.raises(SpanLabError, match=told):
            read_box(text)


def test_a_box_that_is_not_there_stops_before_the_session(tmp_path: Path) -> None:
    agent = Participant(WindowOptions(buttons=f"serial:{tmp_path / 'none'}"))
    with pytest.raises(SpanLabError, match="cannot be opened"):
        agent.ready()
    assert agent.settings()["buttons"].startswith("serial:")


def test_buttons_and_the_box_belong_together() -> None:
    with pytest.raises(SpanLabError, match="there is no button box"):
        check_buttons(AnswerKeys(False, {"same": "button_1"}), "")
    with pytest.raises(SpanLabError, match="no answer has a button"):
        check_buttons(AnswerKeys(), "keys:1+2")
    check_buttons(AnswerKeys(False, {"same": "button_1"}), "keys:1+2")


BOTH = AnswerKeys(False, {"same": "button_1", "different": "button_2"})
DIGITS = SerialOrder.model_validate({"options": list("123456789"), "take": 4})


@pytest.mark.parametrize(
    ("box", "kind", "pages", "key"),
    [
        ("keys:1+2", DIGITS, {}, "1"),
        ("keys:f5+num_4", DIGITS, {}, "num_4"),
        ("keys:f5+return", DIGITS, {}, "return"),
        ("keys:left+right", Continuous.model_validate({"feature": "orientation", "tolerance": 9}), {}, "left"),
        ("keys:f+j", Choice.model_validate({"options": ["yes", "no"], "keys": ["f", "j"]}), {}, "f"),
        ("keys:f5+tab", OpenText.model_validate({}), {}, "tab"),
        ("keys:b+n", SAME, {"n": "says 'refuse' to taking part"}, "n"),
        ("keys:k+l", SAME, {}, "l"),
    ],
)
def test_a_key_of_a_box_that_would_mean_two_things_is_refused(
    box: str, kind: ResponseKind, pages: dict[str, str], key: str
) -> None:
    kinds = [SAME.with_keys(BOTH), kind.with_keys(BOTH)]
    with pytest.raises(SpanLabError, match=f"the key '{key}' would mean two things"):
        check_buttons(BOTH, box, kinds, pages)
    check_buttons(BOTH, "keys:f5+f6", kinds, pages)
    check_buttons(BOTH, "serial:COM3", kinds, pages)


STUDY = """
study: boxst
title: Box and digits
paradigms:
  - {paradigm: digit_span, design: forward, trials: 3, practice: false}
  - {paradigm: cd, set: {feature: colour}, trials: 4, practice: false}
keys: {own: {same: button_1, different: button_2}}
buttons: BOX
"""


@pytest.mark.parametrize(
    ("box", "consent", "fine"),
    [("keys:1+2", "", False), ("keys:f5+f6", "", True), ("keys:b+n", "consent: {en: Stop any time.}", False)],
)
def test_a_study_says_which_box_it_has_and_check_finds_clashes(
    tmp_path: Path, run: Run, box: str, consent: str, fine: bool
) -> None:
    (file := tmp_path / "study.yaml").write_text(STUDY.replace("BOX", box) + consent, encoding="utf-8")
    status, out, err = run("check", file)
    assert (status == 0) is fine, out + err
    assert ("two things" in err) is not fine


def test_a_session_with_a_clash_is_refused_before_it_begins(tmp_path: Path) -> None:
    paradigm = load_paradigm("digit_span")
    agent = Participant(WindowOptions(buttons="keys:1+2"))
    request = Request(
        1, "corrected", "p1", extra={"keys": key_request(KeySetting(own=dict(BOTH.custom)), "p1"), "study": {}}
    )
    with pytest.raises(SpanLabError, match="two things"):
        begin(tmp_path, paradigm, agent, plan_session(paradigm, 1, trials=1), request)
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")
def test_bytes_of_a_serial_box_are_dated_when_they_arrive() -> None:
    import os
    import pty

    far, near = pty.openpty()
    box: Any = open_box(read_box(f"serial:{os.ttyname(near)}"), time.monotonic)
    sent = []
    for number, byte in enumerate(b"12x9", start=1):
        before = time.monotonic()
        os.write(far, bytes([byte]))
        until = before + HANGS_S
        while len(box._arrived) < number and time.monotonic() < until:
            time.sleep(0.001)
        sent.append((before, time.monotonic()))
    found = box.with_buttons([Press("key", 0.0, key="f")])
    assert [press.key for press in found] == ["f", "button_1", "button_2", "button_9"]
    # dated when they arrived, and not when they were asked for
    assert all(
        before - 0.001 < press.time < after + 0.001
        for press, (before, after) in zip(found[1:], [sent[0], sent[1], sent[3]], strict=True)
    )
    box.check()
    os.close(far)
    os.close(near)
    box._thread.join(HANGS_S)
    with pytest.raises(SpanLabError, match="has gone"):
        box.check()
    box.close()


def test_texts_may_have_characters_that_only_some_keyboards_have() -> None:
    """They can be clicked on; keys that nobody has are refused elsewhere."""
    check_answerable([TypedText.model_validate({"more": "äöüßé"})])
    with pytest.raises(SpanLabError, match="could not be given"):
        check_answerable([Choice.model_construct(options=("a", "b"), keys=("ä", "f"))])
