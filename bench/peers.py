#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times algorithms of kopse beside other libraries: same data, same starts, one thread, every output checked.

    bench/peers.py stars.npy -k 1000 -a dualtree filter mlpack/dualtree sklearn/elkan faiss/flat

A name without a slash is one of `kopse fit -a` (options follow a colon: dualtree:--leaf-size=40), the others are

    mlpack/X   X = naive, pelleg-moore, elkan, hamerly, dualtree, dualtree-covertree
    sklearn/X  X = lloyd, elkan
    faiss/flat faiss.Kmeans over its IndexFlatL2, in float32

and /X@3 stops that one after 3 iterations. Each run is a process of its own; a library that is not there is reported, and
so is a run of more than --limit seconds. What is needed is numpy, and for the peers any of mlpack, scikit-learn and
faiss-cpu, in the Python that runs this or in the one of --python.

Time is processor time of the process, as other work on the machine would be counted otherwise, and an iteration is the
mean of the second to the last: in the first mlpack also builds its tree. kopse and mlpack print a line an iteration, at
which their clocks are read; of the others a run of 1 iteration is subtracted from a run of all. A round runs everything
once, in an order that turns from round to round; the table shows medians of all rounds, and of the ratios within a round
to the time of the first algorithm over the same iterations. That must be one of kopse's.

Starting centroids are distinct rows, moved by a millionth of each column's deviation: rows of rounded data are full of
ties, which every library breaks in its own way. Tests for convergence are off in faiss (it has none) and sklearn (tol=0;
it still stops when no label changes); mlpack stops when centroids move by less than 1e-5 in all. Empty clusters stay
where they are, but faiss and sklearn have policies of their own, and are not compared where kopse's depends on its. After
an even number of iterations the centroids that mlpack 4.8's dualtree returns may be no numbers at all: let it be odd.

The centroids after the last iteration are compared with kopse's, which must be the same bits for all its algorithms. `off`
is the root of the mean squared distance from a centroid to kopse's, in units of that from a row to its centroid.
Right is up to 1e-9, or 0.1 for faiss, whose float32 gives some rows to other clusters. A wrong result has no time: it
stands in brackets.

`work` is what an iteration computes, of all from the first on: distances and node scores of kopse, and what mlpack counts.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from run import ROOT, commit

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
ITERATION = re.compile(r"iteration (\d+)[,:]")  # in the lines of kopse and mlpack


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", help=".npy file")
    parser.add_argument("-k", type=int, required=True, help="clusters")
    parser.add_argument("-a", "--algorithms", nargs="+", default=["dualtree", "mlpack/dualtree"], metavar="NAME",
                        help="what to compare; ratios are to the first (default: dualtree mlpack/dualtree)")
    parser.add_argument("--pairs", type=int, default=3, help="rounds (default: 3)")
    parser.add_argument("--max-iter", type=int, default=11, help="iterations of each run, at least 2 (default: 11)")
    parser.add_argument("--limit", type=float, default=300, help="most seconds of a run (default: 300)")
    parser.add_argument("--python", default=sys.executable, help="the Python that has the peers (default: this one)")
    parser.add_argument("--kopse", default=ROOT / "build" / "release" / "kopse", help="the program")
    parser.add_argument("--out", type=Path, help="write all figures here, as JSON")
    return parser.parse_args()


class NoTime(Exception):
    """Why a run has no time."""


# ---- The peers' side: a process of its own

def peer(name, data, start, iterations, out):
    """Runs a peer, writes its centroids, and prints its time if its lines do not tell."""
    library, algorithm = name.split("/")
    rows, start = np.load(data), np.load(start)
    if library == "mlpack":
        import mlpack
        found = mlpack.kmeans(input_=rows, clusters=len(start), initial_centroids=start, algorithm=algorithm,
                              max_iterations=iterations, allow_empty_clusters=True, verbose=True)
        np.save(out, found["centroid"])
        return
    seconds = []
    for most in (1, 1, iterations):  # the first time libraries are loaded
        begin = time.process_time()
        centroids, done = {"sklearn": sklearn, "faiss": faiss}[library](algorithm, rows, start, most)
        seconds.append(time.process_time() - begin)
    np.save(out, centroids)
    print(json.dumps({"seconds": (seconds[2] - seconds[1]) / max(1, done - 1), "iterations": done}))


