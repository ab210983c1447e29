#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How bench/run.py runs a program, times it, and judges its result. A program is named

    X                 one of `kopse fit -a`; options follow a colon: dualtree:--leaf-size=40.
                      dualtree-kd and dualtree-cover are dualtree with that tree
    mlpack/X          X = naive, pelleg-moore, elkan, hamerly, dualtree, dualtree-covertree
    sklearn/X         X = lloyd, elkan
    sklearnex/lloyd   Intel's extension of scikit-learn
    faiss/flat        faiss.Kmeans over its IndexFlatL2, in float32
    geokmeans/X       X = lloyd, elkan, hamerly, annulus, exponion, ball, geo; in float32

Each run is a process of its own. Time is processor time where one thread is allowed, as other work on the machine would be
counted otherwise, and wall-clock time with more. An iteration is the mean of the second to the last: in the first mlpack
also builds its tree. kopse and mlpack print a line an iteration, at which their clocks are read; of the others, and of
mlpack where it is done in SHORT seconds, a run of one iteration is subtracted from a run of all, after libraries are loaded;
of kopse's runs as short its own wall clock is taken, of the median of REPEATS. `first` is the time to the end of the first iteration,
trees and all other preparation included, but no reading of files; `total` is that of the whole run, likewise.

A program that cannot do all iterations in LIMIT seconds does FEWER, or 1 where its first takes over LIMIT / FEWER; so says
its record. One that takes longer for a single one has no time; set-up may take another LIMIT.

The centroids after the last iteration are compared with those of kopse's reference after as many, which must be the same
bits for all of kopse's algorithms. `off` is the root of the mean squared distance from a centroid to kopse's, in units of
that from a row to its centroid. Right is up to 1e-9, or 0.1 for what computes in float32, which gives some rows to other
clusters. A wrong result has no time: it is kept, as a fault.

