"""`dqs sweep`: the real program with real processes, killed at any moment. What counts is that a disturbed sweep ends with
the bits of an undisturbed one."""
import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from test_cli import DQS, ROOT, clean_env, complaint, csv_untimed, dqs, on_terminal, only_json, start, tensors, wait_for

# Two algorithms, two seeds, and a checkpoint every fraction of a second.
GRID = """
tasks: [pendulum]
algos: [td3, sac]
seeds: 2
steps: 4000
warmup: 200
batch: 32
width: 16
replay: 2000
eval_every: 1000
eval_episodes: 2
final_episodes: 3
log_every: 200
checkpoint_every: 400
"""
RUNS = [f"pendulum/{algo}/default-s{seed}" for seed in (0, 1) for algo in ("td3", "sac")]


def write(folder, text, name="grid.yaml"):
    path = Path(folder) / name
    path.write_text(text)
    return path


def same_results(one, other):
    """Every result of two sweep folders, bit for bit, but for what the clock says."""
    runs = sorted(str(p.parent.relative_to(other)) for p in Path(other).rglob("config.yaml"))
    assert runs and runs == sorted(str(p.parent.relative_to(one)) for p in Path(one).rglob("config.yaml"))
    for run in runs:
        a, b = Path(one) / run, Path(other) / run
        for table in ("evaluations.csv", "progress.csv"):
            assert csv_untimed(a / table) == csv_untimed(b / table), (run, table)
        for file in ("policy.safetensors", "best.safetensors", "checkpoint.safetensors", "trace.safetensors"):
            first, second = tensors(a / file), tensors(b / file)
            assert first and first.keys() == second.keys()
            assert [key for key in first if first[key] != second[key]] == [], (run, file)
        assert (a / "DONE").read_text() == (b / "DONE").read_text()
    return runs


def children(pid):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [int(word) for word in found.split()]


