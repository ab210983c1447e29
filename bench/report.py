#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the tables of docs/benchmarks.md and the pictures beside them from the results of bench/run.py.

    bench/report.py                              from bench/results/, into docs/
    bench/report.py --scale 0.01                 the tables of a trial, printed

Tables stand between two marks of the page; what is around them is written by hand. A figure is the median of all rounds. A
program that was wrong in any round has no time. Needs only Python's standard library, and matplotlib for the pictures,
which are left as they are where it is not there.
"""

import argparse
import json
import statistics
from pathlib import Path

from run import RESULTS, ROOT, read_plan, read_results, results_folder, scaled

PAGE = ROOT / "docs" / "benchmarks.md"
PICTURES = ROOT / "docs" / "benchmarks"
BEGIN, END = "<!-- tables of bench/report.py -->", "<!-- end of tables -->"
PAPER = ["elkan", "hamerly", "yinyang", "blacklist", "dualtree-kd", "dualtree-cover"]


class Results:
    """What is there of a cell: figures by program, medians of its rounds."""

    def __init__(self, cell, records):
        self.cell, self.records, self.by_program = cell, records, {}
        for record in records:
            self.by_program.setdefault(record["program"], []).append(record)

    def fault(self, name):
        """What is wrong with a program, in a few words, or None."""
        rounds = self.by_program.get(name)
        if not rounds:
            return ""
        faults = [r["fault"] for r in rounds if "fault" in r]
        if not faults:
            return None
        many = f" in {len(faults)} of {len(rounds)}" if len(rounds) > 1 and len(faults) < len(rounds) else ""
        return {"returned no centroids": "no result"}.get(faults[0], faults[0].split(":")[0]) + many

    def right(self, name):
        return self.fault(name) is None and not self.unchecked(name)

    def unchecked(self, name):
        """Whether the centroids could not be compared."""
        return any("unchecked" in r for r in self.by_program.get(name, []))

    def figure(self, name, key):
        """A median; of ratio: of a program's time to that of the first algorithm in the same round."""
        values = [r["seconds"] / max(r["against"], 1e-9) if key == "ratio" else r.get(key) for r in self.by_program.get(name, [])
                  if "fault" not in r]  # fmt: skip
        values = [v for v in values if v is not None]
        return statistics.median(values) if values else None

    def fewer(self, name):
        """The number of iterations of a program that did not do all, or None."""
        asked = [r["asked"] for r in self.by_program.get(name, []) if "asked" in r]
        return min(asked) if asked and min(asked) < self.cell.iterations else None

    def whole(self, name, other):
        """The time of a whole run to that of another program, over no more iterations than that one makes. None where they
        cannot be as many."""
        if self.fewer(name) or self.fewer(other) or name.startswith("geokmeans/"):
            return None
        runs = {r["round"]: r for r in self.by_program[other] if "fault" not in r}
        ratios = []
        for r in self.by_program[name]:
            beside = runs.get(r["round"])
            if "fault" in r or beside is None:
                continue
            more = max(0, r["iterations"] - beside["iterations"])
            ratios.append((r["total"] - more * r["seconds"]) / beside["total"])
        return statistics.median(ratios) if ratios else None

    def trace(self, name):
        return next((r["trace"] for r in self.by_program.get(name, []) if "trace" in r and "fault" not in r), None)

    def best(self, names):
        """The fastest right program of some, or None. Who cannot do all iterations is slower than who can, whatever the first
        few of them take."""
        timed = [name for name in names if self.right(name) and self.figure(name, "seconds") is not None]
        return min(timed, key=lambda name: (-(self.fewer(name) or self.cell.iterations), self.figure(name, "ratio")), default=None)


def load(folder, options):
    """The plan, and results of its cells that have any."""
    plan, cells = read_plan()
    cells = dict.fromkeys(scaled(cell, options, cell.rows or plan["data"][cell.data]["rows"]) for cell in cells)
    found = [Results(cell, read_results(folder / f"{cell.name}.jsonl")) for cell in cells]
    return plan, [results for results in found if results.records]


