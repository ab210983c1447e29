#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where the time of a cell of bench/paper.toml goes: a flame graph of one of kopse's algorithms, and its top functions.

    bench/profile.py birch3-k250                       auto
    bench/profile.py lcdm-k5000 -a frontier --scale 0.1
    bench/profile.py stars-k1000 -a filter --tool callgrind --scale 0.05

With perf (Debian's linux-perf) it samples the processor's time, where the system allows it, and writes a flame graph:
build/bench/CELL-ALGORITHM.svg, wide what takes long, above it what it calls; the mouse names each box. Otherwise, or where
asked, it counts instructions with valgrind's callgrind, some fifty times slower, and prints functions alone. Data, start and
iterations are those of the first round of bench/run.py. The program keeps no frame pointers, so perf copies stacks.
"""

import argparse
import html
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from programs import ALIASES, environment
from run import ROOT, make_data, open_round, read_plan, scaled

TOP = 15
WIDTH, HEIGHT = 1200, 16  # of the picture, and of a box


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cell", help="its name, as bench/run.py prints it")
    parser.add_argument("-a", "--algorithm", default="auto", help="one of kopse's (default: auto)")
    parser.add_argument("--tool", choices=["perf", "callgrind"], help="(default: perf where it works)")
    parser.add_argument("--scale", type=float, default=1, help="this share of the rows")
    parser.add_argument("--kopse", type=Path, default=ROOT / "build" / "test" / "kopse", help="the program")
    parser.set_defaults(python=sys.executable, limit=60, pairs=1)
    return parser.parse_args()


def run(command, **settings):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment(1), **settings)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def perf_works():
    return bool(shutil.which("perf")) and subprocess.run(["perf", "record", "-e", "cpu-clock", "-o", "/dev/null", "true"],
                                                         capture_output=True).returncode == 0  # fmt: skip


# ---- perf


def stacks_of(text):
    """How often each stack was seen, outermost function first, from `perf script`."""
    stacks = Counter()
    for sample in text.split("\n\n"):
        frames = [line.strip().split(" ", 1)[1] for line in sample.splitlines()[1:] if " " in line.strip()]
        names = [short(re.sub(r"(\+0x[0-9a-f]+)? \([^()]*\)$", "", frame)) for frame in frames]
        if names:
            stacks[tuple(reversed(names))] += 1
    return stacks


def short(name):
    """A function's name without arguments and templates."""
    name = name.replace("(anonymous namespace)::", "")
    while (less := re.sub(r"<[^<>]*>", "", name)) != name:
        name = less
    return name if name.startswith("[") else name.split("(")[0].removeprefix("void ").replace("kopse::", "")


def profile_by_perf(command, name):
    data = Path(name).with_suffix(".perf")
    run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "499", "--call-graph", "dwarf,16384", "-o", data, *command])
    stacks = stacks_of(run(["perf", "script", "-i", data, "-F", "comm,tid,time,ip,sym,dso", "--max-stack", "64"]))
    data.unlink()
    total, own, within = sum(stacks.values()), Counter(), Counter()
    for stack, count in stacks.items():
        own[stack[-1]] += count
        within.update(dict.fromkeys(stack, count))
    print(f"{total} samples, percent by itself and with what it calls:")
    for function, count in own.most_common(TOP):
        print(f"{100 * count / total:6.1f} {100 * within[function] / total:6.1f}  {function}")
    picture = Path(name).with_suffix(".svg")
    picture.write_text(flame_graph(stacks, Path(name).name))
    print(f"wrote {picture}")


def flame_graph(stacks, title):
    """An SVG: a box for each function in each stack, as wide as its share of samples, above its caller."""
    tree = {}
    for stack, count in stacks.items():
        level = tree
        for name in stack:
            node = level.setdefault(name, [0, {}])
            node[0] += count
            level = node[1]
    total, boxes, deepest = sum(stacks.values()), [], 0

    def place(level, left, depth):
        nonlocal deepest
        deepest = max(deepest, depth)
        for name, (count, inner) in sorted(level.items()):
            width = WIDTH * count / total
            if width >= 0.5:
                boxes.append((left, depth, width, name, count))
                place(inner, left, depth + 1)
            left += width

    place(tree, 0.0, 0)
    high = HEIGHT * (deepest + 2)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{high}" font-family="monospace" font-size="11">',
             f'<text x="4" y="12">{html.escape(title)}, {total} samples</text>']  # fmt: skip
    for left, depth, width, name, count in boxes:
        y, shade, text = high - HEIGHT * (depth + 1), sum(map(ord, name)) % 60, html.escape(name)
        lines.append(f'<g><title>{text}: {100 * count / total:.1f} %</title><rect x="{left:.1f}" y="{y}" width="{width:.1f}" '
                     f'height="{HEIGHT - 1}" fill="rgb(240,{150 + shade},{70 + shade})"/>')  # fmt: skip
        if width > 40:
            lines.append(f'<text x="{left + 2:.1f}" y="{y + 11}">{html.escape(name[: int(width / 7)])}</text>')
        lines.append("</g>")
    return "\n".join([*lines, "</svg>"]) + "\n"


# ---- callgrind


def profile_by_callgrind(command, name):
    out = Path(name).with_suffix(".callgrind")
    run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command])
    lines = run(["callgrind_annotate", out]).splitlines()
    print("instructions, with AVX2 as valgrind has no 512-bit vectors:")
    shown = [line for line in lines if re.match(r"\s*[\d,]+ \([ \d.]+%\)", line)][: TOP + 1]
    for line in shown:
        amount, share, where = re.match(r"\s*([\d,]+) \(\s*([\d.]+)%\)\s+(.*)", line).groups()
        print(f"{amount:>18} {share:>6} %  {short(where.split(':', 1)[-1]) if where != 'PROGRAM TOTALS' else 'all'}")
    print(f"wrote {out}: for callgrind_annotate or kcachegrind")


def main():
    options = arguments()
    plan, cells = read_plan()
    cell = next((cell for cell in cells if cell.name == options.cell), None)
    if cell is None:
        sys.exit(f"no cell {options.cell}; there are {', '.join(cell.name for cell in cells)}")
    if not options.kopse.exists():
        sys.exit(f"no program {options.kopse}: cmake --preset test && cmake --build --preset test --target kopse")
    tool = options.tool or ("perf" if perf_works() else "callgrind")
    cell = scaled(cell, options, cell.rows or plan["data"][cell.data]["rows"])
    algorithm, *words = ALIASES.get(options.algorithm, options.algorithm).split(":")
    folder = ROOT / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        data = make_data(options, plan, cell, Path(scratch))
        if data is None:
            sys.exit(f"{cell.name}: no data")
        start = open_round(options, cell, 0, data, Path(scratch)).job.start
        command = [options.kopse, "fit", data, "-k", cell.k, "-a", algorithm, "-I", start, "--empty", "keep", "--max-iter",
                   cell.iterations, "--threads", cell.threads, "-q", *words]  # fmt: skip
        profile = profile_by_perf if tool == "perf" else profile_by_callgrind
        profile(command, folder / f"{cell.name}-{options.algorithm.replace(':', '')}")


if __name__ == "__main__":
    main()
