"""Agent: a learner of the library on a Gymnasium environment, in the shape Stable-Baselines3 made familiar."""
from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import deque
from ctypes import byref, c_int
from pathlib import Path
from typing import Any, Callable, NamedTuple, Sequence, Union

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from . import _native
from ._lanes import AnyEnv, ActionMap, Lanes, VectorLanes, can_end, env_name, lanes_of, single_spaces, stateful, task_of
from ._native import ErrorStruct, Number, check, lib
from ._program import run_export
from .errors import Error, FormatError, MismatchError, UnsupportedError, UsageError
from .options import configure, describe
from .runs import ProgressTable

__all__ = ["Agent", "Evaluation", "Callback"]

PathLike = Union[str, "os.PathLike[str]"]
Callback = Callable[["Agent"], Any]
WINDOW = 100  # episodes that the running means are over, as in Stable-Baselines3
NOTE_FORMAT = 1


class Evaluation(NamedTuple):
    """What `Agent.evaluate` saw: undiscounted returns of whole episodes."""

    mean: float
    std: float
    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]


class Agent:
    """Learns to act in `env`.

    algo      "dqs", "sac", "td3", "ddpg", "ppo", "qsm", "dacer" or "dipo": `dqs.algorithms()`.
    env       A gymnasium.Env or gymnasium.vector.VectorEnv with Box spaces and finite bounds of the actions; its id as
              text will do. None: only to be loaded into, by `Agent.load`.
    preset    "default", "paper", "quick", ...: `dqs options` shows what they are. For `dqs/...` tasks a preset has values of the
              task's own.
    terminates  Can an episode end by itself? Known of the library's tasks and some of Gymnasium's, else taken to be so.
    options   By name: `dqs.options(algo)` lists them. `seed` and `threads` (0: all cores) are among them.

    One thread may learn while others predict: calls into the learner take turns. An agent does not survive a fork.
    """

    def __init__(self, algo: str = "dqs", env: AnyEnv | str | None = None, *, preset: str = "default",
                 terminates: bool | None = None, **options: Any):
        if env is None:
            raise UsageError("env: is None; give a Gymnasium environment, or open a saved agent with Agent.load")
        if isinstance(env, str):
            env = gymnasium.make(env)
        self._begin()
        self._lanes = self._check_lanes(lanes_of(env), algo)
        self._asked = (algo, preset, terminates, dict(options))
        if "n_envs" in options:
            raise UsageError("n_envs: follows from the environment; give a vector environment, gymnasium.make_vec(id, n)")
        self._create(None)
        self._set_spaces(*single_spaces(env))

    # ------------------------------------------------------------ making
    _lanes: Lanes | None
    _handle: _native.Handle

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._error = ErrorStruct()
        self._lanes = None
        self._untouched = True  # nothing learned and nothing loaded: may be made anew with another `steps`
        self._placed = False  # the environment stands where `_lanes.obs` says
        self._saved_state: Any = None  # of the environment, from a file
        self._learning, self._thread = False, threading.current_thread()
        self.num_timesteps = 0
        self.num_updates = 0
        self.num_episodes = 0
        self._episode_returns: deque[float] = deque(maxlen=WINDOW)
        self._episode_lengths: deque[int] = deque(maxlen=WINDOW)
        self.history: list[dict[str, float]] = []

    @staticmethod
    def _check_lanes(lanes: Lanes, algo: str) -> Lanes:
        if algo == "ppo" and isinstance(lanes, VectorLanes) and lanes.mode is AutoresetMode.NEXT_STEP:
            raise UnsupportedError(
                f"{env_name(lanes.env)}: ppo cannot learn where steps without a transition lie between episodes; make the vector "
                'with vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}')
        return lanes

    def _create(self, steps: int | None) -> None:
        algo, preset, terminates, options = self._asked
        assert self._lanes is not None
        env = self._lanes.env
        ours = task_of(env)
        given = dict(options)
        if steps is not None and "steps" not in options:
            given["steps"] = steps
        if ours is not None and terminates is not None:
            raise UsageError("terminates: the library knows it of its own tasks; leave it out")
        config = configure(algo, ours, preset, given, env_name(env) if ours is None else None,
                           can_end(env) if terminates is None else bool(terminates))
        self._adopt(_native.create("dqs_agent_create", "dqs_agent_free", config.value, self._lanes.obs.shape[1],
                                   self._lanes.action.shape[1], self._lanes.n))

    def _adopt(self, handle: _native.Handle) -> None:
        self._handle = handle
        config = lib.dqs_agent_config(handle.value)
        self.options = {key: option.value for key, option in describe(config).items()}
        self.algo: str = lib.dqs_config_get(config, b"algo").decode()
        self.env_name: str = lib.dqs_config_get(config, b"env").decode()
        self.seed = int(self.options["seed"])

    def _set_spaces(self, observation: gymnasium.spaces.Box, action: gymnasium.spaces.Box) -> None:
        self.observation_space, self.action_space = observation, action
        self._map = ActionMap(action)
        self._obs_dim, self._act_dim = int(np.prod(observation.shape)), int(np.prod(action.shape))

    def _live(self) -> int:
        if not self._handle.usable:
            raise UsageError("agent: was closed, or belongs to another process; agents do not survive a fork: load it there")
        return self._handle.value

    @property
    def env(self) -> AnyEnv | None:
        return self._lanes.env if self._lanes is not None else None

    @property
    def episode_returns(self) -> list[float]:
        """Of the last 100 finished episodes, the newest at the end."""
        return list(self._episode_returns)

    @property
    def episode_lengths(self) -> list[int]:
        return list(self._episode_lengths)

    def close(self) -> None:
        """Frees the learner's memory and threads now, not when Python gets to it. The environment stays open."""
        with self._lock:
            if self._learning:
                raise UsageError("agent: is learning; stop that first")
            self._handle.close()

    def __getstate__(self) -> Any:
        raise TypeError("an Agent cannot be pickled or copied; save it and load it where it is needed")

    def __repr__(self) -> str:
        return f"<dqs.Agent {self.algo} on {self.env_name}, {self.num_timesteps} steps>"

    # ------------------------------------------------------------ learning
    def learn(self, total_timesteps: int, callback: Callback | Sequence[Callback] | None = None,
              progress_bar: bool = False, *, log_interval: int = 1000, log_dir: PathLike | None = None) -> Agent:
        """Takes `total_timesteps` further steps and learns from them; returns self.

        callback      Called with the agent after every step (of all environments); False stops.
        progress_bar  One live line on standard error.
        log_interval  Steps between rows of `history`, which are also written to log_dir/progress.csv if there is one.

        Ctrl-C is answered between two steps: KeyboardInterrupt leaves an agent that can be saved and goes on learning. A
        second Ctrl-C does not wait for the step.
        """
        if isinstance(total_timesteps, bool) or not isinstance(total_timesteps, (int, np.integer)) or total_timesteps < 0:
            raise UsageError(f"total_timesteps: {total_timesteps!r} is not a number of steps")
        if log_interval < 1:
            raise UsageError(f"log_interval: {log_interval!r} is not a number of steps; at least 1")
        if self._lanes is None:
            raise UsageError("agent: was loaded without an environment; give it one with set_env")
        callbacks = [] if callback is None else list(callback) if isinstance(callback, Sequence) else [callback]
        with self._lock:
            self._live()
            if self._learning:
                raise UsageError("agent: is learning already, in another thread")
            if self._untouched and self.num_timesteps == 0:  # schedules that follow the length of the run now know it
                self._create(max(int(total_timesteps), 1))
            self._learning, self._thread = True, threading.current_thread()
        try:
            table = ProgressTable(log_dir) if log_dir is not None else None
            with _Interrupt() as interrupt:
                self._loop(int(total_timesteps), callbacks, _Bar(progress_bar, total_timesteps), log_interval, table, interrupt)
        finally:
            self._learning = False
        return self

    def _loop(self, steps: int, callbacks: list[Callback], bar: _Bar, log_interval: int, table: ProgressTable | None,
              interrupt: _Interrupt) -> None:
        lanes, handle, lock = self._lanes, self._live(), self._lock
        assert lanes is not None
        n = lanes.n
        error, reference = self._error, byref(self._error)
        act, observe, due, update = lib.dqs_agent_act, lib.dqs_agent_observe, lib.dqs_agent_update_due, lib.dqs_agent_update
        obs, next_obs, action, reward, terminated, truncated = (
            a.ctypes.data for a in (lanes.obs, lanes.next_obs, lanes.action, lanes.reward, lanes.terminated, lanes.truncated))
        last = self.num_timesteps + steps
        started, first = time.monotonic(), self.num_timesteps
        if not self._placed:
            self._place()
        self._untouched = False

        def catch_up() -> None:
            while due(handle) and not interrupt.asked:  # what is left is done when learning goes on
                with lock:
                    check(update(handle, reference), error)
                self.num_updates += 1

        catch_up()
        while self.num_timesteps < last:
            with lock:
                check(act(handle, obs, n, _native.EXPLORE, action, reference), error)
            self._placed = False  # until the step is whole: whatever fails in it, the next one begins with a reset
            lanes.step()
            with lock:
                check(observe(handle, obs, action, reward, next_obs, terminated, truncated, reference), error)
            self._count()
            lanes.advance()
            self._placed = True
            catch_up()
            if self.num_timesteps // log_interval > (self.num_timesteps - n) // log_interval:
                self._log(started, first, table)
            bar.show(self)
            interrupt.answer()
            # A list, not a generator: every callback is to see the step.
            if callbacks and False in [each(self) for each in callbacks]:
                break
        bar.end()

    def _place(self) -> None:
        """The environment goes on from its saved state, or begins an episode whose seed follows from ours and the step."""
        lanes, saved = self._lanes, self._saved_state
        assert lanes is not None
        inner = stateful(lanes.env)
        lanes.reset((self.seed * 1000003 + self.num_timesteps) % (1 << 31))
        self._returns, self._lengths = np.zeros(lanes.n), np.zeros(lanes.n, np.int64)
        try:
            if saved is not None and inner is not None and self.env_name in (env_name(lanes.env), task_of(lanes.env)):
                lanes.place(inner.dqs_set_state(saved["env"]))
                self._returns[:], self._lengths[:] = [float.fromhex(r) for r in saved["returns"]], saved["lengths"]
        except Error:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
            raise FormatError(f"{self.env_name}: the saved state of the environment is damaged ({problem!r})") from None
        finally:
            self._saved_state = None  # whatever it was, the next try begins a new episode
        self._placed = True

    def _count(self) -> None:
        lanes = self._lanes
        assert lanes is not None
        self.num_timesteps += lanes.n
        if lanes.n == 1 and not lanes.ended[0]:  # nearly always: the long way is for rows
            self._returns[0] += lanes.gain[0]
            self._lengths[0] += 1
            return
        self._returns += lanes.gain
        self._lengths += lanes.counted
        if lanes.ended.any():
            for row in np.flatnonzero(lanes.ended):
                self.num_episodes += 1
                self._episode_returns.append(float(self._returns[row]))
                self._episode_lengths.append(int(self._lengths[row]))
            self._returns[lanes.ended] = 0
            self._lengths[lanes.ended] = 0

    def _log(self, started: float, first: int, table: ProgressTable | None) -> None:
        seconds = time.monotonic() - started
        row: dict[str, float] = {"time/total_timesteps": self.num_timesteps, "time/time_elapsed": seconds,
                                 "time/fps": (self.num_timesteps - first) / max(seconds, 1e-9),
                                 "time/episodes": self.num_episodes}
        if self._episode_returns:
            row["rollout/ep_rew_mean"] = float(np.mean(self._episode_returns))
            row["rollout/ep_len_mean"] = float(np.mean(self._episode_lengths))
        row.update(self.metrics())
        self.history.append(row)
        if table is not None:
            table.write(row)

    def metrics(self) -> dict[str, float]:
        """The numbers of the last update, by the names of `progress.csv`."""
        numbers = (Number * 96)()
        with self._lock:
            count = lib.dqs_agent_metrics(self._live(), numbers, len(numbers))
        return {numbers[i].name.decode(): numbers[i].value for i in range(count)}

    def set_env(self, env: AnyEnv | str) -> None:
        """Another environment with the same spaces (and as many rows). The next step begins an episode there."""
        if isinstance(env, str):
            env = gymnasium.make(env)
        with self._lock:
            if self._learning:
                raise UsageError("agent: is learning; stop that first")
            lanes = self._check_lanes(lanes_of(env), self.algo)
            observation, action = single_spaces(env)
            wanted, bounds = self.observation_space, self.action_space
            same = (observation.shape == wanted.shape and action.shape == bounds.shape
                    and np.array_equal(action.low, bounds.low) and np.array_equal(action.high, bounds.high))
            if not same:
                raise MismatchError(
                    f"{env_name(env)}: observations {observation.shape} and actions {_told(action)}, but the agent was made "
                    f"for {self.env_name} with {wanted.shape} and {_told(bounds)}")
            n_envs = self._sizes()[2]
            if lanes.n != n_envs:
                raise MismatchError(f"{env_name(env)}: {lanes.n} environments, but the agent steps {n_envs} at a time")
            if self.env_name not in (env_name(env), task_of(env)):
                warnings.warn(f"the agent learned {self.env_name} and goes on with {env_name(env)}", stacklevel=2)
            self._lanes, self._placed = lanes, False

    def _sizes(self) -> tuple[int, int, int]:
        sizes = [c_int() for _ in range(3)]
        lib.dqs_agent_size(self._live(), *map(byref, sizes))
        return sizes[0].value, sizes[1].value, sizes[2].value

    # ------------------------------------------------------------ acting
    def predict(self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
                ) -> tuple[NDArray[Any], Any]:
        """(action, state) for one observation or for rows of them; `state` is handed through.

        The action is drawn from the policy as in evaluation. deterministic=True freezes the noise of a diffusion policy, so
        that equal observations get equal actions. The policies of sac, td3, ddpg and ppo answer with their mean either way.
        """
        shape = self.observation_space.shape
        try:
            rows = np.ascontiguousarray(observation, np.float32)
        except (TypeError, ValueError):
            raise UsageError(f"observation: cannot be made an array of float32; it should have shape {shape}") from None
        one = rows.shape == shape
        if not one and (rows.ndim != len(shape) + 1 or rows.shape[1:] != shape or rows.shape[0] == 0):
            raise UsageError(f"observation: its shape is {rows.shape}; the agent takes {shape}, or rows of that")
        if not np.isfinite(rows).all():
            raise UsageError("observation: holds a number that is not finite")
        count = 1 if one else rows.shape[0]
        box = np.empty((count, self._act_dim), np.float32)
        with self._lock:
            check(lib.dqs_agent_act(self._live(), rows.ctypes.data, count, _native.FROZEN if deterministic else _native.EVALUATE,
                                    box.ctypes.data, byref(self._error)), self._error)
        return self._map(box, () if one else (count,)), state

    def evaluate(self, env: gymnasium.Env[Any, Any] | str | None = None, n_eval_episodes: int = 10, *,
                 deterministic: bool = False, seed: int = 0) -> Evaluation:
        """Whole episodes in an environment of their own (none given: one more like the training's); learning is not touched."""
        if n_eval_episodes < 1:
            raise UsageError(f"n_eval_episodes: {n_eval_episodes!r}; at least 1")
        made = env is None or isinstance(env, str)
        arena = self._fresh_env() if env is None else gymnasium.make(env) if isinstance(env, str) else env
        if isinstance(arena, VectorEnv):
            raise UsageError("evaluate: takes a single environment, not a vector of them")
        observation, action = single_spaces(arena)
        if observation.shape != self.observation_space.shape or action.shape != self.action_space.shape:
            raise MismatchError(f"{env_name(arena)}: observations {observation.shape} and actions {action.shape}, but the agent "
                                f"was made for {self.observation_space.shape} and {self.action_space.shape}")
        returns, lengths = np.zeros(n_eval_episodes), np.zeros(n_eval_episodes, np.int64)
        try:
            for episode in range(n_eval_episodes):
                obs, _ = arena.reset(seed=seed + episode)
                ended = False
                while not ended:
                    obs, reward, terminated, truncated, _ = arena.step(self.predict(obs, deterministic=deterministic)[0])
                    returns[episode] += float(reward)
                    lengths[episode] += 1
                    ended = bool(terminated or truncated)
        finally:
            if made:
                arena.close()
        return Evaluation(float(returns.mean()), float(returns.std()), returns, lengths)

    def _fresh_env(self) -> gymnasium.Env[Any, Any]:
        spec = self.env.spec if self.env is not None else None
        if spec is None:
            raise UsageError("evaluate: the environment was not made by gymnasium.make, so another one like it cannot be; give one")
        kwargs = {k: v for k, v in spec.kwargs.items() if k not in ("num_envs", "vectorization_mode", "vector_kwargs", "threads")}
        return gymnasium.make(spec.id, **kwargs) if isinstance(self.env, VectorEnv) else gymnasium.make(spec)

    # ------------------------------------------------------------ keeping
    def save(self, path: PathLike) -> None:
        """Everything needed to go on, replay included, in one file that appears whole or not at all.

        Where the state of the environment can be saved (`dqs/...` tasks without further wrappers, and environments of your
        own that have `dqs_get_state` and `dqs_set_state`), learning goes on from the file to the bit. Elsewhere it goes on with a
        new episode, whose seed follows from `seed` and the step.
        """
        with self._lock:
            if self._learning and threading.current_thread() is not self._thread:
                raise UsageError("agent: is learning in another thread; save from a callback, or when it has returned")
            low, high = (np.ascontiguousarray(b, np.float32) for b in (self.action_space.low, self.action_space.high))
            _native.call("dqs_agent_set_bounds", self._live(), low.ctypes.data, high.ctypes.data)
            note = json.dumps(self._note())
            _native.call("dqs_agent_set_note", self._live(), note.encode())
            _native.call("dqs_agent_save", self._handle.value, _native.text(path, "path"))

    def _note(self) -> dict[str, Any]:
        state = self._saved_state
        inner = stateful(self._lanes.env) if self._lanes is not None and self._placed else None
        if inner is not None and (saved := inner.dqs_get_state()) is not None:
            state = {"env": saved, "returns": [r.hex() for r in self._returns.tolist()], "lengths": self._lengths.tolist()}
        action = self.action_space
        return {"format": NOTE_FORMAT, "env": self.env_name, "num_timesteps": self.num_timesteps,
                "num_updates": self.num_updates, "num_episodes": self.num_episodes,
                "episode_returns": self.episode_returns, "episode_lengths": self.episode_lengths,
                "observation": {"shape": list(self.observation_space.shape), "dtype": str(self.observation_space.dtype)},
                "action": {"shape": list(action.shape), "dtype": str(action.dtype), "low": action.low.ravel().tolist(),
                           "high": action.high.ravel().tolist()}, "state": state}

    @classmethod
    def load(cls, path: PathLike, env: AnyEnv | str | None = None, *, threads: int = 0) -> Agent:
        """What `save` left: algorithm and options are the file's. Without an environment it can predict; to learn on, it
        needs one with the same spaces, here or by `set_env`. `threads` may differ; the results do not."""
        agent = cls.__new__(cls)
        agent._begin()
        agent._adopt(_native.create("dqs_agent_open", "dqs_agent_free", _native.text(path, "path"), 0, int(threads)))
        agent._untouched = False
        agent._read_note(lib.dqs_agent_note(agent._handle.value).decode(errors="replace"), str(path))
        if env is not None:
            agent.set_env(env)
        return agent

    def _read_note(self, note: str, path: str) -> None:
        obs_dim, act_dim, _ = self._sizes()
        try:
            if not note:
                raise ValueError("has none of this package's notes; was it saved by a C program?")
            data = json.loads(note)
            if data["format"] != NOTE_FORMAT:
                raise ValueError(f"has a note of format {data['format']}; this package reads {NOTE_FORMAT}")
            self._set_spaces(*spaces_of(data))
            if (self._obs_dim, self._act_dim) != (obs_dim, act_dim):
                raise ValueError("has a note that contradicts the sizes of its networks")
            self.num_timesteps, self.num_updates, self.num_episodes = (
                int(data[key]) for key in ("num_timesteps", "num_updates", "num_episodes"))
            self._episode_returns.extend(float(x) for x in data["episode_returns"])
            self._episode_lengths.extend(int(x) for x in data["episode_lengths"])
            self._saved_state = data["state"]
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as problem:
            raise FormatError(f"{path}: {problem or type(problem).__name__}" if isinstance(problem, ValueError)
                              else f"{path}: its note is damaged ({problem!r})") from None

    def export(self, path: PathLike, format: str = "c", **options: Any) -> str:
        """The policy alone, for other programs: format "c" (one C file and its header) or "onnx". Returns the report.

        Keywords are flags of `dqs export`: steps=5 is --steps 5, set=["corrector=0"] is --set corrector=0."""
        with tempfile.TemporaryDirectory() as folder:
            saved = Path(folder) / "agent.safetensors"
            self.save(saved)
            return run_export(saved, path, format, options)