def sklearn(algorithm, rows, start, iterations):
    import warnings

    from sklearn.cluster import KMeans
    warnings.simplefilter("ignore")  # that it did not converge
    found = KMeans(len(start), init=start, n_init=1, max_iter=iterations, tol=0, algorithm=algorithm).fit(rows)
    return found.cluster_centers_, found.n_iter_


def faiss(_, rows, start, iterations):
    from faiss import Kmeans
    search = Kmeans(rows.shape[1], len(start), niter=iterations, min_points_per_centroid=1,
                    max_points_per_centroid=len(rows))  # no sampling
    search.train(rows.astype(np.float32), init_centroids=start.astype(np.float32))
    return search.centroids, iterations


# ---- Runs

def follow(command, limit):
    """Runs a command: its lines on stdout and stderr, each with the processor time it had used by then."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, env=os.environ | ONE_THREAD)
    clock = (~process.pid << 3) | 2  # clock_getcpuclockid(3)
    timer = threading.Timer(limit, process.kill)
    timer.start()
    lines = [(time.clock_gettime(clock), line.strip()) for line in process.stdout]
    code = process.wait()
    late = not timer.is_alive()
    timer.cancel()
    if late:
        raise NoTime(f"over {limit:g} s")
    return code, lines


def iterations_of(lines):
    """Seconds of each iteration but the first, from the lines that tell of them."""
    ends = [stamp for stamp, line in lines if ITERATION.search(line)]
    return [end - begin for begin, end in zip(ends, ends[1:])]


def run_kopse(args, algorithm, iterations, folder, empty="keep"):
    name, *options = algorithm.split(":")
    stats, centroids = folder / "stats.json", folder / "centroids.npy"
    code, lines = follow([args.kopse, "fit", args.data, "-k", args.k, "-a", name, "-I", folder / "start.npy",
                          "--empty", empty, "--max-iter", iterations, "-v", "--stats", stats, "-o", centroids, *options], args.limit)
    if code != 0:
        sys.exit(f"{algorithm} failed with {code}: {lines[-1][1] if lines else ''}")
    figures = json.loads(stats.read_text())
    work = statistics.mean(entry["distances"] + entry["node_scores"] for entry in figures["trace"])
    return {"each": iterations_of(lines), "work": work, "centroids": np.load(centroids),
            "inertia": figures["inertia"], "empty": figures["empty_clusters"], "iterations": figures["iterations"]}


def run_peer(args, name, iterations, folder):
    out = folder / "peer.npy"
    out.unlink(missing_ok=True)
    code, lines = follow([args.python, __file__, "--peer", name, args.data, folder / "start.npy", iterations, out],
                         args.limit)
    last = lines[-1][1] if lines else ""
    if "ModuleNotFoundError" in last or "ImportError" in last:
        raise NoTime(f"not there: {last.split(': ')[-1]}")
    if code != 0:
        raise NoTime(f"failed with {code}: {last}")
    result = {"centroids": np.load(out)}
    if name.startswith("mlpack/"):
        each = iterations_of(lines)
        if not each:
            raise NoTime("stopped after its first iteration")
        result |= {"seconds": statistics.mean(each), "iterations": len(each) + 1}
        counted = [found[1] for _, line in lines if (found := re.search(r"(\d+) distance calculations", line))]
        result["work"] = int(counted[-1]) / result["iterations"] if counted else None
    else:
        result |= json.loads(last)
    return result


def starting_centroids(rows, k, seed):
    random = np.random.default_rng(seed)
    drawn = np.unique(rows[random.permutation(len(rows))[:4 * k]], axis=0)
    if len(drawn) < k:
        sys.exit(f"{len(drawn)} distinct rows of {4 * k} drawn, {k} are needed")
    start = drawn[random.permutation(len(drawn))[:k]]
    return start + 1e-6 * rows.std(axis=0) * random.standard_normal(start.shape)


def one_round(args, order, number, skip, folder):
    """The figures of all algorithms in one round."""
    rows = np.load(args.data).astype(float)
    np.save(folder / "start.npy", starting_centroids(rows, args.k, number))
    references = {}

    def reference(iterations):
        if iterations not in references:
            references[iterations] = run_kopse(args, args.algorithms[0], iterations, folder)
        return references[iterations]

    results = {}
    for full_name in order:
        name, _, fewer = full_name.partition("@")
        iterations = int(fewer or args.max_iter)
        if full_name in skip:
            results[full_name] = {"fault": skip[full_name]}
            continue
        expected = reference(iterations)
        try:
            if "/" in name:
                result = run_peer(args, name, iterations, folder)
            elif full_name == args.algorithms[0]:
                result = expected
            else:
                result = run_kopse(args, name, iterations, folder)
        except NoTime as why:
            skip[full_name] = str(why)
            results[full_name] = {"fault": str(why)}
            continue
        results[full_name] = judged(result, expected, len(rows), name)
        if results[full_name]["fault"] and name.startswith(("faiss/", "sklearn/")):
            other = run_kopse(args, args.algorithms[0], iterations, folder, "relocate")
            if not np.array_equal(other["centroids"], expected["centroids"]):
                results[full_name]["fault"] = "not compared, as clusters were empty,"
    return results


def judged(result, expected, n, name):
    seconds = result.get("seconds") or statistics.mean(result["each"])
    apart = np.square(result["centroids"] - expected["centroids"]).sum(axis=1)
    off = float(np.sqrt(apart.mean() / (expected["inertia"] / n)))
    if "/" not in name and off != 0:
        sys.exit(f"{name} gives other bits than the first algorithm")
    fault = None
    if not off <= (0.1 if name.startswith("faiss/") else 1e-9):  # or it is no number
        early = result["iterations"] < expected["iterations"]
        fault = f"stopped after {result['iterations']} iterations" if early else "wrong"
    return {"seconds": seconds, "ratio": seconds / statistics.mean(expected["each"]), "work": result.get("work"),
            "iterations": result["iterations"], "off": off, "fault": fault, "empty": expected["empty"]}


# ---- The table

def row(name, results, width):
    """What the table shows of an algorithm, of all rounds."""
    timed = [result for result in results if "seconds" in result]
    faults = [result["fault"] for result in results if result["fault"]]
    if not timed:
        return f"{name:<{width}}{'':>12}{'':>10}{'':>14}{'':>10}  {faults[0]}"
    seconds = 1000 * statistics.median(result["seconds"] for result in timed)
    ratio = statistics.median(result["ratio"] for result in timed)
    off = max(result["off"] for result in timed)
    works = [result["work"] for result in timed if result["work"] is not None]
    work = f"{statistics.median(works):,.0f}" if works else ""
    shown = f"({seconds:.2f})" if faults else f"{seconds:.2f}"
    verdict = f"{faults[0]} in {len(faults)} of {len(results)}" if faults else "right"
    return f"{name:<{width}}{shown:>12}{ratio:>10.2f}{work:>14}{off:>10.1e}  {verdict}"


def main():
    args = arguments()
    if args.max_iter < 2 or "/" in args.algorithms[0] or "@" in args.algorithms[0]:
        sys.exit("expected: --max-iter of at least 2, and an algorithm of kopse first")
    rounds, skip = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.pairs):
            shift = number % len(args.algorithms)
            order = args.algorithms[shift:] + args.algorithms[:shift]
            rounds.append(one_round(args, order, number, skip, Path(folder)))
            print(f"round {number + 1} of {args.pairs} done", file=sys.stderr)
    n, d = np.load(args.data, mmap_mode="r").shape
    print(f"{Path(args.data).name}: n = {n:,}, d = {d}, k = {args.k:,}, one thread, {args.pairs} rounds of {args.max_iter} "
          f"iterations; commit {commit()}, {os.cpu_count()} cores, {platform.machine()}")
    width = max(len(name) for name in args.algorithms)
    print(f"{'algorithm':<{width}}{'ms/iter':>12}{'ratio':>10}{'work':>14}{'off':>10}  result")
    for name in args.algorithms:
        print(row(name, [results[name] for results in rounds], width))
    empty = max(result.get("empty", 0) for results in rounds for result in results.values())
    if empty:
        print(f"up to {empty} clusters were empty at the end")
    if args.out:
        args.out.write_text(json.dumps({"commit": commit(), "machine": platform.uname()._asdict(),
                                        "cores": os.cpu_count(), "arguments": vars(args), "rounds": rounds},
                                       indent=1, default=str))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer(*sys.argv[2:5], int(sys.argv[5]), sys.argv[6])
    else:
        main()
