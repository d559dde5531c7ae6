"""Weights of networks that were made without SpanLab, as they are found: state dicts, Lightning's
checkpoints, safetensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....core.errors import SpanLabError
from .files import read_content, read_torch

if TYPE_CHECKING:
    import torch

#: keys under which training programs keep a state dict
_KEPT_AS = ("state_dict", "model_state_dict", "model", "net", "network", "weights", "params")
#: what torch.compile and data-parallel training put before names
_ADDED = ("module", "_orig_mod")


def plain_names(names: Iterable[str]) -> dict[str, str]:
    """Names of weights by the names that they have in a file, without what ``torch.compile`` and training
    in parallel add.

    Examples
    --------
    >>> plain_names(["module._orig_mod.eye.weight"])
    {'module._orig_mod.eye.weight': 'eye.weight'}
    """
    plain = {}
    for name in names:
        parts = name.split(".")
        while len(parts) > 1 and parts[0] in _ADDED:
            parts = parts[1:]
        plain[name] = ".".join(part for part in parts if part != "_orig_mod")
    return plain


def state_dict_in(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The state dict in what a training program saved; itself where it is one."""
    return next((data[key] for key in _KEPT_AS if isinstance(data.get(key), Mapping)), data)


def fill(module: torch.nn.Module, path: Path) -> None:
    """Give a module the weights of a file.

    Raises
    ------
    SpanLabError
        when the file holds none, or they are not those of the module.
    """
    found = state_dict_in(_read(path))
    own = module.state_dict()
    named = {plain: found[name] for name, plain in plain_names(found).items()}
    wanted = {plain: name for name, plain in plain_names(own).items()}
    one = next(iter(wanted), "")
    # It may be a part of a module of Lightning's, or of a wrapper, beside other parts.
    places = [name.removesuffix(one) for name in named if f".{name}".endswith(f".{one}")]
    places = [place for place in places if all(place + name in named for name in wanted)]
    if len(places) > 1:
        several = ", ".join(place or "itself" for place in places)
        raise SpanLabError(
            f"{path} holds weights of this module {len(places)} times ({several}); save those that are meant"
            " by themselves"
        )
    if places and places[0]:
        named = {name.removeprefix(places[0]): value for name, value in named.items() if name.startswith(places[0])}
    if missing := [name for name in wanted if name not in named]:
        held = ", ".join(list(named)[:3])
        raise SpanLabError(
            f"{path} does not hold the weights of this module: {missing[0]} is missing (it has {held}, ...)"
        )
    if more := [name for name in named if name not in wanted]:
        raise SpanLabError(f"{path} has weights that this module has no place for: {more[0]}")
    try:
        module.load_state_dict({wanted[name]: value for name, value in named.items()})
    except (RuntimeError, TypeError, AttributeError) as error:
        raise SpanLabError(f"{path} does not fit this module: {str(error).strip().splitlines()[-1].strip()}") from None


def _read(path: Path) -> Mapping[str, Any]:
    if path.suffix != ".safetensors":
        return read_torch(path, "file of weights")[0]
    try:
        from safetensors.torch import load
    except ImportError:
        raise SpanLabError(f"{path} needs safetensors; install it with: pip install safetensors") from None
    try:
        return load(read_content(path, "file of weights"))
    except Exception as error:
        raise SpanLabError(f"{path} is not a safetensors file: {str(error).splitlines()[0]}") from None
