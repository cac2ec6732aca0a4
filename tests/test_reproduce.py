"""`dqs reproduce`: small trainings from end to end; and the verdicts, computed anew by Python from run folders whose
numbers are made up here."""
import csv
import itertools
import json
import re
import signal
import struct
import subprocess
import time
import zlib

import numpy as np
import pytest
from safetensors import safe_open

from test_cli import DQS, ROOT, complaint, dqs, only_json
from test_report import make_run

SMALL = ["--set", "batch=16", "--set", "warmup=100", "--set", "replay=1000", "--set", "eval_every=0", "--jobs", 2]
DQS_SMALL = ["--set", "critic_width=16", "--set", "score_width=16"]
TINY = ["--set", "width=16", *DQS_SMALL, *SMALL]
TABLE1 = {  # of the paper: (task, algorithm, steps) -> mean, std
    ("cheetah-run", "dqs", 100000): (492.61, 30.99), ("cheetah-run", "sac", 100000): (216.88, 18.51),
    ("cheetah-run", "ppo", 100000): (273.52, 101.92), ("reacher-hard", "dqs", 100000): (914.15, 18.28),
    ("reacher-hard", "sac", 100000): (52.76, 50.88), ("reacher-hard", "ppo", 100000): (19.63, 46.40),
    ("cheetah-run", "dqs", 250000): (683.64, 18.51), ("cheetah-run", "sac", 250000): (588.91, 84.52),
    ("cheetah-run", "ppo", 250000): (362.27, 145.64), ("reacher-hard", "dqs", 250000): (974.05, 1.64),
    ("reacher-hard", "sac", 250000): (666.12, 230.56), ("reacher-hard", "ppo", 250000): (31.21, 88.40),
}


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def metadata(run):
    with safe_open(run / "trace.safetensors", "numpy") as file:
        return file.metadata()


def interval(values):
    """The middle 95 % of the mean over every way to draw the seeds anew."""
    means = [np.mean(draw) for draw in itertools.product(values, repeat=len(values))]
    return np.quantile(means, [0.025, 0.975])


# ---------------------------------------------------------------- from end to end

@pytest.fixture(scope="module")
def mixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduce")
    words = ["reproduce", "fig-gmm", "--steps", 240, *TINY, "--set", "final_episodes=80", "--set", "K=4"]
    result = dqs(*words, "--json", cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder, words, only_json(result), result


def test_the_mixture_from_sweep_to_verdict(mixture):
    folder, _, told, result = mixture
    out = folder / "runs/reproduce"
    item, = told["items"]
    assert item["item"] == "fig-gmm" and item["presets"] == "preset default" and told["stopped"] is False
    names = [re.sub(".*/", "", f) for f in item["files"]]
    assert names == ["fig-gmm.md", "fig-gmm.tex", "fig-gmm.png", "fig-gmm.svg", "gmm-samples.csv", "gmm-samples.md",
                     "verdicts.csv"]
    assert sorted(p.name for p in (out / "fig-gmm").iterdir()) == sorted(names)
    # SAC's samples are drawn by its policy, DQS's are those of its last evaluation
    runs = {algo: metadata(out / f"runs/gmm/{algo}/default-s0") for algo in ("dqs", "sac")}
    assert {algo: m["mode"] for algo, m in runs.items()} == {"dqs": "evaluate", "sac": "explore"}
    ratio = float(runs["sac"]["mmd"]) / float(runs["dqs"]["mmd"])
    by_measure = {v["measure"]: v for v in item["verdicts"]}
    assert by_measure["MMD of SAC over MMD of DQS"]["ours"] == pytest.approx(ratio, rel=1e-9)
    assert by_measure["modes covered"]["ours"] == float(runs["dqs"]["modes"])
    assert {v["verdict"] for v in item["verdicts"]} == {"no verdict: too few steps"}, "240 steps show nothing"
    text = (out / "fig-gmm/fig-gmm.md").read_text()
    assert text.strip() in result.stderr and "exact Boltzmann policy" in text and "drawn from the policy" in text
    assert text.count("preset default") >= 3, "every table names the preset"


def test_the_plan_comes_first(mixture):
    _, _, told, result = mixture
    plan, = told["plan"]
    assert (plan["item"], plan["runs"], plan["finished"], plan["steps"]) == ("fig-gmm", 2, 0, 240)
    assert all(a["update_seconds"] > 0 and 0 < a["core_hours"] < 1 for a in plan["algos"])
    lines = result.stderr.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("started"))
    assert any("less than a minute" in line for line in lines[:first])
    assert any("Ctrl-C" in line and "to go on: " in line for line in lines[:first])


