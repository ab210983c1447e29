#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times algorithms of kopse beside each other: same data, same starts, every output checked.

    bench/run.py stars.npy -k 1000 -a lloyd dualtree --pairs 5 --max-iter 10

Machines are shared and their speed wanders, so what counts is the ratio of two runs that followed each other. A round
runs each algorithm once, in an order that turns from round to round; the table shows, of all rounds, the median of each
figure and the median of the ratios of time an iteration to that of the first algorithm. Each round has its own starting
centroids (--seed of kopse: the round's number). A round in which labels, centroids, inertia or the number of iterations
of two algorithms differ in a single bit ends the benchmark: a wrong result has no time.

Algorithms are names of `kopse fit -a`; options for one of them follow a colon: dualtree:--leaf-size=40.
Needs only Python's standard library. --out writes all figures as JSON, with machine, version and commit.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", help=".npy or text file")
    parser.add_argument("-k", type=int, required=True, help="clusters")
    parser.add_argument("-a", "--algorithms", nargs="+", default=["lloyd", "dualtree"], metavar="NAME[:OPTION...]",
                        help="what to compare; ratios are to the first (default: lloyd dualtree)")
    parser.add_argument("--pairs", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--max-iter", type=int, default=10, help="iterations of each run (default: 10)")
    parser.add_argument("--init", default="random", help="how to start, as in kopse fit (default: random)")
    parser.add_argument("--threads", type=int, default=1, help="threads (default: 1)")
    parser.add_argument("--kopse", default=ROOT / "build" / "release" / "kopse", help="the program")
    parser.add_argument("--out", type=Path, help="write all figures here, as JSON")
    return parser.parse_args()


def run(args, algorithm, seed, folder):
    """One run: its --stats, and its outputs as bytes."""
    name, *options = algorithm.split(":")
    stats, centroids, labels = (Path(folder) / file for file in ("stats.json", "centroids.npy", "labels.npy"))
    command = [args.kopse, "fit", args.data, "-k", args.k, "-a", name, "--init", args.init, "--seed", seed,
               "--max-iter", args.max_iter, "--threads", args.threads, "--stats", stats, "-o", centroids, "-l", labels, "--quiet", *options]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{algorithm} failed with {done.returncode}: {done.stderr.strip()}")
    figures = json.loads(stats.read_text())
    outputs = (centroids.read_bytes(), labels.read_bytes(), figures["inertia"], figures["iterations"])
    return figures, outputs


def summary(figures):
    """What the table shows of one run."""
    trace = figures["trace"]
    return {
        "iteration_ms": 1000 * statistics.mean(entry["seconds"] for entry in trace),
        "first_ms": 1000 * trace[0]["seconds"],
        "last_ms": 1000 * trace[-1]["seconds"],
        "passes": statistics.mean(entry["seconds"] for entry in trace) / figures["pass_seconds"],
        "tree_ms": 1000 * figures["seconds"]["tree"],
        "distances_percent": 100 * sum(e["distances"] for e in trace) / (len(trace) * figures["n"] * figures["k"]),
        "node_scores": statistics.mean(entry["node_scores"] for entry in trace),
        "peak_mib": figures["peak_bytes"] / 2**20,
        "iterations": figures["iterations"],
    }


def commit():
    git = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return git.stdout.strip() or "unknown"


def main():
    args = arguments()
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.pairs):
            shift = number % len(args.algorithms)
            results, expected = {}, None
            for algorithm in args.algorithms[shift:] + args.algorithms[:shift]:
                figures, outputs = run(args, algorithm, number, folder)
                if expected is not None and outputs != expected:
                    sys.exit(f"round {number}: {algorithm} gives other bits than the algorithm before it")
                expected = outputs
                results[algorithm] = {**summary(figures), "stats": figures}
            rounds.append(results)
            print(f"round {number + 1} of {args.pairs} done", file=sys.stderr)
    shape = rounds[0][args.algorithms[0]]["stats"]
    print(f"{Path(args.data).name}: n = {shape['n']:,}, d = {shape['d']}, k = {args.k:,}, threads = {args.threads}, "
          f"{args.pairs} rounds of at most {args.max_iter} iterations; kopse {shape['version']}, commit {commit()}, "
          f"{os.cpu_count()} cores, {platform.machine()}")
    print(f"{'algorithm':<28}{'ms/iter':>10}{'faster by':>11}{'first':>9}{'last':>9}{'passes':>9}{'tree ms':>9}"
          f"{'% of n·k':>10}{'scores':>12}{'peak MiB':>10}")
    for algorithm in args.algorithms:
        def middle(key):
            return statistics.median(results[algorithm][key] for results in rounds)
        ratio = statistics.median(results[args.algorithms[0]]["iteration_ms"] / results[algorithm]["iteration_ms"]
                                  for results in rounds)
        print(f"{algorithm:<28}{middle('iteration_ms'):>10.2f}{ratio:>11.2f}{middle('first_ms'):>9.1f}"
              f"{middle('last_ms'):>9.1f}{middle('passes'):>9.2f}{middle('tree_ms'):>9.0f}"
              f"{middle('distances_percent'):>10.4f}{middle('node_scores'):>12.0f}{middle('peak_mib'):>10.1f}")
    if args.out:
        args.out.write_text(json.dumps({"commit": commit(), "machine": platform.uname()._asdict(),
                                        "cores": os.cpu_count(), "arguments": vars(args) | {
                                            "kopse": str(args.kopse), "out": str(args.out)}, "rounds": rounds},
                                       indent=1, default=str))


if __name__ == "__main__":
    main()
