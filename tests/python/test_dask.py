# SPDX-License-Identifier: BSD-3-Clause
"""Fits of Dask's collections: the bits of one machine, in one process and on clusters whose workers come and go."""

import itertools
import os
import pickle
import random
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import oracle
import pandas as pd
import pytest
import scipy.sparse
from conftest import HANG, algorithms, bits, run_python
from distributed import Client, LocalCluster, wait
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import kopse
import kopse.dask
from kopse import _dask

PARTS = (1, 2, 3, 5)

# A LocalCluster gives up workers that are not back in 15 s, as they may not be on a machine that has much else to do.
dask.config.set({"distributed.deploy.lost-worker-timeout": f"{HANG} s"})


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture(params=["here", "workers"])
def place(request):
    """Without a client, and with one."""
    if request.param == "here":
        yield None
    else:
        with Client(request.getfixturevalue("cluster")) as client:
            yield client


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        yield client


def cut(X, parts):
    """Blocks of different lengths, the second of five empty."""
    sizes = np.diff([len(X) * i * (i + 1) // (parts * (parts + 1)) for i in range(parts + 1)])
    if parts == 5:
        sizes[2], sizes[1] = sizes[2] + sizes[1], 0
    if X.ndim == 1:
        return da.from_array(X, chunks=(tuple(sizes),))
    return da.from_array(X, chunks=(tuple(sizes), X.shape[1]))


def same(spread, one):
    spread.labels_ = spread.labels_.compute()
    assert bits(spread) == bits(one)
    assert spread.converged_ == one.converged_
    changed = lambda model: [r["labels_changed"] for r in model.stats_["trace"]]
    assert changed(spread) == changed(one)


DATA = {
    "spread": lambda rng: rng.normal(size=(400, 3)),
    "float32": lambda rng: rng.normal(size=(400, 2)).astype(np.float32),
    "duplicates": lambda rng: rng.integers(0, 3, (300, 2)).astype(float),
    "far": lambda rng: 1e9 + rng.normal(size=(300, 3)),
    "line": lambda rng: rng.normal(size=(300, 1)),
    "wide": lambda rng: rng.normal(size=(200, 40)),
}


@pytest.mark.filterwarnings("ignore::kopse.ConvergenceWarning")
@pytest.mark.parametrize("data", DATA)
def test_bits_of_one_machine(place, rng, data):
    X = DATA[data](rng)
    weights = rng.integers(0, 4, len(X)) / 4 if data == "far" else None
    turn = itertools.count()
    here = place is None
    for algorithm in algorithms(X.shape[1]) if here else ["auto", "frontier"]:
        for init in ("k-means||", "k-means++", "random", X[:7]) if here else ("k-means||", X[:7]):
            one = kopse.KMeans(
                7, init=init, random_state=next(turn), algorithm="lloyd", n_init=2 if here and isinstance(init, str) else 1, tol=0,
                empty_clusters="keep" if next(turn) % 3 == 0 else "relocate",
            )  # fmt: skip
            spread = kopse.dask.KMeans(**one.get_params()).set_params(algorithm=algorithm)
            one.fit(X, sample_weight=weights)
            for parts in PARTS if here or (data, algorithm) == ("spread", "auto") else (3,):
                spread.fit(cut(X, parts), sample_weight=None if weights is None else cut(weights, parts))
                same(spread, one)
                assert spread.stats_["losses"] == 0


def test_oracle(place, rng):
    X = rng.normal(size=(120, 2))
    centers, labels, inertia, iterations = oracle.lloyd(X, X[:5])
    for parts in PARTS:
        spread = kopse.dask.KMeans(5, init=X[:5], tol=0).fit(cut(X, parts))
        assert spread.cluster_centers_.tobytes() == centers.tobytes()
        assert (spread.labels_.compute() == labels).all()
        assert (spread.inertia_, spread.n_iter_) == (inertia, iterations)


def test_spherical(place, rng):
    X = rng.normal(size=(300, 5)).astype(np.float32)
    one = kopse.KMeans(6, spherical=True, random_state=0, init="k-means||").fit(X)
    spread = kopse.dask.KMeans(6, spherical=True, random_state=0).fit(cut(X, 5))
    assert spread.score(cut(X, 3)) == one.score(X) == -one.inertia_
    same(spread, one)
    X[250] = 0
    with pytest.raises(ValueError, match=r"partition 2 of 3: row \d+ .* is all zeros"):
        spread.fit(cut(X, 3))


def test_data_frames_of_unknown_length(place, rng):
    frame = pd.DataFrame({"a": rng.normal(size=500), "b": rng.integers(0, 9, 500), "w": rng.random(500)})
    frames = dd.from_pandas(frame, npartitions=4)
    some, some_here = frames[frames.a > 0], frame[frame.a > 0]
    one = kopse.KMeans(5, random_state=0, init="k-means||").fit(some_here[["a", "b"]], sample_weight=some_here.w)
    spread = kopse.dask.KMeans(5, random_state=0).fit(some[["a", "b"]], sample_weight=some.w)
    assert list(spread.feature_names_in_) == ["a", "b"]
    assert isinstance(spread.labels_, da.Array)
    assert spread.labels_.dtype == np.int32
    assert spread.score(some[["a", "b"]], sample_weight=some.w) == -one.inertia_
    whole = spread.predict(frames[["a", "b"]])
    assert (whole.compute() == one.predict(frame[["a", "b"]])).all()
    distances = spread.transform(frames[["a", "b"]])
    assert distances.compute().tobytes() == one.transform(frame[["a", "b"]]).tobytes()
    same(spread, one)
    with pytest.raises(ValueError, match="feature names should match"):
        spread.predict(frames[["b", "w"]])


def test_what_is_lazy(place, rng):
    X = rng.normal(size=(300, 3)).astype(np.float32)
    one = kopse.KMeans(5, random_state=0, init="k-means||").fit(X)
    rows = cut(X, 5).rechunk({1: 2})
    spread = kopse.dask.KMeans(5, random_state=0).fit(rows)
    for got, want in ((spread.predict(rows), one.predict(X)), (spread.transform(rows), one.transform(X))):
        assert isinstance(got, da.Array)
        assert got.shape == want.shape
        assert got.dtype == want.dtype
        assert got.compute().tobytes() == want.tobytes()
    assert spread.fit_predict(rows).compute().tobytes() == one.labels_.tobytes()


def test_arrays_in_memory_are_as_ever(rng):
    X = rng.normal(size=(300, 3))
    one = kopse.KMeans(5, random_state=0, init="k-means||").fit(X)
    model = clone(kopse.dask.KMeans(5, random_state=0)).fit(X)
    assert bits(model) == bits(one)
    assert isinstance(model.predict(X), np.ndarray)
    assert model.score(X) == one.score(X)
    assert kopse.dask.KMeans().get_params() == kopse.KMeans(init="k-means||").get_params()


@pytest.mark.parametrize("kind", [np.int16, np.int64, bool, object])
def test_other_types(place, rng, kind):
    X = rng.integers(0, 2 if kind is bool else 50, (200, 3)).astype(kind)
    model = kopse.dask.KMeans(4, random_state=0).fit(cut(X, 3))
    same(model, kopse.KMeans(4, random_state=0, init="k-means||").fit(X.astype(float)))
    lazy = model.transform(cut(X, 3))
    assert lazy.dtype == lazy.compute().dtype == np.float64


def test_weights(place, rng):
    X, w = rng.normal(size=(200, 2)), rng.random(200)
    one = kopse.KMeans(4, random_state=0, init="k-means||").fit(X, sample_weight=w)
    for weights in (w, da.from_array(w, chunks=70), da.from_array(w[:, None], chunks=(200, 1))):
        same(kopse.dask.KMeans(4, random_state=0).fit(cut(X, 3), sample_weight=weights), one)
    for weights, fault in (
        (w[:9], r"sample_weight.shape == \(9,\), expected \(200,\)!"),
        (da.from_array(w[:9]), r"sample_weight.shape == \(9,\), expected \(200,\)!"),
        (da.zeros(200), "all weights are zero"),
        (
            da.from_array(np.where(np.arange(200) == 150, -1, w)),
            r"partition 2 of 3: the weight of row 150 \(counted from 0\) is -1",
        ),
    ):
        with pytest.raises(ValueError, match=fault):
            kopse.dask.KMeans(4).fit(cut(X, 3), sample_weight=weights)
    with pytest.raises(TypeError, match="sample_weight is a Delayed.*: expected a dask array or series, an array, or a number"):
        kopse.dask.KMeans(4).fit(cut(X, 3), sample_weight=dask.delayed(w))
    two = kopse.KMeans(4, random_state=0, init="k-means||").fit(X, sample_weight=2.0)
    same(kopse.dask.KMeans(4, random_state=0).fit(cut(X, 3), sample_weight=da.full(2, 1.0).sum()), two)


def blocks(*arrays):
    """A dask array that does not know what is in it."""
    return da.concatenate(
        [da.from_delayed(dask.delayed(a, pure=False), (np.nan, 2), float) for a in arrays], allow_unknown_chunksizes=True
    )


def test_bad_input(place, rng):
    good = rng.normal(size=(50, 2))
    bad = good.copy()
    bad[7, 1] = np.nan
    model = kopse.dask.KMeans(3, random_state=0)
    for X, kind, fault in (
        (blocks(good, bad), ValueError, r"partition 1 of 2: row 57, column 1 \(counted from 0\) is (nan|NaN)"),
        (blocks(good, good[:, :1]), ValueError, "partition 1 of 2 has rows of 1 columns, expected 2 as in partition 0 of 2"),
        (blocks(good, good.astype(np.float32)), ValueError, "partition 1 of 2 has rows of float32, expected float64"),
        (blocks(good, good[:, 0]), ValueError, "partition 1 of 2: Expected 2D array, got 1D array instead"),
        (blocks(good, scipy.sparse.csr_array(good)), TypeError, "partition 1 of 2: Sparse data was passed for X"),
        (blocks(good, np.full((3, 2), "a", object)), ValueError, r"partition 1 of 2: .*row 0, column 0 .*expected a number"),
        (blocks(good[:0], good[:0]), ValueError, "Found array with 0 sample"),
        (blocks(good[:2], good[:0]), ValueError, "n_samples=2 should be >= n_clusters=3"),
        (cut(good[:, 0], 2), ValueError, "Expected 2D array, got 1D array"),
        (dask.delayed(good), TypeError, "X is a Delayed.*: expected a dask array or data frame"),
    ):
        with pytest.raises(kind, match=fault):
            model.fit(X)
    for settings, fault in (
        (dict(init=lambda X, k, random_state: X[:k]), "a callable init is for rows in one place"),
        (dict(init="coreset"), "init 'coreset' is for rows in one place"),
        (dict(algorithm="fast"), "algorithm"),
        (dict(n_clusters=0), "n_clusters must be an int >= 1"),
        (dict(init=good[:2]), "does not match the number of clusters 3"),
    ):
        with pytest.raises(ValueError, match=fault):
            kopse.dask.KMeans(3).set_params(**settings).fit(cut(good, 3))
    spread = kopse.dask.KMeans(3, random_state=0).fit(cut(good, 3))
    with pytest.raises(ValueError, match="partition 1: .*row 7, column 1"):
        spread.predict(blocks(good, bad)).compute()
    with pytest.raises(ValueError, match="partition 1 of 2: row 7, column 1|partition 1 of 2: row 57, column 1"):
        spread.score(blocks(good, bad))


def test_checkpoints_and_limits(place, rng, tmp_path):
    X = rng.normal(size=(800, 3))
    one = kopse.KMeans(30, random_state=0, init="k-means||", tol=0).fit(X)
    spread = kopse.dask.KMeans(30, random_state=0, tol=0, checkpoint=tmp_path / "run", resume=True)

    def enough(iteration, record):
        if iteration == 3:
            raise TimeoutError("enough")

    with pytest.raises(TimeoutError, match="enough"):
        clone(spread).set_params(callback=enough).fit(cut(X, 3))
    with pytest.warns(ConvergenceWarning, match="stopped after the time limit"):
        clone(spread).set_params(time_limit=0).fit(cut(X, 5))
    last = clone(spread).fit(cut(X, 2))
    assert last.stats_["resumed_from"] == 4
    same(last, one)
    with pytest.raises(ValueError, match="is there already"):
        clone(spread).set_params(resume=False).fit(cut(X, 2))


# ---- Workers that come and go


disturbed = pytest.mark.filterwarnings("ignore")  # what distributed says of it all


def kill_one(client, by=signal.SIGKILL):
    """The first worker's process, at once or as it wishes."""
    pids = client.run(os.getpid)
    os.kill(next(iter(pids.values())), by)


def running(client):
    return sum(client.run(lambda: len(_dask._partitions)).values())


@disturbed
def test_workers_are_killed(rng):
    X = rng.normal(size=(4000, 3))
    one = kopse.KMeans(60, random_state=0, init="k-means||", tol=0).fit(X)
    assert one.n_iter_ > 20
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        killed = []

        def kill(iteration, record):
            if iteration in (1, 5, 20) and iteration not in killed:
                killed.append(iteration)
                kill_one(client)

        spread = kopse.dask.KMeans(60, random_state=0, tol=0, callback=kill).fit(cut(X, 5))
        assert killed == [1, 5, 20]
        assert 1 <= spread.stats_["losses"]
        same(spread, one)
        assert client.submit(sum, [1, 2]).result() == 3


@disturbed
@pytest.mark.parametrize("small", [_dask.SMALL, 0])
def test_workers_are_killed_at_any_time(rng, monkeypatch, small):
    monkeypatch.setattr(_dask, "SMALL", small)
    X = rng.normal(size=(4000, 3))
    one = kopse.KMeans(60, random_state=0, init="k-means||", tol=0).fit(X)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        done = threading.Event()

        def kill_now_and_then():
            for _ in range(5):
                if done.wait(2 * random.random()):
                    break
                kill_one(client, random.choice([signal.SIGKILL, signal.SIGTERM]))

        killer = threading.Thread(target=kill_now_and_then)
        killer.start()
        try:
            spread = kopse.dask.KMeans(60, random_state=0, tol=0).fit(cut(X, 3))
        finally:
            done.set()
            killer.join()
        same(spread, one)


@disturbed
def test_gives_up_where_all_are_lost_again_and_again(rng, monkeypatch):
    monkeypatch.setattr(kopse.dask, "LOSSES", 1)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        with pytest.raises(RuntimeError, match="gave up, as partitions were lost 1 times since the last iteration: .* left"):
            kopse.dask.KMeans(40, random_state=0, tol=0, callback=lambda i, r: kill_one(client)).fit(
                cut(rng.normal(size=(3000, 3)), 2)
            )


@disturbed
def test_adaptive_scaling_and_an_address(rng):
    X = rng.normal(size=(3000, 3))
    one = kopse.KMeans(40, random_state=0, init="k-means||", tol=0).fit(X)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        with Client(cluster.scheduler_address) as client:

            def retire(iteration, record):
                if iteration == 4:
                    cluster.scale(2)
                    client.wait_for_workers(2)
                    held = client.run(lambda: len(_dask._partitions))
                    client.retire_workers([max(held, key=held.get)])

            spread = kopse.dask.KMeans(40, random_state=0, tol=0, callback=retire).fit(cut(X, 3))
            assert spread.stats_["losses"] >= 1
            same(spread, one)
            cluster.adapt(minimum=1, maximum=2, interval="100ms", wait_count=2)
            same(kopse.dask.KMeans(40, random_state=0, tol=0).fit(cut(X, 5)), one)


@disturbed
def test_what_is_lost_is_made_again(rng):
    X, w = rng.normal(size=(4000, 3)), rng.random(4000)
    one = kopse.KMeans(1500, init=X[:1500], max_iter=8, tol=0).fit(X, sample_weight=w)  # answers beyond _dask.SMALL
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        disturbing = {2: kill_one, 3: lambda client: client.restart_workers([next(iter(client.nthreads()))]), 5: Client.restart}

        def disturb(iteration, record):
            disturbing.pop(iteration, lambda client: None)(client)

        spread = kopse.dask.KMeans(1500, init=X[:1500], max_iter=8, tol=0, callback=disturb).fit(cut(X, 3), sample_weight=w)
        assert not disturbing and spread.stats_["losses"] >= 2
        assert "resumed_from" not in spread.stats_
        same(spread, one)

        chance = da.concatenate(
            [
                da.from_delayed(dask.delayed(lambda: np.random.default_rng().normal(size=(500, 2)), pure=False)(), (500, 2), float)
                for _ in range(3)
            ]
        )
        disturbing = {2: Client.restart}
        with pytest.raises(ValueError, match="have other values now that they are made again.*the values of the data differ"):
            kopse.dask.KMeans(20, tol=0, random_state=0, callback=disturb).fit(chance)


def test_a_client_that_is_closed_in_mid_fit():
    run_python(  # in a process of its own, as dask goes on to expect a client
        "import dask.array as da, numpy as np, kopse.dask\n"
        "from distributed import Client\n"
        "if __name__ == '__main__':\n"
        "    client = Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=':0')\n"
        "    try:\n"
        "        kopse.dask.KMeans(99, tol=0, callback=lambda i, r: client.close()).fit(da.from_array(np.random.rand(9000, 3), chunks=3000))\n"
        "    except (RuntimeError, ValueError) as error:\n"
        "        assert 'the client was closed' in str(error) or 'No clients found' in str(error), error\n"
        "    else:\n"
        "        raise AssertionError('it went on')\n"
    )


def test_errors_of_reading_are_told_as_they_are(place):
    def load():
        raise TimeoutError("storage does not answer")

    X = da.from_delayed(dask.delayed(load, pure=False)(), (50, 2), float)
    with pytest.raises(TimeoutError, match="storage does not answer"):
        kopse.dask.KMeans(2).fit(X)


def test_in_a_task(rng):
    X = rng.normal(size=(500, 3))
    one = kopse.KMeans(9, random_state=0, init="k-means||").fit(X)
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        inertia = client.submit(lambda: kopse.dask.KMeans(9, random_state=0).fit(cut(X, 3)).inertia_, pure=False)
        assert inertia.result(timeout=HANG) == one.inertia_


def test_a_copy_does_not_drag_the_rows_along(rng):
    X = rng.normal(size=(3000, 3))
    model = kopse.dask.KMeans(9, random_state=0).fit(cut(X, 3))
    packed = pickle.dumps(model)
    assert len(packed) < X.nbytes / 4
    assert pickle.loads(packed).predict(cut(X, 2)).compute().tobytes() == model.labels_.compute().tobytes()


def test_an_interrupted_program_ends_in_peace():
    run_python(
        "import dask.array as da, numpy as np, kopse.dask\n"
        "def stop(iteration, record):\n"
        "    raise KeyboardInterrupt\n"
        "try:\n"
        "    kopse.dask.KMeans(300, tol=0, callback=stop).fit(da.from_array(np.random.default_rng(0).normal(size=(60000, 3)), chunks=9000))\n"
        "except KeyboardInterrupt:\n"
        "    pass\n"
    )


def test_workers_in_this_process(rng):
    X = rng.normal(size=(1000, 3))
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster, Client(cluster):
        same(kopse.dask.KMeans(9, random_state=0).fit(cut(X, 5)), kopse.KMeans(9, random_state=0, init="k-means||").fit(X))


def test_nothing_is_left_on_workers(client, rng):
    rows = rng.normal(size=(2000, 3))
    rows[-1] = 0  # without a direction
    X = cut(rows, 5).persist()
    wait(X)
    before = set().union(*client.has_what().values())

    def stop(iteration, record):
        raise KeyboardInterrupt

    for settings, raised in (({}, None), ({"callback": stop}, KeyboardInterrupt), ({"spherical": True}, ValueError)):
        model = kopse.dask.KMeans(30, random_state=0).set_params(**settings)
        if raised:
            with pytest.raises(raised):
                model.fit(X)
        else:
            model.fit(X)
        deadline = time.monotonic() + 60
        while (left := (running(client), set().union(*client.has_what().values()) - before)) != (0, set()):
            assert time.monotonic() < deadline, left
            time.sleep(0.1)


def test_asynchronous_client(cluster):
    async def fit():
        async with Client(cluster.scheduler_address, asynchronous=True):
            with pytest.raises(ValueError, match="the client is asynchronous"):
                kopse.dask.KMeans(2).fit(da.zeros((4, 2)))

    import asyncio

    asyncio.run(fit())
