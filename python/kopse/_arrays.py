# SPDX-License-Identifier: BSD-3-Clause
"""Arrays as the library takes them: rows without gaps, float32 or float64, in place wherever they are so already.

What is refused gets the kind of error that scikit-learn raises, and the place where it is.
"""

from __future__ import annotations

import datetime
import reprlib
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.float64] | npt.NDArray[np.float32]

# What numpy reads as numbers, though it is none.
NO_NUMBERS = (str, bytes, datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def as_rows(X: Any, name: str = "X") -> Rows:
    """Rows × columns, C-ordered, aligned, float32 where that holds X's type, else float64. No copy unless one is needed.

    Raises
    ------
    TypeError
        For sparse data.
    ValueError
        For complex data, masked values, anything that is no table of numbers (naming row and column), and
        tables without rows or columns.
    """
    X = unfolded(X, name)
    refuse_sparse(X, name)
    refuse_masked(X, name)
    expect_numbers(X, name)
    array = np.asarray(X)
    if array.dtype == object and array.size > 0:
        # Of a data frame: columns of several types, or missing values, which are NaN only in a column by itself.
        named = [np.asarray(values, np.float64) for label, values in columns(X) if label is not None]
        array = np.column_stack(named) if named else array
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead for {name}. Reshape your data using "
            "array.reshape(-1, 1) if it has a single column, or array.reshape(1, -1) if it is a single row."
        )
    if 0 in array.shape:
        what = "sample" if array.shape[0] == 0 else "feature"
        raise ValueError(f"Found array with 0 {what}(s) (shape={array.shape}) for {name} while a minimum of 1 is required.")
    return compact(to_float(array))


def unfolded(X: Any, name: str = "X") -> Any:
    """Of pyarrow: what a reader reads, a batch as the table it is a part of, and each column of lists as so many columns.

    So are columns of lists of polars. Anything else is as it is.
    """
    package = type(X).__module__.partition(".")[0]
    if package == "polars" and hasattr(X, "to_arrow") and has_lists(X):
        X = X.to_arrow()
    elif package != "pyarrow":
        return X
    if hasattr(X, "read_all"):
        X = X.read_all()
    if hasattr(X, "to_struct_array") and not hasattr(X, "to_batches"):  # a batch, whose names scikit-learn does not see
        X = sys.modules[package].Table.from_batches([X])
    if hasattr(X, "itercolumns") and any(is_list(column) for column in X.itercolumns()):
        named = list(zip(X.column_names, X.itercolumns()))
        parts = [from_lists(c, name, label) if is_list(c) else as_rows(c.to_numpy()[:, None], name) for label, c in named]
        return np.hstack(parts) if len(parts) > 1 else parts[0]
    return from_lists(X, name) if is_list(X) else X


def has_lists(X: Any) -> bool:
    """Whether a frame of polars has a column of lists, or a series of it is one."""
    return any(str(kind).startswith(("List", "Array")) for kind in getattr(X, "dtypes", None) or [X.dtype])


def is_list(column: Any) -> bool:
    """Whether each of its values is a list."""
    return hasattr(getattr(column, "type", None), "value_type") and "list" in str(column.type).partition("<")[0]


def from_lists(column: Any, name: str, label: Any = None) -> npt.NDArray[Any]:
    """Rows of as many columns as each list has values. No copy if they lie in one piece, of a type that numpy has.

    Raises
    ------
    ValueError
        For a list that is missing or of another length, naming its row.
    """
    chunks = [chunk for chunk in getattr(column, "chunks", [column]) if len(chunk) > 0]
    pieces, length, row = [], None, 0
    for chunk in chunks:
        lengths = chunk.value_lengths().to_numpy(zero_copy_only=False)  # NaN where there is no list
        length = lengths[0] if length is None else length
        if (other := np.flatnonzero(lengths != length)).size > 0:
            found = lengths[other[0]]
            what = "found no list" if np.isnan(found) else f"found a list of {int(found)} values, expected {int(length)} as in row 0"
            raise ValueError(f"{name}{at((row + int(other[0]),), label)}: {what}")
        values = chunk.flatten()
        if is_list(values):
            raise ValueError(f"{name}{at((), label)}: expected lists of numbers, got lists of lists")
        pieces.append(values.to_numpy(zero_copy_only=False).reshape(len(chunk), int(length)))
        row += len(chunk)
    if not pieces:
        return np.empty((0, 1))
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def to_float(array: npt.NDArray[Any]) -> Rows:
    """float32 as it is, whole numbers of 8 and 16 bits in it, the rest as float64."""
    with np.errstate(over="ignore"):  # of long doubles: to infinity, which the library refuses with its place
        if array.dtype == np.float32 or is_small(array):
            return array.astype(np.float32, copy=False)
        return array.astype(np.float64, copy=False)


