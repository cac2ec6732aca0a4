"""Foreign environments on the command line: Gymnasium's through the helper process, and a plug-in built by its own Makefile."""
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DQS = Path(os.environ.get("DQS_BUILD", ROOT / "build")).resolve() / "dqs"
SMALL = ["--preset", "quick", "--threads", "1", "--quiet", *(word for pair in (
    "warmup=60", "batch=32", "replay=2000", "critic_width=32", "score_width=32", "final_episodes=2", "eval_every=0", "diag_states=0")
    for word in ("--set", pair))]
pytest.importorskip("gymnasium")
if not os.access(DQS, os.X_OK):
    pytest.skip(f"{DQS} is not built", allow_module_level=True)


def dqs(*words, cwd, **env):
    return subprocess.run([DQS, *map(str, words)], cwd=cwd, env={**os.environ, "PYTHON": sys.executable, **env}, timeout=300,
                          capture_output=True, text=True)


def helpers_of(process):
    return [int(p) for p in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def start(folder, *words):
    """A run long enough to be disturbed, when its helper is there and a few steps are made."""
    process = subprocess.Popen([DQS, "train", "gym:Pendulum-v1", "--steps", "1000000", "--out", folder / "run", *SMALL, *words], cwd=folder,
                               env={**os.environ, "PYTHON": sys.executable}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    end = time.monotonic() + 60
    while time.monotonic() < end and not ((folder / "run" / "progress.csv").exists() and
                                          len((folder / "run" / "progress.csv").read_text().splitlines()) > 2):
        time.sleep(0.05)
    return process


def test_trains_and_goes_on(tmp_path):
    files = []
    for name in ("one", "two"):
        result = dqs("train", "--env", "gym:Pendulum-v1", "--steps", 230, "--out", tmp_path / name, *SMALL, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert result.stdout.startswith("gym:Pendulum-v1 dqs: return -")
        result = dqs("resume", tmp_path / name, "--steps", 300, "--quiet", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        data = (tmp_path / name / "policy.safetensors").read_bytes()
        files.append(data[8 + struct.unpack("<Q", data[:8])[0]:-8])  # the tensors, without the time in the metadata
    assert files[0] == files[1]  # the state of the environment is lost, but what follows is seeded
    result = dqs("eval", tmp_path / "one", "--episodes", 2, cwd=tmp_path)
    assert result.returncode == 0 and "2 episodes" in result.stdout, result.stderr


def test_ctrl_c_saves(tmp_path):
    process = start(tmp_path, "--set", "log_every=20")
    helpers = helpers_of(process)
    assert len(helpers) == 1  # one for all environments
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the helper gets it too
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert (tmp_path / "run" / "checkpoint.safetensors").exists()
    assert not Path(f"/proc/{helpers[0]}").exists()


def test_a_lost_helper_is_told(tmp_path):
    process = start(tmp_path, "--set", "log_every=20", "--set", "checkpoint_every=20")
    os.kill(helpers_of(process)[0], signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1 and out == ""
    assert "gym:Pendulum-v1: the helper process has ended" in err and "the last checkpoint is untouched" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("name, words", [
    ("gym:CartPole-v1", "action space is Discrete"), ("gym:Nope-v1", "Nope"), ("gym:", "gym:Pendulum-v1"),
    ("gym:Pendulum-v1 --set env_options=g", "has no value"), ("gym:Pendulum-v1 --set env_options=colour=1", "colour"),
])
def test_what_cannot_be_is_told(tmp_path, name, words):
    result = dqs("train", *name.split(), "--quiet", "--out", tmp_path / "run", cwd=tmp_path)
    assert result.returncode in (1, 2) and words in result.stderr and len(result.stderr.splitlines()) == 1, result.stderr
    assert not (tmp_path / "run" / "checkpoint.safetensors").exists()


def test_no_python_is_told(tmp_path):
    result = dqs("train", "gym:Pendulum-v1", cwd=tmp_path, PYTHON="/nonexistent/python")
    assert result.returncode == 1 and "set PYTHON" in result.stderr
    bare = tmp_path / "bare"  # a Python without gymnasium
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    bare.chmod(0o755)
    result = dqs("train", "gym:Pendulum-v1", cwd=tmp_path, PYTHON=str(bare))
    assert result.returncode == 1 and "pip install gymnasium" in result.stderr, result.stderr


def test_the_plugin_example(tmp_path):
    subprocess.run(["make", "-s", "-C", ROOT / "examples" / "plugin", f"OUT={tmp_path}", f"INCLUDE=-I{ROOT / 'include'}",
                    "CFLAGS=-O2 -Wall -Wextra -Wpedantic -Werror"], check=True)
    result = dqs("train", "--env", "./sledge.so", "--steps", 200, "--out", "run", *SMALL, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    result = dqs("resume", "run", "--steps", 260, "--quiet", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    result = dqs("train", "--env", "./sledge.so", "--set", "env_options=much", *SMALL, cwd=tmp_path)
    assert result.returncode != 0 and "the wind" in result.stderr
    result = dqs("train", "pendulum", "--env", "gmm", cwd=tmp_path)
    assert result.returncode == 2 and "leave one out" in result.stderr
    result = dqs("train", cwd=tmp_path)
    assert result.returncode == 2 and "missing ENV" in result.stderr
