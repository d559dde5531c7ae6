"""Starting is quick, and nothing heavy is loaded before it is used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from session_tools import ended_well

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"torch", "psychopy", "openai", "pandas", "altair", "scipy", "sklearn", "matplotlib", "pyarrow"}
COMMAND = "import sys; sys.argv = ['spanlab', *{arguments!r}]; from spanlab.cli import main; main()"


def loaded(code: str) -> set[str]:
    """The top-level names of the modules that a fresh Python has loaded after running ``code``."""
    report = (
        "import atexit, json, sys; atexit.register(lambda: print('\\n' + json.dumps(sorted({name.split('.')[0] for"
        f" name in sys.modules}})))); {code}"
    )
    done = ended_well(
        subprocess.run(
            [sys.executable, "-c", report], capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}
        )
    )
    return set(json.loads(done.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import spanlab",
        "import spanlab.paradigms",
        "import spanlab.agents",
        "import spanlab.sessions.record.table",
        COMMAND.format(arguments=["--help"]),
        COMMAND.format(arguments=["list"]),
        COMMAND.format(arguments=["replay", "--help"]),
    ],
)
def test_nothing_heavy_is_loaded(code: str) -> None:
    assert not loaded(code) & HEAVY


def test_analysis_needs_no_screen_and_no_models() -> None:
    assert not loaded("import spanlab.analysis, spanlab.human_data, spanlab.sessions.record.table") & {
        "torch",
        "psychopy",
        "openai",
    }


def processor_time(code: str) -> float:
    """Seconds of processor time of a fresh Python that runs ``code``."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs the processor time of one child")
@pytest.mark.parametrize("arguments", [["--help"], ["list"]])
def test_commands_start_in_little_more_than_their_libraries_take(arguments: list[str]) -> None:
    """A ratio to a Python that does nothing but import what no command can do without, at the same
    time on the same machine."""
    pairs = [
        (processor_time(COMMAND.format(arguments=arguments)), processor_time("import typer, pydantic, yaml, numpy"))
        for _ in range(3)
    ]
    assert min(command for command, _ in pairs) < 2.5 * min(libraries for _, libraries in pairs)


@pytest.mark.parametrize(("arguments", "most"), [(["--help"], 64), (["list"], 60)])
def test_few_modules_of_ours_are_loaded_by_small_commands(arguments: list[str], most: int) -> None:
    count = (
        "import atexit, sys; atexit.register(lambda: print('\\n', sum(name.partition('.')[0] == 'spanlab' for name in"
        " sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{count}; {COMMAND.format(arguments=arguments)}"], capture_output=True, text=True
    )
    assert 10 < int(done.stdout.split()[-1]) <= most


def test_a_simulated_observer_loads_neither_chat_models_nor_windows(tmp_path: Path) -> None:
    """Two trials of ``ideal``: what other kinds of agents need stays on the disk."""
    code = (
        "import sys, spanlab\n"
        f"spanlab.replay('vsr', agent='ideal', trials=2, data={str(tmp_path)!r})\n"
        "print(*(name for name in sys.modules if name.partition('.')[0] == 'spanlab'))"
    )
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not [
        name
        for name in modules
        if name.startswith(("spanlab.agents.chat", "spanlab.agents.human", "spanlab.agents.network"))
    ]
    assert 40 < len(modules) <= 110


def test_the_folder_may_be_called_as_one_likes(tmp_path: Path) -> None:
    """pytest imports the ``__init__.py`` above the tests by the name of its folder, which need not
    be one of a package."""
    (folder := tmp_path / "spanlab-main (1)").mkdir()
    for name in ("__init__.py", "__init__.pyi"):
        shutil.copy(ROOT / name, folder)
    code = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('spanlab-main (1).__init__', {str(folder / '__init__.py')!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "import spanlab\n"
        "assert module.SpanLabError is spanlab.SpanLabError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_declared_is_what_the_files_register_and_a_name_that_ships_stays_taken() -> None:
    """Stimuli, samplers and response kinds are loaded when they are asked for: one that is in a
    file and not declared would not be there."""
    code = (
        "import importlib, pkgutil, sys\nfrom spanlab.paradigms import RESPONSES, SAMPLERS, responses, samplers\nfrom"
        " spanlab.stimuli import STIMULI, Stimulus, kinds\nassert 'spanlab.stimuli.kinds.arrays' not in"
        " sys.modules\nclass Mine(Stimulus): name = 'squares'\ntry: STIMULI.register(Mine)\nexcept ValueError as error:"
        " print(error)\nfor registry, package in ((STIMULI, kinds), (SAMPLERS, samplers), (RESPONSES, responses)):\n   "
        " declared = [*registry]\n    for module in pkgutil.iter_modules(package.__path__):"
        " importlib.import_module(f'{package.__name__}.{module.name}')\n    print(declared == [*registry] =="
        " sorted(registry.known()))\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said == ["two stimulus classes are called 'squares'", "True", "True", "True"]
