"""One face for a Gymnasium environment and for a vector of them: rows of float32 in buffers that stay where they are.

`step` fills next_obs, reward, terminated and truncated with what the learner is to be told, `gain` and `ended` with what
counts for the episodes; `advance` then fills `obs` with what to act on. In between stands the learner's `observe`, so that `obs` is still what the action was chosen for.
"""
from __future__ import annotations

from typing import Any, Union

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from ._gym_server import ends, why_unfit
from .envs import PREFIX, Task, VectorTask
from .errors import NumericError, SpaceError, UsageError

AnyEnv = Union[gymnasium.Env[Any, Any], VectorEnv[Any, Any, Any]]
# Wrappers that keep nothing a saved state would have to hold.
STATELESS = {"PassiveEnvChecker", "OrderEnforcing"}


def single_spaces(env: AnyEnv) -> tuple[spaces.Box, spaces.Box]:
    """The spaces of one environment, if a learner of continuous actions can use them."""
    observation: Any
    action: Any
    if isinstance(env, VectorEnv):
        observation, action = env.single_observation_space, env.single_action_space
    elif isinstance(env, gymnasium.Env):
        observation, action = env.observation_space, env.action_space
    else:
        raise SpaceError(f"env: a {type(env).__name__} is no gymnasium.Env and no gymnasium.vector.VectorEnv; "
                         "make one with gymnasium.make")
    problem = why_unfit(observation, action)
    if problem:
        raise SpaceError(f"{env_name(env)}: {problem}")
    return observation, action


def task_of(env: AnyEnv) -> str | None:
    """The library's name of an environment that is the library's."""
    return env.unwrapped.task if isinstance(env.unwrapped, (Task, VectorTask)) else None


def env_name(env: AnyEnv) -> str:
    if env.spec is not None:
        return env.spec.id
    task = task_of(env)
    return f"{PREFIX}{task}-v0" if task is not None else type(env.unwrapped).__name__


def can_end(env: AnyEnv) -> bool:
    """Can an episode end by itself? Ours know it, of Gymnasium's some are known, of others it must be assumed."""
    told = getattr(env.unwrapped, "terminates", None)
    return told if isinstance(told, bool) else ends(env_name(env))


def stateful(env: AnyEnv) -> Any:
    """The environment inside, if its state can be saved and no wrapper keeps one of its own; None otherwise."""
    layer: Any = env
    while isinstance(layer, gymnasium.Wrapper) and type(layer).__name__ in STATELESS:
        layer = layer.env
    return layer if hasattr(layer, "dqs_get_state") and hasattr(layer, "dqs_set_state") else None


class ActionMap:
    """From the learner's box [-1, 1] to the action space, and never beyond its bounds."""

    def __init__(self, space: spaces.Box):
        self.low, self.high, self.dtype = space.low, space.high, space.dtype
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        self.shape, self.centre, self.half = space.shape, (low + high) / 2, (high - low) / 2
        self.plain = bool(np.all(self.centre == 0) and np.all(self.half == 1))
        # Rounding keeps the order: where the ends of the box meet the bounds, nothing in between goes beyond.
        ends = [(self.centre + sign * self.half).astype(self.dtype) for sign in (-1, 1)]
        self.exact = bool((ends[0] == self.low).all() and (ends[1] == self.high).all())

    def __call__(self, box: NDArray[np.float32], rows: tuple[int, ...]) -> NDArray[Any]:
        """A new array of shape rows + space.shape: who gets it may keep it."""
        action = box.reshape(rows + self.shape)
        if self.plain:
            return action.astype(self.dtype)
        mapped = (self.centre + self.half * action).astype(self.dtype)
        return mapped if self.exact else np.minimum(np.maximum(mapped, self.low), self.high)


class Lanes:
    """What both kinds have in common: the buffers."""

    n: int

    def __init__(self, env: AnyEnv, n: int):
        self.env, self.n = env, n
        observation, action = single_spaces(env)
        self.obs_shape = observation.shape
        obs_dim, act_dim = int(np.prod(observation.shape)), int(np.prod(action.shape))
        self.map = ActionMap(action)
        self.obs, self.next_obs = (np.zeros((n, obs_dim), np.float32) for _ in range(2))
        self.action, self.reward = np.zeros((n, act_dim), np.float32), np.zeros(n, np.float32)
        self.terminated, self.truncated = (np.zeros(n, np.uint8) for _ in range(2))
        self.gain, self.ended, self.counted = np.zeros(n), np.zeros(n, np.bool_), np.ones(n, np.int64)

    def reset(self, seed: int) -> None:
        raise NotImplementedError

    def step(self) -> None:
        raise NotImplementedError

    def advance(self) -> None:
        raise NotImplementedError

    def place(self, obs: Any) -> None:
        """Takes over a restored environment that shows this observation."""
        self._take(self.obs, obs)

    def _take(self, into: NDArray[np.float32], obs: Any) -> None:
        """Copies observations into rows, whatever number type they have."""
        try:
            taken = np.asarray(obs)
            into[...] = taken.reshape(into.shape)
        except (TypeError, ValueError):
            rows = (self.n,) if isinstance(self.env, VectorEnv) else ()
            raise UsageError(f"{env_name(self.env)}: an observation has shape {np.shape(obs)} and type "
                             f"{getattr(obs, 'dtype', type(obs).__name__)} where its space promises "
                             f"{rows + self.obs_shape} of numbers") from None
        if not np.isfinite(into).all():
            row, entry = np.argwhere(~np.isfinite(into.reshape(-1, self.obs.shape[1])))[0]
            raise NumericError(f"{env_name(self.env)}: observation {entry} of environment {row} is "
                               f"{into.reshape(-1, self.obs.shape[1])[row, entry]}; mend the environment")


