# SPDX-License-Identifier: BSD-3-Clause
"""How many clusters: choose_k and XMeans say in Python what they say in C++."""

import warnings

import numpy as np
import pytest
from conftest import bits

import kopse


@pytest.fixture
def X(rng):
    return 100 * rng.random((8, 2))[rng.integers(0, 8, 2000)] + rng.normal(size=(2000, 2))


def test_the_right_k(X):
    curve = kopse.choose_k(X, range(2, 17))
    assert curve.k.tolist() == list(range(2, 17))
    assert curve.chosen["bic"] == curve.chosen["calinski_harabasz"] == curve.k[curve.bic.argmin()] == 8
    assert curve.k[curve.calinski_harabasz.argmax()] == 8
    assert (np.diff(curve.inertia) < 0).all()
    model = kopse.XMeans(random_state=0).fit(X)
    assert model.n_clusters_ == 8 == len(model.cluster_centers_) == model.rounds_[-1]["k"]
    assert model.bic_ == min(entry["bic"] for entry in model.rounds_) == pytest.approx(curve.bic.min(), rel=1e-3)
    assert (model.predict(X) == model.labels_).all() and model.score(X) == -model.inertia_
    assert model.transform(X).shape == (2000, 8) and len(model.get_feature_names_out()) == 8


def test_inertia_is_that_of_a_fit(X):
    curve = kopse.choose_k(X, [3, 9], warm=False, silhouette=False, random_state=4)
    for k, inertia in zip(curve.k, curve.inertia):
        assert inertia == kopse.kmeans(X, int(k), random_state=4).inertia
    assert np.isnan(curve.silhouette).all() and "silhouette" not in curve.chosen


def test_ranges_as_text(X):
    assert kopse.choose_k(X, "2:16,5").k.tolist() == [2, 4, 5, 8, 16]
    for one in (5, np.int64(5), "5"):
        assert kopse.choose_k(X, one).k.tolist() == [5]
    with pytest.raises(ValueError, match="x"):
        kopse.choose_k(X, "2:x")


def test_a_tree_and_other_settings_change_nothing(X):
    tree = kopse.Tree(X, tree="ball")
    curves = [kopse.choose_k(data, "2:32", n_jobs=jobs, algorithm=name) for data, jobs, name in ((X, 1, "lloyd"), (tree, 2, "auto"))]
    assert (curves[0].inertia == curves[1].inertia).all() and curves[0].chosen == curves[1].chosen
    models = [kopse.XMeans(random_state=0, n_jobs=jobs).fit(data) for data, jobs in ((X, 1), (tree, 2))]
    assert models[0].n_clusters_ == models[1].n_clusters_
    assert bits(models[0]) == bits(models[1])


def test_callbacks(X):
    seen = []
    curve = kopse.choose_k(X, [2, 4, 8], callback=seen.append)
    assert seen == curve.entries and [entry["k"] for entry in seen] == [2, 4, 8]
    iterations = []
    kopse.XMeans(callback=lambda iteration, record: iterations.append(iteration)).fit(X)
    assert iterations.count(1) > 1

    def raises(*_):
        raise LookupError("enough")

    for use in (lambda: kopse.choose_k(X, [2, 4], callback=raises), lambda: kopse.XMeans(callback=raises).fit(X)):
        with pytest.raises(LookupError, match="enough"):
            use()


def test_bounds(X):
    assert kopse.XMeans(max_clusters=5, random_state=0).fit(X).n_clusters_ <= 5
    assert kopse.XMeans(min_clusters=10, random_state=0).fit(X).n_clusters_ >= 10
    for settings, said in (
        ({"min_clusters": 0}, "min_clusters must be"), ({"min_clusters": 4, "max_clusters": 3}, "max_clusters must be an int >= 4"),
        ({"min_clusters": 2001}, "n_samples=2000 should be >= min_clusters=2001"), ({"init": X[:2]}, "init must be a name"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            kopse.XMeans(**settings).fit(X)


@pytest.mark.parametrize("ks, said", [([], "ks is empty"), ([0], "each of ks must be an int >= 1"), ([2, 2001], "2000.* 2001"), ([2.5], "2.5"), (b"2:4", "each of ks .*Got b'2:4'"), (2.5, "ks must be .* Got 2.5"),
    (None, "ks must be an int, several, or text"), (True, "each of ks must be an int >= 1. Got True"), (0, "each of ks .* 0")])
def test_ks_that_cannot_be(X, ks, said):
    with pytest.raises(ValueError, match=said):
        kopse.choose_k(X, ks)
    with pytest.raises(ValueError, match="init must be a name"):
        kopse.choose_k(X, [2], init=X[:2])


def test_weights_count_as_rows(X):
    times = np.arange(2000) % 3 + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighted = kopse.choose_k(X, [1, 8], sample_weight=times)
        repeated = kopse.choose_k(np.repeat(X, times, axis=0), [1, 8])
    assert weighted.inertia == pytest.approx(repeated.inertia, rel=1e-3)
    assert weighted.inertia[0] == repeated.inertia[0] and weighted.bic[0] == pytest.approx(repeated.bic[0])
