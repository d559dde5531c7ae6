"""From many dimensions to two: principal components, and t-SNE (van der Maaten & Hinton, 2008,
Journal of Machine Learning Research 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SEED = 69
PERPLEXITY = 30.0
#: t-SNE is slow with many points; of more, so many are drawn at random.
MOST_POINTS = 1200
#: Below so many points neighbours mean nothing.
FEWEST_POINTS = 10


@dataclass(frozen=True, slots=True)
class Plane:
    """Points in a plane.

    Parameters
    ----------
    x, y : of each
    rows : the points of the original that these are
    caption : how it was made, in words
    """

    x: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    caption: str


def principal(points: np.ndarray) -> Plane:
    """The first two principal components, with the share of the variance that each has; zeros where
    there is none.

    The sign of a component is such that its largest weight is positive.
    """
    centred = points - points.mean(0) if len(points) else points
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes * np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(1)])[:, None] if len(axes) else axes
    flat = np.zeros((len(points), 2))
    usable = min(2, len(axes))
    flat[:, :usable] = centred @ axes[:usable].T
    total = float((sizes**2).sum())
    shares = [float(size**2) / total if total > 0 else 0.0 for size in [*sizes[:2], 0.0, 0.0][:2]]
    return Plane(
        flat[:, 0],
        flat[:, 1],
        np.arange(len(points)),
        f"principal components ({shares[0]:.0%} and {shares[1]:.0%} of the variance)",
    )


def neighbours(points: np.ndarray, seed: int = SEED) -> Plane | None:
    """t-SNE, started from principal components; None where there are too few different points.

    The same points give the same plane: the start is fixed, and everything is computed with one
    thread.
    """
    rows = np.arange(len(points))
    if len(points) > MOST_POINTS:
        rows = np.sort(np.random.RandomState(seed).choice(len(points), MOST_POINTS, replace=False))
    chosen = points[rows].astype(np.float64)
    if len(np.unique(chosen, axis=0)) < FEWEST_POINTS:
        return None

    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    perplexity = min(PERPLEXITY, (len(chosen) - 1) / 3)
    with threadpool_limits(1):
        flat = TSNE(
            2, perplexity=perplexity, init="pca", learning_rate="auto", random_state=seed, n_jobs=1
        ).fit_transform(chosen)
    drawn = "" if len(rows) == len(points) else f", {len(rows):,} of {len(points):,} points drawn at random"
    return Plane(flat[:, 0], flat[:, 1], rows, f"t-SNE (perplexity {perplexity:.0f}{drawn})")
