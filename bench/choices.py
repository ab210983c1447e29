#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `auto` costs beside the algorithms that one could have named: whole runs, same start, every output compared.

    bench/choices.py clothes-pc20.npy:100 stars-full.npy:1000 -a frontier dense lloyd hamerly

Each cell is FILE:K, the file in the cache folder unless it is a path, columns after another colon (stars-full.npy:1000:0,1,2).
A round runs everything once, one thread, in an order that turns from round to round; a time is that of building the tree and
of all iterations, by kopse's clock, and the table has medians of the rounds. Starts are random rows (--init random --seed 1),
which need no tree. A run of more than --limit seconds has no time; centroids that differ by a bit end the benchmark.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from run import ROOT, commit

sys.path.insert(0, str(ROOT / "bench" / "datasets"))
from common import cache_folder  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cells", nargs="+", metavar="FILE:K[:COLUMNS]", help="what to cluster, and into how many")
    parser.add_argument("-a", "--algorithms", nargs="+", default=["frontier", "dense", "lloyd"], metavar="NAME",
                        help="what else one could name (default: frontier dense lloyd)")
    parser.add_argument("--rounds", type=int, default=3, help="(default: 3)")
    parser.add_argument("--max-iter", type=int, default=100, help="most iterations (default: 100)")
    parser.add_argument("--limit", type=float, default=60, help="most seconds of a run (default: 60)")
    parser.add_argument("--kopse", default=ROOT / "build" / "release" / "kopse", help="the program")
    return parser.parse_args()


def fit(options, cell, algorithm, folder):
    """The stats of a run and its centroids, or None if it took too long."""
    name, k, *columns = cell.split(":")
    path = name if Path(name).exists() else cache_folder() / name
    out, stats = folder / "centroids.npy", folder / "stats.json"
    command = [options.kopse, "fit", path, "-k", k, "-a", algorithm, "--init", "random", "--seed", "1", "-q",
               "--threads", "1", "--max-iter", str(options.max_iter), "-o", out, "--stats", stats]
    if columns:
        command += ["--columns", columns[0]]
    try:
        subprocess.run(command, check=True, timeout=options.limit, stderr=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(stats.read_text()), out.read_bytes()


def main():
    options = arguments()
    names = ["auto", *options.algorithms]
    print(f"commit {commit()}, {options.rounds} rounds, seconds of tree and iterations; auto's also over the least")
    print("| data | d | k | iterations |", *(f" `{name}` |" for name in names), " over the best | what it chose |", sep="")
    print("|---|---|---|---|" + "---|" * (len(names) + 2))
    with tempfile.TemporaryDirectory() as folder:
        for cell in options.cells:
            times = {name: [] for name in names}
            right, auto = None, None
            for turn in range(options.rounds):
                for name in names[turn % len(names):] + names[: turn % len(names)]:
                    run = fit(options, cell, name, Path(folder)) if None not in times[name] else None
                    if run and right not in (None, run[1]):
                        sys.exit(f"{cell}: {name} gives other centroids")
                    right = run[1] if run else right
                    times[name].append(run and run[0]["seconds"]["tree"] + run[0]["seconds"]["iterate"])
                    auto = run[0] if run and name == "auto" else auto
            medians = {name: None if None in t else statistics.median(t) for name, t in times.items()}
            best = min(t for name, t in medians.items() if name != "auto" and t)
            chosen = ", then ".join(f"{c['algorithm']}" + (f" from {c['iteration']}" if c["iteration"] > 1 else "")
                                    for c in auto["choices"])
            print(f"| {cell.split(':')[0].removesuffix('.npy')} | {auto['d']} | {auto['k']} | {auto['iterations']} |",
                  *(f" {medians[name]:.3f} |" if medians[name] else f" > {options.limit:.0f} |" for name in names),
                  f" {medians['auto'] / best:.2f} | {chosen} |", sep="", flush=True)


if __name__ == "__main__":
    main()
