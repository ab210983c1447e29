# SPDX-License-Identifier: BSD-3-Clause
"""Columns of pandas, polars and pyarrow, lists and objects: what is a number, and where one is that is none."""

import datetime
import decimal
import fractions

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from conftest import bits

import kopse

X = [1.0, 2, 3, 14, 15, 16]
DAY, LATER = datetime.date(2020, 1, 1), datetime.timedelta(1)
TEXT = r"row 0, column 't' .*expected a number, got '1.5'"
DATES = r"column 't' (is (datetime|timedelta)64|.*expected a number, got)"
MISSING = r"row 1, column (1|'t') .*(is NaN|got <NA>)"


def pandas_of(t):
    return pd.DataFrame({"x": X, "t": t})


def polars_of(t):
    return pl.DataFrame({"x": X, "t": t})


def pyarrow_of(t):
    return pa.table({"x": X, "t": t})


def fits(X, **settings):
    """An estimator's, and a function's."""
    yield lambda: kopse.KMeans(2, random_state=0).fit(X, **settings)
    yield lambda: kopse.kmeans(X, 2, **settings)


@pytest.mark.parametrize(
    "table, said",
    [
        *((of(["1.5"] * 6), TEXT) for of in (pandas_of, polars_of, pyarrow_of)),
        (pandas_of(pd.array(["1.5"] * 6, dtype="string")), TEXT), (pandas_of(pd.Categorical(["1.5"] * 6)), TEXT),
        (pd.DataFrame({"t": ["1.5"] * 6}), TEXT), (polars_of(pl.Series(["1.5"] * 6, dtype=pl.Categorical)), TEXT),
        (pyarrow_of(pa.array(["1.5"] * 6).dictionary_encode()), TEXT), (pa.record_batch({"t": ["1.5"] * 6}), TEXT),
        *((of([value] * 6), DATES) for of in (pandas_of, polars_of, pyarrow_of) for value in (DAY, LATER, datetime.time(1))),
        (pandas_of(pd.date_range("2020", periods=6)), DATES), (pandas_of(pd.date_range("2020", periods=6, tz="UTC")), DATES),
        (pd.DataFrame({"t": pd.to_timedelta(X, unit="s")}), DATES), (pl.DataFrame({"t": [LATER] * 6}), DATES),
        (pandas_of(pd.array([LATER] * 6, dtype=pd.ArrowDtype(pa.duration("s")))), DATES),
        (pandas_of(pd.period_range("2020", periods=6)), "row 0, column 't' .*Period"),
        *((pandas_of(pd.array([1, None, 2, 3, 4, 5], dtype=kind)), MISSING) for kind in ("Int64", "Float64", "int64[pyarrow]")),
        (pandas_of(pd.array([True, None] * 3, dtype="boolean")), MISSING), (pandas_of([1, pd.NA, 2, 3, 4, 5]), MISSING),
        *((of([1, None, 2, 3, 4, 5]), MISSING) for of in (polars_of, pyarrow_of)), (polars_of([True, None] * 3), MISSING),
        (polars_of([[1.0, 2]] * 5 + [[1.0]]), "row 5, column 't'"), (polars_of([{"a": 1.0}] * 6), "column 't': expected a number in each row"),
        (pd.concat([pd.Series(X, name="t"), pd.Series(["1.5"] * 6, name="t")], axis=1), TEXT),
        ([["1", "2"]] * 6, "row 0, column 0 .*got '1'"), ([[1, 2], [3, "4"], [5, 6]], "row 1, column 1 .*got '4'"),
        (np.array([[1, 2], [3, pd.NA]], object), "row 1, column 1 .*got <NA>"), (np.array([["1.5"]]), "row 0, column 0 .*'1.5'"),
        (np.array([[1, 2], [10**400, 3]], object), "row 1, column 0 .*too large"),
        (np.array([[1, 2], [np.timedelta64(1, "s"), 3]], object), "row 1, column 0 .*timedelta64"),
        (np.ones((2, 2), np.longdouble) * np.longdouble("1e400"), "row 0, column 0 .*inf"),
        ([[1, 2], [3]], "^X: "), ("abc", "^X: .*'abc'"), (object(), "^X: .*'object'"),
    ],
)  # fmt: skip
def test_what_is_no_number(table, said):
    for fit in fits(table):
        with pytest.raises((TypeError, ValueError), match=said):
            fit()


@pytest.mark.parametrize(
    "of, t",
    [
        *((of, [True, False] * 3) for of in (pandas_of, polars_of, pyarrow_of)),
        *((of, [decimal.Decimal("1.5"), decimal.Decimal(2)] * 3) for of in (pandas_of, polars_of, pyarrow_of)),
        (pandas_of, pd.array([True, False] * 3, dtype="boolean")), (pandas_of, pd.array([1, 2] * 3, dtype="Int64")),
        (pandas_of, pd.Categorical([1, 2] * 3)), (pandas_of, [fractions.Fraction(1, 3), 1] * 3),
        (pyarrow_of, pa.chunked_array([[1, 2], [3], [4, 5, 6]])),
    ],
)  # fmt: skip
def test_what_is_a_number(of, t):
    plain = np.column_stack([X, [float(value) for value in np.asarray(t)]])
    model, run = kopse.KMeans(2, init=plain[:2]).fit(of(t)), kopse.kmeans(of(t), 2, init=plain[:2], tol=1e-4)
    assert bits(model) == bits(kopse.KMeans(2, init=plain[:2]).fit(plain))
    assert run.centers.tobytes() == model.cluster_centers_.tobytes()


@pytest.mark.parametrize(
    "weights, said",
    [
        *((kind(["1"] * 6), "sample_weight, row 0 .*expected a number, got '1'") for kind in (list, pd.Series, pl.Series, pa.array)),
        *((kind([LATER] * 6), "sample_weight.*(timedelta)") for kind in (list, pd.Series, pl.Series, pa.array)),
        *((kind([DAY] * 6), "sample_weight.*(date)") for kind in (list, pd.Series, pl.Series, pa.array)),
        (pd.Series([1, None, 2, 3, 4, 5], dtype="Int64"), "row 1 .*(NaN|<NA>)"), (pl.Series([1, None, 2, 3, 4, 5]), "row 1 .*NaN"),
        ("1", "sample_weight: expected a number, got '1'"), ([1, 1, 10**400, 1, 1, 1], "sample_weight, row 2 .*too large"),
        (scipy.sparse.csr_array(np.ones((6, 1))), "Sparse data was passed for sample_weight"),
        (np.ma.array(X, mask=[0, 0, 1, 0, 0, 0]), "sample_weight is masked at row 2"), (np.full(6, 1j), "sample_weight is complex"),
    ],
)  # fmt: skip
def test_what_is_no_weight(weights, said):
    for fit in fits(np.array(X)[:, None], sample_weight=weights):
        with pytest.raises((TypeError, ValueError), match=said):
            fit()


def test_truth_is_a_weight():
    w = [True, False] * 3
    rows = np.array(X)[:, None]
    expected = bits(kopse.KMeans(2, random_state=0).fit(rows, sample_weight=np.array(w, float)))
    for weights in (w, np.array(w), pd.Series(w), pl.Series(w), pa.array(w)):
        assert bits(kopse.KMeans(2, random_state=0).fit(rows, sample_weight=weights)) == expected
