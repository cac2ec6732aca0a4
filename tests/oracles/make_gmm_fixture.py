#!/usr/bin/env python3
"""Writes tests/fixtures/gmm.txt: GMM-40's means from PyTorch's generator, log densities and MMD by SciPy.

Needs torch, scipy and numpy. Lines: "mean x y", "density x y value", "mmd n bandwidth value" and the 2 n
"point x y" lines of the two sets (first n, then n) that belong to it.
"""
import sys
from pathlib import Path

import numpy as np
import scipy
import torch
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

OUT = Path(__file__).resolve().parent.parent / "fixtures" / "gmm.txt"


def mmd(a, b, bandwidth):
    def mean_kernel(u, v):
        return np.exp(-cdist(u, v, "sqeuclidean") / (2 * bandwidth**2)).mean()

    return np.sqrt(mean_kernel(a, a) + mean_kernel(b, b) - 2 * mean_kernel(a, b))


def main():
    torch.manual_seed(0)
    means = np.round(((torch.rand((40, 2)) - 0.5) * 80).double().numpy(), 4)
    lines = [f"# torch {torch.__version__.split('+')[0]}, scipy {scipy.__version__}, numpy {np.__version__}"]
    lines += [f"mean {x:.4f} {y:.4f}" for x, y in means]
    rng = np.random.default_rng(3)
    corners, between = [[-50, 50], [50, 50]], means[22] + [0.6, 0.1]
    places = np.vstack([means[:4], rng.uniform(-50, 50, (30, 2)), corners, between])
    for place in places:
        value = logsumexp([multivariate_normal.logpdf(place, mean, np.eye(2)) for mean in means]) - np.log(40)
        lines.append(f"density {place[0]:.17g} {place[1]:.17g} {value:.17g}")
    n = 37  # not a whole number of vectors
    a = (means[rng.integers(0, 40, n)] + rng.normal(size=(n, 2))).astype(np.float32).astype(float)
    b = (means[rng.integers(0, 10, n)] + rng.normal(size=(n, 2))).astype(np.float32).astype(float)
    for bandwidth in (1.0, 31.5):
        lines.append(f"mmd {n} {bandwidth} {mmd(a, b, bandwidth):.17g}")
    lines += [f"point {x:.9g} {y:.9g}" for x, y in np.vstack([a, b])]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
