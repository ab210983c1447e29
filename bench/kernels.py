#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the micro-benchmarks of bench/micro/ and prints their tables for docs/benchmarks.md.

    cmake --preset bench && cmake --build --preset bench
    bench/kernels.py                     # each kernel with the best instructions of this machine
    bench/kernels.py --targets           # with each set of instructions
    bench/kernels.py --filter 'screen.*d:100/'

Each figure is the median of several repetitions, by processor time. How many percent of the peak: of fused multiply-adds
in the kernel's kind of number, or of what goes through the first-level cache, with the best instructions; measured
before, in the same run. A kernel whose output is not that of a plain loop ends the run.
Needs only Python's standard library.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", action="store_true", help="a table of kernels by set of instructions")
    parser.add_argument("--filter", default=".", help="only benchmarks that this regular expression finds")
    parser.add_argument("--repetitions", type=int, default=5, help="of each (default: 5)")
    parser.add_argument("--seconds", type=float, default=0.05, help="least time of each repetition (default: 0.05)")
    program = ROOT / "build" / "bench" / "bench" / "micro" / "kopse_micro"
    parser.add_argument("--program", type=Path, default=program, help="the micro-benchmarks")
    options = parser.parse_args()
    measured = run(options)
    if options.targets:
        print_targets(measured)
    else:
        print_peaks(measured)
        print_kernels(measured)
        print_parts(measured)


def run(options):
    """The median of each benchmark: {name: figures}."""
    if not options.program.is_file():
        sys.exit(f"no {options.program}: build the preset bench first")
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        flags = [f"--benchmark_filter={options.filter}", f"--benchmark_repetitions={options.repetitions}"]
        flags += [f"--benchmark_min_time={options.seconds}", "--benchmark_report_aggregates_only=true"]
        flags += [f"--benchmark_out={out.name}", "--benchmark_out_format=json"]
        flags += ["--targets=all"] if options.targets else []
        done = subprocess.run([options.program, *flags], stdout=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(done.returncode)
        entries = json.load(open(out.name))["benchmarks"]
    wanted = "median" if options.repetitions > 1 else None
    return {entry["run_name"]: entry for entry in entries if entry.get("aggregate_name") == wanted}


def rate(figures):
    """What counts, in billions a second, and the part of the peak."""
    of_bytes = "cache" in figures.get("label", "")
    what = figures["bytes" if of_bytes else "flops"] / 1e9
    return f"{what:.3g} ({figures['percent']:.0f} %)"


def print_table(head, rows):
    if not (rows := list(rows)):
        return
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def print_peaks(measured):
    rows = []
    for name, figures in measured.items():
        if name.startswith("peak/"):
            what = name.split("/")[1].replace("_", " ")
            rows.append([what, f"{figures['bytes' if 'bytes' in figures else 'flops'] / 1e9:.3g}"])
    print_table(["peak", "GFLOP/s or GB/s"], rows)


def print_kernels(measured):
    """A line for each kernel and number of centroids, a column for each number of dimensions or groups."""
    for unit, word in (("GFLOP/s", "multiply-adds"), ("GB/s", "cache")):
        lines, columns = {}, set()
        for name, figures in measured.items():
            if word not in figures.get("label", "") or name.startswith("peak/"):
                continue
            kernel, *middle, last, _ = name.split("/")
            size = int(last.split(":")[1])
            columns.add(size)
            line = ", ".join([f"`{kernel}`", *(part.replace(":", " = ") for part in middle)])
            lines.setdefault(line, {})[size] = rate(figures)
        ordered = sorted(columns)
        print_table(
            [unit, *map(str, ordered)],
            ([line, *(cells.get(size, "") for size in ordered)] for line, cells in lines.items()),
        )


def print_targets(measured):
    """Billions of distances, products or numbers a second: a line for each kernel and size, a column for each target."""
    lines, columns = {}, []
    for name, figures in measured.items():
        line, _, target = name.rpartition("/")
        if not target.isupper():  # a benchmark with the best target alone
            continue
        if target not in columns:
            columns.append(target)
        kernel, *sizes = line.split("/")
        line = ", ".join([f"`{kernel}`", *(size.replace(":", " = ") for size in sizes)])
        lines.setdefault(line, {})[target] = f"{figures['items'] / 1e9:.3g}"
    print_table(
        ["10⁹ a second", *columns],
        ([line, *(cells.get(target, "") for target in columns)] for line, cells in lines.items()),
    )


def print_parts(measured):
    rows = []
    for name, figures in measured.items():
        if "percent" not in figures:
            rows.append([name.replace("/", ", "), f"{to_ms(figures):.2f}", f"{figures['items'] / 1e6:.3g}"])
    print_table(["part", "ms", "10⁶ items a second"], rows)


def to_ms(figures):
    return figures["cpu_time"] * {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}[figures["time_unit"]]


if __name__ == "__main__":
    main()
