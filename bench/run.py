#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times kopse's algorithms and other libraries beside each other: same data, same starts, same threads, every output checked.

    bench/run.py                                  the tables of docs/benchmarks.md: all cells of bench/paper.toml
    bench/run.py --only birch3 lcdm-k500          those whose name begins like that
    bench/run.py --scale 0.01 --only birch3       a hundredth of the rows: a trial of a minute
    bench/run.py stars-full.npy -k 1000 -a dualtree filter:--leaf-size=40 mlpack/dualtree faiss/flat

A round runs each program once, in an order that turns from round to round, on starting centroids of its own: distinct rows,
a little moved. The last form prints medians of all rounds, and of ratios to the first algorithm over the same iterations,
which must be one of kopse's; FILE may be in the cache folder. bench/programs.py says what programs there are, and how each
is timed, limited and judged; a wrong result has no time.

Without a FILE each run is kept at once, as a line of bench/results/CELL.jsonl (scaled: in build/bench/SCALE), and what is
there is not run again, so the command goes on where it was interrupted. A cell that was begun on another machine is measured
anew, as its figures are to be compared; --again measures all anew. bench/report.py makes the tables. What takes over 5 s is
done in one round only, and so is what was wrong. What takes too long or too much memory is not tried for more clusters of the
same data. --estimate prints the processor time that the cells have taken, or will with all rounds.

Needs numpy, for the peers any of mlpack, scikit-learn, scikit-learn-intelex, faiss-cpu and geokmeans (what is not there is
reported), and for data sets what their scripts need, in the Python that runs this or in the one of --python.
"""

import argparse
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

try:
    import numpy as np
except ImportError:
    sys.exit("bench/run.py needs numpy: python3 -m venv .venv && .venv/bin/pip install numpy, and run it with .venv/bin/python")

import programs
from programs import Job, NoTime

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
sys.path.insert(0, str(ROOT / "bench" / "datasets"))
from common import cache_folder  # noqa: E402

ONCE = 5  # seconds of processor time of a program, all its runs, above which there is one round


@dataclass(frozen=True)
class Cell:
    """What is measured: a data set, or its first rows, and a number of clusters."""

    data: str
    k: int
    iterations: int
    rounds: int
    names: tuple
    rows: int | None = None
    threads: int = 1
    sweep: str | None = None

    @property
    def reference(self):
        """The program that all others are compared with."""
        return next(name for name in self.names if name != "seed")

    @property
    def name(self):
        part = f"-n{self.rows}" if self.sweep == "N" else ""
        several = f"-t{self.threads}" if self.sweep == "threads" else ""
        return f"{self.data}{part}-k{self.k}{several}" + (f"-{self.sweep}" if self.sweep == "d" else "")


def read_plan(only=None):
    """bench/paper.toml, and its cells, or those whose name begins like one of `only`; those of the sweeps last."""
    plan = tomllib.loads((ROOT / "bench" / "paper.toml").read_text())
    names = ("seed", *plan["kopse"], *plan["peers"])
    cells = []
    for entry in plan["cell"]:
        cells.append(Cell(entry["data"], entry["k"], entry["iterations"], entry["rounds"], names))
    for entry in plan["sweep"]:
        sets = entry["data"] if isinstance(entry["data"], list) else [entry["data"]]
        for data in sets:
            for n in entry.get("n", [None]):
                for threads in entry.get("threads", [1]):
                    cells.append(Cell(data, entry["k"], entry["iterations"], entry["rounds"], tuple(entry["programs"]), n,
                                      threads, entry["name"]))  # fmt: skip
    cells = [cell for cell in cells if not only or cell.name.startswith(tuple(only))]
    if not cells:
        sys.exit(f"no cell of bench/paper.toml begins with {' or '.join(only)}")
    return plan, cells


# ---- Data


def make_data(options, plan, cell, folder):
    """The file of a cell's rows, made where it is not there. None where it cannot be."""
    entry = plan["data"][cell.data]
    n = max(1, round((cell.rows or entry["rows"]) * options.scale))
    path, make = cache_folder() / entry["file"], list(entry["make"])
    if n < entry["rows"] and entry.get("made"):
        path = folder / f"{cell.data}-{n}.npy"
        make += ["--n", str(n), "--out", str(path)]
    if not path.exists():
        print(f"making {path.name}", file=sys.stderr)
        script = ROOT / "bench" / "datasets" / make[0]
        done = subprocess.run([options.python, str(script), *make[1:]], capture_output=True, text=True)
        if done.returncode != 0 or not path.exists():
            print(f"{cell.name}: no data: {(done.stderr or done.stdout).strip()[-300:]}", file=sys.stderr)
            return None
    return part_of(path, n, None, folder)


