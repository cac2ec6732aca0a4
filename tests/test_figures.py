"""dqs plot on a folder with many runs: real short trainings, and the tables and pictures that come out, held against
what Python reads from the same run folders."""
import csv
import json
import math
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import numpy
import pytest
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parent.parent
DQS = str(Path(os.environ.get("DQS_BUILD", ROOT / "build")).resolve() / "dqs")
SMALL = ["--preset", "quick", "--threads", "1", "--quiet", "--set", "width=16", "--set", "batch=16", "--set",
         "warmup=200", "--set", "replay=2000", "--set", "eval_every=150", "--set", "eval_episodes=2"]

if not os.access(DQS, os.X_OK):
    pytest.skip(f"{DQS} is not built", allow_module_level=True)


def dqs(*args):
    return subprocess.run([DQS, *map(str, args)], timeout=300, capture_output=True, text=True)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Two methods on three tasks, two seeds of one of them. Copy it before changing it."""
    folder = tmp_path_factory.mktemp("lab")
    for task, algo, seed, episodes in [("maze-small", "sac", 0, 2), ("maze-small", "td3", 0, 2),
                                       ("maze-small", "td3", 1, 2), ("pendulum", "sac", 0, 2),
                                       ("pendulum", "td3", 0, 2), ("gmm", "sac", 0, 200)]:
        result = dqs("train", task, "--algo", algo, "--seed", seed, *SMALL, "--steps", 450, "--set",
                     f"final_episodes={episodes}", "--out", folder / task / algo / f"quick-s{seed}")
        assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def measured(lab):
    """The program's own numbers of the mazes, by method and seed: of drawn actions, which do find goals."""
    numbers = {}
    for run in sorted(lab.glob("maze-small/*/*")):
        result = dqs("eval", run, "--mode", "explore", "--episodes", 40, "--json")
        assert result.returncode == 0, result.stderr
        numbers[run.parent.name, run.name[-1]] = json.loads(result.stdout)
    return numbers


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def check_picture(path):
    if path.suffix == ".png":
        assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n") and path.stat().st_size > 5000
    else:
        assert xml.etree.ElementTree.parse(path).getroot().tag.endswith("svg")


