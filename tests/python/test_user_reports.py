# SPDX-License-Identifier: BSD-3-Clause
"""Faults that users of k-means tools met, as far as they show in Python: a test each, and its kind.

The numbers are those of tests/cases_test.cpp and its neighbours, which have the rest.
"""

import math
import warnings

import numpy as np
import oracle
import pytest
from conftest import bits, column, every_way, fit, run_python

import kopse


def expect_consistent(model, X, w=None):
    """Labels are the nearest centers, by predict and by brute force; inertia is that of the centers, and -score."""
    X = np.asarray(X, float)
    assert np.isfinite(model.cluster_centers_).all()
    assert (model.labels_ == oracle.nearest(X, model.cluster_centers_)).all()
    assert (model.labels_ == model.predict(X)).all()
    assert model.inertia_ == oracle.inertia(X, model.cluster_centers_, w) == -model.score(X, sample_weight=w)


def expect_the_same_every_way(X, C, **settings):
    models = [fit(X, C, **settings, **way) for way in every_way(np.shape(X)[1])]
    assert len({bits(model) for model in models}) == 1
    return models[0]


def test_H01_empty_clusters_beside_bounds():
    X = np.random.default_rng(7).standard_t(1.1, (1500, 2))
    C = X[:120].copy()
    C[:6] = 1e7 + np.arange(6)[:, None]
    model = expect_the_same_every_way(X, C)
    assert model.inertia_ == pytest.approx(17140.293087, abs=1e-6)
    assert model.n_iter_ == 39
    expect_consistent(model, X)


@pytest.mark.parametrize("n, k, inertia, passes", [(700, 8, 447475.0, 98), (1000, 32, 101040.0, 571)])
def test_H02_ties(n, k, inertia, passes):
    X = np.arange(float(n))[:, None]
    model = expect_the_same_every_way(X, X[:k])
    assert (model.inertia_, model.n_iter_, model.converged_) == (inertia, passes, True)


def test_H03_a_start_on_rows():
    g = np.array([[0, 0], [0, 2], [2, 0], [2, 2]], float)
    X = np.vstack([g, g + 10, g + [20, 0]])
    model = expect_the_same_every_way(X, X[[0, 4, 8]])
    assert model.cluster_centers_.tolist() == [[1, 1], [11, 11], [21, 1]]
    assert model.inertia_ == 24 and model.n_iter_ >= 2


def test_H04_an_empty_cluster_leaves_the_others_alone():
    X, C = column(0, 1, 2, 10, 11, 12), column(1, 11, 500)
    with pytest.warns(kopse.ConvergenceWarning, match="1 of 3 clusters are empty"):
        kept = fit(X, C, empty_clusters="keep")
    assert kept.cluster_centers_.ravel().tolist() == [1, 11, 500] and kept.inertia_ == 4
    moved = fit(X, C)
    assert moved.inertia_ == 2.5 and len(set(moved.labels_)) == 3


