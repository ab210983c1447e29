# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of Dask's collections as partitions, in the memory of workers, and how messages get there and back."""

from __future__ import annotations

import contextlib
import functools
import pickle
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import Any

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Rows, as_rows, as_weights, to_float
from ._partitions import Answer, Here, Job, Lost, Partition, Transport, Turn, Work, names_of
from ._settings import threads

SMALL = 1 << 16  # bytes of what is sent with each request, rather than as tasks that workers hand one another
PIECE = 1 << 22  # bytes of such a task: less than what Dask warns of
LOOK = 1.0  # seconds between two looks whether all workers are there, while their messages are awaited

Weights = npt.NDArray[np.float64] | None


@contextlib.contextmanager
def named(name: str) -> Iterator[None]:
    """What is wrong with it is said with its name."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def as_array(X: Any) -> Any:
    """A dask array of rows, whose blocks have all columns."""
    frame = hasattr(type(X), "to_dask_array")
    rows = X if isinstance(X, da.Array) else X.to_dask_array() if frame else None
    if rows is None:
        raise TypeError(f"X is a {type(X).__name__}: expected a dask array or data frame")
    if rows.ndim != 2:
        raise ValueError(f"Expected 2D array, got {rows.ndim}D array instead for X.")
    return rows.rechunk({1: -1}) if rows.numblocks[1] > 1 else rows


# ---- Data


class Blocks:
    """The blocks of X as partitions: in the memory of workers, or here where there is no client."""

    def __init__(self, X: Any, sample_weight: Any) -> None:
        blocks = list(as_array(X).to_delayed().ravel())
        self.names = names_of(len(blocks))
        self.client = _client()
        self.recipes = [dask.delayed(_rows_of)(block, name) for block, name in zip(blocks, self.names[1:])]
        self.rows = self._computed(self.recipes)
        shapes = self._now(_shape_of, self.rows)
        self.lengths = [length for length, _, _ in shapes]
        self.n = sum(self.lengths)
        if self.n == 0:
            raise ValueError("Found array with 0 sample(s) for X while a minimum of 1 is required.")
        self.d, self.kind = next((d, kind) for length, d, kind in shapes if length > 0)
        self.no_rows: Rows = np.empty((0, self.d), self.kind)
        for i, (length, d, kind) in enumerate(shapes):
            if length == 0 and (d, kind) != (self.d, self.kind):  # those without rows may be of any width
                self.recipes[i] = dask.delayed(np.empty)((0, self.d), self.kind)
                self.rows[i] = self._computed([self.recipes[i]])[0]
        self.weight_recipes = self._weights(sample_weight)
        self.weights = self._computed(self.weight_recipes) if self.weight_recipes else [None] * len(blocks)
        self._now(_shape_of, [w for w in self.weights if w is not None])  # what is wrong with them is known now

    def renew(self) -> None:
        """After a loss: what the cluster does not make again by itself is asked for again."""
        if self.client is None:
            return
        if self.client.status != "running":
            raise RuntimeError("the client was closed during the fit")
        while not self.client.nthreads():
            time.sleep(0.1)
        if any(future.status in ("cancelled", "lost") for future in self.rows):
            self.rows = self._computed(self.recipes)
        if any(future is not None and future.status in ("cancelled", "lost") for future in self.weights):
            self.weights = self._computed(self.weight_recipes)

    def _computed(self, delayed: list[Any]) -> list[Any]:
        if self.client is None:
            return list(dask.compute(*delayed))
        return list(self.client.compute(delayed))

    def _now(self, function: Callable[..., Any], *of: list[Any]) -> list[Any]:
        """function(block) of each, computed."""
        if self.client is None:
            return [function(*each) for each in zip(*of)]
        return list(self.client.gather(self.client.map(function, *of, pure=False)))

    def _weights(self, weights: Any) -> list[Any]:
        """Recipes."""
        if weights is None:
            return []
        if not dask.is_dask_collection(weights):
            weights = da.from_array(as_weights(weights, self.n), chunks=self.n)
        if not isinstance(weights, da.Array) and not hasattr(type(weights), "to_dask_array"):
            raise TypeError(f"sample_weight is a {type(weights).__name__}: expected a dask array or series, an array, or a number")
        w = weights if isinstance(weights, da.Array) else weights.to_dask_array()
        if w.ndim == 0:
            w = da.from_array(as_weights(w.compute(), self.n), chunks=self.n)
        if w.ndim == 2 and w.shape[1] == 1:
            w = w[:, 0]
        if w.ndim != 1:
            raise ValueError(f"Sample weights must be 1D array or scalar, got {w.ndim}D array")
        if not np.isnan(w.shape[0]):
            if w.shape != (self.n,):
                raise ValueError(f"sample_weight.shape == {w.shape}, expected {(self.n,)}!")
            w = w.rechunk((tuple(self.lengths),))
        elif w.numblocks[0] != len(self.lengths):
            raise ValueError(
                f"sample_weight has {w.numblocks[0]} blocks of unknown length, expected those of X, {len(self.lengths)}"
            )
        parts = zip(w.to_delayed(), self.lengths, self.names[1:])
        return [dask.delayed(_weights_of)(part, length, name) for part, length, name in parts]

    def start(self, work: Work, n_jobs: int | None) -> Transport:
        """The partitions, at work."""
        jobs = [Job(part, len(self.rows), share, work) for part, share in enumerate(self._threads(n_jobs), 1)]
        parts = zip(jobs, self.rows, self.weights)
        if self.client is None:
            return Here(self.names, [functools.partial(job.run, rows, weights) for job, rows, weights in parts])
        return OnWorkers(self.client, self.names, list(parts), work.centers)

    def like(self, work: Work) -> Rows:
        """No rows, of the type that partitions cluster."""
        return self.no_rows.astype(np.float64) if work.settings["spherical"] else self.no_rows

    def _threads(self, n_jobs: int | None) -> list[int]:
        if n_jobs is not None:
            return [threads(n_jobs)] * len(self.rows)
        if self.client is None:
            return [max(1, _core.available_threads() // len(self.rows))] * len(self.rows)
        of_workers = self.client.nthreads()
        with losses():
            holders = [next(iter(found), None) for found in self.client.who_has(self.rows).values()]
        if len(holders) < len(self.rows):  # equal blocks are one
            return [1] * len(self.rows)
        return [max(1, of_workers.get(holder, 1) // holders.count(holder)) for holder in holders]

    def __enter__(self) -> Blocks:
        return self

    def __exit__(self, *_: object) -> None:
        self.rows, self.weights = [], []


@contextlib.contextmanager
def losses() -> Iterator[None]:
    """What distributed raises when a worker is gone is a loss; but a TimeoutError may be one of patience."""
    from distributed import TimeoutError
    from distributed.comm import CommClosedError

    try:
        yield
    except TimeoutError:
        raise
    except (CommClosedError, CancelledError, OSError) as error:
        raise Lost(str(error)) from error


@contextlib.contextmanager
def beside_tasks() -> Iterator[None]:
    """In a task on a worker: others may take its place meanwhile, as they are waited for."""
    try:
        from distributed import get_worker, rejoin, secede

        get_worker()
    except (ImportError, ValueError):
        yield
        return
    secede()
    try:
        yield
    finally:
        rejoin()


def _client() -> Any:
    """The client in use, or None."""
    try:
        import distributed
    except ImportError:
        return None
    try:
        client: Any = distributed.default_client()
    except ValueError:
        return None
    if client.status == "closed":
        raise RuntimeError("the Dask client is closed: open another, or none, to compute in this process")
    if client.asynchronous:
        raise ValueError("the client is asynchronous: kopse.dask waits for its results, and needs one that is not")
    return client


def _rows_of(block: Any, name: str) -> Rows:
    with named(name):
        if len(getattr(block, "shape", ())) == 2 and block.shape[0] == 0:
            return to_float(np.empty(block.shape, block.dtype))
        return as_rows(block)


def _weights_of(part: Any, length: int, name: str) -> Weights:
    with named(name):
        return as_weights(part, length)


def _shape_of(array: Any) -> tuple[int, int, str]:
    return len(array), array.shape[-1], array.dtype.str


# ---- On workers

_partitions: dict[tuple[str, str], Partition] = {}  # of this process, by worker and name


def _begin(name: str, job: Job, rows: Rows, weights: Weights, centers: list[bytes]) -> tuple[str, Turn | None]:
    """A task, whose result stands for the partition: where it is released, that ends."""
    from distributed import get_worker
    from distributed.core import Status

    worker = get_worker()
    job.work.centers = pickle.loads(b"".join(centers))

    def alive() -> bool:
        return name in worker.state.tasks and worker.status not in (Status.closing, Status.closed, Status.failed)

    def run(talk: Callable[[bytes], Answer], pulse: Callable[[], None]) -> Any:
        try:
            return job.run(rows, weights, talk, pulse)
        finally:
            _partitions.pop((worker.address, name), None)

    partition = _partitions[worker.address, name] = Partition(run, alive)
    partition.start()  # it may end at once, and is then to be found
    return worker.address, partition.turn(0, None)


def _turn(name: str, number: int, answer: list[bytes]) -> tuple[str, Turn | None]:
    """A task: hands a partition an answer, and waits for its next message. None where it is not here."""
    from distributed import get_worker

    address = get_worker().address
    partition = _partitions.get((address, name))
    return address, None if partition is None else partition.turn(number, pickle.loads(b"".join(answer)))


class OnWorkers(Transport):
    """Partitions on the workers of a cluster, reached by tasks, so that the scheduler sees who has work to do."""

    def __init__(self, client: Any, names: list[str], parts: list[tuple[Job, Any, Any]], centers: Weights) -> None:
        self.client, self.names = client, names
        self.number = 0
        self.homes: list[str] = []  # the workers
        fit = uuid.uuid4().hex
        self.keys = [f"kopse-partition-{fit}-{job.part}" for job, _, _ in parts]
        shared = self._sent(centers)
        self.begun = [
            client.submit(
                _begin, key, replace(job, work=replace(job.work, centers=None)), rows, weights, shared, key=key, pure=False
            )
            for key, (job, rows, weights) in zip(self.keys, parts)
        ]
        self.tasks = self.begun

    def _turns(self) -> list[Turn]:
        found = self._gathered()
        self.homes = [address for address, _ in found]
        for part, (address, turn) in enumerate(found, 1):
            if turn is None:
                raise Lost(f"{self.names[part]} was lost by its worker {address}")
        return [turn for _, turn in found]

    def _gathered(self) -> list[Any]:
        from distributed import TimeoutError, wait
        from distributed.scheduler import KilledWorker

        async def gather() -> list[Any]:
            return list(await self.client.gather(self.tasks, asynchronous=True))

        patience = LOOK
        while True:
            try:
                with losses():
                    wait(self.tasks, timeout=LOOK)
            except TimeoutError:
                self._expect_homes()
                continue
            for task in self.tasks:
                if task.status == "error":
                    failure = task.exception()
                    raise Lost(str(failure)) if isinstance(failure, KilledWorker) else failure
                if task.status != "finished":
                    raise Lost(f"a task of {self.names[0]} was {task.status}")
            try:
                with losses():
                    found: list[Any] = self.client.sync(gather, callback_timeout=patience)
                    return found
            except TimeoutError:
                patience = min(2 * patience, 3600.0)
                self._expect_homes()

    def _expect_homes(self) -> None:
        # What only a worker may do which has gone, or do again, would be waited for for ever.
        if gone := set(self.homes).difference(self.client.nthreads()):
            raise Lost(f"{' and '.join(sorted(gone))} left")

    def _sent(self, value: Any) -> list[Any]:
        """For all workers, pickled. What client.scatter() sends goes with its worker, or waits for one that has gone; tasks
        are done again."""
        packed = pickle.dumps(value)
        if len(packed) <= SMALL:
            return [packed]
        pieces = [packed[at : at + PIECE] for at in range(0, len(packed), PIECE)]
        return [self.client.submit(bytes, piece, key=f"kopse-piece-{uuid.uuid4().hex}", pure=False) for piece in pieces]

    def answer(self, answer: Answer) -> None:
        reply = self._sent(answer)
        self.number += 1
        self.tasks = [
            self.client.submit(
                _turn, key, self.number, reply, workers=[home], pure=False, priority=1, key=f"kopse-turn-{uuid.uuid4().hex}"
            )
            for key, home in zip(self.keys, self.homes)
        ]

    def results(self) -> list[Any]:
        try:
            return super().results()
        except Lost:
            return [None] * len(self.keys)

    def close(self) -> None:
        for task in {*self.tasks, *self.begun}:
            task.release()
