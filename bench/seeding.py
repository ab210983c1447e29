#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Starts beside one another: inertia after convergence, over several seeds, and the time that seeding takes.

    bench/seeding.py data/stars.npy --columns 0,1,2 -k 1000

For each seed every method starts a fit that runs until no label changes: those of `kopse seed`, k-means++ with greedy
candidates, and scikit-learn's kmeans_plusplus (greedy too), where it is installed. The table shows the mean inertia as a
share of that of k-means++, the least and the largest such share over the seeds, how many iterations followed, and the
seconds of seeding alone, without reading and building the tree. A start is checked before it counts: for the first seed
`kopse fit --init` must end with the bits that `kopse seed` and `kopse fit -I` end with.

Needs numpy; --without skips methods that take too long. --out writes all figures as JSON.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
METHODS = {
    "k-means++": ["--init", "k-means++"],
    "k-means++ greedy": ["--init", "k-means++", "--candidates", "0"],
    "k-means||": ["--init", "k-means||"],
    "refined": ["--init", "refined"],
    "coreset": ["--init", "coreset"],
    "bisecting": ["--init", "bisecting"],
    "random": ["--init", "random"],
}
PEER = "scikit-learn greedy"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", help=".npy file")
    parser.add_argument("-k", type=int, required=True)
    parser.add_argument("--columns", help="only these, e.g. 0,1,2")
    parser.add_argument("--seeds", type=int, default=10, help="how many (default: 10)")
    parser.add_argument("--threads", type=int, default=1, help="threads (default: 1)")
    parser.add_argument("--without", nargs="*", default=[], help="methods to leave out, as the table names them")
    parser.add_argument("--kopse", default=ROOT / "build" / "release" / "kopse", help="the program")
    parser.add_argument("--out", type=Path, help="write all figures here, as JSON")
    return parser.parse_args()


def kopse(args, *words):
    data = [args.data] + (["--columns", args.columns] if args.columns else [])
    command = [str(w) for w in (args.kopse, words[0], *data, "-k", args.k, "--threads", args.threads, "-q", *words[1:])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")


def fit(args, folder, *words):
    kopse(args, "fit", "-a", "frontier", "--max-iter", 100000, "--stats", folder / "fit.json", *words)
    return json.loads((folder / "fit.json").read_text())


def start_of_peer(rows, args, seed, folder):
    from sklearn.cluster import kmeans_plusplus

    begin = time.perf_counter()
    centroids, _ = kmeans_plusplus(rows, args.k, random_state=seed)
    seconds = time.perf_counter() - begin
    np.save(folder / "start.npy", centroids)
    return seconds


def one(method, rows, args, seed, folder):
    if method == PEER:
        seconds = start_of_peer(rows, args, seed, folder)
    else:
        kopse(args, "seed", *METHODS[method], "--seed", seed, "-o", folder / "start.npy", "--stats", folder / "seed.json")
        seconds = json.loads((folder / "seed.json").read_text())["seconds"]
    found = fit(args, folder, "-I", folder / "start.npy")
    if seed == 0 and method != PEER:
        again = fit(args, folder, *METHODS[method], "--seed", seed)
        if (again["inertia"], again["iterations"]) != (found["inertia"], found["iterations"]):
            sys.exit(f"{method}: fit --init and seed differ")
    return {"inertia": found["inertia"], "iterations": found["iterations"], "seconds": seconds}


def main():
    args = arguments()
    rows = np.load(args.data)
    if args.columns:
        rows = np.ascontiguousarray(rows[:, [int(c) for c in args.columns.split(",")]])
    methods = [m for m in (*METHODS, PEER) if m not in args.without]
    figures = {m: [] for m in methods}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.seeds):
            for method in methods:
                figures[method].append(one(method, rows, args, seed, Path(folder)))
    base = statistics.mean(f["inertia"] for f in figures[methods[0]])
    print(f"{args.data}, k = {args.k}, {args.seeds} seeds, {args.threads} threads; mean inertia of {methods[0]}: {base:.6g}\n")
    print("| start | inertia | from | to | iterations | seconds of seeding |\n|---|---|---|---|---|---|")
    for method in methods:
        share = [f["inertia"] / base for f in figures[method]]
        mean = lambda key: statistics.mean(f[key] for f in figures[method])
        print(f"| {method} | {statistics.mean(share):.4f} | {min(share):.4f} | {max(share):.4f} "
              f"| {mean('iterations'):.0f} | {mean('seconds'):.3f} |", flush=True)
    if args.out:
        args.out.write_text(json.dumps({"data": args.data, "k": args.k, "figures": figures}, indent=1))


main()