def test_again_trains_nothing(mixture):
    folder, words, told, _ = mixture
    trace = (folder / "runs/reproduce/runs/gmm/sac/default-s0/trace.safetensors").stat().st_mtime_ns
    result = dqs(*words, "--json", cwd=folder)
    again = only_json(result)
    assert again["items"] == told["items"] and again["plan"][0]["finished"] == 2
    assert "started" not in result.stderr and "nothing is left to train" in result.stderr
    assert (folder / "runs/reproduce/runs/gmm/sac/default-s0/trace.safetensors").stat().st_mtime_ns == trace


def test_control_tasks_share_their_runs(tmp_path):
    words = ["--steps", 200, "--tasks", "reacher-hard", "--seeds", 1, "--set", "final_episodes=1", "--out", tmp_path / "out"]
    result = dqs("reproduce", "table1", "table2", "--algos", "dqs", *words, *SMALL, *DQS_SMALL, "--json")
    assert result.returncode == 0, result.stderr
    assert [p["shared"] for p in only_json(result)["plan"]] == [0, 1] and result.stderr.count("started  ") == 1
    assert len(rows(tmp_path / "out/verdicts.csv")) == 2, "of both"
    result = dqs("reproduce", "table1", "--algos", "dqs,ppo,td3", *words, *TINY, "--set", "n_steps=64")
    assert result.returncode == 0 and result.stderr.count("started  ") == 2, result.stderr
    assert "No run has come to the 100k steps" in result.stdout
    out = tmp_path / "out/table1"
    assert {p.name for p in out.iterdir()} == {"table1.md", "table1.tex", "table1.csv", "fig-curves.png", "fig-curves.svg",
                                               "report.html", "verdicts.csv"}
    scores = {r["method"].split()[0]: r for r in rows(out / "table1.csv")}  # "dqs batch=16 ...": not its preset
    for algo in ("dqs", "ppo", "td3"):
        last = rows(tmp_path / f"out/runs/reacher-hard/{algo}/default-s0/evaluations.csv")[-1]
        assert float(scores[algo]["return"]) == float(last["mean_reward"])
    assert scores["ppo"]["step"] == "320", "200 updates of 16 rows in 10 passes"


