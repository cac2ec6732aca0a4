"""The Python package from the source tree, over the library of the build under test: `from python_package import dqs`."""
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("DQS_BUILD", ROOT / "build")).resolve()
pytest.importorskip("gymnasium")
if not (BUILD / "libdqs.so").exists():
    pytest.skip(f"{BUILD}/libdqs.so is not built", allow_module_level=True)
os.environ["DQS_LIBRARY"], os.environ["DQS_PROGRAM"] = str(BUILD / "libdqs.so"), str(BUILD / "dqs")
sys.path.insert(0, str(ROOT / "python"))

import dqs  # noqa: E402

# Small enough for a second, large enough that updates are made.
SMALL = dict(preset="quick", threads=1, critic_width=32, score_width=32, embed=8, batch=32, K=4, N=3, replay=2000, warmup=60)
PLAIN = dict(preset="quick", threads=1, width=32, batch=32, replay=2000, warmup=60)

__all__ = ["BUILD", "PLAIN", "ROOT", "SMALL", "dqs"]
