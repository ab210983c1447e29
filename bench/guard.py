#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tells where kopse has come to execute more instructions, by valgrind --tool=callgrind on small fixed cells.

    bench/guard.py                 compares with bench/guard.json; prints what has grown by over 5 %
    bench/guard.py --write         writes the counts there: after a change that is worth them

Instructions are counted, not seconds, so other work on the machine does not matter. Counts of the same program differ by less
than half a percent; with another compiler or valgrind, or on a processor that lacks AVX2, they are not compared. The loops of
kernels.hpp choose instructions by processor: valgrind has no 512-bit vectors, so what is counted is the code for AVX2.
The program is build/test/kopse, Release. It never fails because of a count. Needs Python's standard library and valgrind.
"""

import argparse
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNTS = ROOT / "bench" / "guard.json"
GROWTH = 0.05

# Name: rows, columns, clusters, and what follows `kopse fit`.
FLAT, DEEP = (6000, 3, 100), (1500, 32, 60)
CELLS = {
    "lloyd": (*FLAT, "-a lloyd"),
    "lloyd, 32 columns": (*DEEP, "-a lloyd"),
    "hamerly": (*FLAT, "-a hamerly"),
    "elkan": (*FLAT, "-a elkan"),
    "yinyang": (*FLAT, "-a yinyang"),
    "exponion": (*FLAT, "-a exponion"),
    "dense, 32 columns": (*DEEP, "-a dense"),
    "blacklist": (*FLAT, "-a blacklist"),
    "filter": (*FLAT, "-a filter"),
    "dualtree": (*FLAT, "-a dualtree"),
    "dualtree, cover tree": (*FLAT, "-a dualtree --tree cover"),
    "dualtree, ball tree": (*FLAT, "-a dualtree --tree ball"),
    "frontier": (*FLAT, "-a frontier"),
    "auto, 32 columns": (*DEEP, "-a auto"),
    "line": (6000, 1, 100, "-a line"),
    "k-means++": (*FLAT, "-a filter --init k-means++ --max-iter 1"),
    "reading CSV": (*FLAT, "-a filter --max-iter 1"),
}


def rows_of(n, d):
    """Clumps, of numbers that are the same on any machine: random() alone, and sums."""
    draw = random.Random(7)
    centres = [[draw.random() for _ in range(d)] for _ in range(n // 100)]
    return [[x + 0.05 * (draw.random() + draw.random() - 1) for x in draw.choice(centres)] for _ in range(n)]


def write_data(path, n, d):
    rows = rows_of(n, d)
    if path.suffix == ".csv":
        path.write_text("".join(",".join(map(repr, row)) + "\n" for row in rows))
        return
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, {d}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    body = b"".join(struct.pack(f"<{d}d", *row) for row in rows)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + body)


def count(kopse, cell, folder):
    """Instructions of a run."""
    n, d, k, words = CELLS[cell]
    data = folder / (f"{n}x{d}.csv" if "CSV" in cell else f"{n}x{d}.npy")
    if not data.exists():
        write_data(data, n, d)
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}", kopse, "fit", data, "-k", k, "--threads", 1,
               "-q", *words.split()]  # fmt: skip
    for option, value in (("--init", "random"), ("--max-iter", 10)):
        command += [] if option in words else [option, value]
    # Names of variables and folders are on the stack, whose place counts a little.
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={"PATH": os.environ["PATH"]}, cwd=folder)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        said = [line for line in done.stderr.splitlines() if not line.startswith("==")]
        raise RuntimeError(f"{cell}: {' '.join(said) or done.returncode}")
    return int(found[1])


def setting(kopse):
    """What counts depend on besides the sources: compiler, valgrind, vectors."""
    text = (kopse.parent / "CMakeCache.txt").read_text() if (kopse.parent / "CMakeCache.txt").exists() else ""
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", text, re.MULTILINE)
    version = lambda name: subprocess.run([name, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return {"compiler": version(compiler[1]) if compiler else "unknown", "valgrind": version("valgrind"),
            "vectors": "AVX2" if " avx2 " in flags else "other"}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the counts")
    parser.add_argument("--kopse", type=Path, default=ROOT / "build" / "test" / "kopse", help="the program")
    options = parser.parse_args()
    if not shutil.which("valgrind") or not options.kopse.exists():
        print(f"not counted: no {'valgrind' if options.kopse.exists() else options.kopse}")
        return
    now = setting(options.kopse)
    before = json.loads(COUNTS.read_text()) if COUNTS.exists() and not options.write else {"setting": now, "counts": {}}
    if before["setting"] != now:
        print(f"not compared: counts are of {before['setting']}, here is {now}")
        return
    try:
        with tempfile.TemporaryDirectory() as folder:
            counts = {cell: count(options.kopse.resolve(), cell, Path(folder)) for cell in CELLS}
    except RuntimeError as fault:
        print(f"not counted: {fault}", file=sys.stderr)
        return
    if options.write:
        COUNTS.write_text(json.dumps({"setting": now, "counts": counts}, indent=1) + "\n")
        print(f"wrote {COUNTS.relative_to(ROOT)}")
        return
    report(counts, before["counts"])


def report(counts, before):
    """Prints what has changed by more than is allowed."""
    grown = 0
    for cell, instructions in counts.items():
        change = instructions / before[cell] - 1 if cell in before else 0
        if abs(change) > GROWTH:
            grown += change > 0
            word = "GROWN" if change > 0 else "less"
            print(f"{word}: {cell}: {instructions:,} instructions, {change:+.1%} from {before[cell]:,}")
    print(f"{len(counts)} cells counted, {grown} grown by over {GROWTH:.0%}; bench/guard.py --write takes the new counts")


if __name__ == "__main__":
    main()
