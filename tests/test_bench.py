"""`dqs bench` says what bench/bench_report.c promises, in numbers that can be; the peers make our update."""
import importlib.util
import json
import subprocess
import sys

import pytest
from test_cli import ROOT, complaint, dqs, only_json

PHASES = ["sample", "policy", "target", "critic", "noise", "score", "actor", "temperature", "blend", "rest"]
HEAD = {"version", "cpu", "cores", "kernels", "preset", "threads", "obs", "act", "repeats"}
SMALL = ["--set", "batch=32", "--set", "critic_width=32", "--set", "score_width=32", "--set", "embed=16"]


@pytest.fixture(scope="module")
def whole():
    result = dqs("bench", "--json", "--repeats", 1, "--threads", 2)
    assert result.returncode == 0, result.stderr
    return only_json(result)


def test_everything_that_is_promised(whole):
    assert whole.keys() == HEAD | {"peak", "update", "scaling", "acting", "training"}
    assert whole["peak"].keys() == {"instructions", "fma_gflops", "sgemm_gflops", "product_gflops", "cloud_gflops", "pull_gflops",
                                    "normals_per_second"}
    cost = {"ms", "gflop", "gflops", "sgemm_share"}
    assert whole["update"].keys() == cost | {"phases", "library_ms"}
    assert [phase["name"] for phase in whole["update"]["phases"]] == PHASES
    assert all(phase.keys() == cost | {"name"} for phase in whole["update"]["phases"])
    assert [row["threads"] for row in whole["scaling"]] == [1, 2]
    assert [(row["rows"], row["steps"]) for row in whole["acting"]] == [(1, 6), (1, 20), (10, 6), (100, 6)]


def test_numbers_that_can_be(whole):
    peak = whole["peak"]
    assert 1 < peak["fma_gflops"] < 1000
    # nothing multiplies faster than registers do; the machine may have been disturbed at any of the three
    assert 0.05 * peak["fma_gflops"] < peak["sgemm_gflops"] < 3 * peak["fma_gflops"]
    assert 0.01 * peak["fma_gflops"] < peak["product_gflops"] < 3 * peak["fma_gflops"]
    assert 1e6 < peak["normals_per_second"] < 1e10
    assert 0 < whole["update"]["sgemm_share"] < 1.5
    assert 0.2 < whole["update"]["library_ms"] / whole["scaling"][0]["ms"] < 5
    assert whole["scaling"][0]["speedup"] == 1 and 0.1 < whole["scaling"][1]["speedup"] < 10
    assert whole["scaling"][1]["ms"] == whole["update"]["ms"]
    for row in whole["acting"]:
        assert 1 < row["p50_us"] <= row["p99_us"] < 1e6


def test_the_phases_are_the_update(whole):
    update = whole["update"]
    assert sum(phase["ms"] for phase in update["phases"]) == pytest.approx(update["ms"], rel=0.15)
    assert sum(phase["gflop"] for phase in update["phases"]) == pytest.approx(update["gflop"])


def test_the_arithmetic_by_hand(whole):
    """The default preset at cheetah's size: 128 states, K = 4, N = 6, networks of 2 x 128, mean of twin critics."""
    B, F, d, w, E = 128, 17, 6, 128, 128
    critic = d * w + w * w + w  # one action of a known state
    wanted = {
        "policy": B * F * w + 7 * E * w + 6 * B * (d * w + w * w + w * d),
        "target": 2 * B * ((F + d) * w + w * w + w),
        "critic": 2 * B * (2 * ((F + d) * w + w * w + w) + w * w + w),
        "score": 2 * B * F * w + B * 4 * (2 * critic + 2 * critic),
        "actor": B * (2 * ((F + d + E) * w + w * w + w * d) + w * w + w * d),
        "temperature": 32 * 16 / 4 * 2 * critic,  # a probe every fourth update
    }
    for phase in whole["update"]["phases"]:
        assert phase["gflop"] == pytest.approx(2e-9 * wanted.get(phase["name"], 0)), phase["name"]


def test_a_training_loop_is_the_sum_of_its_parts(whole):
    training = whole["training"]
    if training is None:
        pytest.skip("no MuJoCo")
    parts = sum(training[part] for part in ("act_ms", "env_ms", "observe_ms", "update_ms"))
    assert training["parts_share"] == pytest.approx(parts / training["loop_ms"])
    assert 0.3 < training["parts_share"] < 3  # measured one after the other on a machine that others use too
    assert training["steps_per_second"] == pytest.approx(1e3 / training["loop_ms"])


def test_one_part_alone():
    report = only_json(dqs("bench", "--json", "--repeats", 1, "--only", "update", *SMALL))
    assert report.keys() == HEAD | {"update", "scaling"}
    assert report["update"]["sgemm_share"] is None  # without a peak there is no share


@pytest.mark.parametrize("words, named", [("--only nothing", "nothing"), ("--preset nothing", "nothing"),
                                          ("--set nothing=1", "nothing"), ("--set K=no", "K"), ("--set K=0", "K"),
                                          ("--kernels nothing", "nothing"), ("--threads 0", "--threads"),
                                          ("--nothing", "--nothing"), ("--repeats", "--repeats")])
def test_refusals(words, named):
    assert named in complaint(dqs("bench", *words.split()), 2)


def test_saving_needs_the_sources(tmp_path):
    result = dqs("bench", "--save", "--only", "peak", "--repeats", 1, cwd=tmp_path)
    assert result.returncode == 2 and "bench/results" in result.stderr
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "bench.h").touch()
    result = dqs("bench", "--save", "--json", "--only", "peak", "--repeats", 1, cwd=tmp_path)
    saved = list((tmp_path / "bench" / "results").glob("*.json"))
    assert result.returncode == 0 and len(saved) == 1 and json.loads(saved[0].read_text()) == only_json(result)


@pytest.mark.parametrize("name", ["torch", "jax"])
@pytest.mark.parametrize("preset, hoist", [("wide", []), ("paper", ["--hoist"])])
def test_peers_make_the_same_update(name, preset, hoist, tmp_path):
    if not importlib.util.find_spec(name) or not importlib.util.find_spec("safetensors"):
        pytest.skip(f"{name} and safetensors are not installed")
    small = [*SMALL, "--set", "K=16", "--set", "N=10", "--set", "particles=1"]
    assert dqs("bench", "--preset", preset, *small, "--fixture", tmp_path).returncode == 0
    peer = [sys.executable, str(ROOT / "bench" / "peers" / f"{name}_update.py"), "--fixture", str(tmp_path), *hoist]
    result = subprocess.run(peer, input="update 1\nact 1\n", capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    agreement, update, act = map(json.loads, result.stdout.splitlines())
    assert agreement["loss_error"] < 1e-5 and agreement["parameter_error"] < 1e-5 and agreement["step_error"] < 1e-2
    assert update["ms"] > 0 and act["us"] > 0
