"""What the peers share: the fixture that `dqs bench --fixture` wrote, the random numbers our update drew from it, and a
small protocol for being timed.

A peer prints one JSON line about how well its update agrees with ours. Then, for every line of its input, "update
COUNT" or "act COUNT", it does that and prints one JSON line with the time: mean ms of an update, or the median us of
acting on one observation with 20 integration steps.
"""
import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from safetensors import safe_open

SEED = 1  # of the learner that `dqs bench` makes
REPLAY, TARGET, SCORE = 1, 4, 5  # purposes of random streams: src/base/rng.h
NETS = ["critic0", "critic1", "target0", "target1", "score"]
CHUNK_ROWS = 64_000  # most rows through a critic at a time
ACT_STEPS = 20


# ---------------------------------------------------------------- random numbers: Philox4x32-10, Box-Muller
def splitmix(x):
    m = (1 << 64) - 1
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & m
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & m
    return x ^ (x >> 31)


def words(purpose, ticket, n):
    """The first n 32-bit words of a ticket."""
    m, golden = (1 << 64) - 1, 0x9E3779B97F4A7C15
    key = splitmix(splitmix(SEED + golden & m) + golden * (purpose + 1) & m)
    k0, k1, low, half = key & 0xFFFFFFFF, key >> 32, np.uint64(0xFFFFFFFF), np.uint64(32)
    blocks = (n + 3) // 4
    c0, c1 = np.arange(blocks, dtype=np.uint64), np.zeros(blocks, dtype=np.uint64)
    c2, c3 = np.full(blocks, ticket, dtype=np.uint64), np.zeros(blocks, dtype=np.uint64)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (b >> half) ^ c1 ^ np.uint64(k0), b & low, (a >> half) ^ c3 ^ np.uint64(k1), a & low
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1).reshape(-1)[:n]


def uniforms(purpose, ticket, n):
    return (words(purpose, ticket, n) >> np.uint64(9)).astype(np.float64) * 2.0**-23 + 2.0**-24


def normals(purpose, ticket, n):
    u = uniforms(purpose, ticket, n + n % 2).reshape(-1, 2)
    radius, angle = np.sqrt(-2 * np.log(u[:, 0])), 2 * np.pi * u[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)[:n].astype(np.float32)


# ---------------------------------------------------------------- the fixture
def value_of(text):
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


