# SPDX-License-Identifier: BSD-3-Clause
"""What a user is warned of."""

from __future__ import annotations

import sys
import warnings

WRAPPERS = ("kopse", "sklearn", "joblib")


class ConvergenceWarning(UserWarning):
    """A run was stopped by ``max_iter`` or ``time_limit``, or some of its clusters are empty; the result is usable.

    Warnings of estimators are scikit-learn's ``ConvergenceWarning`` as well, so that filters for either work.
    """


def warn(message: str, kind: type[Warning]) -> None:
    """At the user's line: the first that is neither in this package nor in those that wrap its methods."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in WRAPPERS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, kind, stacklevel=level)