@pytest.mark.parametrize("x, c", [((0, 1), (0.5, 100)), ((5, 5, 5, 7, 8, 14), (10, 10, 10))])
def test_H05_no_nan_of_empty_clusters(x, c):
    for policy in ("relocate", "keep"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit(column(*x), column(*c), empty_clusters=policy)
        expect_consistent(model, column(*x))


def test_H06_rows_drawn_are_rows(rng):
    X = (3e4 + 1e4 * rng.random((20000, 4))).astype(np.float32)
    tree = kopse.Tree(X)
    for seed in range(200):
        centers, rows = kopse.kmeans_plusplus(tree, 5, random_state=seed, n_local_trials=1)
        assert rows.min() >= 0 and rows.max() < 20000 and len(set(rows.tolist())) == 5
        assert (X[rows] == centers).all()


@pytest.mark.parametrize("X, k, distinct", [(np.full((4, 1), 5.0), 3, 1), ([[1, 1]] * 4 + [[2, 2]] * 3, 5, 2)])
@pytest.mark.parametrize("init", kopse._core.inits)
def test_H07_fewer_distinct_rows_than_clusters(X, k, distinct, init):
    with pytest.warns(kopse.ConvergenceWarning, match=rf"distinct clusters \({distinct}\).*n_clusters \({k}\)"):
        model = kopse.KMeans(k, init=init, n_init=1, random_state=0).fit(X)
    assert model.inertia_ <= 1e-25 and len(set(model.labels_)) == distinct
    assert np.isfinite(model.cluster_centers_).all()


def test_H08_duplicates_do_not_relocate_for_ever():
    with pytest.warns(kopse.ConvergenceWarning, match="distinct"):
        model = fit([[0, 1], [2, 0], [1, 1], [2, 0], [1, 0]], np.array([[0, 1], [1, 1], [1, 0], [2, 0], [2, 0]], float))
    assert model.n_iter_ < 10 and model.inertia_ <= 1e-25
    points = np.random.default_rng(5).integers(0, 50, (5, 2)).astype(float)
    X = points[np.arange(40) % 5]
    for seed in range(12):
        with pytest.warns(kopse.ConvergenceWarning, match=r"\(5\)"):
            model = kopse.KMeans(7, random_state=seed, tol=0).fit(X)
        assert model.n_iter_ < 10 and model.inertia_ <= 1e-25


def test_H09_two_distinct_rows_are_two_clusters():
    X = [[1, 2, 3]] * 248 + [[1, 2, 3.001]]
    for seed in range(30):
        model = kopse.KMeans(2, random_state=seed).fit(X)
        assert model.inertia_ == 0 and sorted(np.bincount(model.labels_)) == [1, 248]


@pytest.mark.parametrize("init", kopse._core.inits)
def test_H10_as_many_clusters_as_rows_and_one(init):
    X = column(4, 1, 9, 16, 25)
    model = kopse.KMeans(5, init=init, random_state=0).fit(X)
    assert len(set(model.labels_)) == 5 and model.inertia_ == 0
    one = kopse.KMeans(1, init=init, random_state=0, tol=0).fit(X)
    assert one.cluster_centers_.item() == 11 and one.inertia_ == 374
    third = kopse.KMeans(1, init=init, random_state=0, tol=0).fit(column(1, 2, 4))
    assert third.cluster_centers_.item() == 7 / 3 and third.inertia_ == pytest.approx(14 / 3, rel=1e-15)


@pytest.mark.parametrize("init", [*kopse._core.inits, np.zeros((8, 2)), lambda X, k, random_state: X[:k]])
def test_H11_fewer_rows_than_clusters(init):
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=8"):
        kopse.KMeans(init=init).fit([[0, 1], [2, 3]])
    with pytest.raises(ValueError, match="n_samples=2 should be >= k=8"):
        kopse.kmeans([[0, 1], [2, 3]], 8)


def test_H12_every_row_can_be_drawn_first(rng):
    for shape in ((5, 1000), (1000, 5)):
        X = rng.normal(size=shape)
        seen = {int(kopse.kmeans_plusplus(X, 2, random_state=seed)[1][0]) for seed in range(200)}
        assert max(seen) < shape[0]
        assert len(seen) == 5 if shape[0] == 5 else len(seen) > 150


def test_H13_stopped_labels_belong_to_the_centers():
    with pytest.warns(kopse.ConvergenceWarning, match="max_iter = 1"):
        model = fit(column(0, 1, 2, 3, 10), column(0, 1), max_iter=1)
    assert model.cluster_centers_.ravel().tolist() == [0, 4]
    assert model.labels_.tolist() == [0, 0, 0, 1, 1] and model.inertia_ == 42  # 2 lies between both: the lower one
    expect_consistent(model, column(0, 1, 2, 3, 10))


def test_H14_inertia_belongs_to_the_centers(rng):
    with pytest.warns(kopse.ConvergenceWarning):
        model = fit(column(0, 2, 10, 14), column(0, 10), max_iter=1)
    assert model.cluster_centers_.ravel().tolist() == [1, 12] and model.inertia_ == 10
    X = rng.exponential(size=(300000, 1))
    expect_consistent(kopse.KMeans(3, random_state=0).fit(X), X)


def test_H15_weights_count_in_inertia_and_score():
    w = [1, 3, 1]
    model = fit(column(0, 1, 10), column(0, 10), sample_weight=w)
    assert model.cluster_centers_.ravel().tolist() == [0.75, 10]
    assert model.inertia_ == 0.75 == -model.score(column(0, 1, 10), sample_weight=w)


def test_H16_seeding_heeds_weights():
    X, w = np.repeat(column(0, 10, 1000), [3, 3, 2], axis=0), np.repeat([1e6, 1e6, 1e-6], [3, 3, 2])
    for seed in range(20):
        model = kopse.KMeans(2, random_state=seed, tol=0).fit(X, sample_weight=w)
        assert sorted(model.cluster_centers_.ravel()) == pytest.approx([0, 10], abs=1e-6)
        assert model.inertia_ == pytest.approx(1.9602, rel=1e-4)


def test_H17_a_cluster_without_weight():
    X, w = column(0, 1, 2, 50, 51, 52), [1, 1, 1, 0, 0, 0]
    moved = fit(X, column(1, 51), sample_weight=w)
    assert moved.inertia_ == 0.5 and np.isfinite(moved.cluster_centers_).all()
    with pytest.warns(kopse.ConvergenceWarning, match="empty"):
        kept = fit(X, column(1, 51), sample_weight=w, empty_clusters="keep")
    assert kept.cluster_centers_.ravel().tolist() == [1, 51] and kept.inertia_ == 2


@pytest.mark.parametrize(
    "w, said",
    [
        ([-1, 2, 1], "row 0 .* is -1:"), ([1, math.nan, 1], "row 1 .* is NaN"), ([1, 1, math.inf], "row 2 .* is inf"),
        ([0, 0, 0], "weights are zero"), ([1, 1], r"\(2,\), expected \(3,\)"), ([[1], [1], [1]], r"2D array of shape \(3, 1\)"),
    ],
)  # fmt: skip
def test_H18_bad_weights(w, said):
    with pytest.raises(ValueError, match=said):
        fit(column(0, 1, 10), column(0, 10), sample_weight=w)
    with pytest.raises(ValueError, match=said):
        fit(column(0, 1, 10), column(0, 10)).score(column(0, 1, 10), sample_weight=w)


def test_H19_a_large_offset_in_float32():
    X = (np.float32(1e6) + np.array([0, 1, 2, 20, 21, 22], np.float32))[:, None]
    model = fit(X, X[[0, 3]])
    assert model.cluster_centers_.ravel().tolist() == [1000001, 1000021] and model.inertia_ == 4
    model.cluster_centers_ = column(1000010, 1000011)
    probes = (np.float32(1e6) + np.arange(64, dtype=np.float32))[:, None]
    assert (model.predict(probes) == (np.arange(64) > 10)).all()


@pytest.mark.parametrize("count, value", [(333, 2097153), (777, 3000001)])
def test_H20_the_mean_of_equal_values(count, value):
    model = kopse.KMeans(1).fit(np.full((count, 1), value, np.float32))
    assert model.cluster_centers_.item() == value and model.inertia_ == 0


def test_H21_inertia_does_not_stop_growing():
    values = [1e6 - 1e4, 1e6 + 1e4] + [0.5] * 500000 + [-0.5] * 500000
    model = fit(np.array(values, np.float32)[:, None], column(1e6, 0))
    assert model.inertia_ == pytest.approx(200250000, rel=1e-9)


def test_H22_counts_beyond_the_digits_of_float():
    X = np.ones((17_000_500, 1), np.float32)
    X[-500:] = 5
    model = fit(X, column(0, 6), algorithm="lloyd")
    assert model.cluster_centers_.ravel().tolist() == [1, 5]
    assert np.bincount(model.labels_).tolist() == [17_000_000, 500]


def test_H23_float16():
    X = np.repeat(np.array([[10], [30]], np.float16), [70000, 10], axis=0)
    model = fit(X, column(10, 30))
    assert model.cluster_centers_.ravel().tolist() == [10, 30] and model.inertia_ <= 1e-20
    assert model.cluster_centers_.dtype == np.float64 and model.transform(X[:2]).dtype == np.float64


def test_H24_integers():
    assert kopse.KMeans(1).fit(np.array([[1], [2], [4]])).cluster_centers_.item() == 7 / 3
    for X in (np.array([[250], [255], [5], [0]], np.uint8), [[250], [255], [5], [0]]):
        model = fit(X, np.array([[255], [0]], np.uint8))
        assert model.cluster_centers_.ravel().tolist() == [252.5, 2.5] and model.inertia_ == 25
        assert (model.predict(X) == model.labels_).all()


@pytest.mark.parametrize("x, k", [((1e160, -1e160, 0, 1), 3), ((1e300, 1.1e300, -1e300, -1.1e300), 2)])
def test_H25_squares_that_would_overflow(x, k):
    with pytest.raises(ValueError, match=r"row 0, column 0 \(counted from 0\) is 1e\+(160|300): too large"):
        kopse.KMeans(k).fit(column(*x))


@pytest.mark.parametrize("bad, said", [(math.nan, "NaN"), (math.inf, "inf"), (-math.inf, "-inf")])
@pytest.mark.parametrize("init", ["k-means++", "random", "array"])
def test_H26_values_that_are_not_finite(rng, bad, said, init):
    good = rng.normal(size=(1000, 3))
    X = good.copy()
    X[537, 1] = bad
    model = kopse.KMeans(4, init=good[:4] if init == "array" else init)
    with pytest.raises(ValueError, match=f"row 537, column 1 .*{said}"):
        model.fit(X)
    model.fit(good)
    for use in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match=f"row 537, column 1 .*{said}"):
            use(X)
    with pytest.raises(ValueError, match=f"starting centroids: row 1, column 2 .*{said}"):
        kopse.KMeans(2, init=[[0, 0, 0], [0, 0, bad]]).fit(good)


