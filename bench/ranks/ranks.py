#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What several ranks cost: time and bytes of an iteration, for docs/distributed.md.

    bench/ranks/ranks.py stars-full.npy -k 5000                  two ranks beside two threads and one; bytes by ranks
    bench/ranks/ranks.py stars-full.npy -k 5000 --latency 0.001  each message that is waited for takes a millisecond more
    bench/ranks/ranks.py stars-full.npy -k 5000 --weak 400000    so many rows a rank, for 1 and 2 ranks
    bench/ranks/ranks.py stars-full.npy -k 5000 --rate 200       over a network of 200 Mbit/s between two name spaces (root, ip and tc)

FILE may be in the cache folder. Needs the program kopse_ranks (cmake --preset bench && cmake --build --preset bench) and mpirun. Ranks
and threads take turns, --pairs times; medians are printed. More ranks than cores are run for their bytes alone.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "datasets"))
from common import cache_folder  # noqa: E402

SPACES = ("kopse-a", "kopse-b")
ADDRESSES = ("10.213.0.1", "10.213.0.2")


def run(o, ranks, threads, more=()):
    """The iterations of a run: a list of what the program prints of each."""
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    rows = [] if o.weak is None else [str(o.weak)]
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", *more, "-n", str(ranks), str(o.program), str(o.file), str(o.k),
               str(o.iterations), o.algorithm, str(threads), "0", str(o.latency), *rows]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def figures(trace):
    """Of a run, with the last assignment of one that did not converge: seconds of an iteration and of its parts, bytes."""
    slowest = [max(one["work"]) for one in trace]
    exchange = [min(one["exchange"]) for one in trace]  # of the last to arrive
    whole = [w + e for w, e in zip(slowest, exchange)]
    return {
        "all": statistics.mean(whole), "first": whole[0], "work": statistics.mean(slowest), "exchange": statistics.mean(exchange),
        "wait": statistics.mean(max(one["wait"]) for one in trace), "bytes": statistics.mean(max(one["bytes"]) for one in trace),
        "least": min(max(one["bytes"]) for one in trace), "iterations": len(trace),
    }  # fmt: skip


def remove_network():
    """Where it is there."""
    for space in SPACES:
        subprocess.run(["ip", "netns", "del", space], capture_output=True)
    subprocess.run(["ip", "link", "del", "kopse-br"], capture_output=True)


