# SPDX-License-Identifier: BSD-3-Clause
"""Fits that are interrupted and taken up again."""

import pytest
from conftest import bits
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import kopse


@pytest.fixture
def X(rng):
    return rng.normal(size=(2000, 3))


class Enough(Exception):
    pass


def interrupt_at(last):
    def callback(iteration, record):
        if iteration == last:
            raise Enough

    return callback


def same(a, b):
    assert bits(a) == bits(b)
    assert a.converged_ == b.converged_


@pytest.mark.parametrize("algorithm", ["auto", "lloyd", "yinyang"])
def test_taken_up(X, tmp_path, algorithm):
    whole = kopse.KMeans(40, random_state=1, tol=0).fit(X)
    part = clone(whole).set_params(checkpoint=tmp_path / "run.ckpt", resume=True, algorithm=algorithm)
    for last in (1, 2, 5):
        with pytest.raises(Enough):
            part.set_params(callback=interrupt_at(last)).fit(X)
    got = part.set_params(callback=None).fit(X)
    same(got, whole)
    assert got.stats_["resumed_from"] == 5
    assert [r["labels_changed"] for r in got.stats_["trace"]] == [r["labels_changed"] for r in whole.stats_["trace"]]
    assert "resumed_from" not in whole.stats_


def test_function_and_estimator_share_a_checkpoint(X, tmp_path):
    path = str(tmp_path / "run.ckpt")
    with pytest.raises(Enough):
        kopse.kmeans(X, 40, checkpoint=path, callback=interrupt_at(3))
    run = kopse.kmeans(X, 40, checkpoint=path, resume=True)
    assert run.centers.tobytes() == kopse.kmeans(X, 40).centers.tobytes()
    assert run.stats["resumed_from"] == 3
    same(kopse.KMeans(40, random_state=0, tol=0, checkpoint=path, resume=True).fit(X), kopse.KMeans(40, random_state=0, tol=0).fit(X))


def test_time_limit(X, tmp_path):
    model = kopse.KMeans(40, random_state=0, tol=0, time_limit=0, checkpoint=tmp_path / "run.ckpt", resume=True)
    with pytest.warns(ConvergenceWarning, match="stopped after the time limit, before it converged"):
        model.fit(X)
    assert (model.n_iter_, model.stats_["reason"]) == (1, "time_limit")
    assert (model.predict(X) == model.labels_).all()
    same(model.set_params(time_limit=1e9).fit(X), kopse.KMeans(40, random_state=0, tol=0).fit(X))


def test_refused(X, tmp_path):
    path = tmp_path / "run.ckpt"
    kopse.kmeans(X, 5, checkpoint=path)
    with pytest.raises(ValueError, match="is there already"):
        kopse.kmeans(X, 5, checkpoint=path)
    with pytest.raises(ValueError, match="of another fit: k = 5 there, 6 here; seed = 0 there, 1 here"):
        kopse.kmeans(X, 6, checkpoint=path, resume=True, random_state=1)
    with pytest.raises(ValueError, match="of another fit: the values of the data differ"):
        kopse.kmeans(X[::-1], 5, checkpoint=path, resume=True)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ValueError, match="the checkpoint is damaged"):
        kopse.kmeans(X, 5, checkpoint=path, resume=True)
    with pytest.raises(ValueError, match="resume=True: checkpoint must say"):
        kopse.KMeans(5, resume=True).fit(X)
    with pytest.raises(ValueError, match="callable init"):
        kopse.KMeans(5, init=lambda X, k, random_state: X[:k], checkpoint=path).fit(X)
    for wrong in ({"time_limit": -1}, {"checkpoint_every": "5"}, {"checkpoint": 5}, {"checkpoint": ""}, {"resume": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            kopse.KMeans(5, **wrong).fit(X)
