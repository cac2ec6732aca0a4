#!/usr/bin/env python3
"""What the critics of a dqs run say, beside what came of it: values of the states in its replay and the discounted rewards that followed.

    .venv/bin/python tools/values.py RUN/checkpoint.safetensors [--target FIRST]

One environment, plain critics with layer norm, episodes of 1000 steps. Rewards and values are those of a step where actions are held, too. Prints the mean of both critics, their mean difference and the
discounted rewards (with the value of the last state beyond the end) of the last five episodes and of those before. --target FIRST: also values of
slow states by the distance that the observations FIRST and FIRST+1 make, for reacher-hard (2; the two after it are the velocities).
"""
import argparse
import re

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file

STEPS, GAMMA = 1000, 0.99
EDGES = (0, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.08, 0.15, 0.5)


def critic(tensors, name, h):
    layer = 0
    while f"{name}/{layer}.weight" in tensors:
        z = h @ tensors[f"{name}/{layer}.weight"] + tensors[f"{name}/{layer}.bias"]
        z = (z - z.mean(1, keepdims=True)) / np.sqrt(z.var(1, keepdims=True) + 1e-5)
        h, layer = np.maximum(z, 0), layer + 1
    return (h @ tensors[f"{name}/out.weight"].T + tensors[f"{name}/out.bias"])[:, 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("--target", type=int)
    o = parser.parse_args()
    t = load_file(o.checkpoint)
    with safe_open(o.checkpoint, "numpy") as file:
        held = re.search(r"^action_repeat: (\d+)", file.metadata()["config"], re.MULTILINE)
    held = int(held[1]) if held else 1
    length = -(-STEPS // held)  # in the replay
    n = min(int(t["replay/written"][0]), len(t["replay/obs"])) // length * length
    obs, action, reward = (t[f"replay/{name}"][:n] for name in ("obs", "action", "reward"))
    x = np.concatenate([(obs - t["normaliser/shift"]) * t["normaliser/scale"], action], 1)
    both = [critic(t, name, x) for name in ("critic0", "critic1")]
    q, gap = sum(both) / 2, np.abs(both[0] - both[1])
    came = np.zeros(n)
    for i in reversed(range(n)):
        came[i] = reward[i] + GAMMA * (q[i] if i % length == length - 1 else came[i + 1])
    episode, early = np.arange(n) // length, np.arange(n) % length < 0.7 * length
    for text, rows in (("before", episode < n // length - 5), ("the last five", episode >= n // length - 5)):
        rows = rows & early & (episode >= 10)
        if rows.any():
            print(f"{text:14} Q {q[rows].mean():7.2f}  came {came[rows].mean():7.2f}  critics differ by {gap[rows].mean():.3f}  largest Q {q[rows].max():.1f}")
    print("returns of the last twenty:", *(held * reward.reshape(-1, length).sum(1)[-20:]).astype(int))
    if o.target is not None:
        distance, slow = np.linalg.norm(obs[:, o.target:o.target + 2], axis=1), np.abs(obs[:, o.target + 2:o.target + 4]).max(1) < 1
        for low, high in zip(EDGES, EDGES[1:]):
            rows = slow & (distance >= low) & (distance < high)
            if rows.any():
                print(f"{low:5} to {high:5}: {rows.sum():6} states  reward {reward[rows].mean():.2f}  Q {q[rows].mean():.1f}  critics differ by {gap[rows].mean():.2f}")


if __name__ == "__main__":
    main()
