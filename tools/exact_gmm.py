"""The exact Boltzmann policy of the true gmm reward, for comparison: python3 tools/exact_gmm.py [episodes] (needs numpy).

With gamma 0 the true Q(s, a) is the log density after the step. The policy draws a from exp(Q/T), T = 1, on the action square;
only the direction of a matters, so a direction has the weight of its ray: the square of its length, over 2.
"""
import os
import re
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "..", "src", "env", "gmm.c")) as source:
    PAIRS = re.findall(r"\{\s*(-?\d+\.\d+)f?\s*,\s*(-?\d+\.\d+)f?\s*\}", source.read())
MEANS = np.array(PAIRS[:40], dtype=float)
assert MEANS.shape == (40, 2)


def log_density(points):
    exponents = -((points[..., None, :] - MEANS) ** 2).sum(-1) / 2
    return np.logaddexp.reduce(exponents, axis=-1) - np.log(40 * 2 * np.pi)


def walk(x, rng, steps=100, directions=128):
    angle = (np.arange(directions) + 0.5) / directions * 2 * np.pi
    unit = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    ray = -2 * np.log(np.maximum(np.abs(unit[:, 0]), np.abs(unit[:, 1])))
    for _ in range(steps):
        for at in range(0, len(x), 1000):
            ahead = np.clip(x[at:at + 1000, None] + unit, -50, 50)
            score = log_density(ahead) + ray + rng.gumbel(size=ahead.shape[:2])
            x[at:at + 1000] = ahead[np.arange(len(ahead)), score.argmax(1)]
    return x


def mmd(a, b):
    def mean_kernel(p, q):
        return np.mean([np.exp(-((row - q) ** 2).sum(-1) / 2).mean() for row in p])
    return np.sqrt(max(0, mean_kernel(a, a) + mean_kernel(b, b) - 2 * mean_kernel(a, b)))


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rng = np.random.default_rng(0)

    def exact():
        return MEANS[rng.integers(0, 40, n)] + rng.normal(size=(n, 2))
    end = walk(rng.uniform(-50, 50, (n, 2)), rng)
    squares = ((end[:, None] - MEANS) ** 2).sum(-1)
    print(f"{n} episodes: mmd {np.mean([mmd(end, exact()) for _ in range(3)]):.4f}, "
          f"floor {np.mean([mmd(exact(), exact()) for _ in range(3)]):.4f}, "
          f"modes {(squares.min(0) < 9).sum()} of 40")


if __name__ == "__main__":
    main()
