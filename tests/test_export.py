"""dqs export and anytime inference: what is written acts as the library does, compiles without a warning everywhere, and runs on a
Cortex-M. The C of a policy is also loaded into Python, and its ONNX run by onnxruntime, apart from the program's own report.
"""
import ctypes
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
DQS = str(Path(os.environ.get("DQS_BUILD", ROOT / "build")).resolve() / "dqs")
SANITIZED = "asan" in DQS
STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wdouble-promotion", "-Wshadow", "-Wundef"]
M4 = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-mfp16-format=ieee"]
CLOSE = 1e-5

if not os.access(DQS, os.X_OK):
    pytest.skip(f"{DQS} is not built", allow_module_level=True)

SHARED = ["width=48", "batch=64", "warmup=100", "replay=1000"]
DQS_SMALL = ["critic_width=48", "score_width=64", "embed=16", "batch=64", "warmup=100", "replay=1000", "diag_states=0",
             "corrector=0", "squash=paper", "estimator=gradient", "K=4", "temperature=fixed", "noised=buffer"]
BOX = ["squash=box", "estimator=shifted", "K=8", "sigma_min=0.02", "T=2"]
# Every algorithm, and every way of acting that has code of its own in the writers.
POLICIES = {
    "dqs": ["dqs", *DQS_SMALL],
    "dqs-box": ["dqs", *DQS_SMALL, *BOX, "obs_octaves=2", "score_hidden=3", "score_layernorm=true", "score_activation=gelu"],
    "dqs-heun": ["dqs", *DQS_SMALL, "sampler=flow-heun", "score_activation=mish", "score_residual=false", "normalise_obs=false"],
    "dqs-flow": ["dqs", *DQS_SMALL, "sampler=flow-euler", "score_hidden=1", "squash=latent", "score_activation=tanh"],
    "dqs-clip": ["dqs", *DQS_SMALL, "squash=clip", "T=0.01", "particles=3"],
    "dqs-best": ["dqs", *DQS_SMALL, "squash=clip", "T=0.01", "particles=2", "eval_particles=6", "eval_choice=best", "average=0.1"],
    "dqs-clip-em": ["dqs", *DQS_SMALL, "squash=clip", "T=0.01", "sampler=euler-maruyama", "N=20"],
    "dqs-em": ["dqs", *DQS_SMALL, "sampler=euler-maruyama", "N=20", "eval_noise=0.5", "score_gain=0"],
    "dqs-corrector": ["dqs", *DQS_SMALL, *BOX, "corrector=4", "energy_critics=mean"],
    "dqs-particles": ["dqs", *DQS_SMALL, *BOX, "particles=5", "corrector=3", "energy_critics=min", "critic_layernorm=false",
                      "critic_hidden=1"],
    "dqs-residual": ["dqs", *DQS_SMALL, *BOX, "particles=3", "corrector=2", "critic_residual=true", "critic_hidden=3"],
    "sac": ["sac", *SHARED, "normalise_obs=true"],
    "sac-clamp": ["sac", *SHARED, "log_sigma=clamp", "obs_octaves=3"],
    "td3": ["td3", *SHARED],
    "td3-held": ["td3", *SHARED, "action_repeat=3"],
    "dqs-held": ["dqs", *DQS_SMALL, "action_repeat=4"],
    "ddpg": ["ddpg", *SHARED, "hidden=1"],
    "ppo": ["ppo", "width=48", "n_steps=72", "batch=72", "epochs=2"],
    "qsm": ["qsm", *SHARED, "embed=8"],
    "dacer": ["dacer", *SHARED, "embed=8", "diffusion_steps=6"],
    "dipo": ["dipo", *SHARED, "embed=8", "diffusion_steps=7", "ascent_steps=4", "eval_noise=1"],
}
DECIDES = {"dqs-best", "dqs-clip", "dqs-corrector", "dqs-particles", "dqs-residual"}
STILL = {("sac", "evaluate"), ("sac-clamp", "evaluate"), ("td3", "evaluate"), ("td3-held", "evaluate"), ("ddpg", "evaluate"), ("ppo", "evaluate")}


def dqs(*args, cwd=None, **env):
    return subprocess.run([DQS, *map(str, args)], cwd=cwd, env={**os.environ, "DQS_PYTHON": sys.executable, **env},
                          capture_output=True, text=True, timeout=300)