def test_stopped_it_goes_on(tmp_path):
    words = ["reproduce", "fig-gmm", "--steps", 1500, *TINY, "--set", "final_episodes=50", "--out", "out"]
    process = subprocess.Popen([DQS, *map(str, words)], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begin = time.time()
    while not list(tmp_path.glob("out/runs/gmm/dqs/default-s0/progress.csv")) and process.poll() is None and \
            time.time() - begin < 60:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    if process.returncode == 0:
        pytest.skip("it was quicker than the signal")
    assert process.returncode == 130
    again = re.search(r"^stopped: .*; to go on: (.*)$", stderr, re.M)
    assert again and again[1].split()[1:3] == ["reproduce", "fig-gmm"]
    result = subprocess.run(again[1], shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert "resumed" in result.stderr or "started" in result.stderr
    assert (tmp_path / "out/runs/gmm/dqs/default-s0/DONE").exists() and (tmp_path / "out/fig-gmm/verdicts.csv").exists()


# ---------------------------------------------------------------- plans

def test_a_dry_run_writes_nothing(tmp_path):
    result = dqs("reproduce", "all", *TINY, "--set", "K=4", "--dry-run", "--json", cwd=tmp_path)
    plan = {p["item"]: p for p in only_json(result)["plan"]}
    assert list(plan) == ["fig-gmm", "fig-maze", "table1", "table2", "fig-dmc"]
    assert {name: (p["runs"], p["shared"]) for name, p in plan.items()} == {
        "fig-gmm": (2, 0), "fig-maze": (15, 0), "table1": (120, 0), "table2": (96, 24), "fig-dmc": (192, 192)}
    assert plan["fig-dmc"]["core_hours"] == 0, "all of its runs are the tables'"
    assert not list(tmp_path.iterdir())


def test_the_papers_preset_must_be_insisted_on(tmp_path):
    words = ["reproduce", "table1", "--preset", "paper", "--algos", "dqs", "--out", tmp_path / "out", "--quiet"]
    line = complaint(dqs(*words, "--seeds", 10), 2)
    said = re.search(r"([\d.]+) s an update, (\d+) hours of one core", line)
    assert said and "--yes" in line
    hours = 8 * 10 * 240000 * float(said[1]) / 3600  # 10 000 of the steps have no update
    assert 0.7 * hours < int(said[2]) < 1.5 * hours
    assert not (tmp_path / "out").exists()
    # what is short is not refused
    result = dqs(*words, "--seeds", 1, "--steps", 130, "--tasks", "reacher-hard", "--set", "K=8", "--set", "N=8", *SMALL, *DQS_SMALL, "--set",
                 "final_episodes=1")
    assert result.returncode == 0, result.stderr
    assert "preset paper" in result.stdout and (tmp_path / "out/runs/reacher-hard/dqs/paper-s0/DONE").exists()


@pytest.mark.parametrize("words, part", [
    ([], "missing table1|table2"),
    (["table3"], "did you mean table1"),
    (["everything"], "there are table1"),
    (["table1", "--tasks", "pendulum"], "not in table1"),
    (["fig-gmm", "--algos", "td3"], "not in fig-gmm"),
    (["table1", "--set", "widht=16"], "widht"),
    (["table1", "--set", "seed=3"], "--seeds"),
    (["fig-gmm", "--set", "K=0"], "out of range"),
    (["table1", "--jobs", "0"], "--jobs"),
    (["table1", "--from", "x", "--steps", "3"], "--from"),
    (["table1", "--stps", "3"], "did you mean --steps"),
])
def test_wrong_commands(words, part, tmp_path):
    assert part in complaint(dqs("reproduce", *words, cwd=tmp_path), 2)
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- verdicts, on numbers made up here

@pytest.fixture(scope="module")
def control(tmp_path_factory):
    """Scores of three algorithms on two tasks: {(task, algo): {step of the paper: [per seed]}}."""
    top, rng, truth = tmp_path_factory.mktemp("control"), np.random.default_rng(5), {}
    means = {("cheetah-run", "dqs"): (510, 900), ("cheetah-run", "sac"): (400, 600), ("cheetah-run", "ppo"): (260, 380),
             ("reacher-hard", "dqs"): (500, 974), ("reacher-hard", "sac"): (40, 100), ("reacher-hard", "ppo"): (30, 60)}
    for (task, algo), (middle, end) in means.items():
        seeds = {"dqs": 5, "sac": 2, "ppo": 1}[algo]
        scores = {10000: rng.normal(5, 1, seeds), 100000: rng.normal(middle, 10, seeds), 250000: rng.normal(end, 10, seeds)}
        truth[task, algo] = scores
        scale = 6.4 if algo == "ppo" else 1
        for s in range(seeds):
            make_run(top / task / algo / f"default-s{s}", task, algo, s,
                     {int(step * scale): values[s] for step, values in scores.items()}, steps=int(250000 * scale),
                     more={"batch": 64, "epochs": 10} if algo == "ppo" else {})
    return top, truth


def test_cells_are_judged_by_the_rule(control, tmp_path):
    top, truth = control
    result = dqs("reproduce", "table1", "--from", top, "--out", tmp_path)
    assert result.returncode == 0, result.stderr
    table = rows(tmp_path / "table1/verdicts.csv")
    assert len(table) == 12
    words = set()
    for row in table:
        budget = {"return at 100k steps": 100000, "return at 250k steps": 250000}[row["measure"]]
        ours, (mean, std) = truth[row["task"], row["method"]][budget], TABLE1[row["task"], row["method"], budget]
        assert float(row["ours"]) == pytest.approx(np.mean(ours), rel=1e-9) and int(row["seeds"]) == len(ours)
        assert (float(row["paper"]), float(row["paper_std"])) == (mean, std)
        low, high = interval(ours)
        slack = 0.05 * (max(ours) - min(ours)) + 1e-9
        assert float(row["low"]) == pytest.approx(low, abs=slack) and float(row["high"]) == pytest.approx(high, abs=slack)
        word = "above" if low > mean + std else "below" if high < mean - std else "reproduced"
        few = "" if len(ours) >= 3 else f" ({len(ours)} seed{'s' if len(ours) > 1 else ''})"
        assert row["verdict"] == word + few, row
        words.add(word)
        if len(ours) > 1:
            assert float(row["std"]) == pytest.approx(np.std(ours, ddof=1), rel=1e-9)
    assert words == {"above", "below", "reproduced"}
    assert "an update is 6.4 environment steps" in result.stdout
    for row in rows(tmp_path / "table1/table1.csv"):
        scale = 6.4 if row["method"] == "ppo" else 1
        assert float(row["return"]) == truth[row["task"], row["method"]][int(row["budget"])][int(row["seed"])]
        assert float(row["step"]) == float(row["budget"]) * scale


def test_curves_are_judged_by_their_height(control, tmp_path):
    top, truth = control
    result = dqs("reproduce", "fig-dmc", "--from", top, "--out", tmp_path, "--json")
    verdicts = {v["task"]: v for v in only_json(result)["items"][0]["verdicts"]}
    assert set(verdicts) == {"cheetah-run", "reacher-hard"}
    for task, verdict in verdicts.items():
        heights = {}
        for algo in ("dqs", "sac", "ppo"):
            steps, values = zip(*truth[task, algo].items())
            heights[algo] = np.mean([np.sum(np.diff(steps) * (y[1:] + y[:-1]) / 2) / (steps[-1] - steps[0])
                                     for y in np.transpose(values)])
        lead = heights["dqs"] - max(heights["sac"], heights["ppo"])
        assert verdict["ours"] == pytest.approx(lead, rel=1e-9)
        assert verdict["verdict"] == "reproduced (2 seeds)" and verdict["low"] > 0, "as many as the fewer of both have"
    for name in ("fig-dmc-classic.png", "fig-dmc-diffusion.svg"):
        assert (tmp_path / "fig-dmc" / name).stat().st_size > 3000


def test_a_claim_that_fails_is_said_to_fail(tmp_path):
    for seed in range(3):
        for algo, score in ("dqs", 100), ("td3", 300 + seed):
            make_run(tmp_path / f"runs/{algo}{seed}", "walker-run", algo, seed, {10000: 0, 100000: score}, steps=100000)
            make_run(tmp_path / f"more/{algo}{seed}", "hopper-hop", algo, seed, {10000: 0, 100000: score}, steps=100000)
            make_run(tmp_path / f"short/{algo}{seed}", "fish-swim", algo, seed, {10000: 0, 90000: score}, steps=90000)
    result = dqs("reproduce", "fig-dmc", "--from", tmp_path / "runs", "--from", tmp_path / "more", "--from", tmp_path / "short",
                 "--out", tmp_path / "out", "--json")
    verdicts = {v["task"]: v["verdict"] for v in only_json(result)["items"][0]["verdicts"]}
    assert verdicts == {"walker-run": "not reproduced", "hopper-hop": "no claim", "fish-swim": "no verdict: too few steps"}


def write_trace(folder, env, algo, step, mode, obs):
    """obs: [episodes, points, dimensions]. The format is that of docs/formats.md."""
    obs = np.asarray(obs, dtype="<f4")
    tensors = {"length": np.full(len(obs), obs.shape[1] - 1, "<i8"), "returns": np.zeros(len(obs), "<f8"), "obs": obs}
    kinds, at, header = {"<i8": "I64", "<f8": "F64", "<f4": "F32"}, 0, {"__metadata__": {
        "env": env, "env_options": "", "algo": algo, "step": str(step), "mode": mode}}
    for name, tensor in tensors.items():
        header[name] = {"dtype": kinds[tensor.dtype.str], "shape": list(tensor.shape), "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    padding = -at % 8
    if padding:
        header["padding"] = {"dtype": "U8", "shape": [padding], "data_offsets": [at, at + padding]}
    at += padding
    header["checksum"] = {"dtype": "I64", "shape": [1], "data_offsets": [at, at + 8]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = struct.pack("<Q", len(text)) + text + b"".join(t.tobytes() for t in tensors.values()) + b"\0" * padding
    (folder / "trace.safetensors").write_bytes(data + struct.pack("<q", zlib.crc32(data)))


WAYS = {"top": [(0, 0), (0, 2), (-2, 2)], "left": [(0, 0), (-2, 0), (-2, 2)], "right": [(0, 0), (2, 0), (2, -2)],
        "lost": [(0, 0), (1, 0), (0, 0)]}


def make_maze(folder, algo, seed, step=30000, more=(), **counts):
    folder = folder / f"{algo}{seed}"
    make_run(folder, "maze-small", algo, seed, {step: 1}, steps=step, more=more)
    paths = [[(*point, 0, 0) for point in WAYS[way]] for way, n in counts.items() for _ in range(n)]
    write_trace(folder, "maze-small", algo, step, "evaluate", paths)


def test_mazes_are_judged_by_goals_and_ways(tmp_path):
    for seed in range(3):
        make_maze(tmp_path / "runs", "dqs", seed, top=30, left=30, right=38, lost=2)
        make_maze(tmp_path / "runs", "sac", seed, top=96, right=4)            # strays do not count
        make_maze(tmp_path / "runs", "qsm", seed, top=60, right=40)           # two goals: not what the paper saw
        make_maze(tmp_path / "runs", "dacer", seed, top=90 - 60 * (seed == 0), right=10)  # once 25 %, not so skewed
        make_maze(tmp_path / "runs", "dipo", seed, top=50, left=50, more={"diffusion_steps": 20})
    result = dqs("reproduce", "fig-maze", "--from", tmp_path / "runs", "--out", tmp_path / "out", "--json")
    assert result.returncode == 0, result.stderr
    verdicts = {v["method"]: (v["verdict"], v["ours"]) for v in only_json(result)["items"][0]["verdicts"]}
    assert verdicts == {"dqs": ("reproduced", 1), "sac": ("reproduced", 1), "qsm": ("not reproduced", 0),
                        "dacer": ("undecided", pytest.approx(2 / 3)), "dipo": ("reproduced", 1)}
    text = (tmp_path / "out/fig-maze/fig-maze.md").read_text()
    assert "DIPO with 20 diffusion steps" in text and "maze-small, a smaller maze" in text
    assert "| DQS | default | 0 | 30000 | 60 | 38 | 30 | 30 | 2 | 2 |" in text
    goals = rows(tmp_path / "out/fig-maze/maze-goals.csv")
    assert [(r["goal_top_left"], r["goal_bottom_right"]) for r in goals if r["method"] == "dqs"] == [("60", "38")] * 3


def test_a_maze_whose_trace_was_not_kept_is_judged_by_its_evaluation(tmp_path):
    for algo, numbers in (("dqs", (60, 38, 30, 30)), ("sac", (2, 98, 2, 0))):
        folder = tmp_path / "runs" / algo
        make_run(folder, "maze-small", algo, 0, {30000: 1}, steps=30000)
        (folder / "evaluations.csv").write_text(
            "step,episodes,mean_reward,goal_top_left,goal_bottom_right,path_top,path_left\n"
            "15000,20,1,0,0,0,0\n30000,100,1," + ",".join(map(str, numbers)) + "\n")
    result = dqs("reproduce", "fig-maze", "--from", tmp_path / "runs", "--out", tmp_path / "out", "--json")
    assert result.returncode == 0, result.stderr
    verdicts = {v["method"]: v["verdict"] for v in only_json(result)["items"][0]["verdicts"]}
    assert verdicts == {"dqs": "reproduced (1 seed)", "sac": "reproduced (1 seed)"}
    assert "| DQS | default | 0 | 30000 | 60 | 38 | 30 | 30 | 2 | 2 |" in (tmp_path / "out/fig-maze/fig-maze.md").read_text()


def test_few_steps_and_damaged_traces(tmp_path):
    make_maze(tmp_path / "runs", "dqs", 0, step=29999, top=50, left=50)
    make_maze(tmp_path / "runs", "sac", 0, top=100)
    path = tmp_path / "runs/sac0/trace.safetensors"
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    result = dqs("reproduce", "fig-maze", "--from", tmp_path / "runs", "--out", tmp_path / "out", "--json")
    assert result.returncode == 0 and "sac0/trace.safetensors" in result.stderr
    verdicts = {v["method"]: v["verdict"] for v in only_json(result)["items"][0]["verdicts"]}
    assert verdicts == {"dqs": "no verdict: too few steps", "sac": "no data"}


def test_the_mixture_is_judged_by_modes_and_discrepancy(tmp_path):
    source = (ROOT / "src/env/gmm.c").read_text()
    pairs = re.findall(r"\{\s*(-?\d+\.\d+)\s*,\s*(-?\d+\.\d+)\s*\}", source)[:40]
    means, rng = np.array(pairs, float), np.random.default_rng(0)
    for seed in range(3):
        for algo, modes, mode in ("dqs", 38, "evaluate"), ("sac", 20, "explore"), ("sac", 20, "evaluate"):
            folder = tmp_path / mode / f"{algo}{seed}" if algo == "sac" else tmp_path / f"{algo}{seed}"
            make_run(folder, "gmm", algo, seed, {20000: -1000}, steps=20000)
            ends = means[rng.integers(0, modes, 400)] + rng.normal(size=(400, 2))
            write_trace(folder, "gmm", algo, 20000, mode, np.stack([np.zeros_like(ends), ends], 1).clip(-50, 50))
    folders = [word for seed in range(3) for word in ("--from", tmp_path / f"dqs{seed}")]
    result = dqs("reproduce", "fig-gmm", *folders, "--from", tmp_path / "explore", "--out", tmp_path / "out", "--json")
    verdicts = {v["measure"]: v for v in only_json(result)["items"][0]["verdicts"]}
    assert {v["verdict"] for v in verdicts.values()} == {"reproduced"}
    assert verdicts["modes covered"]["ours"] == pytest.approx(38, abs=1.5)  # neighbours lie within 3 deviations
    assert verdicts["MMD of SAC over MMD of DQS"]["low"] > 1.5
    # SAC by its mean action is no sample of its policy
    result = dqs("reproduce", "fig-gmm", *folders, "--from", tmp_path / "evaluate", "--out", tmp_path / "out", "--json")
    words = [v["verdict"] for v in only_json(result)["items"][0]["verdicts"]]
    assert words == ["reproduced", "no verdict: SAC's actions are not drawn", "no verdict: SAC's actions are not drawn"]
