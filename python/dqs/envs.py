"""The tasks of the library as Gymnasium environments: `dqs/pendulum-v0`, `dqs/cheetah-run-v0`, ...

    env = gymnasium.make("dqs/cheetah-run-v0")
    envs = gymnasium.make_vec("dqs/cheetah-run-v0", num_envs=8)     # one call steps all, on all cores

Importing `dqs` registers them. The library counts the steps of an episode and truncates, so there is no TimeLimit
wrapper. There is no rendering from Python: `dqs render` makes films.
"""
from __future__ import annotations

import threading
from ctypes import byref, c_uint64
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from . import _native
from ._native import ErrorStruct, Handle, Outcome, Spec, check, lib
from .errors import UsageError

__all__ = ["Task", "VectorTask", "register_all", "PREFIX"]

PREFIX = "dqs/"
State = dict[str, Any]


def _boxes(spec: Spec) -> tuple[spaces.Box, spaces.Box]:
    observation = spaces.Box(-np.inf, np.inf, (spec.obs_dim,), np.float32)
    low, high = (np.array([bound[i] for i in range(spec.act_dim)] if bound else [sign] * spec.act_dim, np.float32)
                 for bound, sign in ((spec.act_low, -1.0), (spec.act_high, 1.0)))
    return observation, spaces.Box(low, high, dtype=np.float32)


class _Bounds:
    """From the action space of the task to the box [-1, 1] that the library takes."""

    def __init__(self, space: spaces.Box):
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        self.centre, self.half = (low + high) / 2, (high - low) / 2
        self.plain = bool(np.all(self.centre == 0) and np.all(self.half == 1))

    def box(self, into: NDArray[np.float32], action: Any) -> None:
        taken = np.asarray(action)
        if taken.shape != into.shape:
            raise UsageError(f"action: its shape is {taken.shape}; this environment takes {into.shape}")
        try:
            into[...] = taken if self.plain else (taken - self.centre) / self.half
        except (TypeError, ValueError):
            raise UsageError(f"action: {taken.dtype} is no number; give float32") from None