def part_of(path, n, columns, folder):
    """The first n rows of a file, or some of its columns: a file that is the whole one where that is meant."""
    rows = np.load(path, mmap_mode="r")
    if n >= len(rows) and columns is None:
        return path
    part = folder / f"{path.stem}-{n}-{columns}.npy"
    if not part.exists():
        columns = [int(c) for c in columns.split(",")] if columns else slice(None)
        np.save(part, np.ascontiguousarray(rows[:n, columns]))
    return part


# ---- Runs


class Round:
    """One start, and what kopse's reference has from it after so many iterations."""

    def __init__(self, job, reference):
        self.job, self.reference, self.known = job, reference, {}

    def expected(self, iterations, start=None, empty="keep"):
        key = (iterations, start is not None and start.read_bytes(), empty)
        if key not in self.known:
            if start is None and empty == "keep":
                self.known[key] = programs.run_kopse(replace(self.job, iterations=iterations), self.reference, fixed=True)
            else:
                self.known[key] = programs.run_kopse(self.job, self.reference, iterations, start, empty)
        return self.known[key]

    def inertia_of(self, centroids):
        path = self.job.folder / "judged.npy"
        np.save(path, centroids)
        return programs.run_kopse(self.job, self.reference, 1, path)["of_start"]

    def timed(self, job, fixed):
        """The reference as a program among others, run once for both."""
        key = (job.iterations, False, "keep")
        if key not in self.known:
            result = programs.run_kopse(job, self.reference, fixed=fixed)
            self.known[result["asked"], False, "keep"] = result
            return result
        return self.known[key]

    def record(self, name, asked, most):
        """A program's record, judged. asked: its iterations, or None where they are to be found, and are at most most."""
        fixed = asked is not None
        job = replace(self.job, iterations=asked if fixed else most)
        began, spent = time.monotonic(), programs.spent[0]
        took = lambda: {"took": time.monotonic() - began, "cpu": programs.spent[0] - spent}
        try:
            if name == "seed":
                result = programs.measure_seeding(job)
            elif "/" in name:
                result = programs.run_peer(job, name, fixed)
            elif name == self.reference:
                result = self.timed(job, fixed)
            else:
                result = programs.run_kopse(job, name, fixed=fixed)
            if result["seconds"] > job.limit:
                raise NoTime(f"> {job.limit:g} s")
            result |= took()
            return result if name == "seed" else result | self.judged(name, result)
        except NoTime as why:
            return {"fault": str(why), **took()}

    def judged(self, name, result):
        """What a record tells of the comparison with the reference."""
        start = result.get("start")
        try:
            expected = self.expected(result["asked"], start)
        except NoTime as why:
            raise NoTime(f"nothing to compare with: {self.reference}: {why}") from None
        fault, off, unchecked = programs.judge(
            name, result, expected, lambda: self.expected(result["asked"], start, "relocate"), self.inertia_of)
        verdict = {"off": off, "against": expected["seconds"]} | ({"unchecked": unchecked} if unchecked else {})
        return verdict | ({"fault": fault} if fault else {})


def kept(record, whole):
    """What is written of a record: no arrays but kopse's trace (whole), figures to six digits."""
    dropped = {"centroids", "each", "single", "start", "of_start"} | (set() if whole else {"trace"})
    if "fault" in record:
        dropped |= {"seconds", "first", "total", "trace"}
    record = {key: value for key, value in record.items() if key not in dropped}
    shorten = lambda value: float(f"{value:.6g}") if isinstance(value, float) else value
    return {key: [shorten(each) for each in value] if key == "trace" else shorten(value) for key, value in record.items()}


def open_round(options, cell, number, data, folder):
    """The start of a round, and what its programs get."""
    start = folder / f"start-{cell.k}-{number}.npy"
    done = subprocess.run([options.python, programs.__file__, "--start", data, str(cell.k), str(number), start],
                          capture_output=True, text=True)  # a process of its own, as memory once used counts for children
    if done.returncode != 0:
        sys.exit(f"{cell.name}: no start: {done.stderr.strip()}")
    job = Job(data, cell.k, start, cell.iterations, cell.threads, options.limit, options.kopse, options.python, folder, number)
    return Round(job, cell.reference)