def digits(value):
    """Three digits, or all before the point."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def label(name):
    return f"`{name}`" if "/" not in name else name.replace("/", " `") + "`"


# ---- Tables


def times(plan, found):
    """Milliseconds an iteration, and seconds of the whole run: a table for each data set."""
    text = ""
    for data in dict.fromkeys(r.cell.data for r in found if not r.cell.sweep):
        columns = [r for r in found if r.cell.data == data and not r.cell.sweep]
        first = next((record for r in columns for record in r.records if "n" in record), None)
        if first is None:  # no algorithm of kopse's so far
            continue
        best = [r.best(plan["kopse"] + plan["peers"]) for r in columns]
        rows = []
        for name in plan["kopse"] + plan["peers"]:
            row = [time_of(r, name, name == fastest) for r, fastest in zip(columns, best)]
            if any(row) and not all(entry == "for one column" for entry in row):
                rows.append([label(name), *row])
        head = [f"k = {r.cell.k:,}, {r.cell.iterations} iterations" for r in columns]
        text += f"### {data}, {first['n']:,} × {first['d']}\n\n" + table(["", *head], rows) + "\n"
    return text


def time_of(results, name, bold):
    fault = results.fault(name)
    if fault is not None:
        return fault
    shown = digits(1000 * results.figure(name, "seconds"))
    fewer = results.fewer(name)
    total = f" @{fewer}" if fewer else f" ({digits(results.figure(name, 'total'))})"
    shown = f"[{shown}]" if results.unchecked(name) else shown
    return (f"**{shown}**" if bold else shown) + total


def beside(plan, found):
    """The fastest of the others beside auto and the best of kopse's; and where it wins."""
    rows, lost = [], []
    for r in found:
        if r.cell.sweep:
            continue
        peer, ours = r.best(plan["peers"]), r.best(plan["kopse"])
        if not ours or r.figure("auto", "seconds") is None:
            continue
        row = [r.cell.data, f"{r.cell.k:,}", digits(1000 * r.figure("auto", "seconds")), label(ours)]
        if peer:
            ratio = r.figure(peer, "ratio")
            row += [label(peer) + (f" @{r.fewer(peer)}" if r.fewer(peer) else ""), digits(ratio),
                    digits(ratio / r.figure(ours, "ratio")),
                    digits(r.whole(peer, "auto"))]  # fmt: skip
            if ratio < 1:
                lost.append(f"{r.cell.data} with k = {r.cell.k:,} ({label(peer)} takes {digits(100 * ratio)} % of `auto`'s time)")
        rows.append(row)
    text = "### The fastest of the others\n\nTheir time an iteration over that of `auto`, and of kopse's best, the same iterations; "
    text += "and that of whole runs,\ntrees included, of as many iterations as `auto` makes (faiss goes on where no label changes any more: "
    text += "what it\nspends on that is taken off; geokmeans has a start of its own):\n\n"
    head = ["data", "k", "`auto`, ms", "kopse's best", "fastest of the others", "over `auto`", "over kopse's best", "whole"]
    text += table(head, [row + [""] * (len(head) - len(row)) for row in rows])
    return text + "\n" + ("Faster than `auto` are: " + "; ".join(lost) + "." if lost else "None is faster than `auto`.") + "\n\n"


def papers(plan, found):
    """Ours beside the paper's: seconds and work of an iteration, and trees."""
    entries = {(e["data"], e["k"]): e["paper"] for e in plan["cell"] if "paper" in e}
    timed, worked, trees = [], [], []
    for r in found:
        paper = entries.get((r.cell.data, r.cell.k))
        if r.cell.sweep or not paper:
            continue
        pairs = [(r.figure(name, "seconds"), r.figure(name, "work"), paper.get(name)) for name in PAPER]
        fewer = [f" @{r.fewer(name)}" if r.fewer(name) else "" for name in PAPER]
        timed.append([r.cell.data, f"{r.cell.k:,}"] + [
            f"{digits(s and 1000 * s) or '–'}{at} / {digits(1000 * p[0]) if p else '–'}" for (s, _, p), at in zip(pairs, fewer)])
        worked.append([r.cell.data, f"{r.cell.k:,}"] + [
            f"{short(w)}{at} / {short(p[1]) if p else '–'}" for (_, w, p), at in zip(pairs, fewer)])  # fmt: skip
    for data, entry in plan["data"].items():
        here = [r for r in found if r.cell.data == data and not r.cell.sweep]
        if here and "paper" in entry:
            ours = [[v for r in here if (v := r.figure(name, "tree")) is not None] for name in ("dualtree-kd", "dualtree-cover")]
            trees.append([data] + [f"{digits(statistics.median(t)) if t else '–'} / {digits(entry['paper'][kind])}"
                                   for t, kind in zip(ours, ("kd", "cover"))])  # fmt: skip
    head = ["data", "k", *map(label, PAPER)]
    return ("### Beside the paper's\n\nOurs / the paper's, on data of that kind, not the same data, another machine, other starts. "
            "Milliseconds an iteration:\n\n" + table(head, timed) + "\nDistances, ours with node scores:\n\n"
            + table(head, worked) + "\nSeconds of building a tree:\n\n" + table(["data", "kd", "cover"], trees) + "\n")  # fmt: skip