def spaces_of(note: dict[str, Any]) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """The spaces that a note of `save` tells of. Bounds of observations are not kept."""
    obs, act = note["observation"], note["action"]
    dtype = np.dtype(act["dtype"])
    shape = tuple(int(n) for n in act["shape"])
    if dtype.kind != "f" or any(n < 1 for n in shape) or any(int(n) < 1 for n in obs["shape"]):
        raise ValueError("its note tells of spaces that cannot be")
    low, high = (np.array(act[key], dtype).reshape(shape) for key in ("low", "high"))
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ValueError("its note tells of bounds that cannot be")
    observation = gymnasium.spaces.Box(-np.inf, np.inf, tuple(int(n) for n in obs["shape"]), np.float32)
    return observation, gymnasium.spaces.Box(low, high, shape, dtype.type)


def _told(space: gymnasium.spaces.Box) -> str:
    return f"{space.shape} in [{space.low.min():g}, {space.high.max():g}]"


class _Interrupt:
    """Holds the first Ctrl-C back until the step is whole. Only where Python's own handler is in place, in the main thread."""

    def __init__(self) -> None:
        self.asked = False
        self.mine = False

    def __enter__(self) -> _Interrupt:
        if threading.current_thread() is threading.main_thread() and \
                signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self.mine = True
        return self

    def _note(self, number: int, frame: Any) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def answer(self) -> None:
        if self.asked:
            raise KeyboardInterrupt

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self.mine:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if self.asked and kind is None:  # it came after the last step
                raise KeyboardInterrupt


class _Bar:
    """One line that is written over, at most five times a second."""

    def __init__(self, wanted: bool, total: int):
        self.wanted, self.total, self.done = wanted, total, 0
        self.start = self.last = time.monotonic()
        self.first: int | None = None

    def show(self, agent: Agent) -> None:
        if not self.wanted:
            return
        now = time.monotonic()
        if self.first is None:
            self.first = agent.num_timesteps
        if now - self.last < 0.2:
            return
        self.last = now
        speed = (agent.num_timesteps - self.first) / max(now - self.start, 1e-9)
        mean = f"  return {np.mean(agent.episode_returns):.1f}" if agent.episode_returns else ""
        sys.stderr.write(f"\r{agent.algo} {agent.env_name}  step {agent.num_timesteps}{mean}  {speed:.0f} steps/s\x1b[K")
        sys.stderr.flush()

    def end(self) -> None:
        if self.wanted:
            sys.stderr.write("\n")
