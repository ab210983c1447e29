#!/usr/bin/env python3
"""Makes data sets that come with scikit-learn: small ones, of real measurements.

Source:   sklearn.datasets: digits (UCI, Optical Recognition of Handwritten Digits, 1998), wine
          (UCI, Wine, 1991), breast_cancer (UCI, Breast Cancer Wisconsin, Diagnostic, 1995), iris
          (Fisher, 1936).
Licence:  BSD-3-Clause as part of scikit-learn; of UCI's sets CC BY 4.0. The data are not in this repository.
Makes:    NAME.npy in the cache folder ($KOPSE_CACHE or ~/.cache/kopse) unless --out says otherwise,
          float64: digits 1797 x 64, wine 178 x 13, breast_cancer 569 x 30, iris 150 x 4. Rows are
          shuffled once with a fixed seed; --size N makes the first N of them, a random sample.
Needs:    Python 3.11, numpy, scikit-learn.
"""

import argparse
import sys
from pathlib import Path

from common import cache_folder, expect, named, sample, save

SHAPES = {"digits": (1797, 64), "wine": (178, 13), "breast_cancer": (569, 30), "iris": (150, 4)}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("name", choices=SHAPES, help="the data set to make")
    options.add_argument("--out", type=Path, metavar="OUT.npy", help="where to write it")
    options.add_argument("--size", type=int, metavar="N", help="a random sample of N rows")
    chosen = options.parse_args()
    try:
        from sklearn import datasets
    except ImportError:
        sys.exit("bundled.py copies data of scikit-learn: apt-get install python3-sklearn, or pip install scikit-learn")
    rows = getattr(datasets, f"load_{chosen.name}")().data
    expect(rows.shape == SHAPES[chosen.name], f"{rows.shape[0]} x {rows.shape[1]}")
    save(chosen.out or named(cache_folder() / f"{chosen.name}.npy", chosen.size), sample(rows, chosen.size))


if __name__ == "__main__":
    main()
