"""The program `dqs` beside the package: finding it, running it, exporting by it."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from . import _native
from .errors import Error, FileError, OptionError

__all__ = ["program", "main", "run_export"]


def program() -> Path:
    """The program: as DQS_PROGRAM says, else installed with the package, built in the source tree, or on the path."""
    told = os.environ.get("DQS_PROGRAM")
    here = Path(__file__).resolve().parent
    places = [Path(told)] if told else [here / "bin" / "dqs", here.parent.parent / "build" / "dqs"]
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place
    found = None if told else shutil.which("dqs")
    # Our own entry point has the same name: that one would only call itself.
    if found and Path(found).read_bytes()[:2] != b"#!":
        return Path(found)
    raise FileError(f"the program dqs is not at {' or '.join(map(str, places))}; install the package with "
                    "`pip install ./python`, or set DQS_PROGRAM")


def _with_this_python() -> dict[str, str]:
    """The environment in which helpers of the program (Gymnasium's, ONNX Runtime's) find the packages found here."""
    told = os.environ.get("DQS_PYTHON") or os.environ.get("PYTHON")
    return {**os.environ, "DQS_PYTHON": told or sys.executable}


def main() -> int:
    """The command `dqs` that pip installs: becomes the program."""
    try:
        path = str(program())
    except Error as problem:
        print(f"dqs: {problem}", file=sys.stderr)
        return 1
    os.environ.update(_with_this_python())
    os.execv(path, [path, *sys.argv[1:]])


def run_export(saved: Path, out: str | os.PathLike[str], format: str, options: dict[str, Any]) -> str:
    if format not in ("c", "onnx"):
        raise OptionError(f"format: {format!r}; there are c and onnx")
    _native.text(out, "path")
    command = [str(program()), "export", str(saved), "--format", format, "--out", os.fspath(out)]
    for key, value in options.items():
        if value is False or value is None:
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            command += [f"--{key.replace('_', '-')}"] + ([] if one is True else [str(one)])
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                            env=_with_this_python())
    if result.returncode == 0:
        return result.stdout
    told = (result.stderr.strip().splitlines() or ["no word"])[-1].removeprefix("dqs: ")
    raise Error(f"export: {told}")
