"""The MuJoCo tasks through the program: training stops and goes on with the same bits, and troubles with MuJoCo itself
are one clear line."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from test_cli import DQS, SMALL, complaint, dqs, tensors

ROWS = json.loads(subprocess.run([DQS, "envs", "--json"], capture_output=True, text=True).stdout)
TASKS = [row["name"] for row in ROWS if row["available"] and "-" in row["name"] and row["name"] != "maze-small"]
if not TASKS:
    pytest.skip("MUJOCO TASKS NOT TESTED: this build has none; type `make mujoco`", allow_module_level=True)
LIBRARY = next((Path(DQS).parent.parent / ".deps" / "mujoco").glob("libmujoco.so.*"), None)


@pytest.mark.parametrize("task", TASKS)
def test_resume_is_exact_in_the_middle_of_an_episode(task, tmp_path):
    settings = [*SMALL, "--set", "warmup=40", "--set", "final_episodes=1", "--set", "checkpoint_every=70", "--seed", 3]
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    for steps, folder in ((140, whole), (70, halved)):
        result = dqs("train", task, *settings, "--steps", steps, "--out", folder)
        assert result.returncode == 0, result.stderr
    result = dqs("resume", halved, "--steps", 140, "--quiet")
    assert result.returncode == 0, result.stderr
    for name in ("policy.safetensors", "checkpoint.safetensors"):
        one, other = tensors(halved / name), tensors(whole / name)
        assert one.keys() == other.keys() and len(one) > 0
        assert [key for key in one if one[key] != other[key]] == [], name


def test_every_run_records_the_version_of_mujoco(tmp_path):
    assert dqs("train", TASKS[0], *SMALL, "--steps", 10, "--out", tmp_path / "run").returncode == 0
    notes = [line for line in (tmp_path / "run" / "config.yaml").read_text().splitlines() if line.startswith("recorded_mujoco:")]
    assert len(notes) == 1 and notes[0].rstrip("\"'")[-1].isdigit(), notes


def test_without_the_library_everything_else_works(tmp_path):
    line = complaint(dqs("train", "cheetah-run", "--out", tmp_path / "run", MUJOCO_DIR="/nowhere"), 1)
    assert "/nowhere" in line and "make mujoco" in line
    assert not (tmp_path / "run").exists()
    result = dqs("envs", MUJOCO_DIR="/nowhere")
    assert result.returncode == 0 and "pendulum" in result.stdout and "make mujoco" in result.stderr
    assert dqs("train", "gmm", *SMALL, "--steps", 10, "--out", tmp_path / "gmm", MUJOCO_DIR="/nowhere").returncode == 0


@pytest.mark.skipif(LIBRARY is None, reason="MuJoCo is not the fetched one")
def test_a_library_that_is_not_mujoco(tmp_path):
    (tmp_path / LIBRARY.name).write_text("not a library")
    line = complaint(dqs("train", "cheetah-run", "--out", tmp_path / "run", MUJOCO_DIR=tmp_path), 1)
    assert "make mujoco" in line


@pytest.mark.skipif(shutil.which("cc") is None or LIBRARY is None, reason="needs a compiler and the fetched MuJoCo")
def test_another_version_of_the_library(tmp_path):
    # everything of the real one, but another number
    source = tmp_path / "other.c"
    source.write_text("int mj_version(void) { return 2000000; }\n")
    result = subprocess.run(["cc", "-shared", "-fPIC", "-Wl,--no-as-needed", f"-Wl,-rpath,{LIBRARY.parent}", "-o",
                             tmp_path / LIBRARY.name, source, LIBRARY], capture_output=True, text=True)
    if result.returncode != 0:
        pytest.skip(result.stderr)
    line = complaint(dqs("train", "cheetah-run", "--out", tmp_path / "run", MUJOCO_DIR=tmp_path), 1)
    assert "2000000" in line and "make mujoco" in line


@pytest.mark.parametrize("name", ["cheetah_run", "dm_control/cheetah-run-v0", "Cheetah-Run"])
def test_names(name, tmp_path):
    result = dqs("train", name, *SMALL, "--steps", 5, "--out", tmp_path / "run", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["env"] == "cheetah-run"


def test_an_unknown_task_is_told_the_nearest(tmp_path):
    line = complaint(dqs("train", "walker-jump", "--out", tmp_path / "run"), 2)
    assert "walker-run" in line and "dqs envs" in line
    assert os.listdir(tmp_path) == []