@contextmanager
def network(rate):
    """Two name spaces with a wire of so many Mbit/s each way; yields what mpirun must be told."""
    say = lambda *words: subprocess.run(words, check=True, capture_output=True, text=True)
    remove_network()
    try:
        say("ip", "link", "add", "kopse-br", "type", "bridge")
        say("ip", "addr", "add", "10.213.0.254/24", "dev", "kopse-br")
        say("ip", "link", "set", "kopse-br", "up")
        for space, address in zip(SPACES, ADDRESSES):
            outer, inner = f"{space}-o", f"{space}-i"
            say("ip", "netns", "add", space)
            say("ip", "link", "add", outer, "type", "veth", "peer", "name", inner)
            say("ip", "link", "set", inner, "netns", space)
            say("ip", "link", "set", outer, "master", "kopse-br", "up")
            for words in (
                ["addr", "add", f"{address}/24", "dev", inner],
                ["link", "set", inner, "up"],
                ["link", "set", "lo", "up"],
            ):
                say("ip", "-n", space, *words)
            shaped = f"tbf rate {rate}mbit burst 64kb latency 1s"
            say("tc", "-n", space, "qdisc", "add", "dev", inner, "root", *shaped.split())
        with tempfile.TemporaryDirectory() as folder:
            agent, hosts = Path(folder) / "agent", Path(folder) / "hosts"
            cases = "\n".join(f"{address}) space={space} ;;" for space, address in zip(SPACES, ADDRESSES))
            agent.write_text(
                f'#!/bin/sh\ncase "$1" in\n{cases}\nesac\nshift\n'
                'exec ip netns exec "$space" unshare -u sh -c "hostname $space; $*"\n'
            )  # fmt: skip
            agent.chmod(0o755)
            hosts.write_text("".join(f"{address} slots=1\n" for address in ADDRESSES))
            net = "10.213.0.0/24"
            yield ["--hostfile", str(hosts), "--map-by", "node", "--mca", "plm_rsh_agent", str(agent), "--mca", "btl", "tcp,self",
                   "--mca", "btl_tcp_if_include", net, "--mca", "oob_tcp_if_include", net, "-x", "OMPI_ALLOW_RUN_AS_ROOT",
                   "-x", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"]  # fmt: skip
    finally:
        remove_network()


def line(name, rounds, reference=None):
    """Medians of all rounds, and of the ratios to another's."""
    of = lambda key: statistics.median(r[key] for r in rounds)
    ratio = "" if reference is None else f"{statistics.median(r['all'] / s['all'] for r, s in zip(rounds, reference)):.2f}"
    print(f"{name:<24}{1e3 * of('all'):>9.2f}{ratio:>7}{1e3 * of('first'):>9.1f}{1e3 * of('work'):>9.2f}{1e3 * of('wait'):>9.2f}"
          f"{1e3 * of('exchange'):>10.3f}{of('bytes'):>12,.0f}{of('least'):>11,.0f}{rounds[0]['iterations']:>6}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    programs = [ROOT / "build" / build / "bench" / "ranks" / "kopse_ranks" for build in ("bench", "test")]
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("-k", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=31)
    parser.add_argument("--algorithm", default="auto")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds that each message takes more")
    parser.add_argument("--weak", type=int, metavar="ROWS", help="rows of a rank, in place of all divided")
    parser.add_argument("--rate", type=int, metavar="MBIT", help="of a network between two ranks")
    parser.add_argument("--ranks", type=int, nargs="*", default=[4, 8, 16], help="for their bytes (default: 4 8 16)")
    parser.add_argument("--program", type=Path, default=next((p for p in programs if p.exists()), programs[0]))
    o = parser.parse_args()
    if not o.file.exists():
        o.file = cache_folder() / o.file
    o.file = o.file.resolve()
    print(f"{o.file.name}, k = {o.k:,}, {o.algorithm}, at most {o.iterations} iterations, {o.pairs} rounds"
          + (f", {1e3 * o.latency:g} ms a message" if o.latency else "") + (f", {o.weak:,} rows a rank" if o.weak else ""))  # fmt: skip
    print(
        f"{'ms an iteration':<24}{'all':>9}{'ratio':>7}{'first':>9}{'work':>9}{'wait':>9}{'exchange':>10}{'bytes':>12}{'least':>11}{'its':>6}"
    )
    one, threads, two = [], [], []
    with network(o.rate) if o.rate else tempfile.TemporaryDirectory() as more:
        for _ in range(o.pairs):
            one.append(figures(run(o, 1, 1)))
            if o.weak is None:
                threads.append(figures(run(o, 1, 2)))
            two.append(figures(run(o, 2, 1, more if o.rate else ())))
    line("1 rank", one)
    if threads:
        line("1 rank, 2 threads", threads, one)
    line("2 ranks", two, threads or one)
    for ranks in o.ranks if not (o.rate or o.weak or o.latency) else ():
        found = figures(run(o, ranks, 1))
        print(f"{f'{ranks} ranks':<24}{'':>53}{found['bytes']:>12,.0f}{found['least']:>11,.0f}{found['iterations']:>6}")
    if o.rate or o.latency:
        of = lambda key: statistics.median(r[key] for r in two)
        wire = of("bytes") * 8 / (o.rate * 1e6) if o.rate else 0.0
        print(f"model of the exchange: {1e3 * (2 * o.latency + wire):.3f} ms of messages")


if __name__ == "__main__":
    main()
