"""A control task twice: ours at the end of dmc_probe's pipe, and dm_control's, with the state in the same layout."""

import json
import os
import struct
import subprocess
from pathlib import Path

import mujoco
import numpy as np
from dm_control import suite
from dm_control.rl import control

BUILD = Path(os.environ.get("DQS_BUILD", Path(__file__).resolve().parent.parent / "build")).resolve()
PROBE = BUILD / "tests" / "dmc_probe"

class ProbeError(Exception):
    """What our side said instead of an answer."""


class Snapshot:
    """All of our side after a request; see dmc_probe.c."""

    def __init__(self, info, data):
        self.bytes = data
        numbers = np.frombuffer(data)
        self.reward, self.terminated, self.ncon = numbers[0], bool(numbers[1]), int(numbers[2])
        parts = np.split(numbers[3:], np.cumsum([info["obs_dim"], info["obs_dim"], info["state_dim"], 3,
                                                 3 * info["nbody"], 3 * info["ngeom"]]))
        self.obs, self.obs32, self.state, self.com = parts[:4]
        self.xpos, self.geom_xpos = parts[4].reshape(-1, 3), parts[5].reshape(-1, 3)


class Probe:
    """Our task, in a process of its own."""

    def __init__(self, name):
        self.process = subprocess.Popen([PROBE, "serve", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        assert line, f"{name}: the probe did not open it, see its message above"
        self.info = json.loads(line)
        nq, nv, na, nu, sensors = (self.info[n] for n in ("nq", "nv", "na", "nu", "nsensordata"))
        self.sizes = {"time": 1, "qpos": nq, "qvel": nv, "act": na, "qacc_warmstart": nv, "ctrl": nu,
                      "sensordata": sensors}
        assert sum(self.sizes.values()) + len(self.info["edits"]) == self.info["state_dim"]

    def ask(self, request, numbers):
        self.process.stdin.write(request)
        self.process.stdin.flush()
        status = self.process.stdout.read(1)
        assert status, "the probe has died, see its message above"
        if status != b"\0":
            raise ProbeError(self.process.stdout.readline().decode().strip())
        return self.process.stdout.read(8 * numbers)

    def snapshot(self, request):
        return Snapshot(self.info, self.ask(request, self.info["snapshot"]))

    def reset(self, seed):
        return self.snapshot(b"r" + struct.pack("=Q", seed))

    def set_state(self, state):
        return self.snapshot(b"s" + np.asarray(state, np.float64).tobytes())

    def step(self, action):
        return self.snapshot(b"a" + np.asarray(action, np.float32).tobytes())

    def episode(self, seed):
        return np.frombuffer(self.ask(b"e" + struct.pack("=Q", seed), 4))

    def draws_of(self, seed):
        self.ask(b"d" + struct.pack("=Q", seed), 0)

    def draw(self, kind, bound=None):
        request = kind if bound is None else kind + struct.pack("=I", bound)
        return struct.unpack("=d", self.ask(request, 1))[0]

    def model(self, folder):
        """The model as it now is, in Python."""
        path = str(folder / "ours.mjb")
        self.ask(b"m" + struct.pack("=I", len(path)) + path.encode(), 0)
        return mujoco.MjModel.from_binary_path(path)

    def split(self, state):
        """{"qpos": ..., ..., "edits": ...} of a state: views, so that writing to them writes to it."""
        parts = np.split(state, np.cumsum(list(self.sizes.values())))
        return dict(zip([*self.sizes, "edits"], parts))

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class OurRandom:
    """A stand-in for numpy's RandomState that hands out the draws our side makes in the reset with a seed."""

    def __init__(self, probe, seed):
        self.probe = probe
        probe.draws_of(seed)

    def fill(self, shape, draw):
        return np.array([draw() for _ in range(int(np.prod(shape)))]).reshape(shape) if shape else draw()

    def rand(self, *shape):
        return self.fill(shape, lambda: self.probe.draw(b"u"))

    def randn(self, *shape):
        return self.fill(shape, lambda: self.probe.draw(b"n"))

    def uniform(self, low=0.0, high=1.0, size=None):
        shape = np.broadcast_shapes(np.shape(low), np.shape(high)) if size is None else tuple(np.atleast_1d(size))
        return low + (high - low) * self.rand(*shape)

    def randint(self, low, high=None):
        low, high = (0, low) if high is None else (low, high)
        return low + int(self.probe.draw(b"b", high - low))

    def choice(self, values, p=None):
        if p is None:
            return values[self.randint(len(values))]
        return values[min(int((np.cumsum(p) <= self.rand()).sum()), len(values) - 1)]


class Oracle:
    """The same task of dm_control."""

    def __init__(self, name):
        self.domain, self.task = name.split("-", 1)
        self.load(0)

    def load(self, seed):
        self.env = suite.load(self.domain, self.task, task_kwargs={"random": seed},
                              environment_kwargs={"flat_observation": True})
        self.model, self.data = self.env.physics.model.ptr, self.env.physics.data.ptr

    def seed(self, seed):
        self.env.task._random = np.random.RandomState(seed)  # loading anew takes longer

    def reset(self):
        return self.flat(self.env.reset())

    def step(self, action):
        """(observation, reward, over): over is True where the task ended by itself."""
        step = self.env.step(action.astype(np.float64))
        assert not (step.last() and step.discount), "the clock ran out, and should not here"
        return self.flat(step), step.reward, step.last()

    @staticmethod
    def flat(step):
        return step.observation[control.FLAT_OBSERVATION_KEY]

    def observe(self):
        observation = self.env.task.get_observation(self.env.physics)
        return control.flatten_observation(observation)[control.FLAT_OBSERVATION_KEY]

    def state(self, pair):
        parts = [np.atleast_1d(getattr(self.data, part)) for part in pair.probe.sizes]
        edits = [getattr(self.model, field).flat[index] for field, index in pair.edits]
        return np.concatenate([*parts, edits])

    def set_state(self, pair, state):
        mujoco.mj_resetData(self.model, self.data)
        parts = pair.probe.split(state)
        self.data.time = parts["time"][0]
        for part in list(pair.probe.sizes)[1:]:
            getattr(self.data, part)[:] = parts[part]
        for (field, index), value in zip(pair.edits, parts["edits"]):
            getattr(self.model, field).flat[index] = value
        mujoco.mj_step1(self.model, self.data)


class Pair:
    """Both sides of a task, and where our edits of the model are in theirs."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.probe, self.oracle = Probe(name), Oracle(name)
        self.probe.reset(0)
        self.ours = self.probe.model(folder)
        self.edits = [(field, self.their_index(field, index)) for field, index in self.probe.info["edits"]]
        self.low = np.array(self.probe.info["low"], np.float32)
        self.high = np.array(self.probe.info["high"], np.float32)
        self.row = {}  # what is measured about the task

    def their_index(self, field, index):
        """Things are the same by name; our model may lack some that are only decoration."""
        kind = field.split("_")[0]
        if kind not in ("body", "geom", "site", "light"):
            return index
        width = getattr(self.ours, field).shape[1] if getattr(self.ours, field).ndim > 1 else 1
        name = getattr(self.ours, kind)(index // width).name
        place = index // width if not name else getattr(self.oracle.model, kind)(name).id
        return place * width + index % width

    def action(self, rng, style):
        """Anywhere in the bounds, or on them; as float32, which both sides can take exactly."""
        part = rng.uniform(size=self.low.size).astype(np.float32)
        if style == "bounds":
            part = np.round(part)
        return np.clip(self.low + (self.high - self.low) * part, self.low, self.high)