Tests for convergence are off in faiss (it has none), scikit-learn (tol=0; it still stops when no label changes) and
geokmeans (tol=0); mlpack stops when centroids move by less than 1e-5 in all. Empty clusters stay where they are, but faiss,
scikit-learn and geokmeans have policies of their own. Where kopse's result depends on its, theirs may also be that of kopse's
other one; else it is not compared, but for its inertia, which may be one percent larger: its time is `unchecked`. geokmeans
cannot be given a start: it draws rows by a seed, and what its lloyd has after one iteration is the start of the reference.
"""

import hashlib
import importlib.metadata
import json
import os
import platform
import re
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np

LIMIT = 60
FEWER = 3
SHORT = 1
REPEATS = 3
ITERATION = re.compile(r"iteration (\d+)[,:]")  # in the lines of kopse and mlpack
ALIASES = {"dualtree-kd": "dualtree", "dualtree-cover": "dualtree:--tree=cover"}
LIBRARIES = ("mlpack", "sklearn", "sklearnex", "faiss", "geokmeans")
PACKAGES = {"sklearn": "scikit-learn", "sklearnex": "scikit-learn-intelex", "faiss": "faiss-cpu"}
OWN_POLICY = ("faiss/", "sklearn/", "sklearnex/", "geokmeans/")  # for empty clusters
SINGLE = ("faiss/", "geokmeans/")  # compute in float32, as scikit-learn does where data are
ALIKE = 0.01  # by how much more inertia may be where centroids are not compared
MEMORY_SHARE = 0.5  # of the machine's, that a program may take
MOST_LINES = 100  # of a peer that has no line for each iteration: it tells of a dozen runs at most
spent = [0.0]  # seconds of processor time of all programs so far


class NoTime(Exception):
    """Why a run has no time."""


@dataclass
class Job:
    """What all programs of a round get."""

    data: Path
    k: int
    start: Path
    iterations: int
    threads: int
    limit: float
    kopse: Path
    python: str
    folder: Path
    seed: int = 0


# ---- The peers' side: a process of its own


def load_start(library, rows, k, seed, start):
    """The start, and for geokmeans what its lloyd has after one iteration."""
    if library != "geokmeans":
        return np.load(start)
    centroids, _ = geokmeans("lloyd", rows, np.empty((k, 0)), 0, seed)
    np.save(start, centroids)
    return centroids


def mlpack(algorithm, rows, start, iterations, _=0):
    """Its lines tell how many iterations it has done."""
    from mlpack import kmeans

    tell(begin=True)
    found = kmeans(input_=rows, clusters=len(start), initial_centroids=start, algorithm=algorithm,
                   max_iterations=iterations, allow_empty_clusters=True, verbose=True)  # fmt: skip
    return found["centroid"], iterations


def sklearn(algorithm, rows, start, iterations, _, module="sklearn"):
    import warnings
    from importlib import import_module

    warnings.simplefilter("ignore")  # that it did not converge
    KMeans = import_module(f"{module}.cluster").KMeans
    found = KMeans(len(start), init=start, n_init=1, max_iter=iterations, tol=0, algorithm=algorithm).fit(rows)
    return found.cluster_centers_, found.n_iter_


def sklearnex(algorithm, rows, start, iterations, seed):
    import daal4py

    daal4py.daalinit(int(os.environ["OMP_NUM_THREADS"]))
    return sklearn(algorithm, rows, start, iterations, seed, "sklearnex")


def faiss(_, rows, start, iterations, seed):
    from faiss import Kmeans

    search = Kmeans(rows.shape[1], len(start), niter=iterations, min_points_per_centroid=1,
                    max_points_per_centroid=len(rows))  # no sampling  # fmt: skip
    search.train(rows.astype(np.float32), init_centroids=start.astype(np.float32))
    return search.centroids, iterations


def geokmeans(algorithm, rows, start, iterations, seed):
    from geokmeans import GeoKMeans

    found = GeoKMeans(len(start), algorithm=algorithm, max_iter=iterations, tol=0, random_state=seed + 1).fit(rows)
    return found.cluster_centers_, found.n_iter_


def tell(**what):
    print(json.dumps(what), flush=True)


def peer(name, data, start, k, seed, iterations, fixed, limit, out):
    """Runs a peer, writes its centroids, and tells of what it does by lines. fixed: whether iterations are not to be fewer."""
    library, algorithm = name.split("/")
    package = PACKAGES.get(library, library)
    try:
        tell(version=importlib.metadata.version(package))
    except importlib.metadata.PackageNotFoundError:
        tell(version="unknown")
    rows = np.load(data)
    run = {"sklearn": sklearn, "sklearnex": sklearnex, "faiss": faiss, "geokmeans": geokmeans, "mlpack": mlpack}[library]
    clock = time.process_time if os.environ["OMP_NUM_THREADS"] == "1" else time.perf_counter
    if library == "mlpack":
        begin = clock()
        np.save(out, mlpack(algorithm, rows, np.load(start), iterations)[0])
        if clock() - begin > SHORT:
            return
        fixed = True
    few = rows[: 2 * k]
    run(algorithm, few, few[:k].astype(float), 1, seed)  # libraries are loaded
    start = load_start(library, rows, k, seed, start)

    def timed(most):
        """The median of as many runs as take about half a second, of nine at most."""
        seconds = []
        while not seconds or (len(seconds) < 9 and sum(seconds) < SHORT / 2):
            begin = clock()
            centroids, done = run(algorithm, rows, start, most, seed)
            seconds.append(clock() - begin)
            tell(iterations=done, seconds=seconds[-1])
        np.save(out, centroids)
        return statistics.median(seconds), done

    one, _ = timed(1)
    result = {"first": one, "total": one, "mean": one, "done": 1}
    if iterations > 1 and (fixed or one <= limit / FEWER):
        tries = [iterations] if fixed or iterations <= FEWER else [FEWER, iterations]
        for most in tries:
            if most == iterations and not fixed and one + (iterations - 1) * result["mean"] > limit:
                break
            total, done = timed(most)
            result = {"first": one, "total": total, "mean": max(0.0, total - one) / max(1, done - 1), "done": done, "asked": most}
    tell(result=result)


# ---- Runs


def environment(threads):
    """Of all programs: the number of threads of their libraries, and none of what names a processor for OpenBLAS."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    return kept | {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")}


def most_memory():
    return int(MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (most_memory(), most_memory()))


