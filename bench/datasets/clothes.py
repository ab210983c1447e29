#!/usr/bin/env python3
"""Makes the clothes data set: 70,000 pictures of clothes, or their principal components.

Source:   the Debian package dataset-fashion-mnist (0.0~git20200523.55506a9-1): Fashion-MNIST by Zalando
          (Xiao, Rasul, Vollgraf, 2017), 28 x 28 grey pixels each; those to train on and those to test.
Licence:  Expat (MIT). The data are not in this repository.
Makes:    clothes.npy in the cache folder ($KOPSE_CACHE or ~/.cache/kopse) unless --out says
          otherwise: 70,000 x 784, uint8, 55 MB. --components D makes clothes-pcD.npy, float32: the
          coordinates along the D principal axes, the widest first, about the mean. Rows are shuffled
          once with a fixed seed; --size N makes the first N of them, a random sample. Last digits of
          components may differ between machines; the sha256 sum that is printed tells.
Needs:    Python 3.11, numpy, and apt-get and dpkg-deb (or the package's folder, --folder).
"""

import argparse
import gzip
from pathlib import Path

import numpy as np

from common import cache_folder, expect, named, read_package, sample, save

SOURCE = ("dataset-fashion-mnist", "usr/share/datasets/fashion-mnist", 31)
FILES = {"train-images-idx3-ubyte.gz": 60_000, "t10k-images-idx3-ubyte.gz": 10_000}
SIDE = 28


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, metavar="OUT.npy", help="where to write it")
    options.add_argument("--size", type=int, metavar="N", help="a random sample of N pictures")
    options.add_argument("--components", type=int, metavar="D", help="that many principal components, 1 to 784")
    options.add_argument("--folder", type=Path, help="the package's folder of files, where you already have it")
    chosen = options.parse_args()
    if chosen.components is not None and not 1 <= chosen.components <= SIDE * SIDE:
        options.error(f"--components {chosen.components}: a number from 1 to {SIDE * SIDE} is expected")
    rows = read_pictures(chosen.folder) if chosen.folder else read_package(SOURCE, read_pictures)
    name = "clothes.npy"
    if chosen.components is not None:
        rows, name = principal(rows, chosen.components), f"clothes-pc{chosen.components}.npy"
    save(chosen.out or named(cache_folder() / name, chosen.size), sample(rows, chosen.size))


def read_pictures(folder):
    """Returns uint8 n x 784, row after row of each picture. IDX: a magic number, three sizes, bytes."""
    parts = []
    for name, count in FILES.items():
        data = gzip.decompress((folder / name).read_bytes())
        sizes = np.frombuffer(data, ">u4", 4)
        expect(list(sizes) == [2051, count, SIDE, SIDE], f"{name} begins with {list(map(int, sizes))}")
        parts.append(np.frombuffer(data, np.uint8, offset=16).reshape(count, SIDE * SIDE))
    return np.concatenate(parts)


def principal(pictures, count):
    """Returns float32 n x count; of each axis the largest entry is positive, so that signs are settled."""
    centred = pictures - pictures.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :count]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(count)])
    return (centred @ axes).astype(np.float32)


if __name__ == "__main__":
    main()
