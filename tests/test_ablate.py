"""`dqs ablate`: its numbers are computed anew from the tables of the runs."""
import csv
import itertools
import statistics
import subprocess
import time
from pathlib import Path

import pytest

from test_cli import DQS, complaint, dqs, only_json

SMALL = ["--algo", "td3", "--steps", 900, "--set", "warmup=100", "--set", "batch=32", "--set", "width=16", "--set",
         "eval_every=300", "--set", "eval_episodes=2", "--set", "final_episodes=4"]


def table(run):
    with open(run / "evaluations.csv") as f:
        return [(float(row["step"]), float(row["mean_reward"])) for row in csv.DictReader(f)]


def area(rows):
    """Of several evaluations at one step the last counts."""
    curve = sorted(dict(rows).items())
    pieces = [(b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(curve, curve[1:])]
    return sum(pieces) / (curve[-1][0] - curve[0][0])


def exact_interval(values):
    """The middle 95 % over every way to draw the seeds anew, all equally likely."""
    means = sorted(statistics.fmean(draw) for draw in itertools.product(values, repeat=len(values)))
    at = [share * (len(means) - 1) for share in (0.025, 0.975)]
    return [means[int(i)] + (i - int(i)) * (means[min(int(i) + 1, len(means) - 1)] - means[int(i)]) for i in at]


@pytest.fixture(scope="module")
def ablated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ablate")
    result = dqs("ablate", "pendulum", "gamma=0.9,0.99", *SMALL, "--seeds", 4, "--json", cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder / "runs/ablate/pendulum-td3-gamma", only_json(result), result


def test_numbers_are_those_of_the_runs(ablated):
    folder, told, _ = ablated
    assert (told["env"], told["algo"], told["preset"], told["option"], told["steps"]) == \
        ("pendulum", "td3", "default", "gamma", 900)
    assert [row["value"] for row in told["values"]] == ["0.9", "0.99"]
    for row in told["values"]:
        runs = [folder / f"pendulum/td3/default-gamma={row['value']}-s{seed}" for seed in range(4)]
        ends = [table(run)[-1][1] for run in runs]
        areas = [area(table(run)) for run in runs]
        assert row["seeds"] == 4
        assert row["mean"] == pytest.approx(statistics.fmean(ends), rel=1e-12)
        assert row["std"] == pytest.approx(statistics.stdev(ends), rel=1e-12)
        assert row["area"] == pytest.approx(statistics.fmean(areas), rel=1e-12)
        assert row["area_std"] == pytest.approx(statistics.stdev(areas), rel=1e-12)
        width = max(ends) - min(ends)
        assert [row["low"], row["high"]] == pytest.approx(exact_interval(ends), abs=0.05 * width)
        assert row["low"] < row["mean"] < row["high"]
        assert row["core_hours"] > 0 and row["per_hour"] is None, "negative returns have no return per hour"


def test_table_and_figure(ablated):
    folder, told, result = ablated
    for name in ("ablation.md", "ablation.csv", "ablation.png", "ablation.svg"):
        assert (folder / name).stat().st_size > 100 and f"/{name}\n" in result.stderr
    with open(folder / "ablation.csv") as f:
        rows = list(csv.DictReader(f))
    assert [(row["value"], float(row["mean"]), float(row["area_high"])) for row in rows] == \
        [(row["value"], row["mean"], row["area_high"]) for row in told["values"]]
    text = (folder / "ablation.md").read_text()
    assert "| gamma | Seeds | Mean |" in text and "chance" not in text and "Preset default, 900 steps" in text
    picture = (folder / "ablation.svg").read_text()
    assert picture.count("<path") + picture.count("<use") > 20


def test_more_values_train_only_what_is_missing(ablated):
    folder, told, _ = ablated
    result = dqs("ablate", "pendulum", "gamma=0.5,0.9,0.99", *SMALL, "--seeds", 2, cwd=folder.parents[2])
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("started  ") == 2 and "resumed" not in result.stderr
    assert [line.split("|")[1].strip() for line in result.stdout.splitlines() if line.startswith("| 0")] == ["0.5", "0.9", "0.99"]
    assert "Fewer than 3 seeds" in result.stdout


def test_measures_of_the_task(tmp_path):
    result = dqs("ablate", "gmm", "width=16,32", "--algo", "td3", "--steps", 120, "--set", "warmup=60", "--set", "batch=32",
                 "--set", "final_episodes=20", "--set", "eval_every=0", "--seeds", 1, "--measure", "mmd", "--json", "--out",
                 tmp_path / "out")
    assert result.returncode == 0, result.stderr
    for row in only_json(result)["values"]:
        with open(tmp_path / f"out/gmm/td3/default-width={row['value']}-s0/evaluations.csv") as f:
            assert row["mean"] == float(list(csv.DictReader(f))[-1]["mmd"])
        assert row["std"] is None


@pytest.mark.parametrize("words, part", [
    (["pendulum"], "missing TASK"),
    (["pendulum", "gamma"], "key=value"),
    (["pendulum", "gamma=0.5"], "several values"),
    (["pendulum", "gamma=0.5,0.9", "--set", "N=1,2"], "one thing at a time"),
    (["pendulum", "seeds=1,2"], "dqs sweep can"),
    (["pendulum", "gama=0.5,0.9"], "did you mean gamma"),
    (["pendulum", "gamma=0.5,2"], "gamma"),
    (["pendulun", "gamma=0.5,0.9"], "pendulun"),
    (["pendulum", "K=1,4", "--preset", "quick"], "multiple of 4"),
])
def test_wrong_commands(words, part, tmp_path):
    result = dqs("ablate", *words, cwd=tmp_path)
    assert part in complaint(result, 2)
    assert not list(Path(tmp_path).iterdir())


def test_stopped_it_says_how_to_go_on(tmp_path):
    words = ["ablate", "pendulum", "gamma=0.9,0.99", "--algo", "td3", "--steps", "500k", "--seeds", "1", "--out", "my runs"]
    process = subprocess.Popen([DQS, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begin = time.time()
    while not list(tmp_path.glob("my runs/pendulum/td3/*/progress.csv")):
        assert time.time() < begin + 60 and process.poll() is None
        time.sleep(0.05)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + 15
    assert f"to go on: {DQS} ablate pendulum gamma=0.9,0.99 --algo td3 --steps 500k --seeds 1 --out 'my runs'\n" in err
