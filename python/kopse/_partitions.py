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


@dataclass
class Job:
    """What a partition is to do: as small as a message, its rows apart."""

    part: int  # from 1
    names: list[str]  # of all, the first included, for messages
    settings: dict[str, Any]  # of options()
    threads: int
    init: str | None = None
    seed: int = 0
    of_fit: bool = True  # else of an inertia

    def options(self, centers: npt.NDArray[np.float64] | None) -> _core.Options:
        """The library's."""
        o = options(**self.settings)
        o.threads = self.threads
        if self.init is not None:
            o.init, o.seed = self.init, self.seed
        elif centers is not None:
            o.start_from(centers)
        return o

    def run(
        self,
        rows: Rows,
        weights: npt.NDArray[np.float64] | None,
        centers: npt.NDArray[np.float64] | None,
        talk: Callable[[bytes], Answer],
        pulse: Callable[[], None],
    ) -> Any:
        """Does it: a fit's stats, or None."""
        if self.settings["spherical"] and len(rows) > 0:
            rows = _core.normalised(rows, self.threads)
        elif self.settings["spherical"]:
            rows = rows.astype(np.float64)
        if not self.of_fit:
            assert centers is not None
            return _core.inertia_of_one(rows, centers, weights, self.threads, self.names, self.part, talk, pulse)
        return _core.fit_one(rows, self.settings["k"], self.options(centers), weights, self.names, self.part, talk, pulse)


class Partition:
    """One of them. `alive` tells whether anybody may still ask it."""

    def __init__(self, run: Callable[..., Any], alive: Callable[[], bool] = lambda: True) -> None:
        self.alive = alive
        self.closed = False
        self.number = 0  # of the last message
        self.last: Turn | None = None
        self.guard = threading.Lock()
        self.answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self.turns: queue.SimpleQueue[Turn] = queue.SimpleQueue()
        threading.Thread(target=self._work, args=(run,), name="kopse-partition", daemon=True).start()

    def _work(self, run: Callable[..., Any]) -> None:
        try:
            turn: Turn = "done", run(self._talk, self._look)
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

    names: list[str]

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
        self.reply: Answer | None = None
        self.partitions = [Partition(run) for run in runs]

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
