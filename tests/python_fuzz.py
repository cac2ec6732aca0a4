"""Calls the Python package at random, with good, odd and wicked arguments and with files whose numbers were changed.

    python_fuzz.py SEED SECONDS        (prints how many calls were made and how many were refused)

Every refusal must be an exception of the package; anything else, and every sanitizer report, ends the process badly. Run by
test_python_fuzz.py; under the address sanitizer with its library preloaded.
"""
import json
import random
import signal
import struct
import sys
import tempfile
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
from python_package import dqs

warnings.simplefilter("ignore")
ALGOS = ["dqs", "sac", "td3", "ddpg", "ppo", "qsm", "dacer", "dipo"]
SIZES = dict(threads=1, batch=16, replay=64)
SMALL = {"dqs": dict(SIZES, critic_width=16, score_width=16, embed=4, K=4, N=2, warmup=20),
         "ppo": dict(threads=1, width=16, batch=16, n_steps=16)}
ODD = [None, -1, 0, 1, 2, 7, 1e300, float("nan"), float("inf"), "", "x", "a\0b", b"b", [], {}, object(), np.zeros(0), np.zeros(3),
       np.zeros((2, 3)), np.zeros((5, 3), np.float32)[:, ::-1], np.full(3, np.nan), np.array(["a"]), np.array([None] * 3), True,
       1 << 70, -(1 << 70), "🐿", "pendulum", "dqs", 1 << 31, np.float16(1), np.zeros((1 << 12, 3)), lambda *_: None]
REFUSED = (dqs.Error,)


def options_of(rng, algo):
    table = list(dqs.options(algo).items())
    given = dict(SMALL.get(algo, dict(SIZES, width=16, warmup=20)))
    if "diffusion_steps" in dqs.options(algo):
        given["diffusion_steps"] = 2
    for _ in range(rng.randrange(3)):
        key, option = rng.choice(table)
        if key in ("threads", "width", "critic_width", "score_width", "hidden", "replay", "batch", "N", "K", "particles",
                   "n_steps", "diffusion_steps", "updates_per_step", "steps", "corrector", "epochs", "ascent_steps"):
            continue  # they would only make it slow
        given[key] = rng.choice([*ODD, option.value, 0.5, "true", "false"])
    return given


