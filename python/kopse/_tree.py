# SPDX-License-Identifier: BSD-3-Clause
"""A tree on the data, built once for many runs."""

from __future__ import annotations

from typing import Any

from . import _core
from ._arrays import Rows, as_rows
from ._settings import as_int, as_tree, threads


class Tree:
    """A tree on the rows of X, to be passed in the place of X to whatever fits: same results, built once.

    It serves any number of clusters, start, weights and algorithm, several at a time if need be; algorithms
    without a tree take its rows. It keeps a reference to the rows and, inside, a copy of them in its own order:
    do not change them afterwards (a fit would notice and refuse).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        float32 or float64 in place if C-ordered, anything else is converted.
    tree : str, default='kd'
        ``kopse._core.trees`` lists them; docs/space_trees.md says when to use which.
    leaf_size : int, default=40
        Most rows in a leaf.
    n_jobs : int or None, default=None
        Threads to build it; None is all cores. The tree does not depend on it.

    Attributes
    ----------
    rows : ndarray of shape (n_samples, n_features)
    node_count : int

    Raises
    ------
    ValueError
        For values that a fit refuses, an unknown name, or a tree that is not for so many columns.

    Examples
    --------
    >>> import numpy as np, kopse
    >>> tree = kopse.Tree(np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]]))
    >>> [kopse.kmeans(tree, k).inertia for k in (1, 6)]
    [137.5, 0.0]
    """

    tree: str
    leaf_size: int
    n_jobs: int | None

    def __init__(self, X: Any, tree: str = "kd", leaf_size: int = 40, n_jobs: int | None = None) -> None:
        self.tree = as_tree(tree)
        self.leaf_size = as_int(leaf_size, "leaf_size", 1, 2**62)
        self.n_jobs = n_jobs
        self._rows = as_rows(X)
        self._built = _core.build_tree(self._rows, tree, self.leaf_size, threads(n_jobs))

    @property
    def rows(self) -> Rows:
        """Those that it was built on."""
        return self._rows

    @property
    def shape(self) -> tuple[int, int]:
        """Of the rows."""
        return self.rows.shape[0], self.rows.shape[1]

    @property
    def node_count(self) -> int:
        """How many nodes it has."""
        return self._built.node_count

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        n, d = self.shape
        return f"Tree({n} x {d} {self.rows.dtype}, tree={self.tree!r}, leaf_size={self.leaf_size}, {self.node_count} nodes)"

    def __reduce__(self) -> tuple[Any, ...]:
        # A pickle holds the rows; the tree is built again, the same.
        return Tree, (self.rows, self.tree, self.leaf_size, self.n_jobs)
