"""Run folders as arrays: what `dqs train` and `Agent.learn(log_dir=...)` write. docs/formats.md specifies the files."""
from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from .errors import FileError, FormatError, UsageError

__all__ = ["Run", "load_run"]

PathLike = Union[str, "os.PathLike[str]"]
Table = dict[str, NDArray[np.float64]]


class Run:
    """A run folder, read once.

    config        Every option as resolved, as text (`config.yaml`); {} if there is none.
    progress      {column: values} of `progress.csv`; NaN where a row does not report a number.
    evaluations   The same of `evaluations.csv`.
    done          Did the run come to its end?
    """

    def __init__(self, folder: Path, config: dict[str, str], progress: Table, evaluations: Table, done: bool):
        self.folder, self.config, self.progress, self.evaluations, self.done = folder, config, progress, evaluations, done

    def curve(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(steps, values) of one number, where it was reported: curve("rollout/ep_rew_mean"), curve("eval/mean_reward")."""
        for table, steps, column in ((self.progress, "time/total_timesteps", name),
                                     (self.evaluations, "step", name.removeprefix("eval/"))):
            if column in table and steps in table:
                there = ~np.isnan(table[column])
                return table[steps][there].astype(np.int64), table[column][there]
        raise UsageError(f"{self.folder}: reports no {name}; there are {', '.join([*self.progress, *self.evaluations])}")

    @property
    def policy(self) -> Path | None:
        """The file that `dqs.load_policy` would take: of the best evaluation, else of the last checkpoint."""
        files = (self.folder / name for name in ("best.safetensors", "policy.safetensors"))
        return next((path for path in files if path.exists()), None)

    def frame(self, table: str = "progress") -> Any:
        """`progress` or `evaluations` as a pandas.DataFrame, if pandas is installed."""
        if table not in ("progress", "evaluations"):
            raise UsageError(f"table: {table!r}; there are progress and evaluations")
        try:
            import pandas  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise ImportError("frame() needs pandas: pip install pandas; the arrays are there without it") from None
        return pandas.DataFrame(getattr(self, table))

    def __repr__(self) -> str:
        last = self.progress.get("time/total_timesteps", np.zeros(0))
        return f"<dqs.Run {self.folder}, {int(last[-1]) if last.size else 0} steps{', done' if self.done else ''}>"


def load_run(folder: PathLike) -> Run:
    """Curves, metrics and configuration of a run folder; it may belong to a run that is still going on."""
    place = Path(folder)
    if not place.is_dir():
        raise FileError(f"{place}: is no folder; give a run folder such as runs/pendulum/dqs/default-s0")
    files = [place / name for name in ("config.yaml", "progress.csv", "evaluations.csv")]
    if not any(path.exists() for path in files):
        raise FileError(f"{place}: holds no run; give a folder with config.yaml or progress.csv in it")
    return Run(place, _config(files[0]), _table(files[1]), _table(files[2]), (place / "DONE").exists())


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    except OSError as problem:
        raise FileError(f"{path}: {problem.strerror}") from None


def _config(path: Path) -> dict[str, str]:
    """`key: value` a line, values plain or in double quotes: all that config.yaml has."""
    found: dict[str, str] = {}
    for line in _read(path).splitlines():
        key, colon, value = line.partition(": ")
        if not colon or line.startswith("#"):
            continue
        if value.startswith('"') and value.endswith('"') and len(value) > 1:
            value = value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        found[key] = value
    return found


def _table(path: Path) -> Table:
    lines = _read(path).split("\n")
    names = lines[0].rstrip("\r").split(",") if lines[0] else []
    if len(set(names)) != len(names):
        raise FormatError(f"{path}: two columns have the same name")
    rows: list[list[float]] = []
    for number, line in enumerate(lines[1:-1], 2):  # what follows the last line end is a row under way
        cells = line.split(",")
        if len(cells) != len(names):
            raise FormatError(f"{path}:{number}: {len(cells)} cells where the header has {len(names)}")
        try:
            rows.append([float(cell) if cell else math.nan for cell in cells])
        except ValueError:
            raise FormatError(f"{path}:{number}: holds a word where a number should be") from None
    columns = np.array(rows, np.float64).reshape(len(rows), len(names))
    return {name: np.ascontiguousarray(columns[:, i]) for i, name in enumerate(names)}


class ProgressTable:
    """progress.csv as it grows: rows are appended; when a number is new, the file is replaced by one with its column."""

    def __init__(self, folder: PathLike):
        self.path = Path(folder) / "progress.csv"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise FileError(f"{folder}: {problem.strerror}; choose another log_dir") from None
        self.columns = _table(self.path)
        self.names = list(self.columns)

    def write(self, row: dict[str, float]) -> None:
        new = [name for name in row if name not in self.names]
        try:
            if new:
                self.names += new
                old = _table(self.path)
                count = len(next(iter(old.values()))) if old else 0
                blank = np.full(count, math.nan)
                lines = [",".join(self.names)]
                lines += [self._line({name: float(old.get(name, blank)[i]) for name in self.names}) for i in range(count)]
                aside = self.path.with_suffix(f".tmp-{os.getpid()}")
                aside.write_text("\n".join(lines) + "\n")
                aside.replace(self.path)
            with open(self.path, "a") as file:
                file.write(self._line(row) + "\n")
        except OSError as problem:
            raise FileError(f"{self.path}: {problem.strerror}") from None

    def _line(self, row: dict[str, float]) -> str:
        values = (row.get(name, math.nan) for name in self.names)
        return ",".join("" if math.isnan(v) else repr(int(v)) if float(v).is_integer() and abs(v) < 1e15 else repr(float(v))
                        for v in values)