def test_a_folder_of_runs_becomes_figures_and_tables(lab, tmp_path):
    result = dqs("plot", lab, "--out", tmp_path / "out", "--json")
    assert result.returncode == 0 and result.stderr == "", result.stderr
    names = [Path(f).name for f in json.loads(result.stdout)]
    assert names == ["fig-curves.png", "fig-curves.svg", "fig-maze-small.png", "fig-maze-small.svg",
                     "maze-goals.csv", "maze-goals.md", "fig-gmm.png", "fig-gmm.svg", "gmm-samples.csv",
                     "gmm-samples.md"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(names)
    for name in names:
        if name.startswith("fig-"):
            check_picture(tmp_path / "out" / name)


def test_the_table_of_the_mazes_is_what_the_traces_say(lab, measured, tmp_path):
    assert dqs("plot", lab, "--out", tmp_path).returncode == 0
    table = rows(tmp_path / "maze-goals.csv")
    for row in table:
        row["algo"] = row["method"].split()[0]  # "sac batch=16 ...": with its departures from the preset
    assert [(r["algo"], r["seed"]) for r in table] == [("sac", "0"), ("td3", "0"), ("td3", "1")]
    goals = {"goal_top_left": (-2, 2), "goal_bottom_right": (2, -2)}  # centres in the 7 x 7 maze, radius 0.5
    for row in table:
        folder = lab / "maze-small" / row["algo"] / f"quick-s{row['seed']}"
        trace = load_file(folder / "trace.safetensors")
        first = []
        for obs, length in zip(trace["obs"], trace["length"]):
            path = obs[: length + 1, :2]
            hits = {name: numpy.flatnonzero(numpy.hypot(*(path - centre).T) <= 0.5)
                    for name, centre in goals.items()}
            first.append(min((h[0], name) for name, h in hits.items() if len(h))[1]
                         if any(map(len, hits.values())) else None)
        for name in goals:
            assert int(row[name]) == first.count(name)
        found = sum(f is not None for f in first)
        assert float(row["success"]) == pytest.approx(found / len(first))
        shares = [first.count(name) / found for name in goals if first.count(name)]
        assert float(row["goal_entropy"]) == pytest.approx(-sum(p * math.log2(p) for p in shares), abs=1e-9)
        assert float(row["mean_return"]) == pytest.approx(trace["returns"].mean())
        told = measured[row["algo"], row["seed"]]
        assert row["mode"] == "explore" and int(row["episodes"]) == told["episodes"] == 40
        for key in ("goals", "paths", "path_top", "path_left", "goal_top_left"):
            assert float(row[key]) == told[key]
    assert sum(float(row["success"]) for row in table) > 0, "nobody found a goal: the test has seen nothing"


def test_the_table_of_gmm_has_the_numbers_of_the_evaluation(lab, tmp_path):
    assert dqs("plot", lab, "--out", tmp_path, "--tasks", "gmm").returncode == 0
    row, = rows(tmp_path / "gmm-samples.csv")
    last = rows(lab / "gmm" / "sac" / "quick-s0" / "evaluations.csv")[-1]
    assert int(row["samples"]) == 200
    for key in ("mmd", "mmd_floor", "modes", "mode_entropy"):
        assert float(row[key]) == pytest.approx(float(last[key]), rel=1e-5)
    # sac maps the log partition of its critics
    trace = load_file(lab / "gmm" / "sac" / "quick-s0" / "trace.safetensors")
    assert trace["soft_value"].shape == (61, 61) and numpy.isfinite(trace["soft_value"]).all()
    assert trace["soft_value"].std() > 0


def test_choices_change_the_picture_and_nothing_else(lab, tmp_path):
    seen = set()
    for k, words in enumerate(([], ["--band", "ci"], ["--band", "none"], ["--x", "hours"], ["--algos", "td3,sac"],
                               ["--tasks", "maze-small"], ["--smooth", "3"], ["--seeds", "0"])):
        result = dqs("plot", lab, "--out", tmp_path / str(k), *words)
        assert result.returncode == 0, result.stderr
        seen.add((tmp_path / str(k) / "fig-curves.png").read_bytes())
    assert len(seen) == 8
    again = dqs("plot", lab, "--out", tmp_path / "again")
    assert again.returncode == 0
    assert (tmp_path / "again" / "fig-curves.png").read_bytes() == (tmp_path / "0" / "fig-curves.png").read_bytes()


def test_runs_from_anywhere_stand_together(lab, tmp_path):
    runs = [lab / "maze-small" / "sac" / "quick-s0", lab / "maze-small" / "td3" / "quick-s1"]
    result = dqs("plot", *runs, "--together", "--out", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    assert [r["method"].split()[0] for r in rows(tmp_path / "out" / "maze-goals.csv")] == ["sac", "td3"]
    assert not list(runs[0].glob("*.png"))


def test_a_damaged_run_is_named_and_left_out(lab, tmp_path):
    copy = Path(shutil.copytree(lab, tmp_path / "copy"))
    (copy / "pendulum" / "sac" / "quick-s0" / "evaluations.csv").write_text("step,mean_reward\n1,two\n")
    (copy / "maze-small" / "td3" / "quick-s1" / "trace.safetensors").write_bytes(b"\xff" * 100)
    result = dqs("plot", copy)
    assert result.returncode == 0
    warnings = result.stderr.splitlines()
    assert len(warnings) == 2 and all(line.startswith("dqs: warning: ") for line in warnings)
    assert any("pendulum/sac/quick-s0/evaluations.csv" in line for line in warnings)
    assert any("maze-small/td3/quick-s1/trace.safetensors" in line for line in warnings)
    assert (copy / "fig-curves.png").exists()  # without --out: into the folder itself
    assert len(rows(copy / "maze-goals.csv")) == 2


@pytest.mark.parametrize("words, telling", [
    (["--band", "wide"], "minmax, ci and none"),
    (["--x", "days"], "steps and hours"),
    (["--tasks", "cheetah-run"], "cheetah-run"),
    (["--algos", "dqs"], "there are: sac batch=16"),
    (["--seeds", "x"], "--seeds"),
    (["--smooth", "-1"], "--smooth"),
])
def test_a_wrong_word_is_one_clear_line(lab, tmp_path, words, telling):
    result = dqs("plot", lab, "--out", tmp_path / "out", *words)
    assert result.returncode == 2 and result.stdout == ""
    line, = result.stderr.splitlines()
    assert line.startswith("dqs: ") and telling in line


def test_a_folder_without_runs_is_refused(tmp_path):
    result = dqs("plot", tmp_path)
    assert result.returncode == 1
    line, = result.stderr.splitlines()
    assert re.match(r"dqs: .*no run", line) and "dqs train" in line
