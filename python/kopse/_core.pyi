# SPDX-License-Identifier: BSD-3-Clause
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

_Rows = npt.NDArray[np.float64] | npt.NDArray[np.float32]
_Centers = npt.NDArray[np.float64]
_Weights = npt.NDArray[np.float64] | None

algorithms: tuple[str, ...]
trees: tuple[str, ...]
inits: tuple[str, ...]

class Options:
    algorithm: str
    tree: str
    leaf_size: int
    groups: int
    threads: int
    init: str
    candidates: int
    restarts: int
    seed: int
    max_iter: int
    tol: float
    spherical: bool
    verify: bool
    time_limit: float
    def __init__(self) -> None: ...
    def keep_empty(self, keep: bool) -> None: ...
    def keep_checkpoint(self, file: str, every: float, resume: bool) -> None: ...
    def start_from(self, centroids: _Centers) -> None: ...

class Tree:
    @property
    def name(self) -> str: ...
    @property
    def node_count(self) -> int: ...

def version() -> str: ...
def available_threads() -> int: ...
def uses_tree(algorithm: str) -> bool: ...
def build_tree(rows: _Rows, name: str, leaf_size: int, threads: int) -> Tree: ...
def fit(
    rows: _Rows,
    k: int,
    options: Options,
    weights: _Weights = None,
    tree: Tree | None = None,
    callback: Callable[[int, dict[str, Any]], object] | None = None,
) -> dict[str, Any]: ...
def choose_k(
    rows: _Rows,
    ks: list[int],
    options: Options,
    warm: bool = True,
    silhouette: bool = True,
    weights: _Weights = None,
    tree: Tree | None = None,
    callback: Callable[[dict[str, Any]], object] | None = None,
) -> dict[str, Any]: ...
def parse_ks(text: str) -> list[int]: ...
def x_means(
    rows: _Rows,
    least_k: int,
    most_k: int,
    options: Options,
    weights: _Weights = None,
    tree: Tree | None = None,
    callback: Callable[[int, dict[str, Any]], object] | None = None,
) -> dict[str, Any]: ...
def seed(
    rows: _Rows, k: int, options: Options, weights: _Weights = None, tree: Tree | None = None
) -> tuple[_Centers, npt.NDArray[np.int64], list[str]]: ...
def predict(rows: _Rows, centroids: _Centers, threads: int) -> npt.NDArray[np.int32]: ...
def distances(rows: _Rows, centroids: _Centers, threads: int) -> _Rows: ...
def inertia(rows: _Rows, centroids: _Centers, weights: _Weights, threads: int) -> float: ...
def fit_first(
    rows: _Rows,
    k: int,
    options: Options,
    n: int,
    names: list[str],
    collect: Callable[[], list[bytes]],
    answer: Callable[[list[bytes]], None],
    callback: Callable[[int, dict[str, Any]], object] | None,
) -> dict[str, Any]: ...
def fit_one(
    rows: _Rows,
    k: int,
    options: Options,
    weights: _Weights,
    names: list[str],
    part: int,
    turn: Callable[[bytes], list[bytes]],
    pulse: Callable[[], None],
) -> dict[str, Any]: ...
def inertia_of_first(
    rows: _Rows,
    centroids: _Centers,
    names: list[str],
    collect: Callable[[], list[bytes]],
    answer: Callable[[list[bytes]], None],
) -> float: ...
def inertia_of_one(
    rows: _Rows,
    centroids: _Centers,
    weights: _Weights,
    threads: int,
    names: list[str],
    part: int,
    turn: Callable[[bytes], list[bytes]],
    pulse: Callable[[], None],
) -> None: ...
def normalised(rows: _Rows, threads: int) -> _Centers: ...
def expect_unit_length(rows: _Rows, threads: int) -> None: ...