def test_H27_tolerances():
    X, C = column(0, 1, 2, 3, 10), column(0, 1)
    for tol in (1e300, math.inf):
        model = fit(X, C, tol=tol)
        assert model.n_iter_ == 1 and model.cluster_centers_.ravel().tolist() == [0, 4] and not model.converged_
    for tol in (-1, math.nan, "small", None):
        with pytest.raises(ValueError, match="tol must be"):
            fit(X, C, tol=tol)


def test_H28_tol_0_stops_when_labels_repeat(rng):
    X = rng.normal(size=(20000, 3)) + 1e3
    model = fit(X, X[:40])
    assert model.n_iter_ == 93 and model.converged_
    assert model.inertia_ == pytest.approx(8006.7181010881, rel=1e-13)
    again = fit(X, model.cluster_centers_)
    assert (again.cluster_centers_ == model.cluster_centers_).all() and again.n_iter_ == 2


def test_H29_tol_is_relative_to_the_variance(rng):
    X = rng.normal(size=(400, 3))
    small, large = fit(X, X[:7], tol=1e-4), fit(1024 * X, 1024 * X[:7], tol=1e-4)
    assert small.n_iter_ == large.n_iter_ and (small.labels_ == large.labels_).all()
    assert large.inertia_ == small.inertia_ * 2**20


