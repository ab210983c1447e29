# SPDX-License-Identifier: BSD-3-Clause
"""Settings that functions and estimators share, checked and handed to the library."""

from __future__ import annotations

import math
import numbers
import os
import re
from typing import Any

import numpy as np

from . import _core

EMPTY_POLICIES = ("relocate", "keep")
MANY_THREADS = 64  # as many may be asked for where there are fewer cores


def as_int(value: Any, name: str, least: int, most: int | None = None) -> int:
    """An integer, of numpy's too, within bounds."""
    number = int(value) if isinstance(value, numbers.Integral) and not isinstance(value, bool) else None
    if number is None or number < least or (most is not None and number > most):
        bounds = f">= {least}" if most is None else f"in [{least}, {most}]"
        raise ValueError(f"{name} must be an int {bounds}. Got {value!r} instead.")
    return number


def _as_amount(value: Any, expected: str) -> float:
    """A number >= 0."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or value != value or value < 0:
        raise ValueError(f"{expected} >= 0. Got {value!r} instead.")
    try:
        return float(value)
    except OverflowError:  # an int of hundreds of digits
        return math.inf


def as_tol(value: Any) -> float:
    """A tolerance: a number >= 0."""
    return _as_amount(value, "tol must be a float")


def as_seconds(value: Any, name: str) -> float:
    """A time: a number >= 0."""
    return _as_amount(value, f"{name} must be a number of seconds")


def as_path(value: Any, name: str) -> str:
    """The path of a file: text, or an os.PathLike."""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise ValueError(f"{name} must be the path of a file, or None. Got {value!r} instead.")
    return os.fsdecode(value)


def as_verbose(value: Any) -> int:
    """0, 1 or 2; True is 1."""
    return int(value) if isinstance(value, (bool, np.bool_)) else as_int(value, "verbose", 0)


def as_bool(value: Any, name: str) -> bool:
    """True or False; any text would be true, 'no' as well."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False. Got {value!r} instead.")
    return bool(value)


def as_callback(value: Any) -> Any:
    """A callable, or None."""
    if value is not None and not callable(value):
        raise ValueError(f"callback must be callable or None. Got {value!r} instead.")
    return value


def as_ks(value: Any) -> list[int]:
    """Numbers of clusters: one, several, or text such as '2:4096'."""
    if isinstance(value, str):
        return _core.parse_ks(value)
    if isinstance(value, (numbers.Integral, bytes)):  # a list of bytes would be their codes
        value = [value]
    try:
        several = list(value)
    except TypeError:
        raise ValueError(f"ks must be an int, several, or text such as '2:4096'. Got {value!r} instead.") from None
    return [as_int(k, "each of ks", 1) for k in several]


def as_tree(value: Any) -> str:
    """A name; the library knows which there are."""
    if not isinstance(value, str):
        raise ValueError(f"tree must be one of {', '.join(map(repr, _core.trees))}. Got {value!r} instead.")
    return value


def one_of(value: Any, name: str, known: tuple[str, ...]) -> str:
    """One of a list of names."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}. Got {value!r} instead.")
    return value


def threads(n_jobs: int | None) -> int:
    """Threads by joblib's convention; 0 = as many as there are, fewer where the work is small.

    None means all, but no more than the environment's OMP_NUM_THREADS, by which joblib shares the cores among
    its worker processes; -1 all whatever it says, -2 all but one. More than four a core, or 64 if that is more,
    are never started: they would take memory and give nothing.
    """
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
        if not re.fullmatch("0*[1-9][0-9]{0,8}", limit):
            return 0
        return min(int(limit), _core.available_threads())
    jobs = as_int(n_jobs, "n_jobs", -(2**31), 2**31 - 1)
    if jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning: None is all cores, 1 one, -2 all but one")
    if jobs < -1:
        return max(1, _core.available_threads() + 1 + jobs)
    return min(max(0, jobs), max(MANY_THREADS, 4 * _core.available_threads()))


def as_algorithm(value: Any) -> str:
    """A name; the library knows which there are."""
    if not isinstance(value, str):
        raise ValueError(f"algorithm must be a name, one of {', '.join(map(repr, _core.algorithms))}. Got {value!r} instead.")
    return value


def seed_of(random_state: Any) -> int:
    """An int is the seed itself; a RandomState, a Generator, or None, which is numpy's global one, is asked for one."""
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return as_int(random_state, "random_state", 0, 2**64 - 1)
    if random_state is None or random_state is np.random:
        random_state = np.random.mtrand._rand
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**63 - 1, dtype=np.int64))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**63 - 1))
    raise ValueError(f"{random_state!r} cannot be used to seed: expected an int >= 0, a RandomState, a Generator or None")


def random_state_of(random_state: Any) -> np.random.RandomState:
    """What a callable start is given: scikit-learn's for an int below 2**32, a RandomState or None; for more, one seeded."""
    if random_state is None or random_state is np.random:
        return np.random.mtrand._rand
    if isinstance(random_state, np.random.RandomState):
        return random_state
    seed = seed_of(random_state)
    small = seed < 2**32 and isinstance(random_state, numbers.Integral)
    return np.random.RandomState(seed if small else np.random.MT19937(seed))


def options(
    *,
    k: int,
    algorithm: Any,
    tree: Any,
    leaf_size: Any,
    max_iter: Any,
    tol: Any,
    empty_clusters: Any,
    n_jobs: Any,
    n_init: Any = 1,
    trials: Any = None,
    trials_name: str = "candidates",
    spherical: Any = False,
    verify: Any = False,
    checkpoint: Any = None,
    checkpoint_every: Any = 60.0,
    resume: Any = False,
    time_limit: Any = None,
) -> _core.Options:
    """The library's options; ValueError for what cannot be, naming the parameter."""
    o = _core.Options()
    o.algorithm = as_algorithm(algorithm)
    o.tree = as_tree(tree)
    o.leaf_size = as_int(leaf_size, "leaf_size", 1, 2**62)
    o.max_iter = as_int(max_iter, "max_iter", 1, 2**62)
    o.tol = as_tol(tol)
    o.keep_empty(one_of(empty_clusters, "empty_clusters", EMPTY_POLICIES) == "keep")
    o.threads = threads(n_jobs)
    o.candidates = 0 if trials is None else as_int(trials, trials_name, 1, 2**31)  # 0: 2 + ln k, as scikit-learn
    o.restarts = as_int(n_init, "n_init", 1, 2**31)
    o.spherical = as_bool(spherical, "spherical")
    o.verify = as_bool(verify, "verify")
    if time_limit is not None:
        o.time_limit = as_seconds(time_limit, "time_limit")
    every, resume = as_seconds(checkpoint_every, "checkpoint_every"), as_bool(resume, "resume")
    if checkpoint is not None:
        o.keep_checkpoint(as_path(checkpoint, "checkpoint"), every, resume)
    elif resume:
        raise ValueError("resume=True: checkpoint must say from which file")
    return o
