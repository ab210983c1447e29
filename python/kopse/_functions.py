# SPDX-License-Identifier: BSD-3-Clause
"""k-means as functions: arrays in, a result out, no estimator and no scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Rows, as_centers, as_rows, as_weights
from ._progress import Callback, Progress
from ._settings import as_int, options, seed_of
from ._tree import Tree
from ._warnings import ConvergenceWarning, warn

DEFAULT_INIT = "k-means++"


@dataclass(frozen=True, eq=False)
class KMeansResult:
    """What `kmeans` returns.

    Attributes
    ----------
    centers : ndarray of shape (k, n_features), float64
        In the units of the data.
    labels : ndarray of shape (n_samples,), int32
        The nearest center of each row, ties to the lowest.
    inertia : float
        Sum of weight times squared distance to the nearest center: exact, rounded once.
    n_iter : int
        Assignments made, the last that changed nothing included.
    converged : bool
        Whether the last of them changed no label.
    stats : dict
        The run in numbers, with a ``trace`` by iteration: the keys of ``kopse fit --stats`` (docs/command_line.md).
    warnings : list of str
        What was warned of.
    """

    centers: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int32]
    inertia: float
    n_iter: int
    converged: bool
    stats: dict[str, Any] = field(repr=False)
    warnings: list[str] = field(repr=False)


def result_of(run: dict[str, Any]) -> KMeansResult:
    """From what the library returned."""
    stats = run["stats"]
    return KMeansResult(
        run["centroids"], run["labels"], stats["inertia"], stats["iterations"], stats["converged"], stats, run["warnings"]
    )


def kmeans(
    X: Any,
    k: int,
    *,
    sample_weight: Any = None,
    init: Any = DEFAULT_INIT,
    n_init: int = 1,
    max_iter: int = 300,
    tol: float = 0.0,
    random_state: Any = 0,
    candidates: int | None = None,
    algorithm: str = "auto",
    tree: str = "kd",
    leaf_size: int = 40,
    empty_clusters: str = "relocate",
    spherical: bool = False,
    n_jobs: int | None = None,
    verify: bool = False,
    verbose: int = 0,
    callback: Callback | None = None,
    checkpoint: Any = None,
    checkpoint_every: float = 60.0,
    resume: bool = False,
    time_limit: float | None = None,
) -> KMeansResult:
    """Exact k-means.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or Tree
        float32 and float64 are read in place if C-ordered, anything else is copied once. A `Tree` is used as it is.
    k : int
        Clusters, 1 to n_samples.
    sample_weight : array-like of shape (n_samples,), float or None
        >= 0; None: each row weighs 1.
    init : str or array-like of shape (k, n_features)
        How to start: a name, or the starting centers.
    n_init : int
        Runs from different starts; the least inertia wins, the first among equals.
    max_iter : int
        Iterations, at least 1.
    tol : float
        Stop when the centers' squared shifts sum to at most ``tol`` times the mean variance of the columns.
        0: only when no label changes.
    random_state : int, RandomState, Generator or None
        An int, 0 to 2**64 - 1, gives the same start every time, on any machine: that of ``kopse fit --seed``.
    candidates : int or None
        Rows that k-means++ draws for each center, to take the best of them; None: 2 + ln k. (``kopse fit`` draws 1.)
    algorithm : str
        One of ``kopse._core.algorithms`` (docs/algorithms.md). All give the same bits.
    tree : str
        One of ``kopse._core.trees`` (docs/space_trees.md).
    leaf_size : int
        Most rows in a leaf of the tree.
    empty_clusters : {'relocate', 'keep'}
        An empty cluster takes the row farthest from its own center, or stays where it is.
    spherical : bool
        By angle: of the rows divided by their lengths, in a copy in float64, and centers of length 1; the inertia is
        the sum of 2·(1 - cosine). A row of zeros is an error. The rows of a `Tree` must have length 1 already.
    n_jobs : int or None
        Threads; None: all cores. Does not change the result.
    verify : bool
        Run brute force beside it; RuntimeError where they differ. Slow.
    verbose : int
        1: one line of progress on stderr; 2: a line an iteration.
    checkpoint : path or None
        A file that keeps where the fit stands, replaced as a whole every `checkpoint_every` seconds, and when the fit
        is interrupted (docs/long_runs.md). One that is there is refused, unless `resume`. For later calls to be of the
        same fit, `random_state` must be an int.
    checkpoint_every : float
    resume : bool
        Go on from `checkpoint`, to the bits of a fit that was not interrupted; where there is no such file yet, begin.
        ``stats['resumed_from']`` says at which iteration.
    time_limit : float or None
        Begin no iteration after so many seconds, but for one, and return what there is, with a ConvergenceWarning.
    callback : callable or None
        ``callback(iteration, record)`` after each iteration, in the calling thread; what it raises ends the run.
        `record` is an entry of ``stats['trace']``.

    Returns
    -------
    KMeansResult

    Raises
    ------
    ValueError
        For values that are not finite or beyond 1e150 (naming row and column), weights that are negative or all
        0, k > n_samples, and any setting that cannot be.
    MemoryError
        If an algorithm's tables would not fit.

    Warns
    -----
    ConvergenceWarning
        If it stopped at ``max_iter`` or ``time_limit``, or clusters are empty.

    References
    ----------
    R. R. Curtin, "Dual-tree k-means with bounded iteration runtime", arXiv:1601.03754.

    Examples
    --------
    >>> import numpy as np, kopse
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> run = kopse.kmeans(X, 2, init=X[[0, 3]])
    >>> run.centers
    array([[ 1.,  2.],
           [10.,  2.]])
    >>> run.labels
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> run.inertia, run.n_iter, run.converged
    (16.0, 2, True)
    """
    over = X._built if isinstance(X, Tree) else None
    rows = X.rows if isinstance(X, Tree) else as_rows(X)
    n, d = rows.shape
    k = as_int(k, "k", 1)
    if k > n:
        raise ValueError(f"n_samples={n} should be >= k={k}.")
    o = options(
        k=k, algorithm=algorithm, tree=tree, leaf_size=leaf_size, max_iter=max_iter, tol=tol, n_init=n_init,
        trials=candidates, empty_clusters=empty_clusters, n_jobs=n_jobs, spherical=spherical, verify=verify,
        checkpoint=checkpoint, checkpoint_every=checkpoint_every, resume=resume, time_limit=time_limit,
    )  # fmt: skip
    if o.spherical:
        rows = on_sphere(rows, X, o.threads)
    if isinstance(init, str):
        o.init = init
        o.seed = seed_of(random_state)
    else:
        o.start_from(as_centers(init, k, d))
    with Progress(verbose, callback, n, k, o.max_iter, o.restarts) as progress:
        run = result_of(_core.fit(rows, k, o, as_weights(sample_weight, n), over, progress.wanted))
    for message in run.warnings:
        warn(message, ConvergenceWarning)
    return run


def on_sphere(rows: Rows, X: Any, n_threads: int) -> Rows:
    """The rows of X divided by their lengths; those of a tree stay as it knows them, and must have length 1."""
    if not isinstance(X, Tree):
        return _core.normalised(rows, n_threads)
    _core.expect_unit_length(rows, n_threads)
    return rows


def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    random_state: Any = 0,
    n_local_trials: int | None = None,
    tree: str = "kd",
    leaf_size: int = 40,
    n_jobs: int | None = None,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Starting centers by k-means++: each row is drawn in proportion to its weighted squared distance to those before.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or Tree
    n_clusters : int
        1 to n_samples.
    sample_weight : array-like of shape (n_samples,), float or None
        >= 0; None: each row weighs 1. A row of weight 0 is not drawn.
    random_state : int, RandomState, Generator or None
        An int gives the same centers every time, on any machine.
    n_local_trials : int or None
        Rows drawn for each center, to take the best of them; None: 2 + ln k. 1 is the original method.
    tree, leaf_size : str, int
        The tree on X, where none is given. The result does not depend on it.
    n_jobs : int or None
        Threads; None: all cores. Does not change the result.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features), float64
    indices : ndarray of shape (n_clusters,), int64
        The rows of X that they are.

    Raises
    ------
    ValueError
        As for `kmeans`.

    References
    ----------
    D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.

    Examples
    --------
    >>> import numpy as np, kopse
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> centers, indices = kopse.kmeans_plusplus(X, 2)
    >>> bool((X[indices] == centers).all()), sorted(int(i) // 3 for i in indices)
    (True, [0, 1])
    """
    over = X._built if isinstance(X, Tree) else None
    rows = X.rows if isinstance(X, Tree) else as_rows(X)
    n, d = rows.shape
    k = as_int(n_clusters, "n_clusters", 1)
    if k > n:
        raise ValueError(f"n_samples={n} should be >= n_clusters={k}.")
    o = options(
        k=k, algorithm="auto", tree=tree, leaf_size=leaf_size, max_iter=1, tol=0, empty_clusters="relocate",
        n_jobs=n_jobs, trials=n_local_trials, trials_name="n_local_trials",
    )  # fmt: skip
    o.seed = seed_of(random_state)
    centers, indices, messages = _core.seed(rows, k, o, as_weights(sample_weight, n), over)
    for message in messages:
        warn(message, ConvergenceWarning)
    return centers, indices
