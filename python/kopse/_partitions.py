# SPDX-License-Identifier: BSD-3-Clause
"""Rows that are spread over partitions: how each works beside its rows, and how they all meet.

A partition is a thread that computes until it has a message for the others, and then waits for their answer. The
messages meet where the fit was called, at the first partition, which has no rows: it collects one of each, and hands
all of them back, or what they sum up to. How they get there is a transport: `Here`, in one process; others derive from
`Transport`. What is in the messages is the library's business (kopse/reduction.hpp).
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Rows
from ._settings import options

Answer = list[bytes]
Turn = tuple[str, Any]  # what a partition has come to: "message" and bytes, "done" and a value, "failed" and why, "closed"

LOOK = 0.5  # seconds between two looks whether anybody still wants an answer


class Closed(Exception):
    """Nobody waits for this partition any more."""


class Lost(Exception):
    """A partition is no more: its worker has gone, and with it all but the data."""


def names_of(parts: int) -> list[str]:
    """For messages: of the first, and of those that have rows."""
    return ["the caller", *(f"partition {i} of {parts}" for i in range(parts))]


@dataclass
class Work:
    """What all of them do: a fit, or the inertia of rows about centers."""

    settings: dict[str, Any]  # of options(); of an inertia only `spherical`
    init: str | None = None  # None: the centers are given
    seed: int = 0
    centers: npt.NDArray[np.float64] | None = None
    of_fit: bool = True

    def options(self, threads: int) -> _core.Options:
        """The library's."""
        o = options(**self.settings)
        o.threads = threads
        if self.init is not None:
            o.init, o.seed = self.init, self.seed
        elif self.centers is not None:
            o.start_from(self.centers)
        return o


@dataclass
class Job:
    """The part of one of them."""

    part: int  # from 1
    parts: int  # with rows
    threads: int
    work: Work

    def run(
        self,
        rows: Rows,
        weights: npt.NDArray[np.float64] | None,
        talk: Callable[[bytes], Answer],
        pulse: Callable[[], None],
    ) -> Any:
        """Does it: a fit's stats, or None."""
        work, names = self.work, names_of(self.parts)
        if work.settings["spherical"]:
            rows = _core.normalised(rows, self.threads) if len(rows) > 0 else rows.astype(np.float64)
        if work.of_fit:
            o = work.options(self.threads)
            return _core.fit_one(rows, work.settings["k"], o, weights, names, self.part, talk, pulse)
        assert work.centers is not None
        return _core.inertia_of_one(rows, work.centers, weights, self.threads, names, self.part, talk, pulse)


class Partition:
    """One of them. `alive` tells whether anybody may still ask it."""

    def __init__(self, run: Callable[..., Any], alive: Callable[[], bool] = lambda: True) -> None:
        self.run, self.alive = run, alive
        self.closed = False
        self.number = 0  # of the last message
        self.last: Turn | None = None
        self.guard = threading.Lock()
        self.answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self.turns: queue.SimpleQueue[Turn] = queue.SimpleQueue()

    def start(self) -> None:
        """Begins its work."""
        # No daemon: the library must have left it before the interpreter ends. It looks up often enough.
        threading.Thread(target=self._work, name="kopse-partition", daemon=False).start()

    def _work(self) -> None:
        try:
            turn: Turn = "done", self.run(self._talk, self._look)
        except Closed:
            turn = "closed", None
        except Exception as error:
            turn = "failed", error
        self.turns.put(turn)

    def _talk(self, message: bytes) -> Answer:
        self.turns.put(("message", message))
        while True:
            try:
                return self.answers.get(timeout=LOOK)
            except queue.Empty:
                self._look()

    def _look(self) -> None:
        if self.closed or not self.alive():
            raise Closed

    def close(self) -> None:
        """Ends its work."""
        self.closed = True

    def turn(self, number: int, answer: Answer | None) -> Turn | None:
        """Its message of that number, counted from 0, which the answer to the one before leads to. The last one may be
        asked for again; for any other it is not the partition that is meant, and the turn None."""
        with self.guard:
            if self.last is not None and number == self.number:
                return self.last
            if number != (0 if self.last is None else self.number + 1):
                return None
            if answer is not None:
                self.answers.put(answer)
            self.number, self.last = number, self.turns.get()
            return self.last


class Transport:
    """Carries messages and answers. To be used as a context, which ends all partitions."""

    names: list[str]  # of all, the first included

    def collect(self) -> list[bytes]:
        """A message of each partition, in their order; waits for the slowest.

        Raises
        ------
        Lost
            Where a partition is no more.
        Exception
            What a partition has raised before it could take part.
        """
        return [self._message(part, turn) for part, turn in enumerate(self._turns(), 1)]

    def answer(self, answer: Answer) -> None:
        """To each; it does not wait."""
        raise NotImplementedError

    def results(self) -> list[Any]:
        """What the partitions have come to; None where that is not known."""
        return [value if kind == "done" else None for kind, value in self._turns()]

    def _turns(self) -> list[Turn]:
        raise NotImplementedError

    def _message(self, part: int, turn: Turn) -> bytes:
        kind, value = turn
        if kind == "failed":
            raise type(value)(f"{self.names[part]}: {value}") from value
        if kind != "message":
            raise Lost(f"{self.names[part]} has ended")
        message: bytes = value
        return message

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Transport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Here(Transport):
    """Partitions in this process."""

    def __init__(self, names: list[str], runs: list[Callable[..., Any]]) -> None:
        self.names = names
        self.number = 0
        self.partitions = [Partition(run) for run in runs]
        for partition in self.partitions:
            partition.start()

    def _turns(self) -> list[Turn]:
        turns = []
        for partition in self.partitions:
            turn = partition.turn(self.number, None)
            assert turn is not None
            turns.append(turn)
        return turns

    def answer(self, answer: Answer) -> None:
        for partition in self.partitions:
            partition.answers.put(answer)
        self.number += 1

    def close(self) -> None:
        for partition in self.partitions:
            partition.close()
