#!/usr/bin/env python3
"""Makes the star data sets: directions to the stars of the Tycho-2 catalogue.

Source:   the Debian package astrometry-data-tycho2-07-littleendian (2-4), an index that
          astrometry.net made of the Tycho-2 catalogue (Hog et al. 2000). The index thins out
          crowded sky: it keeps the 10 brightest stars of each of 292,032 equal cells, so it has
          1,871,011 of the catalogue's 2.5 million stars.
Licence:  BSD-2-Clause, the package's copyright file, copied to data/LICENSE.stars.
Makes:    data/stars.npy  the 200,000 brightest stars, float32, columns x, y, z, magnitude
          --full OUT.npy  all 1,871,011 stars, float64, columns x, y, z, for benchmarks
          Rows are shuffled once with a fixed seed, as the index holds them in k-d tree order,
          which would flatter any program that reads them in that order. The same package gives
          the same bytes each time.
Needs:    Python 3.11, numpy, and apt-get and dpkg-deb (or the package's FITS file, --fits).
"""

import argparse
import re
from pathlib import Path

import numpy as np

from common import STAR_INDEX, cache_folder, expect, fits_tables, read_package, save, sha256, shuffled

DATA = Path(__file__).resolve().parents[2] / "data"

STARS = 1_871_011
BRIGHTEST = 200_000

# No star is brighter than -2, and Tycho-2 ends near 15. A magnitude out of this range, or not
# finite, would be a gap in the catalogue. (Version 2-4 has none: 0.137 to 15.193.)
MAGNITUDES = (-2.0, 16.0)

# Name, magnitude, right ascension and declination in degrees (J2000, from the literature). The
# catalogue gives these three at epoch 1991.25; Rigil Kentaurus moves 0.009 degrees in that time.
KNOWN = [
    ("Rigil Kentaurus", 0.14, 219.902, -60.834),
    ("Arcturus", 0.16, 213.915, 19.182),
    ("Capella", 0.24, 79.172, 45.998),
]
KNOWN_WITHIN_DEGREES = 0.02


def main():
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--out", type=Path, default=DATA / "stars.npy", help="where to write the brightest stars"
    )
    options.add_argument(
        "--full",
        nargs="?",
        type=Path,
        const=cache_folder() / "stars-full.npy",
        metavar="OUT.npy",
        help="write all stars instead, to this file, or to stars-full.npy in the cache folder "
        "($KOPSE_CACHE or ~/.cache/kopse) where none is named",
    )
    options.add_argument(
        "--check",
        action="store_true",
        help="write nothing, download nothing: check the --out file's stars and its sha256 "
        "against data/README.md",
    )
    options.add_argument(
        "--fits", type=Path, help="the package's FITS file, where you already have it"
    )
    chosen = options.parse_args()

    if chosen.check:
        check_brightest(np.load(chosen.out))
        check_recorded_sha256(chosen.out)
        return

    directions, magnitudes = read_stars(chosen.fits) if chosen.fits else read_package(STAR_INDEX, read_stars)

    if chosen.full:
        check_unit_length(directions, 1e-8)
        check_known(directions, magnitudes)
        save(chosen.full, directions[shuffled(len(directions))])
        return

    stars = brightest(directions, magnitudes)
    check_brightest(stars)
    save(chosen.out, stars)
    check_recorded_sha256(chosen.out)


def brightest(directions, magnitudes):
    real = np.isfinite(magnitudes)
    real &= (magnitudes > MAGNITUDES[0]) & (magnitudes < MAGNITUDES[1])
    print(f"{np.count_nonzero(~real)} stars left out for want of a magnitude")

    real = np.flatnonzero(real)
    # A stable sort: of stars equally bright, the first in the index stay.
    keep = real[np.argsort(magnitudes[real], kind="stable")[:BRIGHTEST]]
    stars = np.column_stack([directions[keep], magnitudes[keep]]).astype(np.float32)
    return stars[shuffled(len(stars))]


# Reading the package


def read_stars(path):
    """Returns directions, float64 n x 3 of unit length, and magnitudes, in the index's order.

    MAG_VT is a true FITS column, and so big-endian. A coordinate is a 32-bit step count from the
    low end of its range.
    """
    tables = fits_tables(path)
    steps = np.frombuffer(tables["kdtree_data_stars"], "<u4").reshape(-1, 3)
    ranges = np.frombuffer(tables["kdtree_range_stars"], "<f8")
    magnitudes = np.frombuffer(tables["MAG_VT"], ">f4").astype(np.float32)

    low, steps_per_unit = ranges[0:3], ranges[6]
    directions = low + steps / steps_per_unit
    expect(len(directions) == len(magnitudes) == STARS, f"{len(directions):,} stars")
    return directions, magnitudes


# Checks


def check_brightest(stars):
    expect(
        stars.shape == (BRIGHTEST, 4) and stars.dtype == np.float32,
        f"{len(stars):,} x {stars.shape[1]} {stars.dtype}, to magnitude {stars[:, 3].max():.3f}",
    )
    check_unit_length(stars[:, :3].astype(np.float64), 1e-6)
    check_known(stars[:, :3].astype(np.float64), stars[:, 3])


def check_unit_length(directions, within):
    off = np.abs(np.linalg.norm(directions, axis=1) - 1).max()
    expect(
        off < within, f"directions of length 1, at worst {off:.1e} off (up to {within:.0e} allowed)"
    )


def check_known(directions, magnitudes):
    """The three brightest must be the stars they ought to be, and where they ought to be."""
    first = np.argsort(magnitudes)[: len(KNOWN)]
    for i, (name, magnitude, ra, dec) in zip(first, KNOWN, strict=True):
        x, y, z = directions[i]
        found_ra, found_dec = np.degrees([np.arctan2(y, x) % (2 * np.pi), np.arcsin(z)])
        off = np.hypot((found_ra - ra) * np.cos(np.radians(dec)), found_dec - dec)
        expect(
            abs(magnitudes[i] - magnitude) < 0.01 and off < KNOWN_WITHIN_DEGREES,
            f"{name}: magnitude {magnitudes[i]:.3f}, at {found_ra:.3f} {found_dec:+.3f} degrees",
        )


def check_recorded_sha256(path):
    found = sha256(path)
    recorded = re.search(r"\b([0-9a-f]{64})  stars\.npy", (DATA / "README.md").read_text())
    expect(
        recorded is not None and recorded[1] == found,
        f"sha256 {found}, recorded in data/README.md: {recorded[1] if recorded else 'none'}",
    )


if __name__ == "__main__":
    main()
