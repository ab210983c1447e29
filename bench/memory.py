#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the memory that fits are thought to take with what they take, over the cells of bench/paper.toml.

    bench/memory.py                          all cells, by the algorithms below, from k-means++ and from random rows
    bench/memory.py --only stars lcdm-k500   those whose name begins like that

Two iterations each, as all memory is taken by then, but to the end for those that may begin with leases later. Prints
predicted and measured peak (predicted_bytes and peak_bytes of --stats) and by how much the first is off; what would take
over a minute is stopped and told. Needs numpy (bench/run.py)."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import run
from common import cache_folder

ALGORITHMS = ["auto", "frontier", "filter", "dualtree", "dense", "exponion", "lloyd"]
SECONDS = 60


def fit(kopse, data, k, algorithm, init, stats):
    """What --stats says of a fit; None where it took too long, or was refused."""
    most = ["--max-iter", 1000, "--time-limit", f"{SECONDS / 2}s"] if algorithm in ("auto", "frontier") else ["--max-iter", 2]
    command = [kopse, "fit", data, "-k", k, "-a", algorithm, "--init", init, *most, "--threads", 1, "-q", "--stats", stats]
    stats.unlink(missing_ok=True)
    try:
        # By a shell, which is small: a process counts as its peak what the one was that it was forked from.
        subprocess.run(["sh", "-c", '"$@"; exit', "sh", *map(str, command)], capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(stats.read_text()) if stats.exists() else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kopse", type=Path, default=run.ROOT / "build" / "release" / "kopse", help="the program")
    parser.add_argument("--only", nargs="+", metavar="CELL", help="cells whose name begins like that")
    options = parser.parse_args()
    plan, cells = run.read_plan(options.only)
    cells = [cell for cell in cells if not cell.sweep]
    off = []
    print(f"{'cell':<22}{'algorithm':<11}{'start':<12}{'predicted MiB':>14}{'measured':>10}{'off by':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for cell in cells:
            data = cache_folder() / plan["data"][cell.data]["file"]
            if not data.exists():
                sys.exit(f"no {data}: bench/run.py --only {cell.name} makes it")
            for init in ("k-means++", "random"):
                for algorithm in ALGORITHMS:
                    found = fit(options.kopse, data, cell.k, algorithm, init, Path(folder) / "stats.json")
                    if found is None:
                        print(f"{cell.name:<22}{algorithm:<11}{init:<12}  not in {SECONDS} s")
                        continue
                    predicted, peak = found["predicted_bytes"], found["peak_bytes"]
                    off.append((abs(predicted / peak - 1), cell.name, algorithm, init))
                    print(f"{cell.name:<22}{algorithm:<11}{init:<12}{predicted / 2**20:>14.1f}{peak / 2**20:>10.1f}"
                          f"{100 * (predicted / peak - 1):>+8.1f}%", flush=True)  # fmt: skip
    within = sum(1 for each in off if each[0] <= 0.15)
    print(f"within 15 %: {within} of {len(off)}" + (f"; the farthest off is {max(off)}" if off else ""))


if __name__ == "__main__":
    main()
