#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures what the paper's Theorems 1 to 3 bound: work of an iteration, imbalance, expansion constants, memory.

    bench/theory.py                 runs everything, prints the tables of docs/theory.md, draws its pictures
    bench/theory.py --draw          tables and pictures again, from the figures of the last run

Work is counted, not timed, so the figures are the same on any machine and under any load: distances between points
and centroids, and scores of nodes, as --stats of kopse writes them; for the tree on the centroids, what building it
took. Memory alone may differ a little from run to run. Data are prefixes of files in random order in the cache folder:

    bench/datasets/synthetic.py uniform --n 1280000
    bench/datasets/synthetic.py fractal
    bench/datasets/stars.py --full

Needs: numpy, matplotlib. The figures go to docs/theory/figures.json, with the commit, and the pictures beside them.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("KOPSE_CACHE") or Path.home() / ".cache" / "kopse")
FOLDER = ROOT / "docs" / "theory"

DATA = {"uniform": "uniform-1280000x3.npy", "clustered": "fractal-2000000x3.npy", "stars": "stars-full.npy"}
TREES = ["cover", "kd"]
SIZES = [10_000 * 2**i for i in range(8)]
K = 1000  # where N varies
CLUSTERS = [10, 30, 100, 300, 1000, 3000, 10_000, 30_000]
N = 640_000  # where k varies
SHARE = 20  # N / k, where both vary
ITERATIONS = 5
LEAF_SIZE = 1  # as in the paper, whose trees hold a point a node


# ---- Running kopse


class Runner:
    def __init__(self, kopse, folder):
        self.kopse, self.folder = kopse, Path(folder)

    def stats(self, *words):
        # By a shell, as the peak memory of a program starts from that of the process it replaces, which is the shell's
        # then, not Python's.
        out = self.folder / "stats.json"
        command = ["sh", "-c", '"$@"; exit $?', "sh", self.kopse, *words, "--stats", out]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"kopse {' '.join(map(str, words))} failed: {done.stderr.strip()}")
        return json.loads(out.read_text())

    def prefix(self, data, n):
        """The first n rows of a data set, as a file."""
        path = self.folder / f"{data}-{n}.npy"
        if not path.exists():
            for old in self.folder.glob("*-*.npy"):
                old.unlink()
            np.save(path, np.load(CACHE / DATA[data], mmap_mode="r")[:n])
        return path

    def fit(self, data, n, k, tree):
        centroids = self.folder / "centroids.npy"
        stats = self.stats("fit", self.prefix(data, n), "-k", k, "--init", "random", "--tree", tree, "--leaf-size", LEAF_SIZE,
                           "--max-iter", ITERATIONS, "-o", centroids, "--quiet")
        trace = stats["trace"]
        result = {"data": data, "n": n, "k": k, "tree": tree, "peak_bytes": stats["peak_bytes"],
                  "distances": [entry["distances"] for entry in trace],
                  "node_scores": [entry["node_scores"] for entry in trace]}
        if tree == "cover":
            result["centroids"] = self.info(centroids)
        print(data, n, k, tree, result["distances"], result["node_scores"], file=sys.stderr)
        return result

    def info(self, path):
        """Of the cover tree on the rows of a file."""
        info = self.stats("info", path, "--tree", "cover", "--leaf-size", LEAF_SIZE)
        return {key: info["tree"][key] for key in
                ("nodes", "depth", "imbalance", "expansion", "build_distances", "build_scores")}


