# SPDX-License-Identifier: BSD-3-Clause
"""What the estimators share: data by scikit-learn's rules, and all that a fitted one can do."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn.exceptions
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core
from ._arrays import Rows, as_centers, as_weights, compact, expect_numbers, is_small, refuse_masked, refuse_sparse, unfolded
from ._functions import KMeansResult, on_sphere
from ._settings import as_bool, threads
from ._tree import Tree
from ._warnings import ConvergenceWarning, warn


class EstimatorConvergenceWarning(ConvergenceWarning, sklearn.exceptions.ConvergenceWarning):
    """Found by filters for either of its bases."""


class BaseClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """A clusterer with centers. Of a fitted one only ``cluster_centers_`` is needed."""

    n_jobs: int | None
    spherical: bool = False
    cluster_centers_: npt.NDArray[np.float64]
    labels_: npt.NDArray[np.int32]
    inertia_: float
    n_iter_: int
    converged_: bool
    stats_: dict[str, Any]
    n_features_in_: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        raise NotImplementedError

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> npt.NDArray[np.int32]:
        """Fit, and return ``labels_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Tree
        y : ignored
        sample_weight : array-like of shape (n_samples,), float or None

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        labels: npt.NDArray[np.int32] = self.fit(X, sample_weight=sample_weight).labels_
        return labels

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """The nearest center of each row, ties to the lowest; of the rows of fit, ``labels_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Tree

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32

        Raises
        ------
        ValueError
            For values that are not finite (naming row and column) and for another number of columns.
        """
        rows = self._new_rows(X)
        return _core.predict(self._placed(rows, X), self._centers(rows), threads(self.n_jobs))

    def transform(self, X: Any) -> Rows:
        """Distances from each row to each center, not squared.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Tree

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            float32 if X is, else float64.
        """
        rows = self._new_rows(X)
        rows = rows.astype(np.float64) if is_small(X) else rows
        distances = _core.distances(self._placed(rows, X), self._centers(rows), threads(self.n_jobs))
        return distances.astype(np.float32, copy=False) if rows.dtype == np.float32 else distances

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Rows:
        """Fit, and transform the same rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Tree
        y : ignored
        sample_weight : array-like of shape (n_samples,), float or None

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        distances: Rows = self.fit(X, sample_weight=sample_weight).transform(X)
        return distances

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The inertia of the rows about their nearest centers, negative; of the rows and weights of fit, -inertia_.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Tree
        y : ignored
        sample_weight : array-like of shape (n_samples,), float or None

        Returns
        -------
        score : float
        """
        rows = self._new_rows(X)
        weights = as_weights(sample_weight, rows.shape[0])
        return -_core.inertia(self._placed(rows, X), self._centers(rows), weights, threads(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(np.shape(self.cluster_centers_)[0])

    def _rows(self, X: Any, reset: bool) -> Rows:
        if isinstance(X, Tree):
            X = X.rows
        X = unfolded(X)
        refuse_sparse(X, "X")
        refuse_masked(X, "X")
        expect_numbers(X, "X")
        # Values are looked at later, by the library, which says where a bad one is: a long double that becomes infinity, too.
        kinds = np.float32 if is_small(X) else [np.float64, np.float32]
        with np.errstate(over="ignore"):
            rows = validate_data(self, X, reset=reset, dtype=kinds, order="C", ensure_all_finite=False)
        return compact(rows)

    def _new_rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        return self._rows(X, reset=False)

    def _placed(self, rows: Rows, X: Any) -> Rows:
        return on_sphere(rows, X, threads(self.n_jobs)) if as_bool(self.spherical, "spherical") else rows

    def _centers(self, rows: Rows) -> npt.NDArray[np.float64]:
        # Whoever keeps nothing but centers may set them on a new object, in whatever type.
        centers = as_centers(self.cluster_centers_, None, None, "cluster centers")
        if centers.shape[1] != rows.shape[1]:
            raise ValueError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting {centers.shape[1]} features as input."
            )
        return centers

    def _take(self, run: KMeansResult) -> None:
        self.cluster_centers_ = run.centers
        self.labels_ = run.labels
        self.inertia_ = run.inertia
        self.n_iter_ = run.n_iter
        self.converged_ = run.converged
        self.stats_ = run.stats

    def _warn(self, run: KMeansResult) -> None:
        stats = run.stats
        for message in run.warnings:
            if message.startswith("only "):
                # In scikit-learn's words: there are filters for them.
                message = (
                    f"Number of distinct clusters ({stats['k'] - stats['empty_clusters']}) found smaller than n_clusters "
                    f"({stats['k']}). Possibly due to duplicate points in X."
                )
            warn(message, EstimatorConvergenceWarning)