def short(value):
    if value is None:
        return "–"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


def details(plan, found):
    """What else is measured, of auto; and memory of all that matter."""
    rows, memory = [], []
    watched = ["auto", "filter", "dualtree-kd", "dense", "lloyd", "elkan", "mlpack/dualtree", "sklearn/lloyd", "faiss/flat"]
    for r in found:
        runs = [x for x in r.by_program.get("auto", []) if "fault" not in x and "trace" in x]
        if r.cell.sweep or not runs:
            continue
        one, trace = runs[0], runs[0]["trace"]
        end = "yes" if one["converged"] else "no"
        rows.append([r.cell.data, f"{r.cell.k:,}", one["iterations"], end, digits(1000 * trace[0]),
                     digits(1000 * trace[-1]), digits(statistics.mean(trace) / one["pass"]),
                     digits(100 * one["distances"] / one["n"] / r.cell.k), short(one["scores"]),
                     digits(r.figure("seed", "seconds")), f"{one['inertia']:.6g}",
                     ", then ".join(c["algorithm"] for c in one["choices"])])  # fmt: skip
        size = one["n"] * one["d"] * 8 / 2**20
        memory.append([r.cell.data, f"{r.cell.k:,}", digits(size)]
                      + [digits((v := r.figure(name, "peak")) and v / 2**20) for name in watched])  # fmt: skip
    text = "### More of `auto`\n\nOf the first round; its first iteration builds the tree, where it takes one. *Passes*: an iteration over one sum of all coordinates; % of n·k: distances; "
    text += "seeding: `kopse seed`, k-means++, without its tree.\n\n"
    text += table(["data", "k", "iterations", "converged", "first, ms", "last, ms", "passes", "% of n·k", "scores",
                   "seeding, s", "inertia", "chose"], rows)  # fmt: skip
    text += "\nPeak memory, MiB, of the whole process, beside that of the data in float64:\n\n"
    return text + table(["data", "k", "data", *map(label, watched)], memory) + "\n"


def origin(found):
    """Machine, versions and commits."""
    records = [record for r in found for record in r.records]
    machines = {}
    for r in found:
        for name in {record["machine"] for record in r.records}:
            machines.setdefault(name, []).append(r.cell.name)
    where = "; ".join(name if len(machines) == 1 else f"{name}: {', '.join(cells)}" for name, cells in sorted(machines.items()))
    commits = sorted({r["commit"] for r in records})
    versions = {}
    for record in records:
        if "version" in record:
            versions.setdefault(record["program"].split("/")[0] if "/" in record["program"] else "kopse", set()).add(record["version"])
    told = ", ".join(f"{name} {' and '.join(sorted(v))}" for name, v in sorted(versions.items()))
    return f"{len(records):,} runs on {where}. {told}; commits {', '.join(commits)}.\n\n"


def page(plan, found):
    names = sorted({f"docs/benchmarks/{p.name}" for p in PICTURES.glob("*.svg")}) if PICTURES.exists() else []
    shown = "".join(f"![{Path(name).stem.replace('-', ' ')}](benchmarks/{Path(name).name})\n\n" for name in names)
    return "\n" + origin(found) + beside(plan, found) + times(plan, found) + papers(plan, found) + details(plan, found) + shown


# ---- Pictures

STYLES = {
    "auto": "#222222", "frontier": "#4477aa", "filter": "#66ccee", "dualtree-kd": "#228833", "dense": "#aa3377", "lloyd": "#bbbbbb",
    "mlpack/dualtree": "#ccbb44", "mlpack/pelleg-moore": "#ee8866", "sklearn/lloyd": "#cc6677", "sklearn/elkan": "#882255",
    "faiss/flat": "#ddaa33", "geokmeans/ball": "#999933",
}  # fmt: skip


def line(panel, found, name, x, y="seconds", scale=1.0):
    """A program's curve over those results in which it is right."""
    points = sorted((x(r), scale * r.figure(name, y)) for r in found if r.right(name) and r.figure(name, y))
    if points:
        panel.plot(*zip(*points), color=STYLES[name], marker="o", label=name, linestyle="--" if "/" in name else "-")


