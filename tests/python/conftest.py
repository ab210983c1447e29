# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the package share."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest

import kopse

matplotlib.use("Agg")

HANG = 600  # seconds after which a process is taken to hang, on a machine that has much else to do


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def column(*values):
    return np.array(values, float)[:, None]


def fit(X, C, **settings):
    """From the centers C to the end."""
    settings = {"n_init": 1, "tol": 0, "max_iter": 10000, **settings}
    weights = settings.pop("sample_weight", None)
    return kopse.KMeans(len(C), init=C, **settings).fit(X, sample_weight=weights)


def algorithms(columns):
    """Those for so many columns: line is for one."""
    return [name for name in kopse._core.algorithms if name != "line" or columns == 1]


def every_way(columns):
    """Settings that must not change a bit."""
    for algorithm in algorithms(columns):
        for tree in kopse._core.trees if kopse._core.uses_tree(algorithm) else ["kd"]:
            yield {"algorithm": algorithm, "tree": tree, "leaf_size": 3, "n_jobs": 2}


def bits(model):
    return (
        model.cluster_centers_.tobytes(), model.labels_.tobytes(), np.float64(model.inertia_).tobytes(), model.n_iter_
    )  # fmt: skip


def run_python(code, **kwargs):
    """A process of its own; its stdout. Fails with its stderr."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG, **kwargs)
    assert done.returncode == 0, done.stderr
    return done.stdout