class Fixture:
    """A learner before and after one update of ours."""

    def __init__(self, folder):
        with safe_open(Path(folder) / "before.safetensors", "np") as file:
            self.before = {name: file.get_tensor(name) for name in file.keys()}
            pairs = (pair.split("=") for pair in file.metadata()["options"].split())
            self.options = {key: value_of(value) for key, value in pairs}
        with safe_open(Path(folder) / "after.safetensors", "np") as file:
            self.after = {name: file.get_tensor(name) for name in file.keys()}
            self.logged = {name: float(value) for name, value in file.metadata().items()}
        o = self.options
        for key in ("target_critics", "energy_critics"):
            o[key] = "mean" if o[key] == "auto" else o[key]
        strange = {"squash": "paper", "estimator": "gradient", "temperature": "fixed", "noised": "buffer", "n_step": 1,
                   "T_spread": 1, "particles_target": 1, "corrector_target": 0, "obs_octaves": 0, "score_clip": 0, "huber": 0,
                   "max_grad_norm": 0, "weight_decay": 0, "score_layernorm": False, "score_activation": "relu", "bound_values": False, "average": 0}
        for key, only in strange.items():
            if o[key] != only:
                sys.exit(f"{key}={o[key]}: the peers know {only} alone")
        self.written = int(self.before["replay/written"][0])
        self.obs_dim, self.act_dim = self.before["replay/obs"].shape[1], self.before["replay/action"].shape[1]

    def replay(self):
        return {name: self.before[f"replay/{name}"][: self.written]
                for name in ("obs", "action", "reward", "next_obs", "terminated")}

    def batch(self):
        """The minibatch that our update drew."""
        B = self.options["batch"]
        pairs = words(REPLAY, int(self.before["rng/replay"][0]), 2 * B).reshape(B, 2)
        slots = [((int(high) << 32 | int(low)) * self.written) >> 64 for high, low in pairs]
        return {name: rows[slots] for name, rows in self.replay().items()}

    def noise(self):
        """What our update drew: the sampler's start and steps, tau, the noise of a_tau, and that of the K samples."""
        o, d = self.options, self.act_dim
        B, K, N = o["batch"], o["K"], o["N"]
        target, score = int(self.before["rng/target"][0]), int(self.before["rng/score"][0])
        half = (K + 1) // 2 * d
        e = normals(SCORE, score + 3, B * ((half + 3) // 4 * 4)).reshape(B, -1)[:, :half].reshape(B, -1, d)
        return {
            "start": normals(TARGET, target, B * d).reshape(B, d),
            "steps": np.stack([normals(TARGET, target + 1 + n, B * d).reshape(B, d) for n in range(N)]),
            "tau": ((np.arange(B) + uniforms(SCORE, score, B)) / B).astype(np.float32),
            "action": normals(SCORE, score + 1, B * d).reshape(B, d),
            "samples": np.ascontiguousarray(np.stack([e, -e], axis=2).reshape(B, -1, d)[:, :K]),
        }

    def layers(self, net):
        """[(weight [in x out], bias), ...]"""
        hidden = self.options["score_hidden" if net == "score" else "critic_hidden"]
        names = [*map(str, range(hidden)), "out"]
        weights = [self.before[f"{net}/{name}.weight"] for name in names]
        weights[-1] = weights[-1].T
        return [(w, self.before[f"{net}/{name}.bias"]) for w, name in zip(weights, names)]

    def moments(self, net, which):
        """Adam's flat m or v, cut like layers()."""
        flat, pieces, at = self.before[f"{net}_adam/{which}"], [], 0
        layers = self.layers(net)
        for i, (weight, bias) in enumerate(layers):
            shape = weight.shape if i < len(layers) - 1 else weight.shape[::-1]
            w = flat[at : at + weight.size].reshape(shape)
            at += weight.size
            pieces.append((w if i < len(layers) - 1 else w.T, flat[at : at + bias.size]))
            at += bias.size
        return pieces

    def steps_before(self, net):
        return int(self.before[f"{net}_adam/t"][0])

    def levels(self, N):
        """tau, h and g^2 at the start of each of N steps, and h at its end."""
        low, ratio = self.options["sigma_min"], self.options["sigma_max"] / self.options["sigma_min"]
        tau = 1 - np.arange(N + 1) / N
        h = low**2 * (ratio ** (2 * tau) - 1)
        h[N] = 0
        return tau[:N], h[:N], 2 * np.log(ratio) * low**2 * ratio ** (2 * tau[:N]), h[1:]

    def moves(self, N):
        """Every step of the sampler is x + drift S + spread z."""
        _, h, g2, following = self.levels(N)
        if self.options["sampler"] == "euler-maruyama":
            return g2 / N, np.sqrt(g2 / N)
        assert self.options["sampler"] == "ancestral"
        return h - following, np.sqrt(following * (1 - following / h))

    def seen_T(self):
        return np.log(self.options["T"]) if self.options["T_input"] == "absolute" else 0.0

    def agreement(self, layers, losses):
        """layers: {net: [(weight [in x out], bias), ...]} after a peer's update. Relative errors, the
        worst of them: of the losses; of the parameters, tensor by tensor; of the steps the networks took."""
        parameter, step = 0.0, 0.0
        for net in NETS:
            apart, length = 0.0, 0.0
            for i, (weight, bias) in enumerate(layers[net]):
                name = "out" if i == len(layers[net]) - 1 else str(i)
                for part, value in (("weight", weight.T if name == "out" else weight), ("bias", bias)):
                    key = f"{net}/{name}.{part}"
                    ours, old = self.after[key].astype(np.float64), self.before[key].astype(np.float64)
                    parameter = max(parameter, np.linalg.norm(value - ours) / np.linalg.norm(ours))
                    apart += ((value - ours) ** 2).sum()
                    length += ((ours - old) ** 2).sum()
            step = max(step, (apart / length) ** 0.5)
        loss = max(abs(value / self.logged[f"train/{name}"] - 1) for name, value in losses.items())
        return {"loss_error": float(loss), "parameter_error": float(parameter), "step_error": float(step)}


# ---------------------------------------------------------------- being timed
def arguments(doc):
    """Read before torch or jax is imported: they look at the processors they may use."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--fixture", required=True, help="folder that `dqs bench --fixture` filled")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--hoist", action="store_true", help="multiply what rows share once, as we do")
    parser.add_argument("--compile", action="store_true", help="torch.compile")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    return options


def serve(learner, fixture):
    print(json.dumps(fixture.agreement(*learner.update_as_recorded(fixture))), flush=True)
    for line in sys.stdin:
        what, count = line.split()
        if what == "update":
            begin = time.perf_counter()
            learner.updates(int(count))
            print(json.dumps({"ms": (time.perf_counter() - begin) * 1e3 / int(count)}), flush=True)
        else:
            times = []
            for _ in range(int(count)):
                begin = time.perf_counter()
                learner.act()
                times.append((time.perf_counter() - begin) * 1e6)
            print(json.dumps({"us": statistics.median(times)}), flush=True)