def measure(kopse):
    at = commit()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(kopse, folder)
        fits, trees = [], []
        for data in DATA:
            for n in SIZES:
                clusters = {K, n // SHARE, *(CLUSTERS if n == N else [])}
                fits += [runner.fit(data, n, k, tree) for k in sorted(clusters) for tree in TREES]
                trees.append({"data": data, "n": n, **runner.info(runner.prefix(data, n))})
    return {"commit": at, "leaf_size": LEAF_SIZE, "fits": fits, "trees": trees}


def commit():
    git = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return git.stdout.strip() or "unknown"


# ---- What the figures say


def work(fit):
    """Distances and scores of the first iteration, and of the mean of those that follow."""
    each = [d + s for d, s in zip(fit["distances"], fit["node_scores"])]
    return each[0], sum(each[1:]) / max(1, len(each) - 1)


def building_share(fit):
    """Work of building the tree on the centroids, over k log2 k."""
    tree = fit["centroids"]
    return (tree["build_distances"] + tree["build_scores"]) / (fit["k"] * math.log2(fit["k"]))


def select(figures, **wanted):
    return sorted((f for f in figures if all(f[key] == value for key, value in wanted.items())),
                  key=lambda f: (f["n"], f.get("k", 0)))


def sweeps(fits, data, tree):
    """Runs with k fixed, with N fixed, and with both in proportion."""
    all_k = select(fits, data=data, n=N, tree=tree)
    return {"N": select(fits, data=data, k=K, tree=tree), "k": [f for f in all_k if f["k"] in CLUSTERS],
            "both": [f for f in select(fits, data=data, tree=tree) if f["k"] * SHARE == f["n"]]}


def exponent(x, y):
    """Of the power law through the upper half of the points."""
    half = len(x) // 2
    return np.polyfit(np.log(x[half:]), np.log(y[half:]), 1)[0]


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def tables(figures):
    fits = figures["fits"]
    print(f"commit {figures['commit']}, leaf size {figures['leaf_size']}\n")
    titles = {"N": f"k = {K:,}", "k": f"N = {N:,}", "both": f"k = N / {SHARE}"}
    for sweep, title in titles.items():
        runs = {(tree, data): sweeps(fits, data, tree)[sweep] for tree in TREES for data in DATA}
        key = "k" if sweep == "k" else "n"
        print(f"Work a point, {title}: first iteration / mean of the next {ITERATIONS - 1}\n")
        rows = [[f"{row[0][key]:,}"] + [work_a_point(fit) for fit in row] for row in zip(*runs.values())]
        rows.append(["exponent"] + [exponents(fits, key) for fits in runs.values()])
        table(["k" if sweep == "k" else "N", *(f"{tree}, {data}" for tree, data in runs)], rows)
    print("Building the tree on the centroids, in units of k log2 k; expansion of the centroids, largest (mean)\n")
    at = [sweeps(fits, data, "cover")["k"] for data in DATA]
    table(["k", *DATA, *(f"c_k, {data}" for data in DATA)],
          [[f"{row[0]['k']:,}"] + [f"{building_share(f):.2f}" for f in row] + [expansion(f["centroids"]) for f in row]
           for row in zip(*at)])
    print("Nodes, imbalance, depth and expansion of the points\n")
    at = [select(figures["trees"], data=data) for data in DATA]
    table(["N", *(f"{what}, {data}" for what in ("nodes / N", "i_t / N", "depth", "c") for data in DATA)],
          [[f"{row[0]['n']:,}"] + [f"{t['nodes'] / t['n']:.2f}" for t in row]
           + [f"{t['imbalance'] / t['n']:.1f}" for t in row] + [t["depth"] for t in row] + [expansion(t) for t in row]
           for row in zip(*at)])
    for sweep in ("both", "k"):
        print(f"Peak memory, MiB (bytes for each of N + k), {titles[sweep]}\n")
        runs = {(tree, data): sweeps(fits, data, tree)[sweep] for tree in TREES for data in DATA}
        table(["N + k", *(f"{tree}, {data}" for tree, data in runs)],
              [[f"{row[0]['n'] + row[0]['k']:,}"]
               + [f"{f['peak_bytes'] / 2**20:.0f} ({f['peak_bytes'] / (f['n'] + f['k']):.0f})" for f in row]
               for row in zip(*runs.values())])


def work_a_point(fit):
    return " / ".join(f"{each / fit['n']:.2f}" for each in work(fit))


def exponents(fits, key):
    x = [fit[key] for fit in fits]
    first, later = zip(*(work(fit) for fit in fits))
    return f"{exponent(x, first):.2f} / {exponent(x, later):.2f}"


def expansion(tree):
    return f"{tree['expansion']['largest']:.1f} ({tree['expansion']['mean']:.2f})"


# ---- Pictures

COLOURS = {"uniform": "#4477aa", "clustered": "#cc6677", "stars": "#228833"}
LINES = {"cover": "-", "kd": ":"}


def draw(figures):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "kopse", "font.size": 9,
                                "font.family": "sans-serif", "axes.spines.top": False, "axes.spines.right": False,
                                "lines.linewidth": 1.3, "lines.markersize": 3, "xtick.minor.size": 0,
                                "ytick.minor.size": 0})
    from matplotlib import pyplot

    def save(figure, axes, name):
        for each in axes:
            each.minorticks_off()
        figure.tight_layout()
        figure.savefig(FOLDER / name, metadata={"Date": None})
        pyplot.close(figure)

    fits = figures["fits"]
    figure, axes = pyplot.subplots(1, 3, figsize=(9, 3.3), sharey=True)
    for data in DATA:
        for tree in TREES:
            style = {"color": COLOURS[data], "linestyle": LINES[tree], "marker": "o", "label": f"{data}, {tree}"}
            for panel, (sweep, runs) in zip(axes, sweeps(fits, data, tree).items()):
                x = [f["k" if sweep == "k" else "n"] for f in runs]
                panel.plot(x, [work(f)[0] / f["n"] for f in runs], **style)
    axes[0].set(xscale="log", yscale="log", xlabel="N", title=f"k = {K:,}", ylabel="distances and scores a point")
    axes[1].set(xscale="log", xlabel="k", title=f"N = {N:,}")
    axes[2].set(xscale="log", xlabel="N", title=f"k = N / {SHARE}")
    axes[0].legend(frameon=False, fontsize=7)
    save(figure, axes, "work.svg")

    figure, axes = pyplot.subplots(1, 3, figsize=(9, 2.8))
    for data in DATA:
        trees = select(figures["trees"], data=data)
        style = {"color": COLOURS[data], "marker": "o"}
        sizes = [t["n"] for t in trees]
        axes[0].plot(sizes, [t["imbalance"] / t["n"] for t in trees], label=data, **style)
        axes[1].plot(sizes, [t["expansion"]["largest"] for t in trees], **style)
        axes[1].plot(sizes, [t["expansion"]["mean"] for t in trees], linestyle="--", **style)
        runs = sweeps(fits, data, "cover")["k"]
        axes[2].plot([f["k"] for f in runs], [building_share(f) for f in runs], **style)
    axes[0].set(xscale="log", ylim=(0, None), xlabel="N", title="imbalance / N")
    axes[1].set(xscale="log", yscale="log", xlabel="N", title="expansion: largest, mean (dashed)")
    axes[2].set(xscale="log", ylim=(0, None), xlabel="k", title="building on centroids / k log k")
    axes[0].legend(frameon=False, fontsize=7)
    save(figure, axes, "trees.svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kopse", type=Path, default=ROOT / "build" / "release" / "kopse", help="the program")
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    args = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / "figures.json"
    if not args.draw:
        figures = measure(args.kopse)
        path.write_text(json.dumps(figures, indent=1))
    figures = json.loads(path.read_text())
    tables(figures)
    draw(figures)


if __name__ == "__main__":
    main()
