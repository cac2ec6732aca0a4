"""Writes tests/fixtures/stats.safetensors: scores, resampled indices, and what the package rliable makes of them.

    python3 tests/oracles/make_stats_fixture.py   # needs numpy, rliable, safetensors

rliable draws its indices with np.random.choice; here they are recorded as it draws them, so that the intervals can be
compared to the digit. A second, longer run of its own gives intervals to compare ours with, up to chance.
"""
import pathlib

import numpy as np
from rliable import library, metrics
from safetensors.numpy import save_file

REPETITIONS = 400
LONG = 50000
TAUS = np.linspace(0, 1, 11)


def measures(scores):
    return np.array([metrics.aggregate_mean(scores), metrics.aggregate_median(scores),
                     metrics.aggregate_iqm(scores), metrics.aggregate_optimality_gap(scores)])


def improvement(x, y):
    return np.array([metrics.probability_of_improvement(x, y)])


def recorded(run):
    """What `run` returns, and the indices drawn meanwhile, one array per draw."""
    drawn, choice = [], np.random.choice

    def choose(*args, **kwargs):
        drawn.append(choice(*args, **kwargs))
        return drawn[-1]

    np.random.choice = choose
    try:
        return run(), drawn
    finally:
        np.random.choice = choice


def main():
    rng = np.random.default_rng(6)
    out = {"taus": TAUS}
    # Runs x tasks, as rliable has it. Odd sizes, so that a quarter is no whole number of scores; some ties; some above 1.
    x = np.round(rng.beta(2, 2, (7, 5)) * 1.2, 2)
    y = np.round(rng.beta(2, 3, (4, 5)) * 1.2, 2)
    x[:3, 1] = y[:3, 1]
    out["x"], out["y"] = x, y
    for name, scores in (("x", x), ("y", y)):
        np.random.seed(1)
        (point, interval), drawn = recorded(
            lambda: library.get_interval_estimates({"a": scores}, measures, reps=REPETITIONS))
        out[name + "_measures"] = point["a"]
        out[name + "_intervals"] = interval["a"]
        out[name + "_indices"] = np.array(drawn[:REPETITIONS], dtype=np.uint8)
        np.random.seed(2)
        out[name + "_long"] = library.get_interval_estimates({"a": scores}, measures, reps=LONG)[1]["a"]
        profile, band = library.create_performance_profile({"a": scores}, TAUS, reps=2000)
        out[name + "_profile"], out[name + "_band"] = profile["a"], band["a"]
    np.random.seed(3)
    point, interval = library.get_interval_estimates({"a": [x, y]}, improvement, reps=5000)
    out["improvement"], out["improvement_long"] = point["a"], interval["a"]
    # Unequal numbers of seeds: rliable knows none, but its answer for every score repeated (2, 3 and 1 seeds six times).
    ragged = [rng.beta(2, 2, n) for n in (2, 3, 1)]
    repeated = np.stack([np.repeat(scores, 6 // len(scores)) for scores in ragged], axis=1)
    out["ragged"] = np.concatenate(ragged)
    out["ragged_measures"] = measures(repeated)
    out["ragged_profile"] = library.score_distributions(repeated, TAUS)
    folder = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
    save_file({key: np.ascontiguousarray(value) for key, value in out.items()}, folder / "stats.safetensors")


if __name__ == "__main__":
    main()
