# SPDX-License-Identifier: BSD-3-Clause
"""Every example runs, from the repository's root; those that draw write into the folder they are given."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import HANG

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, tmp_path):
    done = subprocess.run([sys.executable, str(example), str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    if "savefig" in example.read_text():
        pictures = list(tmp_path.glob("*.png"))
        assert pictures and all(picture.stat().st_size > 10_000 for picture in pictures)
        # The page shows what the example draws.
        assert all((ROOT / "docs" / "pictures" / picture.name).is_file() for picture in pictures)
