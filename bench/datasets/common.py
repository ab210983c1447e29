"""What the data set scripts share: the cache folder, checksums, writing a .npy file, files of Debian
packages, which are downloaded but never installed, and reading FITS files."""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SEED = 2000
STAR_INDEX = (
    "astrometry-data-tycho2-07-littleendian",
    "usr/share/astrometry/index-tycho2-07.littleendian.fits",
    88,
)


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


def sample(rows, size):
    """All rows in a fixed random order, or the first `size` of them: a random sample."""
    if size is not None and not 1 <= size <= len(rows):
        sys.exit(f"--size {size}: expected 1 to {len(rows)}")
    return rows[shuffled(len(rows))[:size]]


def named(path, size):
    """Where a sample goes unless --out says otherwise: NAME-SIZE.npy."""
    return path if size is None else path.with_name(f"{path.stem}-{size}.npy")


def expect(holds, what):
    print(("ok   " if holds else "BAD  ") + what)
    if not holds:
        sys.exit(1)


def read_package(source, read):
    """read(path) of a file or folder in a Debian package. source: the package, what is in it, the megabytes to
    fetch. The package is downloaded once and kept in the cache."""
    package, name, megabytes = source
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        scratch = Path(scratch)
        if not list(cache.glob(f"{package}_*.deb")):
            print(f"downloading {package} ({megabytes} MB)")
            run(["apt-get", "download", package], scratch)
            for file in scratch.glob("*.deb"):
                file.replace(cache / file.name)
        newest = max(cache.glob(f"{package}_*.deb"))
        run(["dpkg-deb", "-x", str(newest.resolve()), "."], scratch)
        if not (scratch / name).exists():
            sys.exit(f"{newest.name} has no {name}: another version of the package?")
        return read(scratch / name)


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