def litter(folder):
    return [str(p) for p in Path(folder).rglob("*") if re.match(r"lease-|\.taking|failures|.*\.tmp-", p.name)]


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """The grid, never disturbed."""
    folder = tmp_path_factory.mktemp("calm")
    result = dqs("sweep", write(folder, GRID), "--out", folder / "out", "--jobs", 2, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert re.search(r"^4 of 4 done in ", result.stdout, re.M), result.stdout
    for run in RUNS:
        assert f"started  {run}\n" in result.stderr and f"done     {run}: return -" in result.stderr
    assert "\033" not in result.stderr
    return folder / "out"


# ---------------------------------------------------------------- the plan

def test_the_folders_are_ordinary_runs(calm, tmp_path):
    assert sorted(str(p.parent.relative_to(calm)) for p in calm.rglob("DONE")) == sorted(RUNS)
    assert litter(calm) == []
    run = calm / RUNS[1]
    by_hand = dqs("train", "pendulum", "--algo", "sac", "--seed", 0, "--config", run / "config.yaml", "--out",
                  tmp_path / "hand", "--threads", 2, "--quiet")
    assert by_hand.returncode == 0, by_hand.stderr
    assert tensors(tmp_path / "hand" / "policy.safetensors") == tensors(run / "policy.safetensors")
    assert "threads: 1\n" in (run / "config.yaml").read_text()
    assert "return" in (run / "log.txt").read_text().splitlines()[-1]


def test_a_finished_sweep_is_left_alone(calm):
    before = {p: p.stat().st_mtime_ns for p in calm.rglob("*") if p.is_file() and p.name != "sweep.yaml"}
    result = dqs("sweep", calm, "--json")
    told = only_json(result)
    assert result.returncode == 0 and (told["done"], told["waiting"]) == (4, 0)
    assert {p: p.stat().st_mtime_ns for p in before} == before


def test_status_tells_every_run(calm):
    told = only_json(dqs("sweep", calm, "--status", "--json"))
    assert [row["run_dir"] for row in told["runs"]] == [str(calm / run) for run in RUNS]
    for row in told["runs"]:
        assert (row["state"], row["step"], row["steps"], row["failures"]) == ("done", 4000, 4000, 0)
        assert row["eval_mean"] == float(csv_untimed(Path(row["run_dir"]) / "evaluations.csv")[-1][2 + 1])
        assert row["options"]["width"] == "16" and row["seconds"] > 0
    lines = dqs("sweep", calm, "--status").stdout.splitlines()
    assert len(lines) == 5 and lines[-1] == "4 of 4 done" and all("done" in line for line in lines)


def test_grid_sections_and_names(tmp_path):
    file = write(tmp_path, """
tasks: [pendulum, gmm]
algos: [dqs, td3]
seeds: [3, 7]
preset: quick
gamma: [0.9, 0.99]
gmm:
  steps: 500
dqs:
  estimator: [gradient, value]
  preset: paper
td3:
  preset: default
  gamma: 0.5
""")
    told = only_json(dqs("sweep", file, "--dry-run", "--json", cwd=tmp_path))
    names = [row["run_dir"] for row in told["runs"]]
    assert told["out"] == "runs/grid" and len(names) == 2 * (4 + 1) * 2 == len(set(names))
    assert names[0] == "runs/grid/pendulum/dqs/paper-gamma=0.9-estimator=gradient-s3"
    assert names[4] == "runs/grid/pendulum/td3/default-s3" and names[10].endswith("-s7")
    rows = {row["run_dir"]: row for row in told["runs"]}
    assert rows["runs/grid/gmm/td3/default-s7"]["options"] == {"gamma": "0.5", "steps": "500"}
    assert rows["runs/grid/gmm/td3/default-s7"]["steps"] == 500
    assert not (tmp_path / "runs").exists(), "a plan leaves no folder behind"
    commands = dqs("sweep", file, "--seeds", "0..2", "--set", "gamma=0.8", "--dry-run", cwd=tmp_path).stdout.splitlines()
    assert len(commands) == 2 * (2 + 1) * 3 and "0.5" not in "".join(commands), "also instead of what sections say"
    part = only_json(dqs("sweep", file, "--set", "tasks=pendulum", "--set", "algos=td3", "--dry-run", "--json", cwd=tmp_path))
    assert len(part["runs"]) == 2
    assert all(" train " in line and "gamma=0." in line and "--threads 1" in line for line in commands)


@pytest.mark.parametrize("text, part", [
    ("tasks: [pendulum]\nstepps: 3\n", "grid.yaml:2: stepps: no such option; did you mean steps"),
    ("tasks: [pendulun]\n", "grid.yaml:1: environment 'pendulun'"),
    ("tasks: [pendulum]\nalgos: [sacc]\n", "grid.yaml:2: algorithm 'sacc'"),
    ("tasks: [pendulum]\nalgos: [td3, dqs]\nestimator: value\n", "(td3)"),
    ("tasks: [pendulum]\nseeds: none\n", "grid.yaml:2: seeds: 'none'"),
    ("tasks: [pendulum]\nseeds: [-1]\n", "seeds: '-1'"),
    ("tasks: [pendulum]\nseeds: 9..3\n", "9..3"),
    ("tasks: [pendulum]\nseed: 3\n", "write seeds:"),
    ("algos: [td3]\n", "no `tasks:`"),
    ("tasks: [pendulum, pendulum]\n", "twice"),
    ("tasks: [pendulum]\nsteps: []\n", "empty list"),
    ("tasks: [pendulum]\nsteps: [1, [2]]\n", "a list where a value"),
    ("tasks: [pendulum]\ngmn:\n  steps: 3\n", "neither a task nor an algorithm"),
    ("tasks: [pendulum]\ndqs:\n  seeds: 3\n", "outside of sections"),
    ("tasks: [pendulum]\ndqs:\n  T: {a: b}\n", "a mapping where a value"),
    ("tasks: [pendulum]\nsteps: 1\nsteps: 2\n", "already there in line 2"),
    ("tasks: [pendulum]\ndqs:\n  K: 4\ndqs:\n  N: 4\n", "dqs: was already there in line 3"),
    ("tasks: &a [pendulum]\nalgos: *a\n", "an alias"),
    ("tasks: [pendulum]\n---\na: b\n", "a second document"),
    ("tasks: [pendulum]\nenv_options: [a/b, a_b]\n", "share the folder"),
    ("tasks: [pendulum]\nK: 1..200\nN: 1..200\nseeds: 5\n", "more than 100000 runs"),
    ("- tasks\n", "a list where"),
    ("tasks: [pendulum\n", "grid.yaml:"),
    ("", "grid.yaml:"),
])
def test_wrong_files_are_refused_before_anything_starts(text, part, tmp_path):
    write(tmp_path, text)
    result = dqs("sweep", "grid.yaml", cwd=tmp_path)
    assert result.returncode in (1, 2)
    assert part in complaint(result, result.returncode)
    assert os.listdir(tmp_path) == ["grid.yaml"]


@pytest.mark.parametrize("name", sorted(p.name for p in (ROOT / "examples" / "sweeps").glob("*.yaml")))
def test_examples_can_be_planned(name, tmp_path):
    result = dqs("sweep", ROOT / "examples" / "sweeps" / name, "--dry-run", "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert only_json(result)["out"].startswith("runs/")


def test_wrong_commands(tmp_path):
    assert "nowhere.yaml" in complaint(dqs("sweep", tmp_path / "nowhere.yaml"), 1)
    assert "no sweep.yaml" in complaint(dqs("sweep", tmp_path), 1)
    assert "--jobs" in complaint(dqs("sweep", "x", "--jobs", 0), 2)
    file = write(tmp_path, GRID)
    assert "did you mean" in complaint(dqs("sweep", file, "--set", "widht=3"), 2)
    assert "key=value" in complaint(dqs("sweep", file, "--set", "width"), 2)


def test_a_folder_made_with_other_options_is_not_touched(calm):
    line = complaint(dqs("sweep", calm, "--set", "gamma=0.5"), 1)
    assert "was made with gamma=0.99, the sweep says 0.5" in line


def test_more_steps_lengthen_what_is_there(tmp_path):
    grid = GRID.replace("[td3, sac]", "[td3]").replace("seeds: 2", "seeds: 1")
    file = write(tmp_path, grid)
    for steps, word in ((400, "started"), (700, "resumed")):
        result = dqs("sweep", file, "--steps", steps, "--out", "out", cwd=tmp_path)
        assert result.returncode == 0 and f"{word}  {RUNS[0]}" in result.stderr, result.stderr
    assert (tmp_path / "out" / RUNS[0] / "DONE").read_text().startswith("steps: 700\n")
    assert "shorter" not in result.stderr
    assert "was made with steps=700" in complaint(dqs("sweep", file, "--steps", 400, "--out", "out", cwd=tmp_path), 1)


# ---------------------------------------------------------------- nothing is lost

@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_at_random_moments_ends_with_the_same_bits(seed, calm, tmp_path):
    dice = random.Random(seed)
    file = write(tmp_path, GRID)
    kills = 0
    for _ in range(40):
        sweep = start("sweep", file, "--out", tmp_path / "out", "--jobs", 2, "--retries", 1000, cwd=tmp_path)
        try:
            sweep.communicate(timeout=dice.uniform(0.03, 0.12))
            break
        except subprocess.TimeoutExpired:
            runs = children(sweep.pid)
            # The sweep alone (its runs are then told to stop), a run alone, or all at once as when power fails.
            victims = dice.choice([[sweep.pid], runs[:1], [sweep.pid, *runs]])
            for pid in victims:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            kills += len(victims)
            if sweep.pid not in victims:
                time.sleep(dice.uniform(0, 0.3))
                sweep.kill()
            sweep.communicate()
    assert kills >= 1, "the machine is too fast for this test: let the runs be longer"
    result = dqs("sweep", file, "--out", tmp_path / "out", "--jobs", 2)
    assert result.returncode == 0, result.stderr
    assert same_results(tmp_path / "out", calm) == sorted(RUNS)
    assert [f for f in litter(tmp_path / "out") if "tmp-" not in f] == []


def test_ctrl_c_saves_and_a_second_start_goes_on(tmp_path):
    """Nothing but the stop makes a checkpoint here. The runs are long, so that a fast machine shows them under way."""
    grid = GRID.replace("[td3, sac]", "[td3]").replace("checkpoint_every: 400", "checkpoint_every: 0")
    file = write(tmp_path, grid.replace("4000", "150000").replace("eval_every: 1000", "eval_every: 10000"))
    calm, out = tmp_path / "calm", tmp_path / "out"
    assert dqs("sweep", file, "--out", calm, "--jobs", 2).returncode == 0
    args = ["sweep", file, "--out", out, "--jobs", 2]
    shown, code = on_terminal(args, columns=100, stop_when=lambda s: len(re.findall(rb"s\d  step [1-9]\d+ of", s)) > 1)
    assert code == 130, shown
    text = re.sub(r"\033\[[0-9;]*[A-Za-z]", "", shown)
    lines = [line for line in re.split(r"[\r\n]+", text) if line]
    assert re.match(r"stopped: 0 of 2 done, 2 stopped, ", lines[-1]) and f"to go on: {DQS} sweep {file}" in lines[-1]
    assert any(re.match(r"out: 0 of 2 done, 2 running, about .* left$", line) for line in lines), lines
    table = [line for line in lines if re.match(r"  running pendulum/td3/default-s[01] +step \d+ of 150000 \(\d+%\), ETA ", line)]
    assert table and max(map(len, table)) < 100
    assert len(list(out.rglob("checkpoint.safetensors"))) == 2 and not list(out.rglob("DONE"))
    assert [row["state"] for row in only_json(dqs("sweep", out, "--status", "--json"))["runs"]] == ["stopped"] * 2
    result = dqs(*args)
    assert result.returncode == 0 and result.stderr.count("resumed  ") == 2, result.stderr
    same_results(out, calm)


def test_a_cluster_that_signals_every_process_stops_with_checkpoints(tmp_path):
    """The run gets the signal from outside, more than once, and from its sweep: it saves all the same."""
    grid = GRID.replace("[td3, sac]", "[td3]").replace("seeds: 2", "seeds: 1").replace("checkpoint_every: 400", "checkpoint_every: 0")
    file = write(tmp_path, grid.replace("4000", "10000000"))
    run = tmp_path / "out" / RUNS[0]
    sweep = start("sweep", file, "--out", tmp_path / "out", "--worker")
    assert wait_for(lambda: (run / "progress.csv").exists() and len((run / "progress.csv").read_text().splitlines()) > 3)
    (child,) = children(sweep.pid)
    os.kill(child, signal.SIGSTOP)  # so that all signals are there before it can act on one
    os.kill(child, signal.SIGTERM)
    sweep.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    os.kill(child, signal.SIGINT)
    os.kill(child, signal.SIGCONT)
    out, err = sweep.communicate(timeout=60)
    assert sweep.returncode == 143 and "failed" not in err and f"stopped  {RUNS[0]}" in err, err
    assert (run / "checkpoint.safetensors").exists() and not (run / "failures.txt").exists()


def test_two_sweeps_share_the_work(calm, tmp_path):
    file = write(tmp_path, GRID)
    both = [start("sweep", file, "--out", tmp_path / "out", "--jobs", 1) for _ in range(2)]
    told = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    begun = [line.split()[1] for _, err in told for line in err.splitlines() if line.startswith(("started", "resumed"))]
    assert sorted(begun) == sorted(RUNS), "every run once"
    assert all("started" in err for _, err in told), "both had work"
    assert all("4 of 4 done" in out for out, _ in told)
    same_results(tmp_path / "out", calm)


def test_a_run_that_fails_costs_one_run(tmp_path):
    """It is tried once more, told with its last words, and tried anew when the sweep is started again."""
    grid = "tasks: [pendulum]\nalgos: [td3]\nseeds: 2\nsteps: 300\nwarmup: 100\nwidth: 16\nfinal_episodes: 2\ninit_from: source\n"
    file = write(tmp_path, grid)
    broken = dqs("sweep", file, "--out", "out", "--jobs", 1, cwd=tmp_path)
    assert broken.returncode == 1
    assert broken.stderr.count("failed   ") == 4 and "(try 2 of 2): exit code 1: dqs: source" in broken.stderr
    assert "0 of 2 done, 2 failed" in broken.stdout and "log.txt" in broken.stdout
    told = only_json(dqs("sweep", "out", "--status", "--json", cwd=tmp_path))
    assert [(row["state"], row["failures"]) for row in told["runs"]] == [("failed", 2)] * 2
    assert all("source" in row["message"] for row in told["runs"])
    worker = dqs("sweep", "out", "--worker", cwd=tmp_path)
    assert worker.returncode == 1 and "started" not in worker.stderr, "tasks of a job array do not try for ever"
    made = dqs("train", "pendulum", "--algo", "td3", "--set", "width=16", "--steps", 150, "--set", "warmup=100", "--out",
               tmp_path / "source", "--quiet")
    assert made.returncode == 0
    mended = dqs("sweep", file, "--out", "out", "--jobs", 2, cwd=tmp_path)
    assert mended.returncode == 0 and "2 of 2 done" in mended.stdout, mended.stderr
    assert litter(tmp_path / "out") == []


def test_a_killed_run_is_taken_up_by_the_same_sweep(calm, tmp_path):
    file = write(tmp_path, GRID)
    sweep = start("sweep", file, "--out", tmp_path / "out", "--jobs", 1)
    assert wait_for(lambda: (tmp_path / "out" / RUNS[0] / "checkpoint.safetensors").exists(), pause=0.001)
    victims = children(sweep.pid)
    assert len(victims) == 1
    os.kill(victims[0], signal.SIGKILL)
    out, err = sweep.communicate(timeout=120)
    assert sweep.returncode == 0, err
    assert "(try 1 of 2): killed by signal 9" in err
    same_results(tmp_path / "out", calm)


def test_a_lease_of_another_machine_ends_by_its_silence(tmp_path):
    grid = GRID.replace("[td3, sac]", "[td3]").replace("seeds: 2", "seeds: 1").replace("4000", "250")
    file = write(tmp_path, grid)
    run = tmp_path / "out" / RUNS[0]
    run.mkdir(parents=True)
    (run / "lease-4").write_text("H\nelsewhere boot space\n123\n456\nelsewhere\n")
    begin = time.monotonic()
    sweep = start("sweep", file, "--out", tmp_path / "out", "--lease", 3)
    time.sleep(1.5)
    os.utime(run / "lease-4")  # it lives
    told = only_json(dqs("sweep", file, "--out", tmp_path / "out", "--status", "--json"))["runs"][0]
    assert (told["state"], told["owner"]) == ("running", "process 123 on elsewhere")
    out, err = sweep.communicate(timeout=60)
    assert sweep.returncode == 0 and time.monotonic() - begin > 4.5, "not before three seconds without a beat"
    assert litter(tmp_path / "out") == []


def test_run_by_hand_is_not_run_twice(tmp_path):
    grid = GRID.replace("[td3, sac]", "[td3]").replace("seeds: 2", "seeds: 1")
    file = write(tmp_path, grid)
    command = dqs("sweep", file, "--out", tmp_path / "out", "--dry-run").stdout.split()
    hand = subprocess.Popen([*command, "--quiet"], env=clean_env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert wait_for(lambda: (tmp_path / "out" / RUNS[0] / "lock").exists(), pause=0.001)
    result = dqs("sweep", file, "--out", tmp_path / "out", "--retries", 0)
    hand.communicate()
    assert hand.returncode == 0 and result.returncode == 0, result.stderr
    assert "started" not in result.stderr and "1 of 1 done" in result.stdout


# ---------------------------------------------------------------- Slurm without a cluster

def test_job_script(tmp_path):
    file = write(tmp_path, GRID)
    told = dqs("sweep", file, "--slurm", "--tasks", 3, "--cpus", 2, "--time", "1:00:00", "--partition", "some",
               "--sbatch=--mem=2G", "--dry-run", cwd=tmp_path)
    assert told.returncode == 0 and told.stdout.count(" train ") == 4
    script = told.stdout[told.stdout.index("#!/bin/sh"):]
    for line in ("--array=0-2", "--cpus-per-task=2", "--time=1:00:00", "--partition=some", "--mem=2G", "--requeue",
                 "--signal=B:USR1@120", f"--chdir={tmp_path}"):
        assert f"#SBATCH {line}\n" in script
    assert re.search(rf"exec '{DQS}' sweep '{tmp_path}/runs/grid/slurm/grid-[0-9a-f]{{8}}\.yaml' --worker --jobs 2", script)
    assert not (tmp_path / "runs").exists()


def test_without_slurm_it_says_so(tmp_path):
    file = write(tmp_path, GRID)
    result = dqs("sweep", file, "--slurm", cwd=tmp_path, PATH="/nowhere")
    assert "sbatch" in complaint(result, 1)
