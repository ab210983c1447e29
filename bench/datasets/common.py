"""What the data set scripts share: the cache folder, checksums, and writing a .npy file."""

import hashlib
import os
from pathlib import Path

import numpy as np


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
