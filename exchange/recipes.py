"""Recipes for tables, from files and as typed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..analysis.data.recipe import Recipe


def read_recipe(texts: str | Sequence[str] | None) -> Recipe | None:
    """What the columns of tables mean: from a file in YAML, or as typed (``subject=participant``);
    None where nothing is said.

    Raises
    ------
    SpanLabError
        when the file cannot be read, or says what cannot be.
    """
    from ..analysis.data.recipe import Recipe, read_inline
    from ..core.errors import ParadigmError
    from ..paradigms.language.diagnostics import in_order, validated
    from ..paradigms.language.yaml_source import read

    given = [texts] if isinstance(texts, str) else [*(texts or ())]
    if not given:
        return None
    if len(given) > 1 or Path(given[0]).suffix.lower() not in (".yaml", ".yml"):
        return read_inline(given)
    document = read(Path(given[0]))
    recipe, problems = validated(Recipe, document.data)
    if problems or not isinstance(recipe, Recipe):
        raise ParadigmError(in_order(document.problem(path, message) for path, message in problems))
    return recipe
