# SPDX-License-Identifier: BSD-3-Clause
"""How many clusters: fits for many k on one tree, and what the usual criteria say of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import as_rows, as_weights
from ._settings import as_bool, as_callback, as_ks, options, seed_of
from ._tree import Tree
from ._warnings import ConvergenceWarning, warn


@dataclass(frozen=True, eq=False)
class KCurve:
    """What `choose_k` returns: a value for each k, ascending, NaN where a criterion is undefined.

    Attributes
    ----------
    k : ndarray of shape (m,), int64
    inertia : ndarray of shape (m,)
        Of the best run.
    bic, aic : ndarray of shape (m,)
        Of equal round Gaussians; less is better.
    calinski_harabasz, silhouette : ndarray of shape (m,)
        More is better. The silhouette is the simplified one, by centers.
    chosen : dict
        The k that each criterion takes, by 'bic', 'aic', 'calinski_harabasz', 'silhouette', and 'knee' (of inertia);
        those that take none are missing.
    entries : list of dict
        All that is said of each k.
    """

    k: npt.NDArray[np.int64]
    inertia: npt.NDArray[np.float64]
    bic: npt.NDArray[np.float64]
    aic: npt.NDArray[np.float64]
    calinski_harabasz: npt.NDArray[np.float64]
    silhouette: npt.NDArray[np.float64]
    chosen: dict[str, int]
    entries: list[dict[str, Any]] = field(repr=False)


def choose_k(
    X: Any,
    ks: Any,
    *,
    sample_weight: Any = None,
    init: str = "k-means++",
    n_init: int = 1,
    max_iter: int = 300,
    tol: float = 0.0,
    random_state: Any = 0,
    candidates: int | None = None,
    warm: bool = True,
    silhouette: bool = True,
    algorithm: str = "auto",
    tree: str = "kd",
    leaf_size: int = 40,
    empty_clusters: str = "relocate",
    n_jobs: int | None = None,
    callback: Callable[[dict[str, Any]], object] | None = None,
) -> KCurve:
    """Fits for many k, on one tree, and the k that each criterion takes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or Tree
    ks : int, iterable of int, or str
        Which k, 1 to n_samples. '2:4096' is 2, 4, 8, ... 4096; '2:100:7' is 2, 9, 16, ...; '2:1000:x1.5' is
        2·1.5^i, rounded; several of these or single numbers between commas.
    sample_weight : array-like of shape (n_samples,), float or None
        Weights count as so many rows.
    init, n_init, max_iter, tol, random_state, candidates
        As of `kmeans`, for each k; `init` is a name.
    warm : bool
        Start each k also from the centers of the k before, and rows drawn by k-means++.
    silhouette : bool
        Whether to compute it; it takes a search for each row and k.
    algorithm, tree, leaf_size, empty_clusters, n_jobs
        As of `kmeans`.
    callback : callable or None
        ``callback(entry)`` after each k, in the calling thread; what it raises ends the call.

    Returns
    -------
    KCurve

    Raises
    ------
    ValueError
        As for `kmeans`.

    See Also
    --------
    XMeans : finds k by itself.
    kopse.plots.curve : the curve as a picture.

    Examples
    --------
    >>> import numpy as np, kopse
    >>> random = np.random.default_rng(0)
    >>> X = 100 * random.random((8, 2))[random.integers(0, 8, 2000)] + random.normal(size=(2000, 2))
    >>> curve = kopse.choose_k(X, range(2, 17))
    >>> curve.chosen["bic"], curve.chosen["calinski_harabasz"]
    (8, 8)
    """
    over = X._built if isinstance(X, Tree) else None
    rows = X.rows if isinstance(X, Tree) else as_rows(X)
    n, d = rows.shape
    numbers = as_ks(ks)
    if not numbers:
        raise ValueError("ks is empty: expected at least one number of clusters")
    largest = max(numbers)
    if largest > n:
        raise ValueError(f"n_samples={n} should be >= the largest of ks, {largest}.")
    if not isinstance(init, str):
        raise ValueError("init must be a name: no centers fit every k")
    o = options(
        k=largest, algorithm=algorithm, tree=tree, leaf_size=leaf_size, max_iter=max_iter, tol=tol, n_init=n_init,
        trials=candidates, empty_clusters=empty_clusters, n_jobs=n_jobs,
    )  # fmt: skip
    o.init = init
    o.seed = seed_of(random_state)
    warm, silhouette, callback = as_bool(warm, "warm"), as_bool(silhouette, "silhouette"), as_callback(callback)
    found = _core.choose_k(rows, numbers, o, warm, silhouette, as_weights(sample_weight, n), over, callback)
    for message in found["warnings"]:
        warn(message, ConvergenceWarning)
    entries = found["curve"]

    def values(name: str) -> npt.NDArray[np.float64]:
        return np.array([entry[name] for entry in entries], np.float64)

    return KCurve(
        k=np.array([entry["k"] for entry in entries], np.int64),
        inertia=values("inertia"),
        bic=values("bic"),
        aic=values("aic"),
        calinski_harabasz=values("calinski_harabasz"),
        silhouette=values("silhouette"),
        chosen=found["chosen"],
        entries=entries,
    )