def draw(found):
    """All pictures for which there are results."""
    try:
        import matplotlib
    except ImportError:
        print("no matplotlib: the pictures are left as they are")
        return
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "kopse", "font.size": 9, "font.family": "sans-serif",
                                "axes.spines.top": False, "axes.spines.right": False, "lines.linewidth": 1.3,
                                "lines.markersize": 3, "legend.frameon": False, "legend.fontsize": 6})  # fmt: skip
    PICTURES.mkdir(exist_ok=True)
    cells = [r for r in found if not r.cell.sweep]
    several = [d for d in dict.fromkeys(r.cell.data for r in cells) if sum(r.cell.data == d for r in cells) > 1]
    grid("time-by-k", several, "k", lambda panel, data: by_k(panel, [r for r in cells if r.cell.data == data], "seconds", 1000))
    grid("memory-by-k", several, "k", lambda panel, data: by_k(panel, [r for r in cells if r.cell.data == data], "peak", 2**-20),
         "MiB")  # fmt: skip
    largest = [max((r for r in cells if r.cell.data == d), key=lambda r: r.cell.k) for d in several]
    grid("run", largest, "iteration", over_run)
    sweeps = {name: [r for r in found if r.cell.sweep == name] for name in ("N", "d", "threads")}
    shape = lambda r, key: next(x[key] for x in r.records if key in x)
    axes = {"N": lambda r: shape(r, "n"), "d": lambda r: shape(r, "d"), "threads": lambda r: r.cell.threads}
    lines = [name for name in sweeps if len(sweeps[name]) > 1]
    grid("sweeps", lines, None, lambda panel, name: sweep(panel, name, sweeps[name], axes[name]))


def grid(name, items, x, fill, y="ms an iteration"):
    """A picture with a panel for each item."""
    from matplotlib import pyplot

    if not items:
        return
    wide = min(3, len(items))
    figure, panels = pyplot.subplots(-(-len(items) // wide), wide, figsize=(3.2 * wide, 2.7 * -(-len(items) // wide)), squeeze=False)
    for panel in panels.flat[len(items) :]:
        panel.remove()
    for panel, item in zip(panels.flat, items):
        panel.set(xscale="log", yscale="log", xlabel=x)
        fill(panel, item)
        panel.minorticks_off()
    for row in panels:
        row[0].set_ylabel(y)
    panels[0][0].legend()
    figure.tight_layout()
    figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def by_k(panel, found, y, scale):
    for name in STYLES:
        line(panel, found, name, lambda r: r.cell.k, y, scale)
    panel.set_title(found[0].cell.data)


def over_run(panel, results):
    """Milliseconds of each iteration of a run, by kopse's clock."""
    for name in STYLES:
        if trace := results.trace(name):
            panel.plot(range(1, len(trace) + 1), [1000 * s for s in trace], color=STYLES[name], label=name)
    panel.set_title(f"{results.cell.data}, k = {results.cell.k:,}")


def sweep(panel, name, found, x):
    for program in STYLES:
        line(panel, found, program, x, scale=1000)
    panel.set(xlabel=name, title=f"{found[0].cell.data.split('-')[0]}, k = {found[0].cell.k:,}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="the folder of results (default: bench/results)")
    parser.add_argument("--scale", type=float, default=1, help="that of bench/run.py, whose results are in build/bench/SCALE")
    parser.add_argument("--json", action="store_true", help="print medians as JSON: [{cell, program, seconds, total, ...}]")
    parser.set_defaults(pairs=None)
    options = parser.parse_args()
    folder = options.results or results_folder(options.scale)
    plan, found = load(folder, options)
    if not found:
        parser.error(f"no results in {folder}: bench/run.py makes them")
    if options.json:
        keys = ("seconds", "ratio", "first", "total", "work", "peak")
        print(json.dumps([{"cell": r.cell.name, "program": name, "fault": r.fault(name), **{key: r.figure(name, key) for key in keys}}
                          for r in found for name in r.by_program if name != "seed"], indent=1))  # fmt: skip
        return
    if folder != RESULTS:
        print(page(plan, found))
        return
    draw(found)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    if END not in rest:
        parser.error(f"{PAGE} has no marks {BEGIN} and {END}")
    PAGE.write_text(before + BEGIN + "\n" + page(plan, found) + END + rest.partition(END)[2])
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