def commit():
    git = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], cwd=ROOT, capture_output=True, text=True)
    return git.stdout.strip() or "unknown"


def skipped(name, cell, records, every):
    """A record of what need not be run, or None: slow or faulty in a round before, or with fewer clusters."""
    before = [r for r in records if r["program"] == name]
    if before and (any("seconds" not in r or r["cpu"] > ONCE for r in before)):
        return {}
    if name == "line" and cell.data is not None and records and records[0].get("d", 1) > 1:
        return {"fault": "for one column"}
    for other, found in fewer_clusters(cell, every):
        for r in found:
            if r["program"] == name and r.get("fault", "").startswith((">", "out of memory")):
                return {"fault": r["fault"], "inferred": other.name}
    return None


def missing(options, cell, number, records):
    """What a round lacks, in its order."""
    names = [name for name in cell.names if not options.programs or name in options.programs]
    shift = number % len(names)
    order = names[shift:] + names[:shift]
    order.sort(key=lambda name: number == 0 and name != cell.reference)  # that one tells the number of columns
    return [name for name in order if not any((r["program"], r["round"]) == (name, number) for r in records)]


def measure(options, cell, data, folder, records, every, keep):
    """Runs what a cell lacks; keep(record) is called for each as soon as it is there."""
    for number in range(cell.rounds):
        current = None
        for name in missing(options, cell, number, records):
            record = skipped(name, cell, records, every)
            if record == {}:
                continue
            if record is None:
                current = current or open_round(options, cell, number, data, folder)
                asked = next((r["asked"] for r in records if r["program"] == name and "asked" in r), None)
                record = current.record(name, asked, most_for(name, cell, every))
            whole = number == 0 or name == cell.reference
            record = {"program": name, "round": number, **kept(record, whole), "commit": options.commit,
                      "machine": options.machine}  # fmt: skip
            records.append(record)
            keep(record)
            print(f"{cell.name} round {number + 1} of {cell.rounds}: {name} {told(record)}", file=sys.stderr, flush=True)


def fewer_clusters(cell, every):
    """The records of cells of the same data with fewer clusters."""
    same = lambda other: (other.data, other.rows, other.threads) == (cell.data, cell.rows, cell.threads)
    return [(other, records) for other, records in every.items() if same(other) and other.k < cell.k]


def most_for(name, cell, every):
    """Iterations that a program may try: those of the cell, but where it could not do all with fewer clusters."""
    asked = [r["asked"] for other, records in fewer_clusters(cell, every) for r in records
             if r["program"] == name and r.get("asked", other.iterations) < other.iterations]  # fmt: skip
    return min([cell.iterations, *asked])


def told(record):
    """A record in a few words."""
    if "fault" in record:
        return record["fault"]
    fewer = f" @{record['asked']}" if "asked" in record else ""
    return f"{1000 * record['seconds']:.3g} ms{fewer} ({record['took']:.1f} s)"


# ---- Cells of the plan, kept


def read_results(path):
    """The records of a file; a last line that was cut off is none."""
    records = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return records


def results_folder(scale):
    return RESULTS if scale == 1 else ROOT / "build" / "bench" / f"{scale:g}"


