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


def mean_kernel(a, b, widths):
    sums = np.zeros(len(widths))
    for at in range(0, len(a), 500):
        squares = ((a[at:at + 500, None] - b) ** 2).sum(-1)
        sums += [np.exp(-squares / (2 * width * width)).sum() for width in widths]
    return sums / (len(a) * len(b))


def mmd(a, b, widths):
    return np.sqrt(np.maximum(0, mean_kernel(a, a, widths) + mean_kernel(b, b, widths) - 2 * mean_kernel(a, b, widths)))


def median_distance(a, b):
    """Of both sets together, at most 250 evenly spread points from each, as in src/env/gmm_metrics.c."""
    both = np.concatenate([a[::max(1, len(a) // 250)], b[::max(1, len(b) // 250)]])
    distances = np.sqrt(((both[:, None] - both) ** 2).sum(-1))
    return np.median(distances[np.triu_indices(len(both), 1)])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rng = np.random.default_rng(0)

    def exact():
        return MEANS[rng.integers(0, 40, n)] + rng.normal(size=(n, 2))
    end = walk(rng.uniform(-50, 50, (n, 2)), rng)
    squares = ((end[:, None] - MEANS) ** 2).sum(-1)
    widths = [1.0, median_distance(end, exact())]
    repeats = 10 if n <= 1000 else 3
    got = np.mean([mmd(end, exact(), widths) for _ in range(repeats)], axis=0)
    floor = np.mean([mmd(exact(), exact(), widths) for _ in range(repeats)], axis=0)
    print(f"{n} episodes: mmd {got[0]:.4f} (floor {floor[0]:.4f}), at the median distance {widths[1]:.1f} {got[1]:.4f} "
          f"(floor {floor[1]:.4f}), modes {(squares.min(0) < 9).sum()} of 40")


if __name__ == "__main__":
    main()
