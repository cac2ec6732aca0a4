"""Random calls of the Python package, in a process of their own: under the address sanitizer where the build has it."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Not from python_package: a library with the sanitizer cannot be loaded into this process.
ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("DQS_BUILD", ROOT / "build")).resolve()
pytest.importorskip("gymnasium")
SECONDS = float(os.environ.get("DQS_PYTHON_FUZZ_SECONDS", "4"))


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_crashes(seed):
    env = dict(os.environ)
    if b"__asan_init" in (BUILD / "libdqs.so").read_bytes():
        runtime = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
        # Python keeps memory for ever, on purpose: leaks are the C tests' business.
        env.update(LD_PRELOAD=os.path.realpath(runtime), ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1")
    result = subprocess.run([sys.executable, "-X", "faulthandler", ROOT / "tests" / "python_fuzz.py", str(seed), str(SECONDS)], env=env,
                            capture_output=True, text=True, errors="replace", timeout=300)
    assert result.returncode == 0, f"{result.stdout[-2000:]}\n{result.stderr[-6000:]}"
    calls, refused = (int(word) for word in result.stdout.split() if word.isdigit())
    assert calls > 50 and 0 < refused < calls, result.stdout