def follow(command, threads, patience, stop=lambda lines: False):
    """Runs a command: its exit status, its lines with the seconds used by then, and its peak memory. It is killed when it
    has printed nothing for so many seconds, or when stop(lines) says so: its status is None then."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env=environment(threads), preexec_fn=limit_memory)  # fmt: skip
    clock = (~process.pid << 3) | 2 if threads == 1 else time.CLOCK_MONOTONIC  # clock_getcpuclockid(3)
    killed = threading.Event()

    def kill():
        killed.set()
        process.kill()

    lines = []
    timer = threading.Timer(patience, kill)
    timer.start()
    try:
        for line in process.stdout:
            timer.cancel()
            lines.append((time.clock_gettime(clock), line.strip()))
            if not killed.is_set() and stop(lines):
                kill()
            timer = threading.Timer(patience, kill)
            timer.start()
        timer.cancel()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        spent[0] += usage.ru_utime + usage.ru_stime
    finally:
        timer.cancel()
        if process.returncode is None:
            process.kill()
            process.wait()
    return None if killed.is_set() else process.returncode, lines, usage.ru_maxrss * 1024


def ends_of(lines):
    """When iterations ended, from the lines that tell of them."""
    return [stamp for stamp, line in lines if ITERATION.search(line)]


def too_slow(iterations, limit):
    """A rule for follow(): whether a run will not have done so many in the limit."""

    def rule(lines):
        ends = ends_of(lines)
        if len(ends) == 2 and iterations > 1:
            return ends[1] - ends[0] > limit / FEWER
        if len(ends) in (FEWER, 2 * FEWER) and iterations > len(ends):  # later ones are faster where there are bounds
            slack = 3 if len(ends) == FEWER else 1.2
            return (iterations - len(ends)) * (ends[-1] - ends[-2]) > slack * limit
        return len(ends) > FEWER and ends[-1] - ends[0] > 1.2 * limit

    return rule


def check_status(name, status, lines):
    """Raises NoTime where a program has failed."""
    text = lines[-1][1] if lines else "it said nothing"
    if status is None or status == 0:
        return
    if "ModuleNotFoundError" in text or "ImportError" in text:
        raise NoTime(f"not there: {text.split(': ')[-1]}")
    if status == -signal.SIGKILL or re.search(r"memory|bad_alloc|allocate", text, re.IGNORECASE):
        raise NoTime("out of memory")
    raise NoTime(f"failed with {status}: {text[:200]}")


def follow_iterations(job, name, command_of, fixed):
    """Runs what prints a line an iteration, with fewer iterations where it is slow."""
    most = job.iterations
    while True:
        rule = (lambda lines: False) if fixed else too_slow(most, job.limit)
        status, lines, peak = follow(command_of(most), job.threads, 2 * job.limit, rule)
        check_status(name, status, lines)
        if status is not None:
            return most, lines, peak
        ends = ends_of(lines)
        if len(ends) < 2 or most == 1 or ends[1] - ends[0] > job.limit:  # silent for longer, or a second one that took longer
            raise NoTime(f"> {job.limit:g} s")
        most = FEWER if len(ends) >= FEWER and most > FEWER else 1


def times_of(ends, begin):
    """The figures of a run whose first iteration, with all that it needs, began then."""
    each = [end - start for start, end in zip(ends, ends[1:])]
    first = ends[0] - begin
    return {"seconds": statistics.mean(each) if each else first, "first": first, "total": ends[-1] - begin, "each": each}


def run_kopse(job, name, iterations=None, start=None, empty="keep", fixed=False):
    """The record of a run of kopse. iterations and start, where they are not the job's."""
    algorithm, *options = ALIASES.get(name, name).split(":")
    stats, centroids = job.folder / "stats.json", job.folder / "centroids.npy"

    def command(most):
        return [job.kopse, "fit", job.data, "-k", job.k, "-a", algorithm, "-I", start or job.start, "--empty", empty,
                "--max-iter", most, "--threads", job.threads, "-v", "--stats", stats, "-o", centroids, *options]  # fmt: skip

    def once(most):
        status, lines, _ = follow(command(most), job.threads, 10 * job.limit)
        check_status(name, status, lines)
        return record(most, lines)

    def record(most, lines):
        if not stats.exists() or not centroids.exists():
            raise NoTime("failed: it wrote nothing")
        return kopse_record(most, lines, json.loads(stats.read_text()), np.load(centroids))

    stats.unlink(missing_ok=True)
    if iterations is not None:
        return once(iterations)
    asked, lines, _ = follow_iterations(job, name, command, fixed)
    results = [record(asked, lines)]
    while len(results) < REPEATS and sum(results[0]["trace"]) < SHORT:
        results.append(once(asked))
    return sorted(results, key=lambda result: sum(result["trace"]))[len(results) // 2]


def kopse_record(asked, lines, figures, centroids):
    """What a run of kopse has told by its lines and --stats."""
    trace, at = figures["trace"], ends_of(lines)
    own = [entry["seconds"] for entry in trace]
    before = figures["seconds"]["tree"] + own[0]
    if sum(own) < SHORT:
        at = list(accumulate(own, initial=figures["seconds"]["tree"]))[1:]
    result = times_of(at, at[0] - before) | {
        "asked": asked, "iterations": figures["iterations"], "tree": figures["seconds"]["tree"], "trace": own,
        "distances": statistics.mean(entry["distances"] for entry in trace),
        "scores": statistics.mean(entry["node_scores"] for entry in trace),
        "pass": figures["pass_seconds"], "peak": figures["peak_bytes"], "inertia": figures["inertia"],
        "converged": figures["converged"], "empty": figures["empty_clusters"], "version": figures["version"],
        "of_start": trace[0]["inertia"], "n": figures["n"], "d": figures["d"], "choices": figures.get("choices", []), "centroids": centroids,
    }  # fmt: skip
    result["work"] = result["distances"] + result["scores"]
    result["bits"] = hashlib.sha256(centroids.tobytes() + repr(figures["inertia"]).encode()).hexdigest()[:16]
    return result


def run_peer(job, name, fixed):
    """The record of a run of a peer."""
    if name.split("/")[0] not in LIBRARIES:
        raise NoTime(f"failed: no library is called {name.split('/')[0]}; there are {', '.join(LIBRARIES)}")
    out, start = job.folder / "peer.npy", job.folder / "peer-start.npy"
    out.unlink(missing_ok=True)
    start.write_bytes(job.start.read_bytes())

    def command(most):
        return [job.python, __file__, "--peer", name, job.data, start, job.k, job.seed, most, int(fixed), job.limit, out]

    if name.startswith("mlpack/"):
        asked, lines, peak = follow_iterations(job, name, command, fixed)
        begins = [at for at, (_, line) in enumerate(lines) if '"begin"' in line]
        main = lines[begins[0] : begins[1]] if len(begins) > 1 else lines[begins[0] :]  # before short runs are repeated
        ends = ends_of(main)
        if not ends or not out.exists():
            raise NoTime("failed: it told of no iteration, or wrote nothing")
        result = times_of(ends, main[0][0]) | {"asked": asked, "iterations": len(ends)}
        if len(begins) > 1:
            one, total = json.loads(lines[-1][1])["result"]["first"], json.loads(lines[-1][1])["result"]["total"]
            result |= {"seconds": max(0.0, total - one) / max(1, len(ends) - 1), "first": one, "total": total}
        counted = [found[1] for _, line in main if (found := re.search(r"(\d+) distance calculations", line))]
        result["work"] = int(counted[-1]) / len(ends) if counted else None
    else:
        status, lines, peak = follow(command(job.iterations), job.threads, 2 * job.limit, lambda lines: len(lines) > MOST_LINES)
        check_status(name, status, lines)
        if status is None:
            raise NoTime(f"> {job.limit:g} s")
        if '"result"' not in (lines[-1][1] if lines else ""):
            raise NoTime("failed: it ended without a result")
        told = json.loads(lines[-1][1])["result"]
        result = {"seconds": told["mean"], "first": told["first"], "total": told["total"], "iterations": told["done"],
                  "asked": told.get("asked", 1)}  # fmt: skip
    result |= {"version": json.loads(lines[0][1])["version"], "peak": peak, "centroids": np.load(out)}
    narrow = np.load(job.data, mmap_mode="r").dtype == np.float32
    result["single"] = name.startswith(SINGLE) or bool(narrow and name.startswith("sklearn"))
    if name.startswith("geokmeans/"):
        result["start"] = start
    return result


def measure_seeding(job, init="k-means++"):
    """Seconds of `kopse seed`, its tree included, as a record."""
    stats = job.folder / "seed.json"
    command = [job.kopse, "seed", job.data, "-k", job.k, "--init", init, "--seed", job.seed, "--threads", job.threads, "-q",
               "-o", job.folder / "seed.npy", "--stats", stats]  # fmt: skip
    status, lines, peak = follow(command, job.threads, 2 * job.limit)
    check_status("seed", status, lines)
    if status is None:
        raise NoTime(f"> {job.limit:g} s")
    return {"seconds": json.loads(stats.read_text())["seconds"], "peak": peak}


def machine():
    """Name, family and model, widest vectors, cores and memory: names of rented processors tell too little."""
    lines = [line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line]
    cpu = {key.strip(): value.strip() for key, value in reversed(lines)}
    parts = [cpu.get("model name", platform.machine())]
    if "cpu family" in cpu:
        parts[0] += f" (family {cpu['cpu family']}, model {cpu['model']})"
    flags = cpu.get("flags", "").split()
    parts += [next((name for name, flag in (("AVX-512", "avx512f"), ("AVX2", "avx2")) if flag in flags), "no AVX2")] if flags else []
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return ", ".join([*parts, f"{os.cpu_count()} cores", f"{memory:.0f} GiB"])


# ---- Judging


def judge(name, result, expected, relocated, inertia_of):
    """What is wrong with a result, or None, how far off it is, and why it cannot be compared, or None. relocated(): the
    reference with the other policy for empty clusters. inertia_of(centroids): of all rows."""
    off = distance(result, expected)
    if "/" not in name:
        same = result["bits"] == expected["bits"] and result["iterations"] == expected["iterations"]
        return (None if same else "other bits"), off, None
    right = 0.1 if result.get("single") else 1e-9
    if off <= right:
        return None, off, None
    if name.startswith(OWN_POLICY) and result["centroids"].any():
        other = relocated()
        if (off_other := distance(result, other)) <= right:
            return None, off_other, None
        if distance(other, expected) > 0:
            excess = inertia_of(result["centroids"]) / inertia_of(expected["centroids"]) - 1
            if excess <= ALIKE:
                return None, off, "clusters were empty"
            return f"wrong: inertia {excess:+.1%}", off, None
    if result["iterations"] < expected["iterations"]:
        return f"stopped after {result['iterations']} iterations", off, None
    if not result["centroids"].any():
        return "returned no centroids", off, None
    return f"wrong: off by {off:.2g}", off, None


def distance(result, expected):
    """The root of the mean squared distance of centroids, in units of that from a row to its centroid."""
    if result["centroids"].shape != expected["centroids"].shape:
        return float("inf")
    apart = np.square(result["centroids"] - expected["centroids"]).sum(axis=1).mean()
    return float(np.sqrt(apart / max(expected["inertia"] / expected["n"], 1e-300)))


def random_start(data, k, seed, out):
    """Distinct rows, moved by a millionth of each column's deviation: rows of rounded data are full of ties, which every
    library breaks in its own way."""
    rows = np.load(data, mmap_mode="r")
    random = np.random.default_rng(seed)
    drawn = np.unique(rows[np.sort(random.permutation(len(rows))[: 4 * k])].astype(float), axis=0)
    if len(drawn) < k:
        sys.exit(f"{len(drawn)} distinct rows of {4 * k} drawn, {k} are needed")
    start = drawn[random.permutation(len(drawn))[:k]]
    deviation = np.array([np.std(rows[:, column].astype(float)) for column in range(rows.shape[1])])
    np.save(out, start + 1e-6 * deviation * random.standard_normal(start.shape))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        name, data, start, k, seed, iterations, fixed, limit, out = sys.argv[2:]
        peer(name, data, start, int(k), int(seed), int(iterations), fixed == "1", float(limit), out)
    elif sys.argv[1:2] == ["--start"]:
        random_start(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    else:
        print(__doc__)
