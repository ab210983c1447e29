#!/usr/bin/env python3
"""Makes the quads data set: shapes of groups of four stars, by which star fields are recognised.

Source:   the package of stars.py, whose index has 4,422,373 quads of the stars of Tycho-2. A quad's
          code is where its two inner stars lie between its two outer ones, which are put at (0, 0)
          and (1, 1): four numbers, the same however the field is turned or scaled.
Licence:  BSD-2-Clause, the package's copyright file, copied to data/LICENSE.stars.
Makes:    quads.npy in the cache folder ($KOPSE_CACHE or ~/.cache/kopse) unless --out says
          otherwise: 4,422,373 x 4, float64, shuffled once with a fixed seed as in stars.py. The
          same package gives the same bytes each time.
Needs:    Python 3.11, numpy, and apt-get and dpkg-deb (or the package's FITS file, --fits).
"""

import argparse
from pathlib import Path

import numpy as np

from common import STAR_INDEX, cache_folder, expect, fits_tables, read_package, save, shuffled

QUADS = 4_422_373


def main():
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--out", type=Path, default=cache_folder() / "quads.npy", help="where to write it"
    )
    options.add_argument(
        "--fits", type=Path, help="the package's FITS file, where you already have it"
    )
    chosen = options.parse_args()
    codes = read_codes(chosen.fits) if chosen.fits else read_package(STAR_INDEX, read_codes)
    check_codes(codes)
    save(chosen.out, codes[shuffled(len(codes))])


def read_codes(path):
    """Returns codes, float64 n x 4: x and y of one inner star, and of the other. A coordinate is a
    16-bit step count from the low end of its range."""
    tables = fits_tables(path)
    steps = np.frombuffer(tables["kdtree_data_codes"], "<u2").reshape(-1, 4)
    ranges = np.frombuffer(tables["kdtree_range_codes"], "<f8")
    low, steps_per_unit = ranges[0:4], ranges[8]
    return low + steps / steps_per_unit


def check_codes(codes):
    """The rules by which astrometry.net chooses one of the four codes of a quad, to half a step."""
    expect(codes.shape == (QUADS, 4), f"{len(codes):,} quads")
    x, y = codes[:, 0::2], codes[:, 1::2]
    step = 2.2e-5
    expect(np.all(x[:, 0] <= x[:, 1]), "of two inner stars the one with the lesser x comes first")
    expect(np.all(x.sum(axis=1) <= 1 + step), "their mean x is at most 1/2")
    out = np.hypot(x - 0.5, y - 0.5).max() - np.sqrt(0.5)
    expect(out <= step, f"all in the circle through the outer stars, at worst {out:.1e} out")


if __name__ == "__main__":
    main()
