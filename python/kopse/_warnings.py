# SPDX-License-Identifier: BSD-3-Clause
"""What a user is warned of."""

from __future__ import annotations


class ConvergenceWarning(UserWarning):
    """A run was stopped by ``max_iter``, or some of its clusters are empty; the result is usable.

    Warnings of estimators are scikit-learn's ``ConvergenceWarning`` as well, so that filters for either work.
    """