class SingleLane(Lanes):
    def __init__(self, env: gymnasium.Env[Any, Any]):
        super().__init__(env, 1)
        self.single = env
        self.next_row = self.next_obs[0].reshape(self.obs_shape)

    def reset(self, seed: int) -> None:
        self._take(self.obs[0], self.single.reset(seed=seed)[0])

    def step(self) -> None:
        obs, reward, terminated, truncated, _ = self.single.step(self.map(self.action, ()))
        if type(obs) is np.ndarray and obs.shape == self.obs_shape and obs.dtype.kind in "fiu":
            self.next_row[...] = obs  # the short way: whether it is finite, the learner looks at before it learns
        else:
            self._take(self.next_obs[0], obs)
        self.reward[0] = self.gain[0] = reward
        self.terminated[0], self.truncated[0] = bool(terminated), bool(truncated)
        self.ended[0] = terminated or truncated

    def advance(self) -> None:
        if self.ended[0]:
            self._take(self.obs[0], self.single.reset()[0])
        else:
            self.obs[...] = self.next_obs


class VectorLanes(Lanes):
    """The three ways in which a vector environment begins anew what has ended."""

    def __init__(self, env: VectorEnv[Any, Any, Any]):
        super().__init__(env, env.num_envs)
        self.vector = env
        mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self.mode = mode if isinstance(mode, AutoresetMode) else AutoresetMode(mode)
        self.after = self.obs.copy()  # what the environment showed last
        # NEXT_STEP: rows that were reset by the last step, and what they held before.
        self.blank = np.zeros(self.n, np.bool_)
        self.kept_obs, self.kept_action = self.obs.copy(), self.action.copy()

    def reset(self, seed: int) -> None:
        self._take(self.obs, self.vector.reset(seed=seed)[0])
        self.ended[:] = False

    def step(self) -> None:
        self.blank[:] = self.ended if self.mode is AutoresetMode.NEXT_STEP else False
        old = (self.next_obs.copy(), self.reward.copy(), self.terminated.copy(), self.truncated.copy()) \
            if self.blank.any() else None
        obs, reward, terminated, truncated, infos = self.vector.step(self.map(self.action, (self.n,)))
        self._take(self.after, obs)
        self.next_obs[...] = self.after
        self.reward[:], self.terminated[:], self.truncated[:], self.gain[:] = reward, terminated, truncated, reward
        self.ended[:] = np.asarray(terminated, np.bool_) | np.asarray(truncated, np.bool_)
        self.counted[:] = ~self.blank
        if self.mode is AutoresetMode.SAME_STEP and self.ended.any():
            final = infos.get("final_obs")
            if final is None:
                raise UsageError(f"{env_name(self.env)}: says SAME_STEP, but its infos have no final_obs where an "
                                 "episode ended; use Gymnasium 1.1 or later, or another autoreset mode")
            for row in np.flatnonzero(self.ended):
                self._take(self.next_obs[row], final[row])
        if old is not None:  # such a row was no transition: its last one stands in for it, unchanged and valid
            before: Any
            now: Any
            for now, before in zip((self.next_obs, self.reward, self.terminated, self.truncated), old):
                now[self.blank] = before[self.blank]
            self.obs[self.blank], self.action[self.blank] = self.kept_obs[self.blank], self.kept_action[self.blank]
        if self.mode is AutoresetMode.NEXT_STEP:
            self.kept_obs[...], self.kept_action[...] = self.obs, self.action

    def advance(self) -> None:
        if self.mode is AutoresetMode.DISABLED and self.ended.any():
            self._take(self.after, self.vector.reset(options={"reset_mask": self.ended.copy()})[0])
        self.obs[...] = self.after


def lanes_of(env: AnyEnv) -> Lanes:
    single_spaces(env)
    return VectorLanes(env) if isinstance(env, VectorEnv) else SingleLane(env)