def is_small(X: Any) -> bool:
    """Whether it is an array of whole numbers that float32 holds."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "biu" and X.dtype.itemsize <= 2


def expect_numbers(X: Any, name: str) -> None:
    """Refuses text, dates and durations, complex numbers, and objects that are no numbers, by column and row."""
    for label, values in columns(X):
        try:
            array = np.asarray(values)
        except (TypeError, ValueError) as error:  # rows of several lengths
            raise type(error)(f"{name}: {error}") from None
        kind, where = array.dtype.kind, name + at((), label)
        if kind == "c":
            raise ValueError(f"Complex data not supported: {where} is {array.dtype}")
        if kind in "mM":
            raise ValueError(f"{where} is {array.dtype}: expected numbers; dates and durations are none")
        if label is not None and array.ndim != 1:
            raise ValueError(f"{where}: expected a number in each row, got arrays of shape {array.shape[1:]}")
        if kind not in "biuf":
            expect_numbers_in(np.asarray(values, object), name, label)


def columns(X: Any) -> list[tuple[Any, Any]]:
    """Of data frames of pandas and polars and tables of pyarrow: (name, column); anything else is one, and its name None."""
    if hasattr(X, "iloc") and X.ndim == 2:
        return list(X.items())
    if hasattr(X, "get_columns"):
        return [(column.name, column) for column in X.get_columns()]
    if hasattr(X, "itercolumns"):
        return list(zip(X.column_names, X.itercolumns()))
    return [(None, X)]


def expect_numbers_in(objects: npt.NDArray[Any], name: str, label: Any) -> None:
    """Looks at each only if there is one to be found."""
    failure: Exception | None = None
    try:
        objects.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        failure = error
    if failure is None and not any(issubclass(kind, NO_NUMBERS) for kind in set(map(type, objects.flat))):
        return
    for place, value in np.ndenumerate(objects):
        where = f"{name}{at(place, label)}"
        if isinstance(value, NO_NUMBERS) or type(value).__name__ == "NAType":  # that of pandas
            raise ValueError(f"{where}: expected a number, got {reprlib.repr(value)}")
        try:
            float(value)
        except OverflowError:
            raise ValueError(f"{where}: too large for float64") from None
        except (TypeError, ValueError) as error:
            raise type(error)(f"{where}: {error}") from None
    raise ValueError(f"{name}{at((), label)}: {failure}")


def at(place: tuple[int, ...], label: Any = None) -> str:
    """A place in a table, or in a column that has a name."""
    words = [f", {word} {i}" for word, i in zip(("row", "column"), place)]
    if label is not None:
        words.append(f", column {label!r}")
    return "".join(words) + (" (counted from 0)" if place else "")


def compact(array: npt.NDArray[Any]) -> Rows:
    """Without gaps, and aligned."""
    return np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])


def refuse_sparse(X: Any, name: str) -> None:
    """In scikit-learn's words."""
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(
            f"Sparse data was passed for {name}, but dense data is required. Use '.toarray()' to convert to a "
            "dense numpy array."
        )


def refuse_masked(X: Any, name: str) -> None:
    """numpy would read what is under the mask."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        place = tuple(np.argwhere(np.ma.getmaskarray(X))[0])
        raise ValueError(f"{name} is masked at{at(place)[1:]}: missing values are not supported")


def as_weights(weights: Any, n: int) -> npt.NDArray[np.float64] | None:
    """One weight a row, as float64; a single number stands for all rows."""
    if weights is None:
        return None
    refuse_sparse(weights, "sample_weight")
    refuse_masked(weights, "sample_weight")
    expect_numbers(weights, "sample_weight")
    array = to_float(np.asarray(weights)).astype(np.float64, copy=False)
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
