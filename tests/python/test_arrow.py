# SPDX-License-Identifier: BSD-3-Clause
"""Parquet and Arrow files by way of pyarrow: tables, batches and readers, vectors in columns of lists."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from conftest import bits

import kopse


@pytest.fixture
def X(rng):
    return rng.random((60, 3))


def table(X):
    return pa.table({name: X[:, i] for i, name in enumerate("abc")})


def lists(X):
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(X).ravel()), X.shape[1])


def fitted(X):
    return bits(kopse.KMeans(3, random_state=0).fit(X))


def test_files(X, tmp_path):
    pa.parquet.write_table(table(X), tmp_path / "x.parquet", row_group_size=17)
    with pa.ipc.new_file(tmp_path / "x.arrow", table(X).schema) as file:
        file.write_table(table(X), max_chunksize=13)
    read = pa.parquet.read_table(tmp_path / "x.parquet")
    model = kopse.KMeans(3, random_state=0).fit(read)
    assert bits(model) == fitted(X)
    assert fitted(pa.ipc.open_file(tmp_path / "x.arrow").read_all()) == fitted(X)
    batches = pa.parquet.ParquetFile(tmp_path / "x.parquet").iter_batches(batch_size=11)
    assert np.concatenate([model.predict(pa.Table.from_batches([batch])) for batch in batches]).tolist() == model.labels_.tolist()


def test_batches_readers_and_chunks(X):
    whole = table(X)
    assert fitted(whole.combine_chunks().to_batches()[0]) == fitted(X)
    assert fitted(whole.to_reader(max_chunksize=7)) == fitted(X)
    assert fitted(pa.concat_tables([whole.slice(0, 10), whole.slice(10)])) == fitted(X)
    assert kopse.kmeans(whole.to_reader(), 3, init=X[:3]).inertia == kopse.kmeans(X, 3, init=X[:3]).inertia
    assert kopse.Tree(whole.to_reader()).rows.tobytes() == X.tobytes()


def test_batches_have_names(X):
    whole = table(X)
    (batch,) = whole.combine_chunks().to_batches()
    for data in (whole, batch, whole.to_reader()):
        model = kopse.KMeans(3, random_state=0).fit(data)
        assert model.feature_names_in_.tolist() == list("abc")
        with warnings.catch_warnings(action="error"):
            assert model.predict(batch).tolist() == model.labels_.tolist()
        for other in (whole.select(list("bca")), whole.select(list("bca")).combine_chunks().to_batches()[0]):
            with pytest.raises(ValueError, match="same order"):
                model.predict(other)


def test_lists_of_polars(X):
    polars = pytest.importorskip("polars")
    for data in (
        polars.DataFrame({"v": X.tolist()}), polars.Series(X.tolist()), polars.DataFrame({"v": X}),
        polars.DataFrame({"a": X[:, 0], "v": X[:, 1:].tolist()}),
    ):  # fmt: skip
        assert fitted(data) == fitted(X)
    with pytest.raises(ValueError, match="row 1, column 'v' .*found a list of 1 values, expected 2"):
        kopse.kmeans(polars.DataFrame({"v": [[1.0, 2], [3.0]]}), 1)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_columns_of_lists(X, kind):
    X = X.astype(kind)
    plain = fitted(X)
    vectors = lists(X)
    for data in (
        vectors, pa.chunked_array([vectors.slice(0, 20), vectors.slice(20)]), pa.table({"v": vectors}),
        pa.record_batch({"v": vectors}), pa.table({"v": vectors.cast(pa.list_(vectors.type.value_type))}),
        pa.table({"v": vectors.cast(pa.large_list(vectors.type.value_type))}), pa.table({"v": vectors}).slice(0, 60),
        pa.table({"v": lists(X[:, :2]), "c": X[:, 2]}), pa.table({"a": X[:, 0], "v": lists(X[:, 1:])}).to_reader(13),
    ):  # fmt: skip
        assert fitted(data) == plain
        assert kopse.kmeans(data if not hasattr(data, "read_all") else X, 3, init=X[:3]).centers.shape == (3, 3)
    assert fitted(pa.table({"v": vectors}).slice(7, 40)) == fitted(X[7:47])
    assert np.shares_memory(kopse._arrays.as_rows(vectors), vectors.flatten().to_numpy())


@pytest.mark.parametrize(
    "column, said",
    [
        ([[1.0, 2], [3.0]], "row 1, column 'v' .*found a list of 1 values, expected 2 as in row 0"),
        ([[1.0, 2], None], "row 1, column 'v' .*found no list"), ([None, [1.0, 2]], "row (0|1), column 'v' .*list"),
        ([[1.0, None], [3.0, 4]], "row 0, column 1 .*NaN"), ([[[1.0]], [[2.0]]], "column 'v': expected lists of numbers"),
        ([["1"], ["2"]], "row 0, column 0 .*expected a number, got '1'"), ([[], []], "0 feature"),
        (pa.chunked_array([[[1.0, 2]], [[3.0]]]), "row 1, column 'v' .*a list of 1 values, expected 2"),
        (pa.chunked_array([], pa.list_(pa.float64())), "0 sample"),
    ],
)  # fmt: skip
def test_what_is_no_vector(column, said):
    data = pa.table({"v": column})
    for fit in (kopse.KMeans(1).fit, lambda X: kopse.kmeans(X, 1)):
        with pytest.raises(ValueError, match=said):
            fit(data)


def test_weights(X):
    w = np.arange(60) % 3 + 1.0
    expected = bits(kopse.KMeans(3, random_state=0).fit(X, sample_weight=w))
    for weights in (pa.array(w), pa.chunked_array([w[:9], w[9:]]), pa.table({"w": w})["w"]):
        assert bits(kopse.KMeans(3, random_state=0).fit(table(X), sample_weight=weights)) == expected
