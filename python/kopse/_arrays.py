# SPDX-License-Identifier: BSD-3-Clause
"""Arrays as the library takes them: rows without gaps, float32 or float64, in place wherever they are so already.

What is refused gets the kind of error that scikit-learn raises, and the place where it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.float64] | npt.NDArray[np.float32]


def as_rows(X: Any, name: str = "X") -> Rows:
    """Rows × columns, C-ordered, aligned, float32 where X is, else float64. No copy unless one is needed.

    Raises
    ------
    TypeError
        For sparse data.
    ValueError
        For complex data, masked values, anything that is no table of numbers (naming row and column), and
        tables without rows or columns.
    """
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(
            f"Sparse data was passed for {name}, but dense data is required. Use '.toarray()' to convert to a "
            "dense numpy array."
        )
    refuse_masked(X, name)
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} is {array.dtype}")
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead for {name}. Reshape your data using "
            "array.reshape(-1, 1) if it has a single column, or array.reshape(1, -1) if it is a single row."
        )
    if 0 in array.shape:
        what = "sample" if array.shape[0] == 0 else "feature"
        raise ValueError(f"Found array with 0 {what}(s) (shape={array.shape}) for {name} while a minimum of 1 is required.")
    return compact(to_float(array, name))


def to_float(array: npt.NDArray[Any], name: str) -> Rows:
    """float32 as it is, the rest as float64; the first entry that is no number is named."""
    if array.dtype in (np.float32, np.float64):
        return array
    refuse_dates(array, name)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}{first_fault(array)}: {error}") from None


def refuse_dates(array: Any, name: str) -> None:
    """numpy would read them as counts of days or nanoseconds."""
    if getattr(getattr(array, "dtype", None), "kind", "x") in "mM":
        raise ValueError(f"{name} is {array.dtype}: expected numbers; dates and durations are none")


def first_fault(array: npt.NDArray[Any]) -> str:
    """Where a table has its first entry that is no number; "" if it has none."""
    if array.ndim != 2:
        return ""
    for place, value in np.ndenumerate(array):
        try:
            float(value)
        except (TypeError, ValueError):
            return f", row {place[0]}, column {place[1]} (counted from 0)"
    return ""


def compact(array: npt.NDArray[Any]) -> Rows:
    """Without gaps, and aligned."""
    return np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])


def refuse_masked(X: Any, name: str) -> None:
    """numpy would read what is under the mask."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        places = np.argwhere(np.ma.getmaskarray(X))[0]
        where = ", ".join(f"{word} {i}" for word, i in zip(("row", "column"), places))
        raise ValueError(f"{name} is masked at {where} (counted from 0): missing values are not supported")


def as_weights(weights: Any, n: int) -> npt.NDArray[np.float64] | None:
    """One weight a row, as float64; a single number stands for all rows."""
    if weights is None:
        return None
    refuse_masked(weights, "sample_weight")
    array = np.asarray(weights)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: sample_weight is {array.dtype}")
    try:
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight: {error}") from None
    if array.ndim == 0:
        return np.full(n, float(array))
    if array.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {array.ndim}D array of shape {array.shape}")
    if array.shape != (n,):
        raise ValueError(f"sample_weight.shape == {array.shape}, expected {(n,)}!")
    return np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])


def as_centers(centers: Any, k: int | None, d: int | None, what: str = "initial centers") -> npt.NDArray[np.float64]:
    """k × d, as float64; k or d None: any."""
    array = as_rows(centers, f"the {what}").astype(np.float64, copy=False)
    expected = f"expected {(k, d)}"
    if k is not None and array.shape[0] != k:
        raise ValueError(f"The shape of the {what} {array.shape} does not match the number of clusters {k}: {expected}")
    if d is not None and array.shape[1] != d:
        raise ValueError(
            f"The shape of the {what} {array.shape} does not match the number of features of the data {d}: {expected}"
        )
    return array
