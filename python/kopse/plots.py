# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of a run, by matplotlib (``pip install kopse[plots]``). Each draws into given axes, or new ones, and returns them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import as_rows
from ._choose_k import KCurve
from ._tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CRITERIA = ("inertia", "bic", "aic", "calinski_harabasz", "silhouette")
MOST_POINTS = 20_000  # drawn in a map


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("kopse.plots needs matplotlib: pip install matplotlib, or kopse[plots]") from None
    return plt.subplots(layout="constrained")[1]


def _of(run: Any, name: str) -> Any:
    """An attribute of an estimator (name_) or of a result (name)."""
    for attribute in (name + "_", name):
        if hasattr(run, attribute):
            return getattr(run, attribute)
    raise TypeError(f"{type(run).__name__} has no {name}: expected a fitted estimator or a result of kopse")


def convergence(run: Any, ax: Axes | None = None) -> Axes:
    """Inertia and labels changed, by iteration.

    Parameters
    ----------
    run : fitted estimator or KMeansResult
    ax : matplotlib axes or None

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import numpy as np, kopse
    >>> ax = kopse.plots.convergence(kopse.kmeans(np.arange(100.0)[:, None], 5))
    >>> ax.get_xlabel()
    'iteration'
    """
    ax = _axes(ax)
    trace = _of(run, "stats")["trace"]
    numbers = np.arange(1, len(trace) + 1)
    ax.plot(numbers, [entry["inertia"] for entry in trace], color="C0")
    ax.set(xlabel="iteration", ylabel="inertia")
    ax.yaxis.label.set_color("C0")
    changed = ax.twinx()
    changed.plot(numbers, [entry["labels_changed"] for entry in trace], color="C1")
    changed.set_yscale("symlog")
    changed.set(ylabel="labels changed")
    changed.yaxis.label.set_color("C1")
    return ax


def sizes(run: Any, ax: Axes | None = None) -> Axes:
    """Rows by cluster, from the largest to the smallest.

    Parameters
    ----------
    run : fitted estimator or KMeansResult
    ax : matplotlib axes or None

    Returns
    -------
    ax : matplotlib axes
    """
    ax = _axes(ax)
    stats = _of(run, "stats")
    counts = np.bincount(_of(run, "labels"), minlength=stats["k"])
    ax.plot(np.arange(1, counts.size + 1), np.sort(counts)[::-1], drawstyle="steps-mid", marker="." if counts.size < 50 else "")
    ax.axhline(stats["n"] / stats["k"], color="0.6", linewidth=0.8)
    ax.set(xlabel="cluster, by size", ylabel="rows", ylim=(0, None))
    return ax


def curve(result: KCurve, criterion: str = "inertia", ax: Axes | None = None) -> Axes:
    """A criterion over k, and the k that it takes (inertia: the knee).

    Parameters
    ----------
    result : KCurve
        Of `kopse.choose_k`.
    criterion : {'inertia', 'bic', 'aic', 'calinski_harabasz', 'silhouette'}
    ax : matplotlib axes or None

    Returns
    -------
    ax : matplotlib axes
    """
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(map(repr, CRITERIA))}. Got {criterion!r} instead.")
    if not isinstance(result, KCurve):
        raise TypeError(f"expected a KCurve, of kopse.choose_k. Got {type(result).__name__} instead.")
    ax = _axes(ax)
    ax.plot(result.k, getattr(result, criterion), marker=".")
    ax.set(xscale="log", xlabel="clusters", ylabel=criterion.replace("_", " "))
    if criterion == "inertia" and (result.inertia > 0).all():
        ax.set_yscale("log")
    chosen = result.chosen.get("knee" if criterion == "inertia" else criterion)
    if chosen is not None:
        ax.axvline(chosen, color="0.6", linewidth=0.8)
        ax.set_title(f"k = {chosen}", fontsize="medium")
    return ax


def map2d(X: Any, run: Any, columns: tuple[int, int] = (0, 1), ax: Axes | None = None, seed: int = 0) -> Axes:
    """Two columns of the data, coloured by cluster, and the centers.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or Tree
        The rows of the fit; at most 20,000, drawn at random, are shown.
    run : fitted estimator or KMeansResult
    columns : pair of int
        Which columns.
    ax : matplotlib axes or None
    seed : int
        Of the choice of rows and of colours.

    Returns
    -------
    ax : matplotlib axes

    Raises
    ------
    ValueError
        If X has not as many rows as there are labels, or not such columns.
    """
    rows = X.rows if isinstance(X, Tree) else as_rows(X)
    labels = _of(run, "labels")
    centers = run.cluster_centers_ if hasattr(run, "cluster_centers_") else run.centers
    if rows.shape[0] != labels.shape[0]:
        raise ValueError(f"X has {rows.shape[0]} rows, the run {labels.shape[0]} labels")
    if rows.shape[1] != np.shape(centers)[1]:
        raise ValueError(f"X has {rows.shape[1]} columns, the run's centers {np.shape(centers)[1]}")
    d = rows.shape[1]
    if np.shape(columns) != (2,) or not all(column in range(-d, d) for column in columns):
        raise ValueError(f"columns must be two numbers of columns, and X has {d}. Got {columns!r} instead.")
    i, j = map(int, columns)
    ax = _axes(ax)
    random = np.random.default_rng(seed)
    shown = np.arange(rows.shape[0])
    if shown.size > MOST_POINTS:
        shown = random.choice(shown, MOST_POINTS, replace=False)
    # Neighbouring numbers may be neighbouring clusters: shuffled colours tell them apart.
    colours = random.permutation(centers.shape[0])
    ax.scatter(rows[shown, i], rows[shown, j], c=colours[labels[shown]], s=3, cmap="prism", linewidths=0, rasterized=True)
    ax.scatter(centers[:, i], centers[:, j], s=12 if centers.shape[0] < 200 else 2, c="black", marker="+", linewidths=0.8)
    ax.set(xlabel=f"column {i}", ylabel=f"column {j}")
    ax.set_aspect("equal", adjustable="datalim")
    return ax
