"""Networks as programs: what ``torch.export.save`` and ``torch.jit.save`` write, looked through
before PyTorch opens it.

A program is more than weights: whoever runs it does what its author wrote. PyTorch's own loaders
follow pickles and evaluate texts in such files, so that a prepared file could do anything at all
while it is only being loaded. Here a file is opened when it holds nothing but tensors, the
calculations of PyTorch and plain names; everything else is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from typing_extensions import override

from ....core.errors import SpanLabError
from ..settings import need_torch
from .files import RefusedError, check_archive, look_through, read_content

#: What a file of an exported program may consist of.
_EXPORTED = re.compile(
    r"(models/[\w.-]+\.json|data/weights/([\w.-]+_weights_config\.json|weight_\d+)|data/constants/([\w.-]+_constants_config\.json|tensor_\d+)"
    r"|data/sample_inputs/[\w.-]+\.pt|archive_format|archive_version|version|byteorder|\.data/\w+|\.format_version|\.storage_alignment)"
)
#: What the frames that a program was exported with are put together from, beside what weights are.
_EXAMPLES = frozenset({"torch._tensor _rebuild_from_type_v2", "torch Tensor"})
#: Functions that an exported program may call, and those of them that reach beyond numbers.
_CALLS = re.compile(r"(torch\.ops\.(aten|higher_order)\.\w+(\.\w+)?|_operator\.\w+|math\.\w+|torch\.sym_\w+)")
_BEYOND = re.compile(
    r"(from_file|save|load|open|call_method|methodcaller|attrgetter|itemgetter|_print|call_torchbind|triton|run_with_rng_state|print)"
)
#: Texts in an exported program that are evaluated: sums and comparisons of sizes.
_SIZES = re.compile(r"[\w\s+\-*/%<>=!&|~,.()\[\]']*")
_CALLED = re.compile(r"([A-Za-z_][\w.]*)\s*\(")
_MAY_BE_CALLED = re.compile(
    r"(Symbol|Integer|Float|Rational|Add|Mul|Pow|Abs|Eq|Ne|Le|Lt|Ge|Gt|And|Or|Not|Max|Min|Mod|PythonMod|FloorDiv|CeilDiv|CleanDiv|IntTrueDiv|FloatTrueDiv"
    r"|PowByNatural|ToFloat|TruncToInt|RoundToInt|floor|ceiling|size|stride|\w+\.(size|stride))"
)
#: A plain name, also with dots and numbers.
_NAME = re.compile(r"[\w.\-+:<>, ]{0,300}")
#: What a TorchScript program may not say: it would reach for files or for code outside of itself,
#: or do something while it is being read.
_SCRIPTED_BEYOND = re.compile(
    r"\b(ops\.(?!prim\b|aten\b)\w+|from_file|__setstate__|torch\.(save|load|classes|hub|ops)|__torch__\.torch\.classes|__del__)\b"
)


class Program:
    """A program that a file holds, in evaluation mode as it was saved.

    Processes that are handed one are handed the file, and open it again.

    Parameters
    ----------
    name : of the file
    kind : what wrote it
    content : of the file
    """

    def __init__(self, name: str, kind: Literal["exported", "scripted"], content: bytes) -> None:
        self.name, self.kind, self._content = name, kind, content
        self.sha256 = hashlib.sha256(content).hexdigest()
        self._call = _opened(kind, content)

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return Program, (self.name, self.kind, self._content)

    def run(self, *given: Any) -> Any:
        """Run the program on some tensors."""
        return self._call(*given)


def is_program(path: Path) -> bool:
    """Return whether a file is a program, or means to be one."""
    if path.suffix == ".pt2":
        return True
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.partition("/")[2].startswith(("models/", "code/")) for name in archive.namelist())


def read_program(path: Path, sha256: str | None) -> Program:
    """Read a program.

    Parameters
    ----------
    sha256 : that the file has to have; any when not given

    Raises
    ------
    SpanLabError
        when the file cannot be read, is another one or no program, or holds more than a program of
        numbers.
    """
    need_torch()
    if path.is_dir() or not path.is_file():
        raise SpanLabError(
            f"there is no program at {path}; 'program' in a network's description names the file, seen from the"
            " description"
        )
    content = read_content(path, "program")
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256:
        raise SpanLabError(
            f"{path} is another file than its description says: its SHA-256 is {found}, and sha256 there is {sha256}; "
            "get the right file, or correct the description"
        )
    try:
        kind = _looked_through(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Program(path.name, kind, content)
    except RefusedError as refused:
        raise SpanLabError(f"{path} is not a program that SpanLab opens: {refused}; {_ADVICE}") from None
    except (Exception, RecursionError) as error:
        lines = str(error).strip().split("\n")
        raise SpanLabError(f"{path} cannot be opened by PyTorch ({lines[0][:200].rstrip('.')}); {_ADVICE}") from None


_ADVICE = (
    "give one that torch.export.save or torch.jit.save has written, of nothing but tensors and PyTorch's own"
    " calculations; a network that needs more comes as a package (entry point spanlab.networks)"
)


def _opened(kind: Literal["exported", "scripted"], content: bytes) -> Callable[..., Any]:
    import torch

    if kind == "scripted":
        module = torch.jit.load(io.BytesIO(content), map_location="cpu")
        module.eval()
        return module
    return torch.export.load(io.BytesIO(content)).module()


def _looked_through(content: bytes) -> Literal["exported", "scripted"]:
    """Return which kind of program a file holds, with everything in it looked at.

    Raises
    ------
    RefusedError
        why it is not opened, as the end of a sentence.
    """
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise RefusedError("it is damaged or something else")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name.partition("/")[2] for name in archive.namelist()]
        if any(name.startswith("models/") for name in names):
            check_archive(archive, len(content))
            _check_exported(archive)
            return "exported"
        if any(name.startswith("code/") for name in names):
            check_archive(archive, len(content), packed=50_000_000)
            _check_scripted(archive)
            return "scripted"
    raise RefusedError("it holds weights or something else, and no program")


def _check_exported(archive: zipfile.ZipFile) -> None:
    for entry in archive.namelist():
        name = entry.partition("/")[2]
        if not _EXPORTED.fullmatch(name):
            what = "compiled code" if "aotinductor" in name else "objects or files beside a program of numbers"
            raise RefusedError(f"it holds {what} ({entry[:80]!r})")
        if name.startswith("data/sample_inputs/"):
            look_through(archive.read(entry), _EXAMPLES)
        elif name.endswith("_config.json"):
            if any(part.get("use_pickle") for part in _every_dict(_json(archive.read(entry)))):
                raise RefusedError("some of its weights are pickled objects")
        elif name.endswith(".json"):
            _check_graph(_json(archive.read(entry)))


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise RefusedError("it is damaged") from None


def _every_dict(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        yield data
    for part in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _every_dict(part)


def _check_graph(data: Any, key: str = "") -> None:
    """Look at every text in the description of an exported program; remarks of the compiler (where
    a line came from) are never evaluated."""
    if isinstance(data, dict):
        for name, part in data.items():
            if not _NAME.fullmatch(str(name)):
                raise RefusedError(f"it holds a name that is none ({str(name)[:40]!r})")
            if name not in ("metadata", "stack_trace"):
                _check_graph(part, name)
    elif isinstance(data, list):
        for part in data:
            _check_graph(part, key)
    elif isinstance(data, str):
        _check_text(data, key)


def _check_text(text: str, key: str) -> None:
    if key == "target":
        if not _CALLS.fullmatch(text) or _BEYOND.search(text):
            raise RefusedError(f"it calls {text[:60]!r}")
    elif key in ("guards_code", "expr_str"):
        called = [one for one in _CALLED.findall(text) if one not in ("and", "or", "not", "if", "in", "is")]
        if not _SIZES.fullmatch(text) or "__" in text or any(not _MAY_BE_CALLED.fullmatch(one) for one in called):
            raise RefusedError(f"it wants a text evaluated ({text[:60]!r})")
    elif key in ("in_spec", "out_spec"):
        if "__" in text or re.search(
            r'"type":\s*"(?!builtins\.(tuple|list|dict)"|collections\.(OrderedDict|defaultdict|deque|namedtuple)")',
            text,
        ):
            raise RefusedError("it takes or gives objects instead of tensors")
    elif not _NAME.fullmatch(text):
        raise RefusedError(f"it holds a text that is not a name ({text[:40]!r})")


def _check_scripted(archive: zipfile.ZipFile) -> None:
    for entry in archive.namelist():
        name = entry.partition("/")[2]
        if name.startswith("code/") and name.endswith(".py"):
            if found := _SCRIPTED_BEYOND.search(archive.read(entry).decode("utf-8", "replace")):
                raise RefusedError(f"its code reaches beyond numbers ({found[0]!r})")
        elif name.startswith("extra/"):
            raise RefusedError(f"it holds files beside a program ({entry[:80]!r})")
