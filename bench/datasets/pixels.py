#!/usr/bin/env python3
"""Makes the pixels data set: the colours of a picture of 14.7 million pixels.

Source:   the Debian package plasma-workspace-wallpapers (4:5.27.5-2), in it the wallpaper "Patak" by
          Aron Kovacs, 5120 x 2880 pixels. Of red, green, blue and opacity the last is left out.
Licence:  GPL-2+ by the package's copyright file, CC-BY-SA-4.0 by the wallpaper's own metadata.
          The picture is not in this repository.
Makes:    pixels.npy in the cache folder ($KOPSE_CACHE or ~/.cache/kopse) unless --out says
          otherwise: 14,745,600 x 3, uint8, 44 MB. Only 401,031 colours are distinct, so most rows
          have many equals: data for duplicates, ties, and weights. Rows are shuffled once with a
          fixed seed, as neighbouring pixels are alike; --size N makes the first N of them, a random
          sample. The same package gives the same bytes each time.
Needs:    Python 3.11, numpy, Pillow (python3-pil, or pip install pillow), and apt-get and dpkg-deb
          (or the picture, --png).
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from common import cache_folder, expect, named, read_package, sample, save

SOURCE = (
    "plasma-workspace-wallpapers",
    "usr/share/wallpapers/Patak/contents/images/5120x2880.png",
    94,
)
PIXELS = 14_745_600
COLOURS = 401_031


def main():
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, metavar="OUT.npy", help="where to write it")
    options.add_argument("--size", type=int, metavar="N", help="a random sample of N pixels")
    options.add_argument("--png", type=Path, help="the picture, where you already have it")
    chosen = options.parse_args()
    pixels = read_pixels(chosen.png) if chosen.png else read_package(SOURCE, read_pixels)
    check_pixels(pixels)
    out = chosen.out or named(cache_folder() / "pixels.npy", chosen.size)
    save(out, sample(pixels, chosen.size))


def read_pixels(path):
    """Returns uint8 n x 3: red, green, blue, row after row of the picture."""
    try:
        from PIL import Image
    except ImportError:
        sys.exit("pixels.py reads PNG with Pillow: apt-get install python3-pil, or pip install pillow")
    Image.MAX_IMAGE_PIXELS = None  # its guard against huge files of strangers
    with Image.open(path) as picture:
        return np.asarray(picture)[:, :, :3].reshape(-1, 3)


def check_pixels(pixels):
    expect(pixels.shape == (PIXELS, 3) and pixels.dtype == np.uint8, f"{len(pixels):,} pixels")
    red, green, blue = pixels.astype(np.uint32).T
    distinct = np.count_nonzero(np.bincount(red << 16 | green << 8 | blue))
    expect(distinct == COLOURS, f"{distinct:,} distinct colours")


if __name__ == "__main__":
    main()
