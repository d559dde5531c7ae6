"""The curvature of a logistic model: sparse and factorised, with contrasts that are held and random
effects that fall into groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import SpanLabError

SINGULAR = (
    "the model cannot be fitted: two of its effects cannot be distinguished with these data. Compare fewer agents or"
    " conditions"
)


class FitError(SpanLabError):
    """A model that cannot be fitted to these data; the message says why and what to do."""


class Held:
    """Contrasts of the fixed effects that are held at some values while everything else is free:
    ``rows`` at right angles, of length 1; ``at`` their values."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self.at = rows, np.zeros(len(rows))
        self.pull: np.ndarray | None = None

    def moved(self, start: np.ndarray, p: int) -> np.ndarray:
        """A place to start from, where the contrasts have their values: all effects go along as
        they did where somebody last looked."""
        away = self.at - self.rows @ start[:p]
        if self.pull is not None:
            return start + self.pull @ away
        moved = start.copy()
        moved[:p] += self.rows.T @ away
        return moved

    def nearest(self, size: int, p: int) -> np.ndarray:
        """The place nearest to no effect at all where the contrasts have their values."""
        place = np.zeros(size)
        place[:p] = self.rows.T @ self.at
        return place

    def along(self, step: np.ndarray, factors: Factors, p: int) -> np.ndarray:
        """A step that leaves the contrasts as they are, made from one that does not."""
        toward = self._toward(factors, len(step), p)
        self.pull = toward @ np.linalg.inv(self.rows @ toward[:p])
        return step - self.pull @ (self.rows @ step[:p])

    def log_det(self, factors: Factors, p: int) -> float:
        """Return what is added to the log determinant of the curvature where the contrasts are
        held."""
        return float(np.linalg.slogdet(self.rows @ self._toward(factors, factors.size, p)[:p])[1])

    def within(self, covariance: np.ndarray) -> np.ndarray:
        """The covariance of the fixed effects where the contrasts are held."""
        pull = covariance @ self.rows.T
        return covariance - pull @ np.linalg.solve(self.rows @ pull, pull.T)

    def _toward(self, factors: Factors, size: int, p: int) -> np.ndarray:
        unit = np.zeros((size, len(self.rows)))
        unit[:p] = self.rows.T
        return factors.solve(unit)


class Curvature:
    """The curvature of a model for some weights of its rows. It always has the same places, so that
    what does not depend on the weights is worked out once: the places, what each row adds to each
    of them, and the order of elimination."""

    def __init__(self, design: Any) -> None:
        self.order: np.ndarray | None = None
        self.design = design
        self._lay_out(design.tocsr())

    def _lay_out(self, design: Any) -> None:
        """Lay out which places the curvature has, and what the rows of the design add to them."""
        from scipy import sparse

        counts, (rows, size) = np.diff(design.indptr), design.shape
        row = np.repeat(np.arange(rows), counts)
        many = counts[row]
        left, ends = np.repeat(np.arange(design.nnz), many), np.cumsum(many)
        right = np.arange(len(left)) - np.repeat(ends - many, many) + np.repeat(design.indptr[row], many)
        column = design.indices.astype(np.int64)
        itself = np.arange(size, dtype=np.int64) * (size + 1)
        places, place_of = np.unique(np.concatenate([column[right] * size + column[left], itself]), return_inverse=True)
        values, of_row = design.data[left] * design.data[right], np.repeat(row, many)
        self.adds: Any = sparse.csr_matrix((values, (place_of[: len(left)], of_row)), shape=(len(places), rows))
        self.diagonal = place_of[len(left) :]
        ends = np.searchsorted(places, np.arange(size + 1, dtype=np.int64) * size).astype(np.intc)
        indices = (places % size).astype(np.intc)
        self.matrix: Any = sparse.csc_matrix((np.zeros(len(places)), indices, ends), shape=(size, size))
        self.matrix.has_canonical_format = True

    def at(self, weight: np.ndarray, precision: np.ndarray) -> Factors:
        """The factors for these weights of rows and precisions of effects."""
        if self.order is not None:
            return Factors(self._matrix(weight, precision[self.order]), self.order)
        factors = Factors(self._matrix(weight, precision))
        self.order = np.argsort(factors.factors.perm_c)
        self._lay_out(self.design[:, self.order].tocsr())
        return factors

    def _matrix(self, weight: np.ndarray, precision: np.ndarray) -> Any:
        """The matrix of these weights, until the next call; making another one each time would take
        as long as half of a factorisation."""
        data = self.adds @ weight
        data[self.diagonal] += precision
        self.matrix.data = data
        return self.matrix


class Apart:
    """Random effects in groups that no row connects. How uncertain the sum of a row's effects is
    takes one solution for each place in the largest group, and not one for each effect."""

    def __init__(self, random: Any) -> None:
        from scipy.sparse.csgraph import connected_components

        self.random = random.tocsr()
        pairs = (self.random.T @ self.random).tocsr()
        group = connected_components(pairs, directed=False)[1]
        order = np.argsort(group, kind="stable")
        first = np.searchsorted(group[order], group[order])
        self.place = np.empty(len(group), int)
        self.place[order] = np.arange(len(group)) - first
        self.rows = np.repeat(np.arange(self.random.shape[0]), np.diff(self.random.indptr))

    def leverage(self, factors: Factors) -> np.ndarray:
        """Return how uncertain the sum of its random effects is, for each row."""
        rows, many = self.random.shape
        places = int(self.place.max(initial=-1)) + 1
        step = max(1, 10_000_000 // max(rows, many, 1))
        leverage_of = np.zeros(rows)
        for first in range(0, places, step):
            unit = np.zeros((many, min(step, places - first)))
            here = np.flatnonzero((self.place >= first) & (self.place < first + unit.shape[1]))
            unit[here, self.place[here] - first] = 1
            along = self.random @ factors.solve(unit)
            place = self.place[self.random.indices] - first
            inside = (place >= 0) & (place < unit.shape[1])
            added = self.random.data[inside] * along[self.rows[inside], place[inside]]
            leverage_of += np.bincount(self.rows[inside], added, minlength=rows)
        return leverage_of


class Factors:
    """A symmetric sparse matrix, factorised.

    Parameters
    ----------
    order : of the effects in the rows and columns of the matrix, where that is a good order of
        elimination; as they are, and one is looked for, when not given
    """

    def __init__(self, matrix: Any, order: np.ndarray | None = None) -> None:
        from scipy.sparse.linalg import splu

        self.order, self.size = order, matrix.shape[0]
        ordering = "MMD_AT_PLUS_A" if order is None else "NATURAL"
        try:
            self.factors = splu(matrix, permc_spec=ordering, diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:
            raise FitError(SINGULAR) from None

    def solve(self, right: np.ndarray) -> np.ndarray:
        if self.order is None:
            return self.factors.solve(right)
        solution = np.empty(right.shape)
        solution[self.order] = self.factors.solve(right[self.order])
        return solution

    def log_det(self) -> float:
        return float(np.log(np.abs(self.factors.U.diagonal())).sum())