def test_H30_max_iter(rng):
    X = rng.normal(size=(10, 2))
    assert fit(X, X[:3], max_iter=1234).n_iter_ < 20
    X = rng.normal(size=(500, 2))
    for most in (1, 2, 3):
        with pytest.warns(kopse.ConvergenceWarning, match=f"max_iter = {most}"):
            model = fit(X, X[:20], max_iter=most)
        assert model.n_iter_ == most and not model.converged_
        expect_consistent(model, X)


@pytest.mark.parametrize("max_iter", [1, 100])
def test_H31_the_same_bits_on_any_number_of_threads(rng, max_iter):
    X = rng.normal(size=(5003, 7))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            kopse.KMeans(11, random_state=0, max_iter=max_iter, n_jobs=jobs).fit(X) for jobs in (1, 2, 3, 8) for _ in range(10)
        ]
    assert len({bits(model) for model in models}) == 1


def test_H34_layouts():
    X = np.array([[0, 1, 10, 11], [5, 5, 5, 5]], float).T
    wide = np.zeros((8, 4))
    wide[::2, ::2] = X
    layouts = [X, np.asfortranarray(X), np.ascontiguousarray(X), wide[::2, ::2], X.copy()[:, ::-1][:, ::-1], X.copy()[::-1][::-1]]
    packed = np.zeros(4, np.dtype([("pad", "u1"), ("x", "f8", 2)]))  # rows that are not aligned
    packed["x"] = X
    swapped = X.astype(">f8")
    weights = np.ones(8)[::2]
    for layout in [*layouts, packed["x"], swapped]:
        for C in (X[[0, 2]], np.asfortranarray(X[[0, 2]])):
            model = fit(layout, C, sample_weight=weights)
            assert model.labels_.tolist() == [0, 0, 1, 1]
            assert model.cluster_centers_.tolist() == [[0.5, 5], [10.5, 5]]
            assert kopse.kmeans(layout, 2, init=C, sample_weight=weights).centers.tolist() == [[0.5, 5], [10.5, 5]]