def scaled(cell, options, rows):
    """A cell of fewer rows has at most a cluster for four of them, and one round."""
    if options.scale == 1:
        return replace(cell, rounds=options.pairs or cell.rounds)
    return replace(cell, rounds=options.pairs or 1, k=max(2, min(cell.k, round(rows * options.scale) // 4)))


def run_plan(options):
    plan, cells = read_plan(options.only)
    results = options.results or results_folder(options.scale)
    known = dict.fromkeys(name for cell in cells for name in cell.names)
    if unknown := set(options.programs or []) - known.keys():
        sys.exit(f"no program {' or '.join(sorted(unknown))} in these cells; there are {', '.join(known)}")
    cells = [cell for cell in cells if not options.programs or set(cell.names) & set(options.programs)]
    if options.estimate:
        return estimate(cells, results)
    results.mkdir(parents=True, exist_ok=True)
    every, began, faults = {}, time.monotonic(), []
    cells = list(dict.fromkeys(scaled(cell, options, cell.rows or plan["data"][cell.data]["rows"]) for cell in cells))
    for at, cell in enumerate(cells):
        path = results / f"{cell.name}.jsonl"
        records = read_results(path)
        print(f"[{at + 1}/{len(cells)}] {cell.name}, {time.monotonic() - began:.0f} s so far", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            data = make_data(options, plan, cell, Path(folder))
            if data is None:
                continue
            if options.again:
                records = [r for r in records if options.programs and r["program"] not in options.programs]
            elsewhere = {r["machine"] for r in records} - {options.machine}
            if elsewhere and lacks(options, cell, records, every):
                print(f"{cell.name} was begun on {' and '.join(elsewhere)}: all of it anew", file=sys.stderr)
                records = []
            every[cell] = records
            whole = path.with_suffix(".part")
            whole.write_text("".join(json.dumps(r) + "\n" for r in records))
            whole.replace(path)

            def keep(record, path=path):
                with open(path, "a") as file:
                    file.write(json.dumps(record) + "\n")

            measure(options, cell, data, Path(folder), records, every, keep)
        faults += [f"{cell.name}: {r['program']}: {r['fault']}" for r in records if is_ours(r)]
    done = sum(len(records) for records in every.values())
    print(f"{done} records of {len(cells)} cells in {results}, {time.monotonic() - began:.0f} s")
    if faults:
        sys.exit("kopse is wrong:\n" + "\n".join(faults))
    compared = [sum(1 for name in {r["program"] for r in records if "bits" in r}) for records in every.values()]
    if min(compared, default=0) > 1:
        print("kopse's algorithms all gave the same bits")
    else:
        print("with nothing to compare of kopse's in some cells")


def lacks(options, cell, records, every):
    """Whether something of the cell is still to be run."""
    return any(skipped(name, cell, records, every) != {}
               for number in range(cell.rounds) for name in missing(options, cell, number, records))  # fmt: skip


def is_ours(record):
    """Whether a record tells of a fault of kopse."""
    return "/" not in record["program"] and record.get("fault", "").startswith(("other bits", "wrong", "failed"))


def estimate(cells, results):
    """Prints seconds of processor time by cell: of what is there, in all rounds."""
    total = 0
    for cell in cells:
        records = read_results(results / f"{cell.name}.jsonl")
        first = [r for r in records if r["round"] == 0]
        seconds = sum(r["cpu"] * (1 if r["cpu"] > ONCE or "seconds" not in r else cell.rounds) for r in first if "cpu" in r)
        total += seconds
        lacking = len(cell.names) - len(first)
        print(f"{cell.name:<28}{seconds:>8.0f} s" + (f", without {lacking} programs" if lacking else ""))
    print(f"{'in all':<28}{total:>8.0f} s")


# ---- One cell of the command line, printed


def run_file(options):
    path = Path(options.file) if Path(options.file).exists() else cache_folder() / options.file
    if not path.exists():
        sys.exit(f"no file {options.file}, neither here nor in {cache_folder()}")
    if options.k is None:
        sys.exit("how many clusters? -k is missing")
    names = options.algorithms
    if "/" in names[0]:
        sys.exit(f"{names[0]}: the first algorithm must be one of kopse's")
    cell = Cell(path.stem, options.k, options.max_iter, options.pairs or 3, tuple(names), None, options.threads)
    records = []
    with tempfile.TemporaryDirectory() as folder:
        data = part_of(path, sys.maxsize, options.columns, Path(folder))
        measure(options, cell, data, Path(folder), records, {}, lambda record: None)
        n, d = np.load(data, mmap_mode="r").shape
    print(f"{path.name}: n = {n:,}, d = {d}, k = {options.k:,}, threads = {options.threads}, rounds of at most "
          f"{options.max_iter} iterations; commit {options.commit}; {options.machine}")  # fmt: skip
    width = max(len(name) for name in names) + 2
    print(f"{'algorithm':<{width}}{'ms/iter':>10}{'ratio':>8}{'first':>9}{'last':>9}{'passes':>8}{'tree ms':>9}{'total s':>9}"
          f"{'% of n·k':>10}{'scores':>11}{'work':>13}{'MiB':>7}{'off':>9}  result")  # fmt: skip
    for name in names:
        print(line_of(name, [r for r in records if r["program"] == name], n * options.k, width))
    if options.out:
        options.out.write_text(json.dumps({"file": path.name, "n": n, "d": d, "k": options.k, "records": records}, indent=1))
    ours = [r for r in records if is_ours(r)]
    if ours:
        sys.exit(f"{ours[0]['program']}: {ours[0]['fault']}")


def middle(records, key, scale=1.0):
    """The median of a figure, or None where it is not known."""
    values = [record[key] for record in records if record.get(key) is not None]
    return scale * statistics.median(values) if values else None


def line_of(name, records, pairs, width):
    """What is printed of an algorithm: medians of all rounds."""
    faults = [r["fault"] for r in records if "fault" in r]
    if faults or not records:
        return f"{name:<{width}}{faults[0] if faults else ''}"
    found = [r | {"ratio": r["seconds"] / r["against"]} | ({"last": r["trace"][-1], "begin": r["trace"][0],
             "passes": statistics.mean(r["trace"]) / r["pass"]} if "trace" in r else {}) for r in records]  # fmt: skip
    figure = lambda key, form, scale=1.0: "" if (value := middle(found, key, scale)) is None else format(value, form)
    chosen = ", then ".join(f"{c['algorithm']} from {c['iteration']}" for c in found[0].get("choices", []))
    verdict = "not compared: clusters were empty, " if any("unchecked" in r for r in found) else "right, "
    verdict += f"{max(r['iterations'] for r in found)} iterations" + (f"; {chosen}" if chosen else "")
    return (f"{name:<{width}}{figure('seconds', '.2f', 1000):>10}{figure('ratio', '.2f'):>8}{figure('begin', '.1f', 1000):>9}"
            f"{figure('last', '.1f', 1000):>9}{figure('passes', '.2f'):>8}{figure('tree', '.0f', 1000):>9}{figure('total', '.3f'):>9}"
            f"{figure('distances', '.4f', 100 / pairs):>10}{figure('scores', ',.0f'):>11}{figure('work', ',.0f'):>13}"
            f"{figure('peak', '.0f', 2**-20):>7}{figure('off', '.0e'):>9}  {verdict}")  # fmt: skip


def positive(text):
    if (number := int(text)) < 1:
        raise ValueError
    return number


def share(text):
    if not 0 < (number := float(text)) <= 1:
        raise ValueError
    return number


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    program = next((ROOT / "build" / build / "kopse" for build in ("release", "test")
                    if (ROOT / "build" / build / "kopse").exists()), ROOT / "build" / "release" / "kopse")  # fmt: skip
    parser.add_argument("--kopse", type=Path, default=program, help=f"the program (default: {program.relative_to(ROOT)})")
    parser.add_argument("--python", default=sys.executable, help="the Python that has the peers (default: this one)")
    parser.add_argument("--pairs", type=positive, help="rounds (default: bench/paper.toml's; with FILE 3)")
    parser.add_argument("--limit", type=float, default=programs.LIMIT, help="seconds of a run (default: 60)")
    table = parser.add_argument_group("the tables")
    table.add_argument("--only", nargs="+", metavar="CELL", help="cells whose name begins like that, e.g. power-k250")
    table.add_argument("--programs", nargs="+", metavar="NAME", help="only these")
    table.add_argument("--scale", type=share, default=1, help="this share of the rows; at most a cluster for four rows")
    table.add_argument("--results", type=Path, help="the folder of results")
    table.add_argument("--again", action="store_true", help="measure anew what is there of the cells and programs named")
    table.add_argument("--estimate", action="store_true", help="run nothing; how long the cells take")
    one = parser.add_argument_group("one cell")
    one.add_argument("file", nargs="?", metavar="FILE", help=".npy file")
    one.add_argument("-k", type=int, help="clusters")
    one.add_argument("-a", "--algorithms", nargs="+", default=["auto", "lloyd"], metavar="NAME",
                     help="what to compare; ratios are to the first (default: auto lloyd)")  # fmt: skip
    one.add_argument("--max-iter", type=int, default=11, help="iterations (default: 11)")
    one.add_argument("--threads", type=int, default=1, help="(default: 1)")
    one.add_argument("--columns", help="only these, e.g. 0,1,2")
    one.add_argument("--out", type=Path, help="write all figures here, as JSON")
    return parser.parse_args()


def stop(number, _):
    """Ends the run; what a program has used is freed on the way out."""
    sys.exit(f"stopped by {signal.Signals(number).name}; the same command goes on from here")


def main():
    options = arguments()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    options.commit, options.machine = commit(), programs.machine()
    if not Path(options.kopse).exists():
        sys.exit(f"no program {options.kopse}: cmake --preset release && cmake --build --preset release")
    if options.scale < 1:
        programs.REPEATS = 1  # a trial
    if options.file:
        run_file(options)
    else:
        run_plan(options)


if __name__ == "__main__":
    main()