class Task(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """One task. `options` is the text the task's options are given in, "key=value,key=value"."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, task: str, options: str = "", render_mode: str | None = None):
        if render_mode is not None:
            raise UsageError(f"{task}: cannot be rendered from Python; `dqs render` makes films of it")
        self.task, self.render_mode = task, None
        self._handle = _native.create("dqs_env_create", "dqs_env_free", _native.text(task, "name"),
                                      _native.text(options, "text"))
        spec = lib.dqs_env_spec(self._handle.value).contents
        observation, action = _boxes(spec)
        self.observation_space, self.action_space = observation, action  # type: ignore[assignment]
        self._obs_shape: tuple[int, ...] = observation.shape
        self._act_shape: tuple[int, ...] = action.shape
        self.terminates = bool(spec.terminates)
        self._state_dim, self._bounds = spec.state_dim, _Bounds(action)
        self._error, self._outcome, self._lock = ErrorStruct(), Outcome(), threading.Lock()
        # Buffers whose addresses are asked for once: that is half of what a step costs.
        self._box, self._obs = np.zeros(self._act_shape, np.float32), np.zeros(self._obs_shape, np.float32)
        self._arguments = (self._box.ctypes.data, self._obs.ctypes.data, byref(self._outcome), byref(self._error))

    def _live(self) -> Handle:
        if not self._handle.usable:
            raise UsageError(f"{self.task}: was closed, or belongs to another process; make a new one")
        return self._handle

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None
              ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        obs = np.empty(self._obs_shape, np.float32)
        episode = int(self.np_random.integers(1 << 63))
        with self._lock:
            check(lib.dqs_env_reset(self._live().value, episode, obs.ctypes.data, byref(self._error)), self._error)
        return obs, {}

    def step(self, action: NDArray[np.float32]
             ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        outcome = self._outcome
        with self._lock:
            self._bounds.box(self._box, action)
            check(lib.dqs_env_step(self._live().value, *self._arguments), self._error)
            return self._obs.copy(), outcome.reward, bool(outcome.terminated), bool(outcome.truncated), {}

    def dqs_get_state(self) -> State | None:
        """Everything that the future of this environment depends on, for JSON; None if it cannot be saved."""
        if self._state_dim == 0:
            return None
        state = np.empty(self._state_dim, np.float64)
        with self._lock:
            check(lib.dqs_env_get_state(self._live().value, state.ctypes.data, byref(self._error)), self._error)
        return {"task": self.task, "state": [value.hex() for value in state.tolist()],
                "generator": self.np_random.bit_generator.state}

    def dqs_set_state(self, saved: State) -> NDArray[np.float32]:
        """Goes on from a saved state, to the bit; returns the observation there."""
        state = _state_array(saved, self.task, (self._state_dim,))
        obs = np.empty(self._obs_shape, np.float32)
        self.np_random.bit_generator.state = saved["generator"]
        with self._lock:
            check(lib.dqs_env_set_state(self._live().value, state.ctypes.data, obs.ctypes.data, byref(self._error)),
                  self._error)
        return obs

    def close(self) -> None:
        with self._lock:
            self._handle.close()


def _state_array(saved: State, task: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    if saved.get("task") != task:
        raise UsageError(f"{task}: the state is one of {saved.get('task')}")
    state = np.array([float.fromhex(value) for value in saved["state"]], np.float64)
    if state.size != int(np.prod(shape)):
        raise UsageError(f"{task}: the state has {state.size} numbers where {int(np.prod(shape))} are needed")
    return state.reshape(shape)


class VectorTask(gymnasium.vector.VectorEnv[NDArray[np.float32], NDArray[np.float32], NDArray[Any]]):
    """`num_envs` equal tasks that the library steps together, on `threads` cores (0: all).

    What ends begins anew within the step (Gymnasium's SAME_STEP): the observation that ended the episode is
    `infos["final_obs"]`."""

    def __init__(self, task: str, num_envs: int = 1, options: str = "", threads: int = 0,
                 render_mode: str | None = None):
        if render_mode is not None:
            raise UsageError(f"{task}: cannot be rendered from Python; `dqs render` makes films of it")
        self.task, self.num_envs, self.render_mode = task, num_envs, None
        self.metadata = {"render_modes": [], "autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}
        self._handle = _native.create("dqs_batch_create", "dqs_batch_free", _native.text(task, "name"),
                                      _native.text(options, "text"), num_envs, threads)
        spec = lib.dqs_batch_spec(self._handle.value).contents
        observation, action = _boxes(spec)
        self.single_observation_space, self.single_action_space = observation, action
        self._obs_shape: tuple[int, ...] = (num_envs, *observation.shape)
        self._act_shape: tuple[int, ...] = (num_envs, *action.shape)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self.terminates = bool(spec.terminates)
        self._state_dim, self._bounds = spec.state_dim, _Bounds(action)
        self._error, self._lock = ErrorStruct(), threading.Lock()

    def _live(self) -> Handle:
        if not self._handle.usable:
            raise UsageError(f"{self.task}: was closed, or belongs to another process; make a new one")
        return self._handle

    def reset(self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
              ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        if isinstance(seed, (list, tuple)):
            raise UsageError(f"{self.task}: one seed for all environments, please; each gets its own from it")
        super().reset(seed=seed)
        obs = np.empty(self._obs_shape, np.float32)
        first = int(self.np_random.integers(1 << 63))
        with self._lock:
            check(lib.dqs_batch_reset(self._live().value, first, obs.ctypes.data, byref(self._error)), self._error)
        return obs, {}

    def step(self, actions: NDArray[np.float32]
             ) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        n = self.num_envs
        box = np.empty(self._act_shape, np.float32)
        self._bounds.box(box, actions)
        obs, final = (np.empty(self._obs_shape, np.float32) for _ in range(2))
        reward = np.empty(n, np.float32)
        terminated, truncated = (np.empty(n, np.uint8) for _ in range(2))
        with self._lock:
            check(lib.dqs_batch_step(self._live().value, box.ctypes.data, obs.ctypes.data, final.ctypes.data,
                                     reward.ctypes.data, terminated.ctypes.data, truncated.ctypes.data,
                                     byref(self._error)), self._error)
        ended, cut = terminated.view(np.bool_), truncated.view(np.bool_)
        done = ended | cut
        infos: dict[str, Any] = {"final_obs": final, "_final_obs": done, "final_info": {}, "_final_info": done} if done.any() else {}
        return obs, reward.astype(np.float64), ended, cut, infos

    def dqs_get_state(self) -> State | None:
        """As Task.dqs_get_state, of all rows."""
        if self._state_dim == 0:
            return None
        state, seed = np.empty((self.num_envs, self._state_dim), np.float64), c_uint64()
        with self._lock:
            check(lib.dqs_batch_get_state(self._live().value, state.ctypes.data, byref(seed), byref(self._error)),
                  self._error)
        return {"task": self.task, "state": [value.hex() for value in state.ravel().tolist()], "seed": seed.value,
                "generator": self.np_random.bit_generator.state}

    def dqs_set_state(self, saved: State) -> NDArray[np.float32]:
        """As Task.dqs_set_state, of all rows."""
        state = _state_array(saved, self.task, (self.num_envs, self._state_dim))
        obs = np.empty(self._obs_shape, np.float32)
        self.np_random.bit_generator.state = saved["generator"]
        with self._lock:
            check(lib.dqs_batch_set_state(self._live().value, state.ctypes.data, int(saved["seed"]), obs.ctypes.data,
                                          byref(self._error)), self._error)
        return obs

    def close_extras(self, **kwargs: Any) -> None:
        with self._lock:
            self._handle.close()


def register_all() -> list[str]:
    """Tells Gymnasium of every task; returns the ids."""
    ids = []
    for task in _native.names("dqs_env_name"):
        name = f"{PREFIX}{task}-v0"
        if name not in gymnasium.registry:
            # Checked by our tests: no checker has to look at every step again.
            gymnasium.register(name, entry_point="dqs.envs:Task", vector_entry_point="dqs.envs:VectorTask",
                               kwargs={"task": task}, disable_env_checker=True)
        ids.append(name)
    return ids
