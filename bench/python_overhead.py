#!/usr/bin/env python3
"""What Python costs: steps with their updates, driven by the C loop and by dqs.Agent.learn, in turns.

    bench/python_overhead.py [--steps 60] [--rounds 25] [--json]

Both learn the task pendulum with the same options, one environment and one thread; the warm-up is over before the clock runs.
Time is processor time of this process, so that what else the machine does counts little; rounds are short and taken in turns, for the same
reason. Says how far the Python loop is behind on the same task, for the presets default and quick, and what a step without an update costs. The
trivial environment is one in Python; its learner sees zeros, which may make its updates cheaper or dearer.
"""
import argparse
import ctypes
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
import gymnasium  # noqa: E402
import numpy as np  # noqa: E402

import dqs  # noqa: E402
from dqs import _native  # noqa: E402
from dqs.options import configure  # noqa: E402

WARMUP = 300
lib = _native.lib


class Trivial(gymnasium.Env):
    """As cheap as an environment in Python can be, of pendulum's sizes."""

    observation_space = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gymnasium.spaces.Box(-2, 2, (1,), np.float32)
    obs = np.zeros(3, np.float32)

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return self.obs, {}

    def step(self, action):
        self.t += 1
        return self.obs, 0.0, False, self.t == 200, {}


class Run:
    """dqs_run, which the package has no use for: the C loop."""

    def __init__(self, folder, options):
        pointer, error = ctypes.c_void_p(), _native.ErrorStruct()
        config = _native.create("dqs_config_create", "dqs_config_free", b"dqs", b"pendulum")
        for key, value in {**options, "out": folder, "eval_every": 0, "checkpoint_every": 0, "steps": 10**9}.items():
            _native.call("dqs_config_set", config.value, key.encode(), str(value).encode())
        lib.dqs_run_create.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.POINTER(_native.ErrorStruct)]
        lib.dqs_run_step.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.POINTER(_native.ErrorStruct)]
        lib.dqs_run_free.argtypes = [ctypes.c_void_p]
        _native.check(lib.dqs_run_create(ctypes.byref(pointer), config.value, ctypes.byref(error)), error)
        self.pointer, self.error = pointer, error

    def learn(self, steps):
        _native.check(lib.dqs_run_step(self.pointer, steps, ctypes.byref(self.error)), self.error)

    def close(self):
        lib.dqs_run_free(self.pointer)


def seconds(learner, steps):
    begin = time.process_time()
    learner.learn(steps)
    return time.process_time() - begin


def compare(preset, steps, rounds, **more):
    options = dict(threads=1, preset=preset, warmup=WARMUP, **more)
    with tempfile.TemporaryDirectory() as folder:
        preset_env = {"preset": preset}
        learners = {"c": Run(Path(folder) / "run", {**options}),
                    "python": dqs.Agent("dqs", gymnasium.make("dqs/pendulum-v0"), **{**options, **preset_env}),
                    "trivial": dqs.Agent("dqs", Trivial(), **{key: option.value for key, option in
                                                             dqs.options("dqs", "pendulum", preset).items()} | options)}
        times = {name: [] for name in learners}
        for learner in learners.values():
            learner.learn(WARMUP + 20)
        for _ in range(rounds):
            for name, learner in learners.items():
                times[name].append(seconds(learner, steps) / steps)
        learners["c"].close()
    return {name: statistics.median(values) for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    results = {"default": compare("default", asked.steps, asked.rounds), "quick": compare("quick", asked.steps, asked.rounds),
               "no update": compare("quick", 20 * asked.steps, asked.rounds, updates_per_step=0)}
    if asked.json:
        print(json.dumps(results))
        return
    print(f"{dqs.build}; microseconds of processor time a step, median of {asked.rounds} rounds of {asked.steps}")
    print(f"{'':10}{'C loop':>10}{'Python, dqs/pendulum-v0':>26}{'Python, trivial':>18}{'behind by':>12}")
    for name, row in results.items():
        behind = (row["python"] / row["c"] - 1) * 100
        print(f"{name:10}{row['c'] * 1e6:>10.1f}{row['python'] * 1e6:>26.1f}{row['trivial'] * 1e6:>18.1f}{behind:>11.1f}%")


if __name__ == "__main__":
    main()
