# SPDX-License-Identifier: BSD-3-Clause
"""bench/run.py at a hundredth of its size: goes on where it was stopped, and gives no time to what is wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("tomllib")  # Python 3.11

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = next((p for build in ("test", "release") if (p := ROOT / "build" / build / "kopse").exists()), None)
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="the program is not built")

WRONG_FAISS = """
import numpy as np
class Kmeans:
    def __init__(self, d, k, **settings): pass
    def train(self, rows, init_centroids): self.centroids = init_centroids + 1
"""


def command(folder, *words, kopse=None):
    return [sys.executable, str(ROOT / "bench" / "run.py"), "--kopse", str(kopse or PROGRAM), "--scale", "0.01", "--only",
            "birch3-k50", "--results", str(folder), *words]  # fmt: skip


def run(folder, *words, kopse=None, path=""):
    environment = {**os.environ, "PYTHONPATH": str(path)}
    return subprocess.run(command(folder, *words, kopse=kopse), capture_output=True, text=True, env=environment)


def records(folder):
    path = folder / "birch3-k50.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_wrong_program_has_no_time(tmp_path):
    (tmp_path / "faiss.py").write_text(WRONG_FAISS)
    done = run(tmp_path / "out", "--programs", "auto", "lloyd", "faiss/flat", "sklearn/lloyd", path=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {r["program"]: r for r in records(tmp_path / "out")}
    assert found["faiss/flat"]["fault"].startswith("wrong")
    assert not {"seconds", "first", "total"} & set(found["faiss/flat"])
    for right in ("auto", "lloyd", "sklearn/lloyd"):
        assert "fault" not in found[right] and found[right]["seconds"] > 0
    assert found["auto"]["bits"] == found["lloyd"]["bits"]


def test_other_bits_of_kopse_end_with_an_error(tmp_path):
    wrong = tmp_path / "kopse"
    wrong.write_text(f'#!/bin/sh\ncase " $* " in *" -a lloyd "*) set -- "$@" --spherical ;; esac\nexec "{PROGRAM}" "$@"\n')
    wrong.chmod(0o755)
    done = run(tmp_path / "out", "--programs", "auto", "filter", "lloyd", kopse=wrong)
    assert done.returncode == 1 and "lloyd: other bits" in done.stderr
    assert [r["program"] for r in records(tmp_path / "out") if "seconds" in r] == ["auto", "filter"]


def test_it_goes_on_where_it_was_stopped(tmp_path):
    names = ["--programs", "auto", "filter", "dualtree-kd", "elkan", "hamerly", "lloyd"]
    stopped = subprocess.Popen(command(tmp_path, *names), stderr=subprocess.PIPE, text=True)
    while len(records(tmp_path)) < 2 and stopped.poll() is None:
        time.sleep(0.01)
    stopped.send_signal(signal.SIGTERM)
    assert "goes on from here" in stopped.communicate()[1]
    assert stopped.returncode == 1
    before = records(tmp_path)
    assert 2 <= len(before) < 6
    with open(tmp_path / "birch3-k50.jsonl", "a") as file:
        file.write('{"program": "lloyd", "rou')  # a line that was cut off
    done = run(tmp_path, *names)
    assert done.returncode == 0, done.stderr
    after = records(tmp_path)
    assert after[: len(before)] == before
    assert sorted(r["program"] for r in after) == sorted(names[1:])
    assert run(tmp_path, *names).returncode == 0 and records(tmp_path) == after


def test_one_file_from_the_command_line(tmp_path):
    import numpy as np

    np.save(tmp_path / "rows.npy", np.random.default_rng(0).random((500, 3)))
    words = [str(tmp_path / "rows.npy"), "-k", "10", "-a", "filter:--leaf-size=10", "lloyd", "sklearn/lloyd", "--pairs", "1"]
    done = subprocess.run([sys.executable, str(ROOT / "bench" / "run.py"), "--kopse", str(PROGRAM), *words, "--columns", "0,2"],
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "d = 2" in done.stdout and done.stdout.count("right, ") == 3
