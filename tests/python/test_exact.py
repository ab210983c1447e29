# SPDX-License-Identifier: BSD-3-Clause
"""The same bits as brute force, whatever the settings, and of weights as of repeated rows."""

import numpy as np
import oracle
import pytest
from conftest import algorithms, bits, every_way, fit

import kopse


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d, k", [(1, 3), (2, 8), (3, 20), (12, 6)])
def test_brute_force_agrees(rng, dtype, d, k):
    X = rng.normal(size=(400, d)).astype(dtype)
    centers, labels, inertia, iterations = oracle.lloyd(X, X[:k])
    for way in every_way(d):
        model = fit(X, X[:k], **way)
        assert (model.cluster_centers_ == centers).all()
        assert (model.labels_ == labels).all()
        assert (model.inertia_, model.n_iter_) == (inertia, iterations)
    assert (model.transform(X) == np.sqrt(oracle.squares(X, centers)).astype(dtype)).all()


def test_a_tree_changes_nothing(rng):
    X = rng.normal(size=(3000, 3)).astype(np.float32)
    for name in kopse._core.trees:
        tree = kopse.Tree(X, tree=name, leaf_size=5)
        for k in (2, 30):
            for algorithm in algorithms(3):
                plain = kopse.kmeans(X, k, algorithm="lloyd")
                over = kopse.kmeans(tree, k, algorithm=algorithm)
                assert plain.centers.tobytes() == over.centers.tobytes() and plain.inertia == over.inertia
                assert (plain.labels == over.labels).all() and plain.n_iter == over.n_iter


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("d, dtype", [(1, np.float64), (2, np.float64), (3, np.float32), (12, np.float64)])
def test_weights_are_repeated_rows(seed, d, dtype):
    """From the same start: the same bits, but of inertia, whose w·d² are rounded once and not w times."""
    rng = np.random.default_rng(seed)
    X = (rng.standard_t(3, (600, d)) * 10.0 ** rng.integers(-3, 4, d)).astype(dtype)
    times = rng.integers(0, 6, 600)
    C = X[times > 0][:7].astype(float)
    repeated = fit(np.repeat(X, times, axis=0), C)
    assert fit(X, C).cluster_centers_.tobytes() != repeated.cluster_centers_.tobytes()  # weights matter here
    for way in every_way(d):
        weighted = fit(X, C, sample_weight=times, **way)
        assert weighted.cluster_centers_.tobytes() == repeated.cluster_centers_.tobytes()
        assert (np.repeat(weighted.labels_, times) == repeated.labels_).all()
        assert (weighted.labels_ == oracle.nearest(X, repeated.cluster_centers_)).all()
        assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=1e-12)
        assert weighted.score(X, sample_weight=times) == -weighted.inertia_


def test_rows_without_weight_pull_nothing(rng):
    X = rng.normal(size=(600, 2))
    times = rng.integers(0, 2, 600)
    times[:7] = 1
    weighted, without = fit(X, X[:7], sample_weight=times), fit(X[times > 0], X[:7])
    assert weighted.cluster_centers_.tobytes() == without.cluster_centers_.tobytes()
    assert weighted.inertia_ == without.inertia_ and weighted.n_iter_ >= without.n_iter_  # until their labels settle too
    assert (weighted.labels_ == weighted.predict(X)).all()


def test_a_scalar_weight_scales_inertia(rng):
    X = rng.normal(size=(200, 2))
    one, four = fit(X, X[:5]), fit(X, X[:5], sample_weight=4)
    assert four.inertia_ == 4 * one.inertia_ and four.cluster_centers_.tobytes() == one.cluster_centers_.tobytes()


def test_verify_compares_with_brute_force(rng):
    X = rng.normal(size=(500, 2))
    assert kopse.kmeans(X, 9, verify=True).inertia == kopse.kmeans(X, 9).inertia


def test_restarts_keep_the_least_inertia(rng):
    X = rng.normal(size=(300, 2))
    runs = [kopse.KMeans(9, init=lambda X, k, random_state: X[random_state.permutation(300)[:k]], n_init=n, random_state=3).fit(X) for n in (1, 8)]
    assert runs[1].inertia_ <= runs[0].inertia_
    random = np.random.RandomState(3)
    singly = [fit(X, X[random.permutation(300)[:9]], tol=1e-4).inertia_ for _ in range(8)]
    assert runs[1].inertia_ == min(singly) and runs[1].stats_["restart"] == singly.index(min(singly))
    assert runs[0].inertia_ == singly[0]


def test_a_callable_start_may_read_alone(rng):
    """What it is given may be the user's own array."""
    X = rng.normal(size=(50, 2))
    before = X.copy()

    def spoil(rows, k, random_state):
        rows[:] = 0
        return rows[:k]

    for data in (X, kopse.Tree(X)):
        with pytest.raises(ValueError, match="read-only"):
            kopse.KMeans(3, init=spoil).fit(data)
    assert (X == before).all() and X.flags.writeable
    kopse.KMeans(3, init=lambda X, k, random_state: X[:k]).fit(X)
    assert X.flags.writeable


def test_a_callable_start_draws_from_any_random_state(rng):
    X = rng.normal(size=(300, 2))

    def draw(rows, k, random_state):
        assert isinstance(random_state, np.random.RandomState)
        drawn.append(random_state.permutation(300)[:k].tolist())
        return rows[drawn[-1]]

    drawn = []
    for state in (lambda: 3, lambda: np.random.RandomState(3), lambda: 2**40, lambda: 2**64 - 1, lambda: np.random.default_rng(3)):
        drawn.clear()
        for _ in range(2):
            kopse.KMeans(9, init=draw, n_init=2, random_state=state()).fit(X)
        assert drawn[:2] == drawn[2:] and drawn[0] != drawn[1]
    drawn.clear()
    kopse.KMeans(9, init=draw, n_init=1, random_state=3).fit(X)
    assert drawn == [np.random.RandomState(3).permutation(300)[:9].tolist()]  # as scikit-learn's is given
    kopse.KMeans(9, init=draw).fit(X)
    for bad in (-1, 2**64, True, "x", 1.5):
        with pytest.raises(ValueError, match="random_state|cannot be used to seed"):
            kopse.KMeans(9, init=draw, random_state=bad).fit(X)


def test_results_can_be_compared_and_kept_in_sets(rng):
    X = rng.normal(size=(50, 2))
    for make in (lambda: kopse.kmeans(X, 3), lambda: kopse.choose_k(X, [2, 3])):
        one, other = make(), make()
        assert one == one and one != other and len({one, other, one}) == 2


def test_the_same_seed_is_the_same_start(rng):
    X = rng.normal(size=(300, 2))
    for init in kopse._core.inits:
        assert bits(kopse.KMeans(6, init=init, random_state=5).fit(X)) == bits(kopse.KMeans(6, init=init, random_state=5).fit(X))
    a, b = (kopse.KMeans(6, random_state=np.random.RandomState(1)).fit(X) for _ in range(2))
    assert bits(a) == bits(b)
    same = kopse.kmeans(X, 6, random_state=5, tol=1e-4)
    assert same.inertia == kopse.KMeans(6, random_state=5).fit(X).inertia_
    assert len({kopse.kmeans(X, 6, random_state=None).inertia for _ in range(20)}) > 1
    assert kopse.kmeans(X, 6, random_state=np.random.default_rng(2)).inertia == kopse.kmeans(X, 6, random_state=np.random.default_rng(2)).inertia