def complaint(result, code):
    assert result.returncode == code and result.stdout == "", (result.returncode, result.stdout, result.stderr)
    (line,) = result.stderr.splitlines()
    assert line.startswith("dqs: ")
    return line


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """name -> run folder, trained when first asked for. Two action dimensions where it is cheap: maze-small has them."""
    made, top = {}, tmp_path_factory.mktemp("runs")

    def get(name):
        if name not in made:
            algo, *settings = POLICIES[name]
            env = "maze-small" if name in ("dqs-box", "dqs-particles", "sac-clamp", "qsm") else "pendulum"
            flags = [word for setting in settings for word in ("--set", setting)]
            result = dqs("train", env, "--algo", algo, *flags, "--steps", 160, "--threads", 1, "--quiet", "--set", "eval_every=0",
                         "--set", "final_episodes=2", "--out", top / name)
            assert result.returncode == 0, result.stderr
            made[name] = top / name
        return made[name]

    return get


def export(run, out, *flags, **env):
    """The JSON report; a failure of the parity is a failure here."""
    result = dqs("export", run, "--out", out, "--json", *flags, **env)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def check_report(report, name):
    assert report["observations"] == 1000, report
    if name in DECIDES: # rounding may turn a decision: rarely, at these temperatures
        assert report["decides"] and report["beyond"] <= 10
    else:
        assert not report["decides"] and report["beyond"] == 0 and report["max_difference"] <= CLOSE


