# SPDX-License-Identifier: BSD-3-Clause
"""What is read in place, what is copied, and what is refused, where."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from conftest import bits

import kopse


def uses(X):
    """All ways in, as functions of no argument."""
    model = kopse.KMeans(2, init=[[0.0, 0], [1, 1]])
    fitted = kopse.KMeans(2, init=[[0.0, 0], [1, 1]]).fit([[0, 0], [1, 1]])
    yield lambda: model.fit(X)
    yield lambda: kopse.kmeans(X, 2)
    yield lambda: kopse.Tree(X)
    yield lambda: kopse.kmeans_plusplus(X, 2)
    yield lambda: fitted.predict(X)
    yield lambda: fitted.transform(X)
    yield lambda: fitted.score(X)


@pytest.mark.parametrize(
    "X, kind, said",
    [
        (scipy.sparse.csr_matrix(np.eye(2)), TypeError, "[Ss]parse"), (scipy.sparse.csr_array(np.eye(2)), TypeError, "[Ss]parse"),
        (np.array([[1j, 2], [3, 4]]), ValueError, "Complex data not supported"),
        (np.array([[1, 2], [3, "x"]], object), ValueError, "row 1, column 1"),
        ([[1, 2], [3, None]], (ValueError, TypeError), "row 1, column 1"),
        ([["a", "b"], ["c", "d"]], ValueError, "convert string|row 0, column 0"),
        (np.array([[0, 1], [2, np.nan]]), ValueError, r"row 1, column 1 .* NaN"),
        (np.array([[0, 1], [-np.inf, 2]], np.float32), ValueError, r"row 1, column 0 .* -inf"),
        (np.zeros((0, 2)), ValueError, r"0 sample.*\(0, 2\)"), (np.zeros((2, 0)), ValueError, r"0 feature.*\(2, 0\)"),
        (np.zeros(4), ValueError, "(?s)1D array.*[Rr]eshape"), (5.0, ValueError, "(?s)(0D|scalar) array.*[Rr]eshape"),
        (np.zeros((2, 2, 2)), ValueError, "3D array|dim 3"),
        (np.ma.array([[1.0, 2], [3, 4]], mask=[[0, 0], [0, 1]]), ValueError, "masked at row 1, column 1"),
        (np.array([["2020-01-01"] * 2] * 2, "M8[D]"), (TypeError, ValueError), "datetime64|DType"),
    ],
)  # fmt: skip
def test_what_is_refused(X, kind, said):
    for use in uses(X):
        with pytest.raises(kind, match=said):
            use()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_in_place(tmp_path, rng, dtype):
    """C-ordered floats are read where they are: read-only, memory-mapped, and nothing of their size is allocated."""
    X = rng.normal(size=(100_000, 8)).astype(dtype)
    file = tmp_path / "rows.npy"
    np.save(file, X)
    stored = file.read_bytes()
    mapped = np.load(file, mmap_mode="r")
    X.flags.writeable = False
    C, w = X[:5].astype(float), np.ones(len(X))
    C.flags.writeable = w.flags.writeable = False
    expected = None
    kopse.KMeans(1).fit(X[:9])  # whatever is imported at first use
    for rows in (X, mapped):
        tracemalloc.start()
        model = kopse.KMeans(5, init=C, algorithm="hamerly", tol=0.01).fit(rows, sample_weight=w)
        model.predict(rows), model.score(rows, sample_weight=w)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < X.nbytes / 4
        assert expected in (None, bits(model))
        expected = bits(model)
    assert file.read_bytes() == stored


def test_one_copy_of_other_layouts(rng):
    F = np.asfortranarray(rng.normal(size=(100_000, 8)))
    kopse.KMeans(1).fit(F[:9])  # whatever is imported at first use
    tracemalloc.start()
    kopse.KMeans(5, init=F[:5], algorithm="hamerly", tol=0.01).fit(F)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert F.nbytes <= peak < 1.5 * F.nbytes


def test_input_is_not_changed(rng):
    X, C, w = rng.normal(size=(100, 2)), rng.normal(size=(3, 2)), rng.random(100)
    before = X.tobytes(), C.tobytes(), w.tobytes()
    model = kopse.KMeans(3, init=C, copy_x=False).fit(X, sample_weight=w)
    assert (X.tobytes(), C.tobytes(), w.tobytes()) == before and model.init is C


def test_results_own_their_memory(rng):
    X = rng.normal(size=(1000, 2))
    run = kopse.kmeans(X, 9)
    centers, labels = run.centers.copy(), run.labels.copy()
    kept = run.centers, run.labels
    del run
    for _ in range(20):
        kopse.kmeans(rng.normal(size=(1000, 2)), 9)
    assert (kept[0] == centers).all() and (kept[1] == labels).all()
    kept[0][0] = 7  # they can be written to
    kept[1][0] = 7


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int16, bool])
def test_small_whole_numbers_are_float32(rng, kind):
    """Half the memory; to the bits of float64, which is what comes out."""
    X = (
        rng.integers(0, 2, (500, 3)).astype(kind)
        if kind is bool
        else rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, (500, 3), kind)
    )
    wide = X.astype(np.float64)
    assert kopse.Tree(X).rows.dtype == np.float32 and (kopse.Tree(X).rows == wide).all()
    for k in (3, 40):
        model, other = (kopse.KMeans(min(k, len(np.unique(wide, axis=0))), random_state=0).fit(x) for x in (X, wide))
        assert bits(model) == bits(other)
        assert model.transform(X).dtype == np.float64 and (model.transform(X) == model.transform(wide)).all()
        assert model.score(X) == model.score(wide)
    assert kopse.Tree(X.astype(np.int32)).rows.dtype == np.float64
