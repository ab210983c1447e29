# SPDX-License-Identifier: BSD-3-Clause
"""X-means as scikit-learn's estimator."""

from __future__ import annotations

from typing import Any

from . import _core
from ._arrays import as_weights
from ._base import BaseClusterer
from ._functions import result_of
from ._progress import Callback, Progress
from ._settings import as_int, options, seed_of
from ._tree import Tree


class XMeans(BaseClusterer):
    """k-means that finds the number of clusters: they are split and united as BIC prefers, over one tree.

    For clusters that are round and of about one size; ask `choose_k` where they are not.

    Parameters
    ----------
    min_clusters : int, default=1
        How many it begins with.
    max_clusters : int or None, default=None
        None: n_samples.
    init : str, default='k-means++'
        How to start the first ones: one of ``kopse._core.inits``.
    n_init, max_iter, tol, verbose, random_state, copy_x, algorithm, tree, leaf_size, n_jobs, empty_clusters, callback
        As of `KMeans`, for each of its runs.

    Attributes
    ----------
    n_clusters_ : int
        How many it found.
    bic_ : float
        Of the result; less is better.
    rounds_ : list of dict
        After each round: ``k``, ``split`` and ``merged`` (clusters), ``inertia``, ``bic``.
    cluster_centers_, labels_, inertia_, n_iter_, converged_, stats_, n_features_in_, feature_names_in_
        As of `KMeans`, of its last run.

    References
    ----------
    D. Pelleg, A. Moore, "X-means: extending k-means with efficient estimation of the number of clusters", ICML 2000.

    Examples
    --------
    >>> import numpy as np, kopse
    >>> random = np.random.default_rng(0)
    >>> X = 100 * random.random((8, 2))[random.integers(0, 8, 2000)] + random.normal(size=(2000, 2))
    >>> kopse.XMeans(random_state=0).fit(X).n_clusters_
    8
    """

    n_clusters_: int
    bic_: float
    rounds_: list[dict[str, Any]]

    def __init__(
        self,
        min_clusters: int = 1,
        max_clusters: int | None = None,
        *,
        init: str = "k-means++",
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: str = "auto",
        tree: str = "kd",
        leaf_size: int = 40,
        n_jobs: int | None = None,
        empty_clusters: str = "relocate",
        callback: Callback | None = None,
    ) -> None:
        self.min_clusters = min_clusters
        self.max_clusters = max_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.tree = tree
        self.leaf_size = leaf_size
        self.n_jobs = n_jobs
        self.empty_clusters = empty_clusters
        self.callback = callback

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> XMeans:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Tree
        y : ignored
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weights count as so many rows.

        Returns
        -------
        self : XMeans

        Raises
        ------
        ValueError, TypeError
            As `KMeans.fit` does, and for bounds that cannot be.

        Warns
        -----
        ConvergenceWarning
            If the last run was stopped by ``max_iter``, or clusters are empty.
        """
        rows = self._rows(X, reset=True)
        n, d = rows.shape
        least = as_int(self.min_clusters, "min_clusters", 1)
        most = n if self.max_clusters is None else as_int(self.max_clusters, "max_clusters", least)
        if n < least:
            raise ValueError(f"n_samples={n} should be >= min_clusters={least}.")
        if not isinstance(self.init, str):
            raise ValueError(f"init must be a name: one of {', '.join(map(repr, _core.inits))}. Got {self.init!r} instead.")
        o = options(
            k=least, algorithm=self.algorithm, tree=self.tree, leaf_size=self.leaf_size, max_iter=self.max_iter,
            tol=self.tol, n_init=self.n_init, empty_clusters=self.empty_clusters, n_jobs=self.n_jobs,
        )  # fmt: skip
        o.init = self.init
        o.seed = seed_of(self.random_state)
        built = X._built if isinstance(X, Tree) else None
        with Progress(self.verbose, self.callback, n, 0, o.max_iter) as progress:  # k grows
            run = _core.x_means(rows, least, min(most, n), o, as_weights(sample_weight, n), built, progress.wanted)
        result = result_of(run)
        self._take(result)
        self.n_clusters_ = result.centers.shape[0]
        self.bic_ = run["bic"]
        self.rounds_ = run["rounds"]
        self._warn(result)
        return self
