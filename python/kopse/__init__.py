# SPDX-License-Identifier: BSD-3-Clause
"""Exact k-means for many points and many clusters.

- `KMeans`: scikit-learn's estimator, with the same bits for any algorithm, tree and number of threads.
- `XMeans` and `choose_k`: how many clusters.
- `kmeans`: the same as a function; `kmeans_plusplus`: starting centers alone; `Tree`: a tree on the data, built once and handed to any of them.
- `kopse.plots`: pictures of a run, by matplotlib.
- `kopse.dask`, to be imported by itself: `KMeans` of Dask's arrays and data frames.

scikit-learn is imported when `KMeans` is first asked for, not before. Pages: docs/python.md of the repository.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from . import _core
from ._choose_k import KCurve, choose_k
from ._functions import KMeansResult, kmeans, kmeans_plusplus
from ._tree import Tree
from ._warnings import ConvergenceWarning

if TYPE_CHECKING:
    from . import plots as plots
    from ._kmeans import KMeans as KMeans
    from ._xmeans import XMeans as XMeans

__version__ = _core.version()

_LATER = {"KMeans": "._kmeans", "XMeans": "._xmeans", "plots": ".plots"}

__all__ = [
    "ConvergenceWarning", "KCurve", "KMeans", "KMeansResult", "Tree", "XMeans", "choose_k", "kmeans", "kmeans_plusplus", "plots",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'kopse' has no attribute '{name}'")
    module = importlib.import_module(_LATER[name], __name__)
    value = module if name == "plots" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
