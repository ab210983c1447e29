# SPDX-License-Identifier: BSD-3-Clause
"""Progress, and pictures."""

import re
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

import kopse


@pytest.fixture
def X(rng):
    return rng.normal(size=(3000, 2))


class Terminal:
    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_a_callback_sees_each_iteration(X):
    seen = []
    run = kopse.kmeans(X, 20, callback=lambda iteration, record: seen.append((iteration, record)))
    assert [iteration for iteration, _ in seen] == list(range(1, run.n_iter + 1))
    assert [record for _, record in seen] == run.stats["trace"]
    assert set(seen[0][1]) == {"seconds", "distances", "node_scores", "prunes", "labels_changed", "largest_movement", "inertia"}
    assert seen[0][1]["labels_changed"] == 3000 and seen[-1][1]["labels_changed"] == 0
    seen.clear()
    kopse.KMeans(20, init="random", n_init=3, callback=lambda *entry: seen.append(entry[0])).fit(X)
    assert seen.count(1) == 3


def test_a_callback_may_keep_or_change_its_record(X, capsys):
    plain = kopse.kmeans(X, 20)

    def spoil(iteration, record):
        record["prunes"].clear()
        record.clear()

    for verbose in (0, 1, 2):
        run = kopse.kmeans(X, 20, callback=spoil, verbose=verbose)
        assert [entry["inertia"] for entry in run.stats["trace"]] == [entry["inertia"] for entry in plain.stats["trace"]]
        assert all(entry["prunes"] for entry in run.stats["trace"])
    kopse.KMeans(20, callback=spoil, verbose=1).fit(X)
    assert kopse.choose_k(X, [2, 4], callback=dict.clear).k.tolist() == [2, 4]
    capsys.readouterr()


def test_callbacks_run_in_the_calling_thread(X):
    import threading

    seen = set()
    kopse.kmeans(X, 5, callback=lambda *_: seen.add(threading.get_ident()))
    assert seen == {threading.get_ident()}


def test_verbose_in_a_file_is_one_line(X, capsys):
    run = kopse.kmeans(X, 20, verbose=1)
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1
    assert re.match(rf"k-means: iteration {run.n_iter} \(of 300 at most\), 0 labels changed, inertia [\d.]+, [\d.]+ % pruned \[[\d.]+ s, .*/s\]", err)


def test_verbose_2_is_a_line_an_iteration(X, capsys):
    model = kopse.KMeans(20, verbose=2, init="random", n_init=2, tol=0).fit(X)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("k-means: run 1/2, iteration 1 ") and sum("run 2/2, iteration 1 " in line for line in lines) == 1
    assert model.n_iter_ in [int(re.search(r"iteration (\d+)", line)[1]) for line in lines if " 0 labels" in line]


def test_a_terminal_has_its_line_written_over(X, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    kopse.kmeans(X, 20, verbose=1)
    assert terminal.text.count("\n") == 1 and terminal.text.endswith("\n")
    assert terminal.text.count("\r") >= 2  # the first and the last
    with pytest.raises(LookupError):
        kopse.kmeans(X, 20, verbose=1, callback=lambda i, r: {}[i] if i == 2 else None)
    assert terminal.text.endswith("\n")


@pytest.mark.parametrize("verbose", [1, 2])
def test_progress_without_a_console(X, monkeypatch, capsys, verbose):
    """As under pythonw."""
    seen = []
    monkeypatch.setattr(sys, "stderr", None)
    run = kopse.kmeans(X, 20, verbose=verbose, callback=lambda *entry: seen.append(entry))
    assert len(seen) == run.n_iter
    kopse.KMeans(20, verbose=verbose).fit(X)
    assert capsys.readouterr().out == ""


class Full(Terminal):
    def write(self, text):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("verbose", [1, 2])
def test_a_fit_outlives_its_progress(X, monkeypatch, verbose):
    monkeypatch.setattr(sys, "stderr", Full())
    seen = []
    model = kopse.KMeans(20, verbose=verbose, callback=lambda *entry: seen.append(entry)).fit(X)
    assert len(model.labels_) == len(X) and len(seen) == model.n_iter_


def test_x_means_does_not_tell_what_it_cannot_know(X, capsys):
    kopse.XMeans(verbose=2, algorithm="lloyd").fit(X)
    text = capsys.readouterr().err
    assert "k-means: iteration 1 " in text and "pruned" not in text


def test_no_progress_unless_asked_for(X, capsys):
    kopse.kmeans(X, 20)
    assert capsys.readouterr() == ("", "")


def test_plots(X):
    run, model = kopse.kmeans(X, 20), kopse.KMeans(20, random_state=0).fit(X)
    for source in (run, model):
        n_iter = source.n_iter if source is run else source.n_iter_
        line = kopse.plots.convergence(source).lines[0]
        assert len(line.get_xdata()) == n_iter
        sizes = kopse.plots.sizes(source).lines[0].get_ydata()
        assert sizes.sum() == 3000 and (np.diff(sizes) <= 0).all()
        drawn = kopse.plots.map2d(X, source).collections
        assert [len(points.get_offsets()) for points in drawn] == [3000, 20]
    ax = plt.subplots()[1]
    assert kopse.plots.map2d(kopse.Tree(X), run, columns=(1, 0), ax=ax) is ax
    with pytest.raises(ValueError, match="2 rows, the run 3000 labels"):
        kopse.plots.map2d(X[:2], run)
    line = kopse.kmeans(X[:, :1], 3)
    for columns in ((0, 1), (0,), 0, (0, 0.5), (0, -2), None):
        with pytest.raises(ValueError, match="columns must be two numbers of columns, and X has 1. Got"):
            kopse.plots.map2d(X[:, :1], line, columns=columns)
    kopse.plots.map2d(X[:, :1], line, columns=(0, -1))
    with pytest.raises(ValueError, match="X has 4 columns, the run's centers 2"):
        kopse.plots.map2d(np.hstack([X, X]), run, columns=(0, 3))
    with pytest.raises(TypeError, match="no stats"):
        kopse.plots.convergence(X)
    plt.close("all")


def test_the_curve_over_k(rng):
    X = 100 * rng.random((8, 2))[rng.integers(0, 8, 2000)] + rng.normal(size=(2000, 2))
    curve = kopse.choose_k(X, range(2, 17))
    for criterion in kopse.plots.CRITERIA:
        ax = kopse.plots.curve(curve, criterion)
        assert (ax.lines[0].get_ydata() == getattr(curve, criterion)).all()
        assert ax.lines[1].get_xdata()[0] == curve.chosen["knee" if criterion == "inertia" else criterion]
    with pytest.raises(ValueError, match="criterion must be one of 'inertia'"):
        kopse.plots.curve(curve, "beauty")
    with pytest.raises(TypeError, match="expected a KCurve.* Got KMeansResult"):
        kopse.plots.curve(kopse.kmeans(X, 2))
    plt.close("all")


def test_a_map_of_many_rows_draws_some(rng):
    X = rng.random((50_000, 2))
    drawn = kopse.plots.map2d(X, kopse.kmeans(X, 5)).collections
    assert len(drawn[0].get_offsets()) == kopse.plots.MOST_POINTS
    plt.close("all")
