"""What the data set scripts share: the cache folder, checksums, writing a .npy file, and reading
the star catalogue's index, a FITS file in a Debian package."""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PACKAGE = "astrometry-data-tycho2-07-littleendian"
FITS_IN_PACKAGE = "usr/share/astrometry/index-tycho2-07.littleendian.fits"
SEED = 2000


def cache_folder():
    """$KOPSE_CACHE, or ~/.cache/kopse where that is not set."""
    return Path(os.environ.get("KOPSE_CACHE") or Path.home() / ".cache" / "kopse")


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def save(path, rows):
    """Writes rows to path in one step (a cut-off run leaves no half file), and says what it is."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        np.save(file, np.ascontiguousarray(rows))
    part.replace(path)
    print(f"{path}: {len(rows):,} x {rows.shape[1]} {rows.dtype}, sha256 {sha256(path)}")


def shuffled(n):
    """A fixed order of n rows. RandomState, as NumPy promises never to change its numbers."""
    return np.random.RandomState(SEED).permutation(n)


def expect(holds, what):
    print(("ok   " if holds else "BAD  ") + what)
    if not holds:
        sys.exit(1)


def read_package(read):
    """read(path of the FITS file in the package). It is downloaded once and kept in the cache."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        scratch = Path(scratch)
        if not list(cache.glob(f"{PACKAGE}_*.deb")):
            print(f"downloading {PACKAGE} (88 MB)")
            run(["apt-get", "download", PACKAGE], scratch)
            for package in scratch.glob("*.deb"):
                package.replace(cache / package.name)
        newest = max(cache.glob(f"{PACKAGE}_*.deb"))
        run(["dpkg-deb", "-x", str(newest.resolve()), "."], scratch)
        return read(scratch / FITS_IN_PACKAGE)


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def fits_tables(path):
    """The one-column tables of a FITS file: column name -> the table's bytes.

    A FITS file is a row of units, each a header and then its data, both padded to whole blocks.
    astrometry.net keeps its arrays as tables of one column of bytes, in the byte order of the
    machine that wrote them (little-endian here).
    """
    file = np.fromfile(path, np.uint8).data
    tables = {}
    at = 0
    while at < len(file):
        header, at = fits_header(file, at)
        size = header["NAXIS1"] * header["NAXIS2"] if header["NAXIS"] else 0
        if header.get("TFIELDS") == 1:
            tables[header["TTYPE1"]] = file[at : at + size]
        at += -(-size // BLOCK) * BLOCK
    return tables


BLOCK = 2880
CARD = 80


def fits_header(file, at):
    """Reads a header: cards of 80 characters, 'KEY     = value / comment', to the card END.

    Returns its numbers and strings by key, and where the data begins.
    """
    header = {}
    for start in range(at, len(file), CARD):
        card = bytes(file[start : start + CARD]).decode("ascii")
        key, text = card[:8].rstrip(), card[10:]
        if key == "END":
            return header, at + -(-(start + CARD - at) // BLOCK) * BLOCK
        if card[8:10] != "= ":
            continue
        if string := re.match(r"\s*'([^']*)'", text):
            header[key] = string[1].rstrip()
        elif number := re.match(r"\s*([-+]?\d+)\s*(/|$)", text):
            header[key] = int(number[1])
    sys.exit("not a FITS file: a header has no end")
