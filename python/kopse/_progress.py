# SPDX-License-Identifier: BSD-3-Clause
"""How far a run is: one line that is written over in terminals and notebooks, lines of text elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TextIO

from ._settings import as_callback, as_verbose

Record = dict[str, Any]
Callback = Callable[[int, Record], object]

PAUSE = 0.1  # seconds between two updates in place


def in_place(stream: TextIO) -> bool:
    """Does \\r bring us back to the start of the line? In a terminal, and in a notebook's output."""
    return bool(getattr(stream, "isatty", lambda: False)()) or type(stream).__module__.startswith("ipykernel")


class Progress:
    """Calls the user's callback, and prints.

    verbose=1 keeps one line up to date where it can be written over, and otherwise prints the last iteration alone;
    verbose=2 prints a line an iteration.
    """

    def __init__(self, verbose: int, callback: Callback | None, n: int, k: int, max_iter: int, runs: int = 1) -> None:
        self.verbose = as_verbose(verbose) if sys.stderr is not None else 0  # without a console there is none
        self.callback = as_callback(callback)
        self.pairs = n * k  # 0: not known
        self.max_iter = max_iter
        self.run, self.runs = 0, runs
        self.stream = sys.stderr
        self.rewrites = verbose == 1 and in_place(self.stream)
        self.start = time.monotonic()
        self.shown = -1.0
        self.line = ""
        self.width = 0

    @property
    def wanted(self) -> Callback | None:
        """What to call after each iteration; None if nobody wants to know."""
        return self if self.verbose or self.callback is not None else None

    def __call__(self, iteration: int, record: Record) -> None:
        if iteration == 1 or self.run == 0:  # a fit that was taken up goes on in the midst of a run
            self.run += 1
            self.start = time.monotonic() - record["seconds"]
        if self.verbose:
            self.show(iteration, record)
        if self.callback is not None:
            self.callback(iteration, record)  # at last, for it may change the record

    def show(self, iteration: int, record: Record) -> None:
        seconds = time.monotonic() - self.start
        self.line = self.describe(iteration, record, seconds)
        if self.verbose > 1:
            self.write(self.line + "\n")
        elif self.rewrites and time.monotonic() - self.shown >= PAUSE:
            self.shown = time.monotonic()
            self.rewrite()

    def describe(self, iteration: int, record: Record, seconds: float) -> str:
        pruned = f", {100 * (1 - record['distances'] / self.pairs):.2f} % pruned" if self.pairs else ""
        pace = iteration / seconds if seconds > 0 else 0.0
        which = f"run {self.run}/{self.runs}, " if self.runs > 1 else ""
        return (
            f"k-means: {which}iteration {iteration} (of {self.max_iter} at most), {record['labels_changed']:,} labels changed, "
            f"inertia {record['inertia']:.6g}{pruned} [{seconds:.1f} s, {pace:.3g}/s]"
        )

    def rewrite(self) -> None:
        # Blanks wipe what is left of a longer line; a notebook knows no control sequence for it.
        self.write("\r" + self.line.ljust(self.width))
        self.width = len(self.line)

    def write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):  # full, or closed: a fit is worth more than its progress
            self.verbose = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self.verbose != 1 or not self.line:
            return
        if self.rewrites:
            self.rewrite()
            self.write("\n")
        else:
            self.write(self.line + "\n")
