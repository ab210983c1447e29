# SPDX-License-Identifier: BSD-3-Clause
"""k-means as scikit-learn's estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


from . import _core
from ._arrays import Rows, as_centers, as_weights
from ._base import BaseClusterer
from ._functions import DEFAULT_INIT, KMeansResult, result_of
from ._progress import Callback, Progress
from ._settings import as_int, options, random_state_of, seed_of, threads
from ._tree import Tree
from ._warnings import warn

AUTO_RUNS = 10  # from a start that is a matter of luck


class KMeans(BaseClusterer):
    """Exact k-means: the result of Lloyd's algorithm to the bit, most distances never computed.

    Parameters are those of ``sklearn.cluster.KMeans`` where they have the same name; what differs, and why, is in
    docs/coming_from.md.

    Parameters
    ----------
    n_clusters : int, default=8
        1 to n_samples.
    init : str, callable or array-like of shape (n_clusters, n_features), default='k-means++'
        How to start: one of ``kopse._core.inits``, the starting centers, or ``init(X, n_clusters,
        random_state=...)`` that returns them, of rows that it can only read. 'k-means++' is greedy, as
        scikit-learn's: of 2 + ln k rows drawn for a center the best one is taken.
    n_init : 'auto' or int, default='auto'
        Runs from different starts, the least inertia wins. 'auto': 10 for 'random' and a callable, else 1.
    max_iter : int, default=300
        Iterations of each run.
    tol : float, default=1e-4
        Stop when the centers' squared shifts sum to at most ``tol`` times the mean variance of the columns.
        0: only when no label changes.
    verbose : int, default=0
        1: one line of progress on stderr; 2: a line an iteration.
    random_state : int, RandomState, Generator or None, default=None
        An int, 0 to 2**64 - 1, gives the same start every time, on any machine. A callable `init` is always given a
        RandomState: of an int below 2**32 or a RandomState the one that scikit-learn would give it.
    copy_x : bool, default=True
        For compatibility. X is never written to.
    algorithm : str, default='auto'
        One of ``kopse._core.algorithms`` (docs/algorithms.md). All give the same bits; 'auto' chooses
        among them, and ``stats_['choices']`` says what and why.
    tree : str, default='kd'
        One of ``kopse._core.trees`` (docs/space_trees.md), for algorithms that use one.
    leaf_size : int, default=40
        Most rows in a leaf of the tree.
    n_jobs : int or None, default=None
        Threads by joblib's convention, but None is all cores (no more than OMP_NUM_THREADS, if that is set).
        Does not change the result.
    empty_clusters : {'relocate', 'keep'}, default='relocate'
        An empty cluster takes the row farthest from its own center, or stays where it is.
    spherical : bool, default=False
        By angle: of the rows divided by their lengths, in a copy in float64, and centers of length 1. So do `predict`,
        `transform` and `score`; `init` is divided too, and a callable sees the divided rows. The inertia is the sum of
        2·(1 - cosine). A row of zeros is an error. The rows of a `Tree` must have length 1 already.
    checkpoint : path or None, default=None
        A file that keeps where the fit stands, replaced as a whole every `checkpoint_every` seconds, and when the fit
        is interrupted (docs/long_runs.md). One that is there is refused, unless `resume`. For later calls to be of the
        same fit, `random_state` must be an int. Not with a callable `init`.
    checkpoint_every : float, default=60.0
        In seconds.
    resume : bool, default=False
        Go on from `checkpoint`, to the bits of a fit that was not interrupted; where there is no such file yet, begin.
        ``stats_['resumed_from']`` says at which iteration.
    time_limit : float or None, default=None
        Begin no iteration after so many seconds, but for one, and return what there is, with a ConvergenceWarning.
    callback : callable or None, default=None
        ``callback(iteration, record)`` after each iteration, in the calling thread; what it raises ends the fit.
        `record` is an entry of ``stats_['trace']``.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
        For float32 data too. Set on a new object, it is all that `predict`, `transform` and `score` need.
    labels_ : ndarray of shape (n_samples,), int32
    inertia_ : float
        Sum of weight times squared distance to the nearest center: exact, rounded once.
    n_iter_ : int
        Assignments made by the best run, the last that changed nothing included.
    converged_ : bool
        Whether the last of them changed no label; False if `tol`, `max_iter` or `time_limit` ended the run.
    stats_ : dict
        The best run in numbers, with a ``trace`` by iteration: the keys of ``kopse fit --stats``
        (docs/command_line.md).
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where the columns of X have names, all of them strings.

    See Also
    --------
    kopse.kmeans : the same as a function.
    kopse.Tree : built once, to be passed to `fit` in the place of X.

    References
    ----------
    R. R. Curtin, "Dual-tree k-means with bounded iteration runtime", arXiv:1601.03754.

    Examples
    --------
    >>> import numpy as np, kopse
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = kopse.KMeans(n_clusters=2, init=X[[0, 3]]).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    >>> model.cluster_centers_
    array([[ 1.,  2.],
           [10.,  2.]])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = DEFAULT_INIT,
        n_init: Any = "auto",
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
        spherical: bool = False,
        callback: Callback | None = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
        resume: bool = False,
        time_limit: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
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
        self.spherical = spherical
        self.callback = callback
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.resume = resume
        self.time_limit = time_limit

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Tree
            float32 and float64 are read in place if C-ordered (read-only and memory-mapped too), anything else is
            copied once.
        y : ignored
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            >= 0; None: each row weighs 1. A row of weight 0 gets a label and pulls no center.

        Returns
        -------
        self : KMeans

        Raises
        ------
        ValueError
            For values that are not finite or beyond 1e150 (naming row and column), weights that are negative or
            all 0, fewer rows than clusters, and any parameter that cannot be. If `spherical`, for a row of zeros.
        TypeError
            For sparse data.

        Warns
        -----
        ConvergenceWarning
            If the best run was stopped by ``max_iter`` or ``time_limit``, or clusters are empty.
        """
        rows = self._rows(X, reset=True)
        n, d = rows.shape
        k = as_int(self.n_clusters, "n_clusters", 1)
        if n < k:
            raise ValueError(f"n_samples={n} should be >= n_clusters={k}.")
        o = options(**self._settings(k))
        if callable(self.init) and not (self.checkpoint is None and self.time_limit is None):
            raise ValueError("checkpoint and time_limit are not for a callable init: fit from each of its starts instead.")
        rows = self._placed(rows, X)
        weights = as_weights(sample_weight, n)
        built = X._built if isinstance(X, Tree) else None
        with Progress(self.verbose, self.callback, n, k, o.max_iter, o.restarts) as progress:
            if callable(self.init):
                run = self._fit_from_callable(self.init, rows, k, o, weights, built, progress.wanted)
            else:
                self._set_start(o, k, d)
                run = result_of(_core.fit(rows, k, o, weights, built, progress.wanted))
        self._take(run)
        self._warn(run)
        return self

    def _settings(self, k: int) -> dict[str, Any]:
        """What options() takes."""
        return dict(
            k=k, algorithm=self.algorithm, tree=self.tree, leaf_size=self.leaf_size, max_iter=self.max_iter,
            tol=self.tol, n_init=self._runs(), empty_clusters=self.empty_clusters, n_jobs=self.n_jobs,
            spherical=self.spherical, checkpoint=self.checkpoint, checkpoint_every=self.checkpoint_every, resume=self.resume,
            time_limit=self.time_limit,
        )  # fmt: skip

    def _runs(self) -> int:
        if isinstance(self.n_init, str) and self.n_init == "auto":
            return AUTO_RUNS if callable(self.init) or isinstance(self.init, str) and self.init == "random" else 1
        runs = as_int(self.n_init, "n_init", 1, 2**31)
        if runs > 1 and not callable(self.init) and not isinstance(self.init, str):
            warn(
                f"Explicit initial center position passed: performing only one init in {type(self).__name__} instead of "
                f"n_init={runs}.",
                RuntimeWarning,
            )
            return 1
        return runs

    def _set_start(self, o: _core.Options, k: int, d: int) -> None:
        if isinstance(self.init, str):
            o.init = self.init
            o.seed = seed_of(self.random_state)
        else:
            o.start_from(as_centers(self.init, k, d))

    def _fit_from_callable(
        self,
        init: Callable[..., Any],
        rows: Rows,
        k: int,
        o: _core.Options,
        weights: Any,
        built: _core.Tree | None,
        callback: Callback | None,
    ) -> KMeansResult:
        runs, o.restarts = o.restarts, 1
        random = random_state_of(self.random_state)
        seen = rows.view()  # which may be the user's own
        seen.flags.writeable = False
        if built is None and runs > 1 and _core.uses_tree(o.algorithm):
            built = _core.build_tree(rows, o.tree, o.leaf_size, threads(self.n_jobs))
        best: KMeansResult | None = None
        for number in range(runs):
            o.start_from(as_centers(init(seen, k, random_state=random), k, rows.shape[1]))
            run = result_of(_core.fit(rows, k, o, weights, built, callback))
            run.stats["restart"] = number
            if best is None or run.inertia < best.inertia:
                best = run
        assert best is not None
        return best
