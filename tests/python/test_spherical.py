# SPDX-License-Identifier: BSD-3-Clause
"""Spherical k-means: the bits of brute force, of rows of any length."""

import numpy as np
import oracle
import pytest
from conftest import bits, every_way, fit
from sklearn.base import clone

import kopse


@pytest.fixture
def X(rng):
    return rng.normal(size=(300, 3)) * 10.0 ** rng.integers(-3, 4, (300, 1))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d, k", [(1, 2), (2, 8), (3, 20), (12, 6)])
def test_brute_force_agrees(rng, dtype, d, k):
    X = (rng.normal(size=(300, d)) * rng.uniform(0.1, 100, (300, 1))).astype(dtype)
    X[0], X[1] = 3, -7  # both of the directions of one column
    centers, labels, inertia, iterations = oracle.lloyd(X, X[:k], spherical=True)
    before = X.copy()
    for way in every_way(d):
        model = fit(X, X[:k], spherical=True, **way)
        assert model.cluster_centers_.tobytes() == centers.tobytes()
        assert (model.labels_ == labels).all()
        assert (model.inertia_, model.n_iter_) == (inertia, iterations)
    assert (X == before).all()
    distances = model.transform(X)
    assert distances.dtype == dtype and (distances == np.sqrt(oracle.squares(oracle.unit_rows(X), centers)).astype(dtype)).all()
    run = kopse.kmeans(X, k, init=X[:k], spherical=True, verify=True)
    assert run.centers.tobytes() == centers.tobytes() and (run.labels == labels).all() and run.stats["spherical"]


def test_inertia_is_of_cosines(X):
    model = kopse.KMeans(7, spherical=True, random_state=0).fit(X)
    cosines = (X * model.cluster_centers_[model.labels_]).sum(axis=1) / np.linalg.norm(X, axis=1)
    assert model.inertia_ == pytest.approx(2 * (1 - cosines).sum(), rel=1e-12)
    assert np.linalg.norm(model.cluster_centers_, axis=1) == pytest.approx(1, abs=1e-15)


def test_what_follows_a_fit_divides_too(X):
    model = kopse.KMeans(7, spherical=True, random_state=0)
    assert (model.fit_predict(X) == model.labels_).all()
    assert (model.predict(X) == model.labels_).all() and (model.predict(X * 1024) == model.labels_).all()
    assert (model.transform(X).argmin(axis=1) == model.labels_).all()
    assert model.score(X) == -model.inertia_
    bare = kopse.KMeans(spherical=True)
    bare.cluster_centers_ = model.cluster_centers_
    assert (bare.predict(X) == model.labels_).all()
    assert clone(model).get_params()["spherical"] is True and bits(clone(model).fit(X)) == bits(model)


def test_weights(X):
    times = np.arange(len(X)) % 4
    C = X[times > 0][:7]
    weighted, repeated = fit(X, C, spherical=True, sample_weight=times), fit(np.repeat(X, times, axis=0), C, spherical=True)
    assert weighted.cluster_centers_.tobytes() == repeated.cluster_centers_.tobytes()
    assert weighted.score(X, sample_weight=times) == -weighted.inertia_


def test_a_callable_start_sees_directions(X):
    def first(rows, k, random_state):
        assert (rows == oracle.unit_rows(X)).all()
        return 5 * rows[:k]

    assert bits(kopse.KMeans(4, init=first, n_init=1, spherical=True, tol=0).fit(X)) == bits(fit(X, X[:4], spherical=True))


def test_trees_are_of_unit_rows(X):
    tree = kopse.Tree(oracle.unit_rows(X))
    model = kopse.KMeans(7, spherical=True, random_state=0, algorithm="dualtree").fit(tree)
    assert bits(model) == bits(kopse.KMeans(7, spherical=True, random_state=0).fit(X))
    assert (model.predict(tree) == model.labels_).all()
    assert kopse.kmeans(tree, 7, spherical=True, tol=1e-4).n_iter == kopse.kmeans(X, 7, spherical=True, tol=1e-4).n_iter
    for use in (lambda T: kopse.KMeans(7, spherical=True).fit(T), lambda T: kopse.kmeans(T, 7, spherical=True), model.predict):
        with pytest.raises(ValueError, match="row 0 .* has length .*: expected 1"):
            use(kopse.Tree(X))


def test_what_has_no_direction(X):
    model = kopse.KMeans(3, spherical=True).fit(X)
    X[41] = 0
    for use in (model.fit, model.predict, model.transform, model.score, lambda X: kopse.kmeans(X, 3, spherical=True)):
        with pytest.raises(ValueError, match="row 41 .* is all zeros"):
            use(X)
    X[41, 1] = np.nan
    with pytest.raises(ValueError, match="row 41, column 1 .* is NaN"):
        model.fit(X)
    X[41] = 1
    with pytest.raises(ValueError, match="starting centroid 2 .* is all zeros"):
        fit(X, [[1, 0, 0], [0, 1, 0], [0, 0, 0]], spherical=True)
    for bad in ("yes", None, 1):
        with pytest.raises(ValueError, match="spherical must be True or False"):
            kopse.KMeans(3, spherical=bad).fit(X)
