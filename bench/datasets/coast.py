#!/usr/bin/env python3
"""Makes the coast data set: points along all shores of the world, seas' and lakes'.

Source:   the Debian package gmt-gshhg-full (2.3.7-6): the full resolution of GSHHG, a global
          self-consistent, hierarchical, high-resolution geography (Wessel and Smith, J. Geophys.
          Res. 101, 1996). Antarctica is in it twice, by its ice and by its ground.
Licence:  LGPL-3+. The data are not in this repository.
Makes:    coast.npy in the cache folder ($KOPSE_CACHE or ~/.cache/kopse) unless --out says
          otherwise: 10,995,687 x 3, float64, 264 MB: x, y, z of the direction from the Earth's
          centre, of length 1, x to longitude 0 on the equator, z to the north pole.
          --degrees makes coast-degrees.npy, 10,995,687 x 2: longitude 0 to 360, latitude.
          Rows are shuffled once with a fixed seed, as neighbours on a shore are near; --size N
          makes the first N of them, a random sample. The points lie on curves, so their dimension
          is lower than their columns. Where a shore crosses from one cell of one degree into the
          next both have the point: 10,717,358 are distinct. The last digit of a sine may differ
          between machines; the sha256 sum that is printed tells.
Which:    directions are the right ones for k-means. Their distances are chords, which grow with
          the way over ground; degrees are not: at 60 degrees north one of longitude is half as far
          as one of latitude, and 0 and 360 are the same place, but far apart. Degrees are for
          programs of two columns, and for pictures.
Needs:    Python 3.11, numpy, h5py (python3-h5py, or pip install h5py), and apt-get and dpkg-deb (or
          the package's file, --netcdf).
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from common import cache_folder, expect, named, read_package, sample, save

SOURCE = ("gmt-gshhg-full", "usr/share/gmt-gshhg/binned_GSHHS_f.nc", 42)
POINTS = 10_995_687
STEPS = 65_535  # in a cell's width and height

# Longitude and latitude (from the literature), where a shore must be near.
KNOWN = [
    ("Europa Point, Gibraltar", -5.345, 36.109),
    ("Cape Agulhas", 20.000, -34.833),
    ("Cape Horn", -67.290, -55.980),
    ("South East Point, Australia", 146.375, -39.137),
]
KNOWN_WITHIN_DEGREES = 0.02


def main():
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, metavar="OUT.npy", help="where to write it")
    options.add_argument("--size", type=int, metavar="N", help="a random sample of N points")
    options.add_argument(
        "--degrees", action="store_true", help="longitude and latitude, in place of directions"
    )
    options.add_argument("--netcdf", type=Path, help="the package's file, where you already have it")
    chosen = options.parse_args()
    degrees = read_coast(chosen.netcdf) if chosen.netcdf else read_package(SOURCE, read_coast)
    check_known(degrees)
    name = "coast-degrees.npy" if chosen.degrees else "coast.npy"
    rows = sample(degrees if chosen.degrees else directions(degrees), chosen.size)
    save(chosen.out or named(cache_folder() / name, chosen.size), rows)


def read_coast(path):
    """Returns float64 n x 2, longitude and latitude in degrees.

    The file (netCDF-4, which is HDF5) divides the world into cells, from 90 north eastwards and then
    southwards; a cell has segments of shore, a segment points, each a step count from the cell's
    south-west corner. Counts have no sign, though the file's type has one.
    """
    try:
        import h5py
    except ImportError:
        sys.exit("coast.py reads netCDF-4 with h5py: apt-get install python3-h5py, or pip install h5py")
    with h5py.File(path) as file:
        east = file["Relative_longitude_from_SW_corner_of_bin"][:].view(np.uint16)
        north = file["Relative_latitude_from_SW_corner_of_bin"][:].view(np.uint16)
        segments = file["N_segments_in_a_bin"][:].astype(np.int64)
        first = file["Id_of_first_point_in_a_segment"][:]
        minutes = int(file["Bin_size_in_minutes"][0])
        columns = int(file["N_bins_in_360_longitude_range"][0])
    expect(len(east) == POINTS and minutes == 60 and columns == 360, f"{len(east):,} points")
    in_order = bool(np.all(np.diff(first) > 0)) and first[0] == 0 and segments.sum() == len(first)
    expect(in_order, f"{len(first):,} segments, in the order of their points")
    cell_of_segment = np.repeat(np.arange(len(segments)), segments)
    cell = np.repeat(cell_of_segment, np.diff(first, append=len(east)))
    longitude = cell % columns + east / STEPS
    latitude = 89 - cell // columns + north / STEPS
    return np.column_stack([longitude, latitude])


def directions(degrees):
    longitude, latitude = np.radians(degrees).T
    return np.column_stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]
    )


def check_known(degrees):
    points = directions(degrees)
    expect(bool(np.all(np.abs(np.linalg.norm(points, axis=1) - 1) < 1e-12)), "directions of length 1")
    for name, longitude, latitude in KNOWN:
        place = directions(np.array([[longitude, latitude]]))[0]
        off = np.degrees(np.linalg.norm(points - place, axis=1).min())
        expect(off < KNOWN_WITHIN_DEGREES, f"{name}: a shore {off:.4f} degrees off")


if __name__ == "__main__":
    main()
