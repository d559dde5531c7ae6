"""The environments of the servers, under the user's cache folder: made once, by ``make test-servers``; tests only look whether they are there.

What is pinned here was tested together, on Linux with Python 3.11. llama-cpp-python comes without a compiled wheel: it is compiled once (four minutes on one
core, for it is cut down to what the tests use), and its wheel is kept, so that another environment is a matter of seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from chat_servers import real_cache

from spanlab.agents.chat.servers.local import environment, python_of
from spanlab.core.errors import SpanLabError

_COMMON = """
annotated-doc==0.0.7 annotated-types==0.8.0 anyio==4.16.0 click==8.5.1 fastapi==0.165.0 h11==0.16.0 idna==3.20 Jinja2==3.1.6 MarkupSafe==3.0.4 numpy==2.4.6
opentelemetry-api==1.45.2 pydantic==2.14.3 pydantic_core==2.50.4 PyYAML==6.0.3 starlette==1.10.0 tqdm==4.70.1 typing-inspection==0.4.5 typing_extensions==4.16.0
uvicorn==0.54.0
"""


@dataclass(frozen=True)
class Environment:
    """What a server needs.

    Parameters
    ----------
    name : what messages call it
    main : the package that gives it its version
    packages, pins : what is installed, and the exact versions of what comes with it
    compiled : whether ``main`` is compiled first
    """

    name: str
    main: str
    packages: tuple[str, ...]
    pins: str
    compiled: bool = False

    @property
    def home(self) -> Path:
        """Its folder."""
        return real_cache() / "servers" / f"{self.main.replace('==', '-')}-py{sys.version_info.major}.{sys.version_info.minor}"

    @property
    def python(self) -> Path:
        """Its Python, whether it is there or not."""
        return python_of(self.home)

    def install(self) -> Path:
        """Make it, when it is not there yet.

        Raises
        ------
        SpanLabError
            when it cannot be made.
        """
        if self.python.exists():
            return self.python
        print(f"making the environment of {self.name} in {self.home} ...", file=sys.stderr, flush=True)
        packages = self.packages
        if self.compiled:
            packages = (str(_wheel(self.main)), *packages)
        else:
            _refuse_gigabytes(packages)
        return environment(self.home, packages, self.pins.split(), self.name)


#: Looks at pictures, has no answer constraints. torchvision is left out on purpose: its wheels fit one build of torch only.
TRANSFORMERS = Environment(
    "transformers serve",
    "transformers==5.23.0",
    ("transformers[serving]==5.23.0", "torch==2.13.0", "pillow==13.0.0"),
    _COMMON
    + """
accelerate==1.15.0 filelock==4.2.11 fsspec==2026.9.0 hf-xet==1.8.0 httpcore2==2.16.2 httpx2==2.16.2 huggingface_hub==2.4.0 jiter==0.19.0 markdown-it-py==4.3.0
mdurl==0.1.2 mpmath==1.3.0 networkx==3.6.1 openai==3.54.0 packaging==26.3 psutil==7.2.2 Pygments==2.21.0 regex==2026.11.15 rich==15.0.0 safetensors==0.8.0
shellingham==1.5.4 sniffio==1.3.1 sympy==1.14.0 tokenizers==0.23.3 truststore==0.10.5 typer==0.29.2
""",
)
#: Constrains answers, gives probabilities, refuses what exceeds its context, sees nothing.
LLAMA_CPP = Environment(
    "llama-cpp-python's server",
    "llama-cpp-python==0.3.36",
    ("gguf==0.19.0", "pydantic-settings==2.16.3", "sse-starlette==3.7.0", "starlette-context==0.3.6", "fastapi", "uvicorn", "PyYAML"),
    _COMMON + "certifi==2026.10.18 charset-normalizer==3.5.2 diskcache==5.6.3 python-dotenv==1.2.4 requests==2.34.2 urllib3==2.8.0",
    compiled=True,
)
ENVIRONMENTS = (TRANSFORMERS, LLAMA_CPP)

#: Left out of the compilation: what only its command-line tools use.
_LEAN = "set(LLAMA_BUILD_COMMON OFF)\nset(LLAMA_BUILD_MTMD OFF)\n"
#: The least of instructions, so that a cache that moves to another machine still works there; little optimization, for the model is tiny.
_CMAKE = "-DLLAVA_BUILD=OFF -DGGML_NATIVE=OFF -DGGML_AVX=OFF -DGGML_AVX2=OFF -DGGML_FMA=OFF -DGGML_F16C=OFF -DGGML_BMI2=OFF -DGGML_OPENMP=OFF"
_OPTIMIZE = "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DCMAKE_C_FLAGS_RELEASE=-O1"


def _pip(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})


def _wheel(package: str) -> Path:
    """The compiled wheel of a package: from the cache, or made now, quietly and with one job."""
    kept = real_cache() / "servers" / "wheels"
    pattern = f"{package.replace('-', '_').replace('==', '-')}-*.whl"
    if not list(kept.glob(pattern)):
        print(f"compiling {package}, once (several minutes; needs a C++ compiler) ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="spanlab-wheel-") as folder:
            lean = Path(folder) / "lean.cmake"
            lean.write_text(_LEAN, encoding="utf-8")
            options = f"{_CMAKE} {_OPTIMIZE} -DCMAKE_PROJECT_llama_cpp_INCLUDE={lean.as_posix()}"
            asked = ["--no-deps", "--no-binary", package.split("==")[0], "--wheel-dir", folder, package]
            jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", "1")
            done = _pip("wheel", *asked, CMAKE_ARGS=options, CMAKE_BUILD_PARALLEL_LEVEL=jobs)
            made = list(Path(folder).glob(pattern))
            if not made:
                why = (done.stderr.strip().splitlines() or ["no message"])[-1]
                raise SpanLabError(f"{package} could not be compiled ({why}); it needs the network and a C++ compiler (Debian, Ubuntu: apt-get install g++)")
            kept.mkdir(parents=True, exist_ok=True)
            # complete or not there at all, also when this is interrupted
            aside = kept / f"{made[0].name}.{os.getpid()}"
            aside.write_bytes(made[0].read_bytes())
            aside.replace(kept / made[0].name)
    return next(kept.glob(pattern))


def _refuse_gigabytes(packages: tuple[str, ...]) -> None:
    """Stop before gigabytes of CUDA libraries are fetched that nothing here uses."""
    done = _pip("install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", *packages)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise SpanLabError(f"{packages[0]} cannot be installed ({why}); connect to the network and try again")
    names = sorted(item["metadata"]["name"] for item in json.loads(done.stdout)["install"])
    heavy = [name for name in names if name.startswith(("nvidia", "cuda", "triton"))]
    if heavy and "SPANLAB_SERVERS_CUDA" not in os.environ:
        raise SpanLabError(
            f"pip would fetch torch with CUDA, several gigabytes ({len(heavy)} packages such as {heavy[0]}); tell pip where torch for CPUs is "
            "(PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS), or set SPANLAB_SERVERS_CUDA=1 to fetch it all the same"
        )