def compile_c(source, *flags, compiler="cc"):
    done = subprocess.run([compiler, *flags, str(source)], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr


class Loaded:
    """An exported C file as a shared library."""

    def __init__(self, source):
        library = source.with_suffix(".so")
        compile_c(source, "-O1", "-shared", "-fPIC", "-o", str(library), "-lm")
        self.c = ctypes.CDLL(str(library))
        header = source.with_suffix(".h").read_text()
        self.name = source.stem.replace("-", "_")
        found = re.findall(r"#define \w+?_(OBS_DIM|ACT_DIM|ACTION_REPEAT|STEPS|NORMALS|UNIFORMS) (\d+)", header)
        self.sizes = {key: int(value) for key, value in found}

    def act(self, obs, noise):
        obs, noise, action = np.float32(obs), np.float32(noise), np.zeros(self.sizes["ACT_DIM"], np.float32)
        getattr(self.c, f"{self.name}_act")(*(x.ctypes.data_as(ctypes.c_void_p) for x in (obs, noise, action)))
        return action

    def draws(self, obs, seed, n):
        state, obs, out = ctypes.c_uint64(), np.float32(obs), np.zeros((n, self.sizes["ACT_DIM"]), np.float32)
        getattr(self.c, f"{self.name}_seed")(ctypes.byref(state), ctypes.c_uint64(seed))
        for row in out:
            getattr(self.c, f"{self.name}_draw")(ctypes.byref(state), obs.ctypes.data_as(ctypes.c_void_p),
                                                 row.ctypes.data_as(ctypes.c_void_p))
        return out


def read_sample(path):
    data = path.read_bytes()
    rows, obs, noise, act = struct.unpack("<4i", data[:16])
    numbers = np.frombuffer(data, "<f4", offset=16)
    reach, o, z, a = np.split(numbers, np.cumsum([act, rows * obs, rows * noise]))
    return reach, o.reshape(rows, obs), z.reshape(rows, noise), a.reshape(rows, act)


# ---------------------------------------------------------------- every policy, both formats
def test_every_algorithm_is_here():
    names = [line.split()[0] for line in dqs("algos").stdout.splitlines() if line.strip()]
    assert set(names) >= {settings[0] for settings in POLICIES.values()}
    assert {row["name"] for row in json.loads(dqs("algos", "--json").stdout)} == {s[0] for s in POLICIES.values()}


@pytest.mark.parametrize("name", POLICIES)
def test_c(name, runs, tmp_path):
    for mode in ("evaluate", "explore"):
        report = export(runs(name), tmp_path / f"{mode}.c", "--mode", mode)
        check_report(report, name)
        source = tmp_path / f"{mode}.c"
        compile_c(source, *STRICT, "-O2", "-c", "-o", os.devnull, compiler={"evaluate": "gcc", "explore": "clang"}[mode])
        text = source.read_text()
        assert re.findall(r"#include [<\"](.*)[>\"]", text) == [f"{mode}.h", "math.h"]
        noise = sum(int(n) for n in re.findall(r"(?:NORMALS|UNIFORMS) (\d+)", source.with_suffix(".h").read_text()))
        assert (noise == 0) == ((name, mode) in STILL)


@pytest.mark.parametrize("name", POLICIES)
def test_onnx(name, runs, tmp_path):
    pytest.importorskip("onnxruntime")
    for mode in ("evaluate", "explore") if name in ("sac", "sac-clamp", "ppo", "td3", "qsm") else ("evaluate",):
        check_report(export(runs(name), tmp_path / f"{mode}.onnx", "--mode", mode), name)


def test_onnx_by_hand(runs, tmp_path):
    """Without the program's own comparison: shapes, a batch of any size, the numbers of the sample that was kept."""
    onnxruntime = pytest.importorskip("onnxruntime")
    export(runs("dqs-particles"), tmp_path / "p.onnx", "--keep", tmp_path / "kept", "--set", "corrector=0", "--set", "particles=1")
    session = onnxruntime.InferenceSession(str(tmp_path / "p.onnx"), providers=["CPUExecutionProvider"])
    assert [(i.name, i.shape[1]) for i in session.get_inputs()][0][0] == "obs"
    reach, obs, noise, wanted = read_sample(tmp_path / "kept" / "parity.bin")
    for rows in (1, 7, 1000):
        action = session.run(None, {"obs": obs[:rows], "noise": noise[:rows]})[0]
        assert action.shape == (rows, 2) and np.abs((action - wanted[:rows]) / reach).max() <= CLOSE
    assert session.get_modelmeta().custom_metadata_map["algo"] == "dqs"


def test_half_precision(runs, tmp_path):
    for ending in ("c", "onnx"):
        whole = export(runs("dqs"), tmp_path / f"whole.{ending}")
        half = export(runs("dqs"), tmp_path / f"half.{ending}", "--weights", "fp16")
        assert half["weights"] == "fp16" and half["observations"] in (0, 1000)
        if half["observations"]:
            assert CLOSE < half["max_difference"] < 1e-2 and whole["max_difference"] <= CLOSE
    sizes = []
    for kind in ("whole", "half"):
        compile_c(tmp_path / f"{kind}.c", *STRICT, "-O2", "-c", "-o", str(tmp_path / f"{kind}.o"))
        sizes.append((tmp_path / f"{kind}.o").stat().st_size)
    assert sizes[1] < 0.75 * sizes[0]


def test_steps_and_settings(runs, tmp_path):
    report = export(runs("dqs"), tmp_path / "three.c", "--steps", 3)
    assert "3 sampling steps" in report["summary"] and "#define THREE_STEPS 3 " in (tmp_path / "three.h").read_text()
    report = export(runs("dipo"), tmp_path / "two.c", "--steps", 2)
    assert "2 sampling steps" in report["summary"]
    report = export(runs("dqs-corrector"), tmp_path / "bare.c", "--set", "corrector=0")
    assert not report["decides"] and report["beyond"] == 0
    assert "corrector" not in report["summary"] and "critic" not in (tmp_path / "bare.c").read_text()


def test_held_actions_are_told(runs, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    report = export(runs("td3-held"), tmp_path / "p.c")
    assert report["action_repeat"] == 3 and "#define P_ACTION_REPEAT 3 " in (tmp_path / "p.h").read_text()
    export(runs("td3-held"), tmp_path / "p.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "p.onnx"), providers=["CPUExecutionProvider"])
    assert session.get_modelmeta().custom_metadata_map["action_repeat"] == "3"
    assert "once in 3 steps" in dqs("export", runs("td3-held"), "--out", tmp_path / "q.c").stdout
    refused = dqs("export", runs("td3-held"), "--out", tmp_path / "r.c", "--set", "action_repeat=1")
    assert "learned to hold its actions for 3" in complaint(refused, 2)
    assert export(runs("td3"), tmp_path / "s.c")["action_repeat"] == 1


def test_held_actions_are_held(runs, tmp_path):
    """Whoever plays a policy without its learner plays it as `dqs eval` does: a film, and the counts of a budget."""
    whole = json.loads(dqs("eval", runs("td3-held"), "--episodes", 1, "--json").stdout)
    film = json.loads(dqs("render", runs("td3-held"), "--format", "png", "--out", tmp_path, "--json").stdout)
    assert abs(film["returns"][0] - whole["eval_mean"]) <= 1e-4 * abs(whole["eval_mean"])
    budget = json.loads(dqs("eval", runs("dqs-held"), "--steps-budget=3", "--episodes", 1, "--json").stdout)
    assert budget["budget"][0]["actions"] == 50


def test_places_and_names(runs, tmp_path):
    run = shutil.copytree(runs("td3"), tmp_path / "run")
    export(run / "policy.safetensors", tmp_path / "a" / "b" / "left-arm.c")
    header = (tmp_path / "a" / "b" / "left-arm.h").read_text()
    assert "void left_arm_act(" in header and "LEFT_ARM_OBS_DIM 3" in header and "LEFT_ARM_ACTION_REPEAT 1 " in header
    result = dqs("export", run)
    assert result.returncode == 0 and (run / "policy.c").exists() and "parity: 1000 observations" in result.stdout
    export(run, tmp_path / "a", "--name", "gripper")
    assert "void gripper_act(" in (tmp_path / "a" / "policy.h").read_text()
    subprocess.run(["c++", "-x", "c++", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", run / "policy.h"], check=True)


def test_actions_are_in_the_units_of_the_task(runs, tmp_path):
    """The library acts in the box, the export in the bounds of the task: -2 to 2 for pendulum."""
    from safetensors import safe_open
    export(runs("ddpg"), tmp_path / "p.c", "--keep", tmp_path)
    reach, obs, noise, wanted = read_sample(tmp_path / "parity.bin")
    assert reach == [2] and np.abs(wanted).max() <= 2
    with safe_open(runs("ddpg") / "policy.safetensors", "numpy") as file:
        assert file.metadata()["act_low"] == "-2" and file.metadata()["act_high"] == "2"
        w = {key: file.get_tensor(key).astype(np.float64) for key in file.keys() if key.startswith("actor/")}
    loaded = Loaded(tmp_path / "p.c")
    for o in obs[:50]:
        h = np.maximum(0, o @ w["actor/0.weight"] + w["actor/0.bias"])
        u = np.tanh(h @ w["actor/out.weight"].T + w["actor/out.bias"])
        assert np.abs(loaded.act(o, [0]) - 2 * u).max() < 1e-5


def test_the_generator(runs, tmp_path):
    from scipy import stats
    for name in ("dqs-corrector", "ppo"):
        export(runs(name), tmp_path / f"{name}.c", "--mode", "explore")
        p, obs = Loaded(tmp_path / f"{name}.c"), [0.6, 0.8, -1]
        ours = p.draws(obs, 3, 2000)
        assert (ours[:50] == p.draws(obs, 3, 50)).all() and (ours[:50] != p.draws(obs, 4, 50)).any()
        rng = np.random.default_rng(1)
        theirs = np.array([p.act(obs, np.concatenate([rng.standard_normal(p.sizes["NORMALS"]),
                                                      rng.uniform(size=p.sizes["UNIFORMS"])])) for _ in range(2000)])
        assert stats.ks_2samp(ours[:, 0], theirs[:, 0]).pvalue > 1e-4 and ours.std() > 0.01


# ---------------------------------------------------------------- Cortex-M
def build_mcu(folder, policy, cpu):
    mcu = ROOT / "tests" / "mcu"
    done = subprocess.run(["arm-none-eabi-gcc", *STRICT[:5], "-O2", "-ffp-contract=fast", *cpu, "-include", mcu / "instructions.h",
                           "-DMOST_ROWS=20", "--specs=rdimon.specs", "-nostartfiles", "-T", mcu / "mps2.ld", f"-I{folder}",
                           mcu / "startup.c", folder / "parity.c", policy, "-o", folder / "parity.elf", "-lm"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def run_mcu(folder, board):
    done = subprocess.run(["qemu-system-arm", "-M", board, "-nographic", "-monitor", "none", "-serial", "none", "-semihosting",
                           "-icount", "shift=0", "-kernel", folder / "parity.elf"], cwd=folder, capture_output=True, text=True,
                          timeout=120)
    found = re.search(r"rows (\d+) beyond (\d+) most (\S+) us (\S+)", done.stdout)
    assert done.returncode == 0 and found, (done.returncode, done.stdout, done.stderr)
    return int(found[1]), int(found[2]), float(found[3]), float(found[4])


@pytest.mark.parametrize("name, settings, least, most", [("dqs", [], 20e3, 120e3), ("td3", [], 3e3, 20e3),
                                                         ("dqs-best", [], 200e3, 1e6),
                                                         ("dqs-corrector", ["--weights", "fp16"], 100e3, 3e6)])
def test_cortex_m4(name, settings, least, most, runs, tmp_path):
    """Acts on a processor of another kind as the trainer does here; instructions an action, counted by QEMU."""
    if not shutil.which("arm-none-eabi-gcc") or not shutil.which("qemu-system-arm"):
        pytest.skip("no arm-none-eabi-gcc or no qemu-system-arm; tools/setup.sh test installs them")
    export(runs(name), tmp_path / "policy.c", "--keep", tmp_path, *settings)
    build_mcu(tmp_path, tmp_path / "policy.c", M4)
    rows, beyond, far, instructions = run_mcu(tmp_path, "mps2-an386")
    assert rows == 20 and least < instructions < most, instructions
    if not settings:
        assert beyond == 0 and far <= CLOSE
    # what the processor itself is asked for: code that calls nothing but math.h
    compile_c(tmp_path / "policy.c", *STRICT, "-Os", "-c", *M4, "-o", str(tmp_path / "p.o"), compiler="arm-none-eabi-gcc")
    asked = subprocess.run(["arm-none-eabi-nm", "-u", tmp_path / "p.o"], capture_output=True, text=True, check=True).stdout.split()
    known = {"U", "tanhf", "expf", "logf", "sqrtf", "sinf", "cosf", "memcpy", "memset", "__errno"}
    assert set(asked) <= known, asked


# ---------------------------------------------------------------- what may go wrong
def test_complaints(runs, tmp_path):
    run = runs("td3")
    cases = [
        (["--format", "tflite"], 2, "there are c and onnx"),
        (["--weights", "int8"], 2, "there are fp32 and fp16"),
        (["--mode", "exact"], 2, "there are evaluate and explore"),
        (["--name", "2 arms"], 2, "no C identifier"),
        (["--steps", "3"], 1, "one pass"),
        (["--steps", "0"], 2, "whole number"),
        (["--set", "width"], 2, "key=value"),
        (["--set", "widht=3"], 2, "width"),
        (["--set", "width=64"], 1, ""),
        (["--out", tmp_path / "x.onnx", "--format", "c"], 2, "ends in .c"),
        (["--out", tmp_path / 'a"b.c'], 2, "file name"),
        (["--out", "/proc/none/x.c"], 1, ""),
        (["--batch-size", "3"], 2, "--batch-size"),
    ]
    for flags, code, words in cases:
        flags = flags if "--out" in flags else [*flags, "--out", tmp_path / "x.c"]
        assert words in complaint(dqs("export", run, *flags), code), flags
    assert "check the path" in complaint(dqs("export", tmp_path / "nowhere"), 1)
    assert "usage" in complaint(dqs("export"), 2)


def test_nothing_to_compare_with(runs, tmp_path):
    empty = tmp_path / "bin"
    empty.mkdir()
    result = dqs("export", runs("td3"), "--out", tmp_path / "p.c", PATH=str(empty))
    assert result.returncode == 0 and "no C compiler 'cc'" in result.stdout and (tmp_path / "p.c").exists()
    result = dqs("export", runs("td3"), "--out", tmp_path / "p.onnx", DQS_PYTHON=str(empty / "python"))
    assert result.returncode == 0 and "pip install onnxruntime" in result.stdout and (tmp_path / "p.onnx").exists()


def rewrite(path, change):
    """A policy file with other metadata, its checksum right again."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    change(header["__metadata__"])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = struct.pack("<Q", len(text)) + text + data[8 + size:-8]
    path.write_bytes(data + struct.pack("<q", zlib.crc32(data)))


def test_metadata_of_a_stranger(runs, tmp_path):
    policy = tmp_path / "p.safetensors"
    shutil.copy(runs("td3") / "policy.safetensors", policy)
    evil = '*/ int main(void) { return 1; } /* "\\\n// @name@ ' + "x" * 5000
    rewrite(policy, lambda m: m.update(env=evil, act_low="-3", act_high="5"))
    export(policy, tmp_path / "evil.c")
    text = (tmp_path / "evil.c").read_text() + (tmp_path / "evil.h").read_text()
    assert "*/ int main" not in text and "return 1;" not in text
    compile_c(tmp_path / "evil.c", *STRICT, "-c", "-o", os.devnull)
    assert "action_centre[1] ALIGNED = {1.0f}" in text and "action_half[1] ALIGNED = {4.0f}" in text
    for low in ("nan", "7", "0x1"): # not bounds: then the task's, or the box
        rewrite(policy, lambda m, low=low: m.update(act_low=low))
        result = dqs("export", policy, "--out", tmp_path / "odd.c")
        assert result.returncode == 0, (low, result.stderr)
    whole = policy.read_bytes()
    for cut in (0, 100, len(whole) - 1):
        policy.write_bytes(whole[:cut])
        complaint(dqs("export", policy, "--out", tmp_path / "cut.c"), 1)


# ---------------------------------------------------------------- anytime inference
def test_steps_budget(runs):
    result = dqs("eval", runs("dqs"), "--steps-budget", "--episodes", 1, "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert [row["steps"] for row in found["budget"]] == [1, 2, 5, 10, 20, 50] and found["episodes"] == 1
    for row in found["budget"]:
        assert row["actions"] == 200 and -2000 < row["eval_mean"] < 0 and 0 < row["p50_us"] <= row["p99_us"]
    assert found["budget"][-1]["p50_us"] > 3 * found["budget"][0]["p50_us"] # fifty networks cost more than one
    again = json.loads(dqs("eval", runs("dqs"), "--steps-budget", "2,50", "--episodes", 1, "--json").stdout)
    assert [row["eval_mean"] for row in again["budget"]] == [found["budget"][i]["eval_mean"] for i in (1, 5)]
    bare = dqs("eval", runs("dqs-corrector"), "--steps-budget=1", "--episodes", 1, "--set", "corrector=0", "--json")
    assert json.loads(bare.stdout)["budget"][0]["p50_us"] < 1000
    assert "--steps-budget" in complaint(dqs("eval", runs("dqs"), "--set", "corrector=0"), 2)
    table = dqs("eval", "--steps-budget=3", runs("dipo"), "--episodes", 1).stdout.splitlines()
    assert table[1].split() == ["steps", "return", "+-", "p50", "us", "p99", "us"] and table[2].split()[0] == "3"


def test_steps_budget_plays_the_episodes_of_eval(runs):
    """A barely trained pendulum returns what its start makes it return: over seeds both ways of playing go together."""
    pairs = []
    for seed in range(16):
        ask = "eval", runs("dqs"), "--episodes", 1, "--seed", seed, "--json"
        whole, budget = (json.loads(dqs(*ask, *more).stdout) for more in ([], ["--steps-budget=10"]))
        pairs.append((whole["eval_mean"], budget["budget"][0]["eval_mean"]))
    assert np.corrcoef(np.transpose(pairs))[0, 1] > 0.6, pairs # 0.6 by chance: one in a hundred


def test_steps_budget_complaints(runs):
    assert "one pass" in complaint(dqs("eval", runs("sac"), "--steps-budget"), 1)
    assert "whole number" in complaint(dqs("eval", runs("dqs"), "--steps-budget=1,x"), 2)
    assert "whole number" in complaint(dqs("eval", runs("dqs"), "--steps-budget=0"), 2)
    assert "mode" in complaint(dqs("eval", runs("dqs"), "--steps-budget", "--mode", "explore"), 2)


# ---------------------------------------------------------------- the example
def test_control_loop(runs, tmp_path):
    made = subprocess.run(["make", "-C", ROOT / "examples" / "control_loop", f"OUT={tmp_path}", f"RUN={runs('dqs')}", f"DQS={DQS}",
                           "STEPS=2", "CFLAGS=-O2 -Wall -Wextra -Werror"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    done = subprocess.run([tmp_path / "control_loop", "1"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "1000 steps at 1000 Hz" in done.stdout, done.stdout
    assert subprocess.run([tmp_path / "control_loop", "0"], capture_output=True).returncode == 2
