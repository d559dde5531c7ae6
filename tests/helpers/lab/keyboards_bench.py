"""Questions at keyboards of other countries, in the real window: ``python keyboards_bench.py LAYOUT
> facts.json``. The layout is loaded into the X server before the window opens; what is pressed are
keys at their places, as a hand finds them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from window_bench import BLANK, Bench, timed

from spanlab.agents.human import virtual_screen
from spanlab.agents.human.input.keymap import Keymap
from spanlab.agents.human.input.xtest import InputEvent
from spanlab.paradigms import Ask
from spanlab.paradigms.responses import Choice
from spanlab.paradigms.responses.text import OpenText

#: where keys lie, by X's codes, as they are called on a US keyboard
PLACES = {"f": 41, "j": 44, "1": 10, "2": 11, "num_7": 79, "q": 24, "y": 29, "e": 26, "[": 34, "o": 32}
TAB, RETURN, NUM_LOCK = 23, 36, 77


def main(layout: str) -> None:
    facts: dict[str, Any] = {"answers": {}, "written": {}}
    with virtual_screen(1024, 768) as display:
        subprocess.run(f"setxkbmap {layout} -print | xkbcomp -w0 - {display}", shell=True, check=True)
        facts["delivers"] = {key: Keymap().delivers(key) for key in ("f", "q", "1", "z")}
        bench = Bench()
        by_sign = bench.xtest._code
        bench.xtest._code = lambda key: (int(key[1:]), False) if key[1:].isdigit() and key[0] == "#" else by_sign(key)  # type: ignore[method-assign]

        def answered(ask: Ask, *codes: int) -> Any:
            bench.script = [[(0.4 + 0.15 * number, InputEvent(f"#{code}")) for number, code in enumerate(codes)]]
            return bench.trial([timed(BLANK, None, ask)], once=True)[0]["response"]["value"]

        signs = Ask(
            Choice.model_validate({"options": ["f", "j", "1", "2", "num_7"], "keys": ["f", "j", "1", "2", "num_7"]})
        )
        for locked in ("", " with Num Lock"):
            for key in ("f", "j", "1", "2", "num_7"):
                facts["answers"][key + locked] = answered(signs, PLACES[key])
            open_text = Ask(OpenText.model_validate({"most": 40}))
            facts["written"]["text" + locked] = answered(
                open_text, *[PLACES[key] for key in ("q", "y", "[", "e", "num_7")], TAB, RETURN
            )
            bench.xtest.at(bench.stage.window.now(), InputEvent(f"#{NUM_LOCK}", hold=0.02))
            bench.agent.rest(300)
        bench.agent.close()
    print(json.dumps(facts))


if __name__ == "__main__":
    main(sys.argv[1])
