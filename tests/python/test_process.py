# SPDX-License-Identifier: BSD-3-Clause
"""Threads, forks, signals, memory: what a process may do around a fit and during it."""

import subprocess
import sys

import numpy as np
import pytest
from conftest import HANG, run_python

import kopse


def test_import_is_light():
    """No scikit-learn, no matplotlib, until an estimator or a picture is asked for."""
    assert run_python(
        "import sys, numpy; before = set(sys.modules)\n"
        "import kopse; kopse.kmeans([[0.0], [1]], 2)\n"
        "print(sorted({m.split('.')[0] for m in set(sys.modules) - before} & {'sklearn', 'scipy', 'pandas', 'matplotlib', 'joblib'}))\n"
        "kopse.KMeans; print('sklearn' in sys.modules, 'matplotlib' in sys.modules)"
    ).splitlines() == ["[]", "True False"]


@pytest.mark.parametrize("algorithm", ["lloyd", "hamerly", "elkan", "yinyang", "exponion", "dense", "filter", "dualtree", "frontier", "auto"])
def test_rows_that_change_during_a_fit(algorithm):
    """Nothing is promised but that the process lives."""
    run_python(
        "import numpy as np, kopse\n"
        "for bad in np.nan, np.inf, 1e300, -3.0:\n"
        "    for columns, k in (3, 50), (10, 500):\n"
        "        X = np.random.default_rng(0).random((8000, columns))\n"
        "        def change(iteration, record): X[::10] = bad\n"
        "        try:\n"
        f"            kopse.kmeans(X, k, algorithm={algorithm!r}, init=X[:k], callback=change, max_iter=20)\n"
        "        except (ValueError, RuntimeError) as fault: assert 'changed during the run' in str(fault)\n"
    )


INTERRUPTED = """
import os, signal, sys, threading, numpy as np, kopse
X = np.random.default_rng(0).random((400_000, 3))
def strike():
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(1, strike).start()
try:
    {work}
except KeyboardInterrupt:
    print("interrupted", kopse.kmeans(X[:1000], 5).converged)
"""


@pytest.mark.parametrize(
    "work",
    [
        "kopse.kmeans(X, 20_000, algorithm='lloyd', init='random')",  # minutes an iteration
        "kopse.KMeans(20_000, algorithm='dualtree', verbose=1, init='random', max_iter=10**6).fit(np.tile(X, (1, 4)))",
        "kopse.kmeans_plusplus(np.tile(X, (1, 20)), 100_000)",
        "m = kopse.KMeans(); m.cluster_centers_ = np.random.random((100_000, 30)); m.predict(np.tile(X, (1, 10)))",
        "m = kopse.KMeans(); m.cluster_centers_ = np.random.random((100_000, 30)); m.score(np.tile(X, (1, 10)))",
        "while True: kopse.kmeans(X[:100], 3)",
    ],
)
def test_H33_ctrl_c(work):
    """What would take hours ends; the next fit works."""
    assert run_python(INTERRUPTED.format(work=work)).split() == ["interrupted", "True"]


def test_a_callback_may_raise():
    X = np.random.default_rng(0).random((20_000, 2))
    seen = []

    def callback(iteration, record):
        seen.append(iteration)
        if iteration == 3:
            raise LookupError("enough")

    for use in (lambda: kopse.kmeans(X, 50, callback=callback), lambda: kopse.KMeans(50, callback=callback).fit(X)):
        seen.clear()
        with pytest.raises(LookupError, match="enough"):
            use()
        assert seen == [1, 2, 3]
    assert kopse.kmeans(X, 5).converged


FORKED = """
import multiprocessing, numpy as np, kopse
X = np.random.default_rng(0).random((50_000, 3))
def work(seed):
    return kopse.kmeans(X, 30, random_state=seed, n_jobs=2).inertia
if __name__ == "__main__":
    alone = [work(seed) for seed in range(4)]  # the parent's threads have been at work
    with multiprocessing.get_context("{how}").Pool(2) as pool:
        print(pool.map(work, range(4)) == alone)
"""


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_H32_processes(tmp_path, how):
    (tmp_path / "work.py").write_text(FORKED.format(how=how))
    done = subprocess.run([sys.executable, "work.py"], cwd=tmp_path, capture_output=True, text=True, timeout=HANG)
    assert done.stdout.split() == ["True"], done.stderr


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_H32_joblib(backend):
    assert run_python(
        f"""
import joblib, numpy as np, kopse
X = np.random.default_rng(0).random((30_000, 3))
def work(seed):
    return kopse.KMeans(20, random_state=seed).fit(X).inertia_
alone = [work(seed) for seed in range(4)]
print(joblib.Parallel(2, backend="{backend}")(joblib.delayed(work)(seed) for seed in range(4)) == alone)
"""
    ).split() == ["True"]


def test_other_threads_of_python_run_during_a_fit():
    """The GIL is free: a fit without end ends because another thread has counted to a hundred."""
    assert run_python(
        """
import os, signal, threading, numpy as np, kopse
X = np.random.default_rng(0).random((400_000, 3))
started, ticks = threading.Event(), []
def count():
    started.wait()
    while len(ticks) < 100:
        threading.Event().wait(0.001)  # each needs the GIL anew
        ticks.append(1)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=count).start()
try:
    started.set()
    kopse.kmeans(X, 20_000, algorithm="lloyd", init="random", max_iter=10**9)
except KeyboardInterrupt:
    print(len(ticks))
"""
    ).split() == ["100"]


def test_fits_in_many_threads_agree():
    """Over one tree too."""
    assert run_python(
        """
import threading, warnings, numpy as np, kopse
warnings.simplefilter("ignore")
X = np.random.default_rng(0).random((20_000, 3))
tree = kopse.Tree(X)
alone = [kopse.kmeans(X, 100, random_state=s, algorithm="lloyd", max_iter=3, n_jobs=1).inertia for s in range(4)]
found = [None] * 8
def work(i):
    found[i] = kopse.kmeans(tree if i < 4 else X, 100, random_state=i % 4, max_iter=3, n_jobs=2).inertia
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(found == alone * 2)
"""
    ).split() == ["True"]


def test_a_thousand_fits_leak_nothing():
    """Resident memory after 1,000 more fits, errors and interrupted ones among them, is what it was after the first 200."""
    grown = int(
        run_python(
            """
import gc, numpy as np, kopse
X = np.random.default_rng(0).random((2000, 3))
tree = kopse.Tree(X)
def stop(iteration, record):
    if iteration == 2: raise LookupError
def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096
def fits(count):
    for i in range(count):
        model = kopse.KMeans(20, random_state=i).fit(tree if i % 2 else X, sample_weight=np.ones(2000))
        model.predict(X); model.transform(X); model.score(X)
        if i % 10 == 0:
            for bad in (lambda: kopse.kmeans(X, 20, callback=stop), lambda: kopse.kmeans(X * np.nan, 2)):
                try: bad()
                except (LookupError, ValueError): pass
fits(200)
before = resident()
fits(1000)
print(resident() - before)
"""
        )
    )
    assert grown < 2_000_000  # a leaked result would be 8 kB, a copy of the rows 48 kB, each time
