# SPDX-License-Identifier: BSD-3-Clause
"""k-means of Dask's arrays and data frames: the bits of one machine, on a cluster.

`KMeans` is `kopse.KMeans`, and takes Dask collections as well. Each of their blocks is a partition, with a tree of its
own, on the worker that holds it; what travels is how the sums of clusters have changed. A partition on a worker is a
cache, no more: when a worker is lost, Dask makes its blocks again elsewhere, and the fit goes on from the iteration it
had come to. docs/distributed.md says what it costs.

Needs dask, and distributed for a cluster: ``pip install 'kopse[dask]'``. Without a `distributed.Client` the blocks are
computed in this process, and clustered where they lie.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import uuid
from typing import Any

try:
    import dask
    import dask.array
except ImportError as error:
    raise ImportError(f"kopse.dask needs Dask's arrays, pip install 'dask[array,dataframe]' distributed: {error}") from error
import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core
from . import _kmeans as one_place
from ._arrays import Rows, as_centers
from ._dask import Blocks, as_array, beside_tasks, named
from ._functions import KMeansResult, result_of
from ._partitions import Lost, Work
from ._progress import Callback, Progress
from ._settings import as_bool, as_int, options, seed_of

LOSSES = 10  # in a row, without an iteration between them, after which a fit gives up


class KMeans(one_place.KMeans, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Exact k-means of Dask's collections, as `kopse.KMeans`, whose parameters and attributes it has, but for these.

    Parameters
    ----------
    init : str or array-like of shape (n_clusters, n_features), default='k-means||'
        'k-means||', 'k-means++', 'random', or the centers. 'k-means||' takes some dozens of messages, k-means++ three
        for each cluster.
    n_jobs : int or None, default=None
        Threads of a partition; None: a worker's, divided among the partitions it holds.
    checkpoint : path or None, default=None
        Kept where `fit` is called.

    Attributes
    ----------
    labels_ : dask array of shape (n_samples,), int32
        Computed when asked for, from the X of `fit`; not in a pickle or a copy.
    stats_ : dict
        ``partitions`` lists what is known of each: its name, rows, seconds and what `auto` chose for it. ``losses`` says
        how often a partition was lost, and all went on from the iteration before.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> import kopse.dask
    >>> X = da.from_array(np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]]), chunks=(2, 2))
    >>> model = kopse.dask.KMeans(n_clusters=2, init=[[1.0, 2], [10, 2]]).fit(X)
    >>> model.labels_.compute()
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict(da.from_array(np.array([[0.0, 0], [12, 3]]))).compute()
    array([0, 1], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means||",
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
        callback: Any = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
        resume: bool = False,
        time_limit: float | None = None,
    ) -> None:
        super().__init__(
            n_clusters, init=init, n_init=n_init, max_iter=max_iter, tol=tol, verbose=verbose, random_state=random_state,
            copy_x=copy_x, algorithm=algorithm, tree=tree, leaf_size=leaf_size, n_jobs=n_jobs, empty_clusters=empty_clusters,
            spherical=spherical, callback=callback, checkpoint=checkpoint, checkpoint_every=checkpoint_every, resume=resume,
            time_limit=time_limit,
        )  # fmt: skip

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Cluster the rows of X.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features), or dask data frame
            Its blocks of rows are the partitions; how many rows they have need not be known. float32 and float64 are
            used as they are, whole numbers of 8 and 16 bits become float32, all else float64. Anything else than a Dask
            collection is clustered here, as by `kopse.KMeans`.
        y : ignored
        sample_weight : dask array or series, array-like of shape (n_samples,), float or None, default=None

        Returns
        -------
        self : KMeans

        Raises
        ------
        ValueError
            As `kopse.KMeans.fit`; what is wrong with the rows of a partition is said with its name.
        RuntimeError
            When partitions are lost again and again.
        """
        if not dask.is_dask_collection(X):
            super().fit(X, sample_weight=sample_weight)
            return self
        if callable(self.init):
            raise ValueError("a callable init is for rows in one place: pass the centers that it returns")
        k = as_int(self.n_clusters, "n_clusters", 1)
        settings = self._settings(k)
        restarts = options(**settings).restarts  # and whether all can be
        seed = seed_of(self.random_state) if isinstance(self.init, str) else 0
        with beside_tasks(), Blocks(X, sample_weight) as blocks:
            self._check_names(X, blocks.d, reset=True)
            if blocks.n < k:
                raise ValueError(f"n_samples={blocks.n} should be >= n_clusters={k}.")
            if isinstance(self.init, str):
                work = Work(settings, init=self.init, seed=seed)
            else:
                work = Work(settings, centers=as_centers(self.init, k, blocks.d))
            with Progress(self.verbose, self.callback, blocks.n, k, self.max_iter, restarts) as progress:
                run = _fit(blocks, work, progress)
        self._take(run)
        self.labels_ = self.predict(X)
        self._warn(run)
        return self

    def predict(self, X: Any) -> Any:
        """The nearest center of each row, ties to the lowest.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features), or any that `kopse.KMeans` takes

        Returns
        -------
        labels : of shape (n_samples,), int32
            A dask array, not yet computed, if X is a Dask collection.
        """
        if not dask.is_dask_collection(X):
            return super().predict(X)
        rows, model = self._lazy(X)
        return rows.map_blocks(_predict, model, dtype=np.int32, drop_axis=1, meta=np.empty(0, np.int32))

    def transform(self, X: Any) -> Any:
        """Distances from each row to each center, not squared.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features), or any that `kopse.KMeans` takes

        Returns
        -------
        distances : of shape (n_samples, n_clusters)
            A dask array, not yet computed, if X is a Dask collection; float32 if X is, else float64.
        """
        if not dask.is_dask_collection(X):
            return super().transform(X)
        rows, model = self._lazy(X)
        kind = np.float32 if rows.dtype == np.float32 else np.float64
        chunks = (rows.chunks[0], (self._n_features_out,))
        return rows.map_blocks(_transform, model, dtype=kind, chunks=chunks, meta=np.empty((0, 0), kind))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The inertia of the rows about their nearest centers, negative and exact; computed at once.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features), or any that `kopse.KMeans` takes
        y : ignored
        sample_weight : dask array or series, array-like of shape (n_samples,), float or None

        Returns
        -------
        score : float
        """
        if not dask.is_dask_collection(X):
            return super().score(X, sample_weight=sample_weight)
        check_is_fitted(self)
        with beside_tasks(), Blocks(X, sample_weight) as blocks:
            self._check_names(X, blocks.d, reset=False)
            centers = self._centers(blocks.no_rows)
            work = Work(dict(spherical=as_bool(self.spherical, "spherical")), centers=centers, of_fit=False)
            for _ in range(LOSSES):
                try:
                    with blocks.start(work, self.n_jobs) as partitions:
                        return -_core.inertia_of_first(
                            blocks.like(work), centers, blocks.names, partitions.collect, partitions.answer
                        )
                except Lost as lost:
                    why = str(lost)
                    blocks.renew()
        raise RuntimeError(f"gave up, as partitions were lost {LOSSES} times: {why}")

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if dask.is_dask_collection(state.get("labels_")):  # they would drag X along
            state = {key: value for key, value in state.items() if key != "labels_"}
        return state

    def _check_names(self, X: Any, d: int, reset: bool) -> None:
        like = X._meta if hasattr(type(X), "columns") else np.empty((1, d))
        validate_data(self, like, reset=reset, skip_check_array=True)

    def _lazy(self, X: Any) -> tuple[Any, Any]:
        check_is_fitted(self)
        rows = as_array(X)
        if not np.isnan(rows.shape[1]):
            self._check_names(X, rows.shape[1], reset=False)
        model = one_place.KMeans(n_jobs=1 if self.n_jobs is None else self.n_jobs, spherical=self.spherical)
        model.cluster_centers_ = self.cluster_centers_
        return rows, dask.delayed(model, name=f"kopse-model-{uuid.uuid4().hex}", traverse=False)


def _predict(block: Any, model: one_place.KMeans, block_id: Any = None) -> npt.NDArray[np.int32]:
    if len(block) == 0:
        return np.empty(0, np.int32)
    with _of_partition(block_id):
        return model.predict(block)


def _transform(block: Any, model: one_place.KMeans, block_id: Any = None) -> Rows:
    if len(block) == 0:
        shape = (0, len(model.cluster_centers_))
        return np.empty(shape, np.float32) if block.dtype == np.float32 else np.empty(shape, np.float64)
    with _of_partition(block_id):
        return model.transform(block)


def _of_partition(block_id: Any) -> Any:
    return named(f"partition {block_id[0]}" if block_id else "a partition")


# ---- The fit


def _fit(blocks: Blocks, work: Work, progress: Progress) -> KMeansResult:
    """Goes on from the last whole iteration when a partition is lost."""
    settings = work.settings
    began, limit, resumes, losses, since = time.monotonic(), settings["time_limit"], settings["resume"], 0, 0
    with contextlib.ExitStack() as stack:
        if settings["checkpoint"] is None and blocks.client is not None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kopse-"))
            settings |= dict(checkpoint=os.path.join(folder, "fit"), checkpoint_every=1e9, resume=True)

        def noted(iteration: int, record: dict[str, Any]) -> None:
            nonlocal since
            since = 0
            if progress.wanted is not None:
                progress.wanted(iteration, record)

        while True:
            if limit is not None:
                settings["time_limit"] = max(0.0, limit - (time.monotonic() - began))
            try:
                run = _run(blocks, work, noted)
            except Lost as lost:
                losses, since = losses + 1, since + 1
                if since >= LOSSES:
                    raise RuntimeError(f"gave up, as partitions were lost {since} times since the last iteration: {lost}") from lost
                blocks.renew()
                settings["resume"] = True
                continue
            except ValueError as error:
                if losses > 0 and ": the checkpoint is of another fit" in str(error):
                    raise ValueError(
                        "blocks that were lost with their worker have other values now that they are made again: X must be the same "
                        f"each time it is computed, or persisted ({str(error).partition('of another fit: ')[2]})"
                    ) from error
                raise
            run.stats["losses"] = losses
            if not resumes:  # of the user's knowledge
                run.stats.pop("resumed_from", None)
                run.stats.pop("resumed_restart", None)
            return run


def _run(blocks: Blocks, work: Work, callback: Callback) -> KMeansResult:
    with blocks.start(work, work.settings["n_jobs"]) as partitions:
        o, k = work.options(1), work.settings["k"]
        run = result_of(
            _core.fit_first(blocks.like(work), k, o, blocks.n, blocks.names, partitions.collect, partitions.answer, callback)
        )
        run.stats["partitions"] = known = []
        for name, rows, stats in zip(blocks.names[1:], blocks.lengths, partitions.results()):
            known.append({"name": name, "rows": rows})
            if stats is not None:
                known[-1] |= {key: stats[key] for key in ("seconds", "choices", "tree")}
        largest = max(known, key=lambda one: one["rows"])
        run.stats.update({key: largest[key] for key in ("choices", "tree") if key in largest})
    return run
