"""The page and the server take presses in the same way: what the page believes to be answered is
what the server reads from the same presses."""

from __future__ import annotations

import json
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import page_tools
import pytest

from spanlab.extensions.browser.participant.messages import ask_message
from spanlab.paradigms import Ask, ResponseKind
from spanlab.paradigms.responses.text import TypedText

KEYS = ["return", "enter", "backspace", "delete", "minus", "left", "right", "up", "down", "space", "q"]


def presses(kind: ResponseKind, random: np.random.RandomState) -> list[dict[str, Any]]:
    surface, made, at = kind.surface(), [], 1000.0
    known = [key for key, _ in surface.keys]
    for _ in range(40):
        at += float(random.choice([3, 40, 130, 400]))
        press = {
            "device": "key",
            "key": "",
            "x": 0.0,
            "y": 0.0,
            "button": "",
            "held": bool(random.randint(8) == 0),
            "t": at,
            "touch": False,
            "display": 0,
        }
        if random.randint(2) and known:
            press["key"] = known[int(random.randint(len(known)))]
        elif random.randint(2):
            press["key"] = KEYS[int(random.randint(len(KEYS)))]
        else:
            where = {"x": round(float(random.uniform(-4, 100)), 2), "y": round(float(random.uniform(-4, 100)), 2)}
            press |= {
                "device": "click",
                "button": str(random.choice(["", "", "", "done", "undo", "unknown"])),
                "held": False,
                **where,
            }
        made.append(press)
    return made


def run_module(folder: Path, name: str, script: str, given: Any) -> Any:
    """What a script prints as JSON that has a module of the page beside it, and is given something
    as JSON."""
    node = page_tools.node()
    if node is None:
        pytest.skip("needs node")
    (folder / name).write_bytes((files("spanlab.extensions.browser.participant") / "page" / name).read_bytes())
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "try.js").write_text(script)
    return json.loads(subprocess.check_output([node, folder / "try.js"], input=json.dumps(given), text=True))


NAMING = """
import { keyName } from "./keys.js";
import { readFileSync } from "node:fs";
const cases = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(({ key, code, asked }) => keyName({ key, code }, (name) => asked.includes(name)))));
"""  # noqa: E501


#: the sign of a key, its place, what is asked for, and its name
KEYS_PRESSED = [
    ("a", "KeyA", ["a"], "a"),
    ("A", "KeyA", ["a"], "a"),
    ("q", "KeyA", ["q"], "q"),  # a French keyboard: by the sign, not by the place
    ("-", "Minus", ["minus"], "minus"),
    ("ä", "Quote", ["adiaeresis"], "adiaeresis"),
    ("Ö", "Semicolon", [], "odiaeresis"),
    ("ß", "Minus", [], "ssharp"),
    ("é", "Digit2", ["2"], "2"),  # the upper row of a French keyboard: digits, with or without the shift key
    ("2", "Digit2", ["2"], "2"),
    ("é", "Digit2", ["é"], "é"),  # but where é is asked for and 2 is not
    ("-", "Digit6", ["m", "minus"], "minus"),
    ("-", "Digit6", ["6", "minus"], "6"),
    ("7", "Numpad7", ["7"], "num_7"),
    ("Enter", "NumpadEnter", [], "num_enter"),
    ("Enter", "Enter", [], "return"),
    ("ArrowLeft", "ArrowLeft", [], "left"),
    ("F4", "F4", [], "f4"),
    ("Shift", "ShiftLeft", [], "lshift"),
    ("Dead", "BracketLeft", [], ""),
    ("€", "KeyE", [], ""),
    ("@", "KeyQ", ["q"], ""),
]


def test_keys_are_called_by_their_signs_as_at_the_window(tmp_path: Path) -> None:
    cases = [{"key": key, "code": code, "asked": asked} for key, code, asked, _ in KEYS_PRESSED]
    assert run_module(tmp_path, "keys.js", NAMING, cases) == [name for *_, name in KEYS_PRESSED]


def test_every_key_of_a_typed_text_can_come_from_a_page(tmp_path: Path) -> None:
    """Characters of some countries have keys, too: of none has the page to be told by its buttons
    alone."""
    kind = TypedText.model_validate({"characters": "letters_and_digits", "more": "äöüßéèêàâçñáíóúåøæ .,'"})
    told = ask_message(Ask(kind), "en")["surface"]["keys"]
    cases = [{"key": sign, "code": f"Key{sign}", "asked": []} for sign in kind.alphabet]
    assert run_module(tmp_path, "keys.js", NAMING, cases) == [key for key, value in told if not key.startswith("num_")]