def test_H36_types_and_widths_at_predict():
    model = fit(np.array([[0], [1], [10], [11]], np.float32), column(0, 10))
    assert model.predict([[10.2]]).tolist() == [1]
    two = fit([[0, 0], [9, 9]], np.array([[0, 0], [9, 9]]))
    for use in (two.predict, two.transform, two.score):
        with pytest.raises(ValueError, match="3 features.*expecting 2"):
            use(np.zeros((4, 3)))
        with pytest.raises(ValueError, match="(?s)1D array.*[Rr]eshape"):
            use(np.zeros(2))


def test_H37_starting_centers_count():
    X = column(0, 1, 9, 10, 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = fit(X, column(0, 1), max_iter=1), fit(X, column(0, 30), max_iter=1)
    assert (one.cluster_centers_ != other.cluster_centers_).any()
    assert bits(fit(X, np.array([[0], [30]]))) == bits(fit(X, column(0, 30)))
    for C, said in ((np.zeros((3, 1)), r"\(3, 1\).*clusters 2.*\(2, 1\)"), (np.zeros((2, 2)), r"\(2, 2\).*features.*1.*\(2, 1\)")):
        for init in (C, lambda X, k, random_state, C=C: C):
            with pytest.raises(ValueError, match=said):
                kopse.KMeans(2, init=init).fit(X)
        with pytest.raises(ValueError, match=said):
            kopse.kmeans(X, 2, init=C)


def test_H38_stored_centers_are_a_model(rng):
    X = rng.normal(size=(300, 2))
    fitted = kopse.KMeans(5, random_state=0).fit(X)
    model = kopse.KMeans()
    for stored in (fitted.cluster_centers_, fitted.cluster_centers_.tolist(), np.asfortranarray(fitted.cluster_centers_)):
        model.cluster_centers_ = stored
        assert (model.predict(X) == fitted.labels_).all() and model.score(X) == -fitted.inertia_
        assert (model.transform(X) == fitted.transform(X)).all()
    with pytest.raises(ValueError, match="3 features.*expecting 2"):
        model.predict(np.zeros((1, 3)))


@pytest.mark.parametrize("n, k", [(300, 300), (70_000, 70_000)])
def test_H40_more_clusters_than_small_labels_hold(n, k):
    X = np.arange(float(n))[:, None]
    model = fit(X, X)
    assert model.labels_.dtype == np.int32 and (model.labels_ == np.arange(n)).all() and model.inertia_ == 0


@pytest.mark.parametrize("k", [6000, 60_000])
def test_H41_no_table_of_all_pairs(k):
    run_python(
        f"""
import resource, warnings, numpy as np, kopse
warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
X = np.random.default_rng(0).random((250_000, 2))
kopse.kmeans(X, {k}, init="random", max_iter=5)
"""
    )


def test_H42_equal_rows_in_a_thread():
    run_python(
        """
import threading, numpy as np, kopse
threading.stack_size(512 * 1024)
X = np.array([[3.0, 3]] * 300_000 + [[4, 4]] * 7)
def work():
    out.append(kopse.kmeans(X, 2, leaf_size=1).inertia)
    out.append(kopse.kmeans(np.ones((1_000_000, 1)), 1).inertia)
out = []
thread = threading.Thread(target=work)
thread.start(); thread.join()
assert out == [0, 0], out
"""
    )
