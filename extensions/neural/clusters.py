"""Clusters of units: k-means of their normalised task variances, and the choice of how many
clusters there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spanlab.analysis.data import plural
from spanlab.core import SpanLabError

#: Most clusters that are tried; fewer where there are fewer different units. The WorM benchmark's
#: analysis tries up to 99; where units vary gradually, the silhouette then prefers very many
#: clusters of a few units each, which say little.
MOST = 30
#: Starts of k-means, of which the best counts.
STARTS = 10
SEED = 45


@dataclass(frozen=True, slots=True)
class Clusters:
    """Clusters of units.

    Parameters
    ----------
    labels : int (units,): the cluster of each, from 1; the first clusters are those of the first
        tasks
    silhouettes : (number of clusters, mean silhouette) of each number that was tried
    note : why there was no choice, if there was none
    """

    labels: np.ndarray
    silhouettes: tuple[tuple[int, float], ...]
    note: str = ""

    @property
    def count(self) -> int:
        return int(self.labels.max(initial=0))

    @property
    def silhouette(self) -> float:
        """The mean silhouette of the chosen number of clusters; NaN where there was no choice."""
        return dict(self.silhouettes).get(self.count, float("nan"))


def need_scikit_learn() -> None:
    """Check that scikit-learn can be imported.

    Raises
    ------
    SpanLabError
        when it cannot, with what to install.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise SpanLabError(
            f"this needs scikit-learn, which cannot be imported here ({error}); install it with: pip install"
            " 'spanlab[networks]'"
        ) from None


def cluster_units(rows: np.ndarray, most: int = MOST, seed: int = SEED) -> Clusters:
    """Cluster rows (units, tasks): with the number of clusters, from 2 to ``most``, that has the
    highest mean silhouette (Rousseeuw, 1987).

    Of equally good numbers the smallest counts. The same rows give the same clusters: starts follow
    from the seed, and everything is computed with one thread.
    """
    if not len(rows):
        return Clusters(np.zeros(0, int), (), "no unit is active, so there is nothing to cluster")
    if rows.shape[1] < 2:
        return Clusters(
            np.ones(len(rows), int),
            (),
            "with a single task all units have the same normalised task variance, so there is one cluster",
        )
    different = len(np.unique(rows, axis=0))
    highest = min(most, different, len(rows) - 1)
    if highest < 2:
        return Clusters(
            np.ones(len(rows), int),
            (),
            f"{plural(different, 'kind')} of units: too few to choose clusters, so there is one",
        )

    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score
    from threadpoolctl import threadpool_limits

    tried: list[tuple[int, float]] = []
    best, labels = -np.inf, np.zeros(len(rows), int)
    with threadpool_limits(1):
        for count in range(2, highest + 1):
            clusters = KMeans(count, n_init=STARTS, random_state=seed).fit_predict(rows)  # type: ignore[arg-type]
            score = float(silhouette_score(rows, clusters))
            tried.append((count, score))
            if score > best:
                best, labels = score, clusters
    return Clusters(_in_order(rows, labels), tuple(tried))


def _in_order(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Clusters numbered by the task in which they vary most, then by how much they vary in the
    tasks, first to last."""
    middles = {label: rows[labels == label].mean(0) for label in np.unique(labels)}
    order = sorted(middles, key=lambda label: (int(middles[label].argmax()), *(-np.round(middles[label], 12)).tolist()))
    numbers = {label: number for number, label in enumerate(order, start=1)}
    return np.array([numbers[label] for label in labels], int)
