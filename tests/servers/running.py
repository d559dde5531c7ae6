"""The servers, started and stopped: each makes its model at its start and lives as long as the test
process."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from .environments import LLAMA_CPP, TRANSFORMERS, VLLM, Environment
from .local import LocalServer

_HERE = Path(__file__).resolve().parent
#: Nobody waits so long but for what hangs; a server that ends at its start is noticed, and a busy
#: machine is no fault.
LONG_S = 3600
_MAKE = "import runpy\nsys.argv = {arguments!r}\nrunpy.run_path({script!r}, run_name='__main__')\n"


def _make(script: str, *arguments: str) -> str:
    path = str(_HERE / script)
    return _MAKE.format(arguments=[path, *arguments], script=path)


class _Server(LocalServer):
    #: The name of its model.
    model: str

    def __init__(self, environment: Environment) -> None:
        if not environment.python.exists():
            pytest.skip(f"{environment.name} is not installed; 'make test-servers' installs it")
        super().__init__(environment.name, f"delete {environment.home} and try again", timeout_s=LONG_S)
        self._python = environment.python


class VisionServer(_Server):
    """transformers serve with a tiny model that sees."""

    model = "tiny-vision"

    def __init__(self) -> None:
        super().__init__(TRANSFORMERS)

    def program(self, folder: Path) -> tuple[Path, str, Sequence[str], Mapping[str, str]]:
        """The model is a folder beside the log, so that its name is the folder's."""
        arguments = ["transformers", "serve", self.model, "--host", "127.0.0.1", "--port", "0", "--device", "cpu"]
        code = (
            f"import torch\ntorch.set_num_threads(1)\n{_make('tiny_vision.py', self.model)}"
            f"sys.argv = {arguments!r}\nfrom transformers.cli.transformers import main\nmain()\n"
        )
        return (
            self._python,
            code,
            (),
            {
                "HF_HUB_OFFLINE": "1",
                "TRANSFORMERS_OFFLINE": "1",
                "TOKENIZERS_PARALLELISM": "false",
                "HF_HOME": str(folder),
            },
        )


class TextServer(_Server):
    """llama-cpp-python's server with a tiny model that sees nothing.

    Parameters
    ----------
    context : how many tokens a conversation may have
    prints : whether pictures get into the prompt as text, instead of being left out
    """

    model = "tiny-text"

    def __init__(self, context: int = 8192, prints: bool = False) -> None:
        super().__init__(LLAMA_CPP)
        self._context = context
        self._prints = prints

    def program(self, folder: Path) -> tuple[Path, str, Sequence[str], Mapping[str, str]]:
        """One thread, and probabilities of every token."""
        options = {
            "model": "tiny.gguf",
            "model_alias": self.model,
            "host": "127.0.0.1",
            "port": 0,
            "n_ctx": self._context,
            "logits_all": "true",
        }
        options |= {"n_threads": 1, "n_threads_batch": 1, "flash_attn": "true", "verbose": "false"}
        arguments = [
            "llama_cpp.server",
            *(word for name, value in options.items() for word in (f"--{name}", str(value))),
        ]
        made = _make("tiny_text.py", "tiny.gguf", *(["prints"] if self._prints else []))
        return (
            self._python,
            f"{made}sys.argv = {arguments!r}\nrunpy.run_module('llama_cpp.server', run_name='__main__')\n",
            (),
            {},
        )


#: Says that it runs, as the others do, once it answers; whatever it has started ends with it.
_SAYS = """
import os, signal, threading, time, urllib.request
os.setpgrp()
os._exit = lambda status: os.killpg(0, signal.SIGKILL)
def say():
    while True:
        try:
            urllib.request.urlopen('http://127.0.0.1:{port}/health').read()
            return print('Uvicorn running on http://127.0.0.1:{port}', flush=True)
        except OSError:
            time.sleep(0.2)
threading.Thread(target=say, daemon=True).start()
"""


class PromptServer(_Server):
    """vLLM with a tiny model: it tells how probable what it is sent is."""

    model = "tiny-chat"

    def __init__(self) -> None:
        super().__init__(VLLM)

    def program(self, folder: Path) -> tuple[Path, str, Sequence[str], Mapping[str, str]]:
        """One thread, and probabilities of every token."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = {
            "model": "model",
            "served-model-name": self.model,
            "host": "127.0.0.1",
            "port": port,
            "dtype": "float32",
            "max-model-len": 8192,
        }
        words = [word for name, value in {**options, "max-logprobs": 300}.items() for word in (f"--{name}", str(value))]
        arguments = ["vllm", *words, "--enforce-eager"]
        code = f"{_make('tiny_chat.py', 'model')}{_SAYS.format(port=port)}sys.argv = {arguments!r}\n"
        run = "runpy.run_module('vllm.entrypoints.openai.api_server', run_name='__main__')\n"
        offline = {
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "HF_HOME": str(folder),
            "VLLM_CACHE_ROOT": str(folder),
        }
        return (
            self._python,
            code + run,
            (),
            {**offline, "VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
        )
