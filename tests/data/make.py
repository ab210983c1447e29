#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the .npy files beside this script: inputs of tests whose expected numbers belong to numpy's generators.

Needs numpy (written with 1.24; generators of the same name and seed may differ in other versions, which is why the
files are kept).
"""
from pathlib import Path

import numpy as np

here = Path(__file__).parent
np.save(here / "heavy_tails.npy", np.random.default_rng(7).standard_t(1.1, (1500, 2)))
np.save(here / "offset_normal.npy", np.random.default_rng(0).normal(size=(20000, 3)) + 1e3)
