"""Policies alone: the file of a run or of an agent, loaded to act."""
from __future__ import annotations

import json
import os
import struct
import threading
from ctypes import byref
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._lanes import ActionMap
from ._native import ErrorStruct, check, lib
from .agent import spaces_of
from .envs import Task
from .errors import Error, FormatError, UsageError

__all__ = ["Policy", "load_policy"]

PathLike = Union[str, "os.PathLike[str]"]


class Policy:
    """Acts, and can do nothing else: a run folder (then its best policy), a policy file, or what `Agent.save` wrote.

    Actions have the bounds of the environment where the file or its task tell them, else they are in [-1, 1]
    (`bounded` says which). A policy learned to hold each action for `action_repeat` steps of the environment: your loop does that.
    """

    def __init__(self, path: PathLike):
        self._handle = _native.create("dqs_policy_load", "dqs_policy_free", _native.text(path, "path"))
        self.obs_dim: int = lib.dqs_policy_obs_dim(self._handle.value)
        self.act_dim: int = lib.dqs_policy_act_dim(self._handle.value)
        self.action_repeat: int = lib.dqs_policy_action_repeat(self._handle.value)
        self._error, self._lock = ErrorStruct(), threading.Lock()
        self._map, self._shape = _bounds(Path(path), self.obs_dim, self.act_dim)
        self.bounded = self._map is not None

    def predict(self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
                ) -> tuple[NDArray[Any], Any]:
        """As Agent.predict, one observation at a time or rows of them."""
        try:
            rows = np.ascontiguousarray(observation, np.float32)
        except (TypeError, ValueError):
            raise UsageError(f"observation: cannot be made an array of float32 of shape {self._shape}") from None
        one = rows.shape == self._shape
        if not one and (rows.ndim != len(self._shape) + 1 or rows.shape[1:] != self._shape or rows.shape[0] == 0):
            raise UsageError(f"observation: its shape is {rows.shape}; the policy takes {self._shape}, or rows of that")
        if not np.isfinite(rows).all():
            raise UsageError("observation: holds a number that is not finite")
        count = 1 if one else rows.shape[0]
        flat, box = rows.reshape(count, self.obs_dim), np.empty((count, self.act_dim), np.float32)
        with self._lock:
            if not self._handle.usable:
                raise UsageError("policy: was closed, or belongs to another process; load it there")
            for row in range(count):
                if deterministic:
                    lib.dqs_policy_seed(self._handle.value, 0)
                check(lib.dqs_policy_act(self._handle.value, flat[row].ctypes.data, box[row].ctypes.data, byref(self._error)),
                      self._error)
        lead = () if one else (count,)
        return (self._map(box, lead) if self._map is not None else box.reshape(lead + (self.act_dim,))), state

    def seed(self, seed: int) -> None:
        """Begins the stream of noise anew."""
        if not 0 <= int(seed) < 1 << 64:
            raise UsageError(f"seed: {seed!r} is not in 0 .. 2^64 - 1")
        with self._lock:
            lib.dqs_policy_seed(self._handle.value, int(seed))

    def close(self) -> None:
        with self._lock:
            self._handle.close()


def load_policy(path: PathLike) -> Policy:
    """A Policy from a run folder or a file."""
    return Policy(path)


def _metadata(path: Path) -> dict[str, str]:
    """Of a safetensors file that the library has just accepted."""
    if path.is_dir():
        path = next(p for name in ("best", "policy", "checkpoint") if (p := path / f"{name}.safetensors").exists())
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return dict(json.loads(file.read(length)).get("__metadata__", {}))


def _bounds(path: Path, obs_dim: int, act_dim: int) -> tuple[ActionMap | None, tuple[int, ...]]:
    words = _metadata(path)
    if words.get("note"):
        try:
            observation, action = spaces_of(json.loads(words["note"]))
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            raise FormatError(f"{path}: its note is damaged; save the agent again") from None
        if int(np.prod(observation.shape)) == obs_dim and int(np.prod(action.shape)) == act_dim:
            return ActionMap(action), observation.shape
    elif words.get("env") in _native.names("dqs_env_name"):
        try:
            task = Task(words["env"])
        except Error:  # without MuJoCo its policies act all the same
            return None, (obs_dim,)
        space: Any = task.action_space
        task.close()
        if space.shape == (act_dim,):
            return ActionMap(space), (obs_dim,)
    return None, (obs_dim,)
