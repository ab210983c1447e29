#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the Python package costs beside the program: time, memory, import.

    bench/python.py ~/.cache/kopse/uniform-1000000x3.npy -k 1000 --rounds 5

Each round runs the program and, in a process of its own, kopse.KMeans on the same file, mapped, from the same start, one
thread, in an order that turns; the results are compared to the bit. Time is processor time, all threads together, of the
call of fit() in Python, and of the whole run of the program, which maps its file too and writes the centroids:
milliseconds. Overhead is the median of the ratios. Memory is the peak of each
process; of Python's, what it had before the fit (interpreter, numpy, scikit-learn, kopse) is shown as well. Needs the
package: run it with the Python that has it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FIT = """
import json, resource, sys, time
import numpy as np, kopse
kopse.KMeans  # scikit-learn
data, k, seed, max_iter, out = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
X = np.load(data, mmap_mode="r")
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
model = kopse.KMeans(k, init="random", n_init=1, random_state=seed, max_iter=max_iter, tol=0, n_jobs=1, algorithm="frontier")
kopse.KMeans(1, max_iter=1).fit([[0.0], [1.0]])  # what is imported at first use
before, start = peak(), time.process_time()
model.fit(X)
seconds = time.process_time() - start
after = peak()
np.save(out, model.cluster_centers_)
print(json.dumps({"seconds": seconds, "before": before, "peak": after}))
"""


def program(args, seed, folder):
    centroids = Path(folder) / "program.npy"
    running = subprocess.Popen(
        [args.kopse, "fit", args.data, "-k", str(args.k), "-a", "frontier", "--init", "random", "--seed", str(seed), "--threads", "1",
         "--max-iter", str(args.max_iter), "-o", centroids, "-q"], stderr=subprocess.DEVNULL)  # fmt: skip
    _, status, usage = os.wait4(running.pid, 0)
    if status != 0:
        sys.exit("the program failed")
    return {"seconds": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss * 1024, "result": centroids.read_bytes()}


def package(args, seed, folder):
    centers = Path(folder) / "package.npy"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FIT, args.data, str(args.k), str(seed), str(args.max_iter), centers],
                          check=True, capture_output=True, text=True)  # fmt: skip
    run = json.loads(done.stdout)
    return {**run, "result": centers.read_bytes()}


def import_seconds(module):
    code = f"import numpy, time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=os.path.expanduser, help="a .npy file of rows")
    parser.add_argument("-k", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--max-iter", type=int, default=50)
    parser.add_argument("--kopse", default=ROOT / "build" / "release" / "kopse", help="the program")
    args = parser.parse_args()

    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.rounds):
            one = {}
            for run in (program, package) if seed % 2 else (package, program):
                one[run.__name__] = run(args, seed, folder)
            if one["program"]["result"] != one["package"]["result"]:
                sys.exit(f"round {seed}: the results differ")
            rounds.append((one["program"], one["package"]))
    median = statistics.median
    print(f"program  {median(p['seconds'] for p, _ in rounds):8.3f} s   peak {max(p['peak'] for p, _ in rounds) / 2**20:7.1f} MiB")
    print(f"package  {median(q['seconds'] for _, q in rounds):8.3f} s   peak {max(q['peak'] for _, q in rounds) / 2**20:7.1f} MiB, "
          f"{median(q['before'] for _, q in rounds) / 2**20:.1f} of them before the fit")  # fmt: skip
    print(f"overhead {median(q['seconds'] / p['seconds'] - 1 for p, q in rounds):+8.2%} of the program's time")
    imports = sorted(import_seconds("kopse") for _ in range(11))
    print(f"import kopse after numpy: {1000 * median(imports):.0f} ms")


main()
