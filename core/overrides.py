"""Base classes whose subclasses are checked when they are written: a misspelt method is an error,
and never an ability that is missing in silence."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any, cast

#: From this likeness on (0 to 1), a public name that the base class does not have is taken for a
#: misspelt one.
_ALIKE = 0.84


def check_overrides(cls: type, optional: Iterable[str] = ()) -> None:
    """Compare what a class defines with the methods that its base classes have.

    Parameters
    ----------
    cls : a class with base classes that declare methods
    optional : parameters that an override may leave out, since only some classes are handed them

    Raises
    ------
    TypeError
        for a public name that is nearly one of the base class, for an ``@override`` of nothing, and
        for a method that cannot be called as the base class's.
    """
    known = {name for base in cls.__mro__[1:] for name in vars(base) if not name.startswith("_")}
    known |= {name for base in cls.__mro__[1:] for name in inspect.get_annotations(base) if not name.startswith("_")}
    for name, value in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if name not in known:
            if meant := _nearest(name, known):
                raise TypeError(
                    f"{cls.__name__}.{name} is nearly '{meant}', which is the method that is called: is it misspelt?"
                    " (Names that begin with _ are not checked.)"
                )
            if inspect.isfunction(value) and vars(value).get("__override__", False):
                raise TypeError(
                    f"{cls.__name__}.{name} says that it overrides a method, and no base class has one of that name"
                )
            continue
        base = next(
            (vars(ancestor)[name] for ancestor in reversed(cls.__mro__[1:]) if name in vars(ancestor)), None
        )  # as it was first declared
        if inspect.isfunction(base):
            _check_method(cls, name, value, base, frozenset(optional))


def _nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, or nothing."""
    plain, plain_name = (
        {known_name.lower().replace("_", ""): known_name for known_name in known},
        name.lower().replace("_", ""),
    )
    close = [candidate for candidate in plain if sorted(candidate) == sorted(plain_name)] or difflib.get_close_matches(
        plain_name, list(plain), n=1, cutoff=_ALIKE
    )
    return plain[close[0]] if close else ""


def _check_method(cls: type, name: str, value: Any, base: Callable[..., Any], optional: frozenset[str]) -> None:
    method_name = f"{cls.__name__}.{name}"
    if isinstance(value, staticmethod | classmethod | property) or not callable(value):
        raise TypeError(
            f"{method_name} is {_article(type(cast('object', value)).__name__)}; expected a method:"
            f" {_written(name, base)}"
        )
    if not inspect.isfunction(value):
        return  # something callable, which says nothing of its parameters
    if inspect.iscoroutinefunction(base) != inspect.iscoroutinefunction(value):
        needed = "async def" if inspect.iscoroutinefunction(base) else "def"
        raise TypeError(f"{method_name} has to be written with '{needed}': {_written(name, base)}")
    signature = inspect.signature(value)
    for full in (False, True):
        wanted = [
            parameter
            for parameter in inspect.signature(base).parameters.values()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            and (parameter.default is parameter.empty or (full and parameter.name not in optional))
        ]
        try:
            signature.bind(
                *[None for parameter in wanted if parameter.kind is not parameter.KEYWORD_ONLY],
                **{parameter.name: None for parameter in wanted if parameter.kind is parameter.KEYWORD_ONLY},
            )
        except TypeError as error:
            raise TypeError(
                f"{method_name} cannot be called in the required way: {_written(name, base)} ({error})"
            ) from None


def _written(name: str, base: Callable[..., Any]) -> str:
    """The signature of a method, as it is declared."""
    signature = inspect.signature(base)
    bare = signature.replace(
        parameters=[
            parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()
        ],
        return_annotation=inspect.Signature.empty,
    )
    return f"{'async ' if inspect.iscoroutinefunction(base) else ''}def {name}{bare}"


def _article(word: str) -> str:
    return f"{'an' if word[:1] in 'aeiou' else 'a'} {word}"