def wicked(rng, data):
    """The file with some numbers changed and the checksum right again: as a stranger would send it."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    body = bytearray(data)
    names = [n for n, t in header.items() if n not in ("__metadata__", "checksum", "padding") and t["data_offsets"][1] > t["data_offsets"][0]]
    for _ in range(rng.randrange(1, 4)):
        whole = [n for n in names if header[n]["dtype"] == "I64"]
        tensor = header[rng.choice(whole if whole and rng.random() < 0.7 else names)]
        size = {"F32": 4, "F64": 8, "I64": 8, "U8": 1}[tensor["dtype"]]
        begin, end = tensor["data_offsets"]
        at = 8 + length + begin + size * rng.randrange((end - begin) // size)
        low, high = -(1 << 63), (1 << 63) - 1
        value = {"I64": lambda: struct.pack("<q", rng.choice([low, high, -1, 0, 1, 3, 63, 64, 65, 1 << 31, 1 << 40, rng.randrange(low, high)])),
                 "F32": lambda: struct.pack("<f", rng.choice([0.0, -1.0, 1e38, float("nan"), float("inf")])),
                 "F64": lambda: struct.pack("<d", rng.choice([0.0, -1.0, 1e300, float("nan"), float("inf")])),
                 "U8": lambda: bytes([rng.randrange(256)])}[tensor["dtype"]]()
        body[at:at + size] = value
    return bytes(body[:-8]) + struct.pack("<q", zlib.crc32(bytes(body[:-8])))


class Impatience(dqs.Error):
    pass


def lose_patience(*_):
    raise Impatience


class Fuzz:
    def __init__(self, seed, folder):
        self.rng, self.folder = random.Random(seed), folder
        self.calls = self.refused = 0
        self.agents, self.envs, self.policies = [], [], []

    def attempt(self, call):
        self.calls += 1
        try:
            return call()
        except REFUSED:
            self.refused += 1
            return None

    def keep(self, things, thing, most=3):
        if thing is not None:
            things.append(thing)
        if len(things) > most:
            gone = things.pop(self.rng.randrange(len(things)))
            if self.rng.random() < 0.5:
                gone.close()

    def odd(self, *good):
        return self.rng.choice([*good, *good, *good, *ODD])

    def agent(self):
        algo = self.rng.choice(ALGOS)
        make = self.rng.choice([lambda: dqs.Task("pendulum"), lambda: dqs.VectorTask("pendulum", 2), lambda: dqs.Task("gmm"),
                                lambda: dqs.Task("maze-small"), lambda: self.rng.choice([None, 1, "x" * 5, dqs])])
        env = make()
        if isinstance(env, str):
            return
        self.keep(self.agents, self.attempt(lambda: dqs.Agent(algo, env, preset=self.rng.choice(["default", "quick", "quick"]),
                                                              **options_of(self.rng, algo))))

    def use_agent(self):
        if not self.agents:
            return
        rng, agent, path = self.rng, self.rng.choice(self.agents), self.folder / "agent"
        steps = rng.choice([0, 1, 5, 30, 60, self.odd(3)])
        steps = min(steps, 100) if isinstance(steps, (int, float)) and steps == steps else steps
        action = rng.randrange(7)
        if action <= 1:
            signal.setitimer(signal.ITIMER_REAL, 1)  # a file may say that a billion updates are due
            self.attempt(lambda: agent.learn(steps, callback=rng.choice([None, lambda a: a.num_timesteps % 7]), log_interval=10))
            signal.setitimer(signal.ITIMER_REAL, 0)
        elif action == 2:
            self.attempt(lambda: agent.predict(self.odd(np.zeros(agent.observation_space.shape), np.zeros((3, *agent.observation_space.shape))),
                                               deterministic=rng.random() < 0.5))
        elif action == 3:
            self.attempt(lambda: agent.save(path))
        elif action == 4 and path.exists():
            if rng.random() < 0.7:
                path.write_bytes(wicked(rng, path.read_bytes()))
            env = rng.choice([None, dqs.Task("pendulum"), dqs.VectorTask("pendulum", 2), dqs.Task("gmm"), dqs.Task("maze-small")])
            self.keep(self.agents, self.attempt(lambda: dqs.Agent.load(path, env, threads=1)))
            path.unlink()
        elif action == 5 and path.exists():
            self.keep(self.policies, self.attempt(lambda: dqs.load_policy(path)))
        else:
            self.attempt(lambda: agent.set_env(rng.choice([dqs.Task("pendulum"), dqs.Task("gmm"), dqs.VectorTask("pendulum", 3)])))
        for policy in self.policies:
            self.attempt(lambda: policy.predict(self.odd(np.zeros(policy.obs_dim, np.float32)), deterministic=rng.random() < 0.5))
            self.attempt(lambda: policy.seed(self.rng.choice([0, 1, -1, 1 << 64])))

    def env(self):
        rng = self.rng
        if rng.random() < 0.3 or not self.envs:
            name = rng.choice(["pendulum", "gmm", "maze", "maze-small", "penduluum", "", "x\0", "../x.so", "/dev/null"])
            options = rng.choice(["", "x=1", "=", ",,,", "\0", "k" * 5000])
            kind = rng.choice([lambda: dqs.Task(name, options),
                               lambda: dqs.VectorTask(name, rng.choice([1, 2, 5, 0, -1, 5000]), options, rng.choice([0, 1, 2]))])
            self.keep(self.envs, self.attempt(kind))
            return
        env = rng.choice(self.envs)
        what = rng.randrange(5)
        if what == 0:
            self.attempt(lambda: env.reset(seed=rng.choice([None, 0, 5, 1 << 40])))
        elif what <= 2:
            self.attempt(lambda: env.step(self.odd(env.action_space.sample(), env.action_space.high * 3)))
        else:
            state = self.attempt(env.dqs_get_state)
            if state is not None:
                if rng.random() < 0.6:
                    at = rng.randrange(len(state["state"]))
                    state["state"][at] = rng.choice([-1.0, 1e300, float("nan"), float("inf"), 3.0, 0.5, 1e15]).hex()
                self.attempt(lambda: env.dqs_set_state(state))

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.rng.choice([self.agent, self.use_agent, self.use_agent, self.use_agent, self.env, self.env])()


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, lose_patience)
    with tempfile.TemporaryDirectory() as place:
        fuzz = Fuzz(int(sys.argv[1]), Path(place))
        fuzz.run(float(sys.argv[2]))
    print(f"{fuzz.calls} calls, {fuzz.refused} refused")
