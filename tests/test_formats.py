"""Our files in the hands of the real packages: safetensors, TensorBoard's event reader, zlib.

test_store and test_metrics leave their sample files in the folder DQS_TEST_OUT; the values are those written
there in C.
"""

import csv
import json
import math
import os
import pathlib
import struct
import subprocess
import zlib

import numpy as np
import pytest
from safetensors import safe_open
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

REPO = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("DQS_BUILD", REPO / "build"))


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats")
    for name in ("test_store", "test_metrics"):
        program = next((p for p in (BUILD / "tests" / name, BUILD / name) if p.exists()), None)
        assert program, f"{BUILD}: has no program {name}; build first, or set DQS_BUILD"
        environment = dict(os.environ, DQS_TEST_OUT=str(folder))
        subprocess.run([program], check=True, env=environment, stdout=subprocess.DEVNULL)
    return folder


def test_safetensors_reads_a_checkpoint(out):
    with safe_open(out / "sample.safetensors", framework="numpy") as f:
        tensors = {name: f.get_tensor(name) for name in f.keys()}
        metadata = f.metadata()
    expected = {
        "sample/flags": np.array([0, 50, 100, 150, 200], np.uint8),
        "sample/weights": (np.arange(12, dtype=np.float32) * np.float32(0.25) - 1).reshape(3, 4),
        "sample/moments": np.float32(1e-3) * np.arange(5, dtype=np.float32),
        "sample/nothing": np.zeros(0, np.float32),
        "sample/temperature": np.array([1 / 3]),
        "sample/trace": np.array([1e300, -0.0]),
        "sample/step": np.array([123456789012345]),
        "sample/replay": -np.arange(6, dtype=np.float32).reshape(2, 3),
        "sample/wide": np.array([1]),
    }
    assert set(tensors) == set(expected) | {"padding", "checksum"}
    for name, value in expected.items():
        assert tensors[name].dtype == value.dtype and tensors[name].shape == value.shape, name
        assert tensors[name].tobytes() == value.tobytes() or np.array_equal(tensors[name], value), name
    assert math.copysign(1, tensors["sample/trace"][1]) == -1
    assert metadata == {"algo": "dqs", "note": 'quotes " and \\, a tab \t, \u00e9', "bad": "? not UTF-8"}


def test_layout_and_checksum(out):
    data = (out / "sample.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    assert length % 8 == 0
    header = json.loads(data[8 : 8 + length])
    last = max((t for n, t in header.items() if n != "__metadata__"), key=lambda t: t["data_offsets"][1])
    assert last is header["checksum"] and last["dtype"] == "I64" and last["shape"] == [1]
    start = 8 + length + last["data_offsets"][0]
    assert struct.unpack("<q", data[start:]) == (zlib.crc32(data[:start]),)


def read_rows(path):
    with open(path, newline="") as f:
        return [{k: float(v) for k, v in row.items() if v != ""} for row in csv.DictReader(f)]


def test_csv_reads_the_tables(out):
    progress = read_rows(out / "run" / "progress.csv")
    assert [row["time/total_timesteps"] for row in progress] == [1000, 2000, 2000, 3000, 4000]
    assert [row["rollout/ep_rew_mean"] for row in progress if "rollout/ep_rew_mean" in row] == [3, 5]
    assert progress[0]["train/critic_loss"] == 0.1 and math.isnan(progress[1]["train/critic_loss"])
    evaluations = read_rows(out / "run" / "evaluations.csv")
    means = [(row["step"], row["mean_reward"], row["mmd"]) for row in evaluations]
    assert means == [(2000, 10, 0.125), (4000, 30, 0.125)]


def test_tensorboard_reads_the_events(out):
    reader = EventAccumulator(str(out / "run"))
    reader.Reload()
    scalars = {name: [(e.step, e.value) for e in reader.Scalars(name)] for name in reader.Tags()["scalars"]}
    # Step 3000 of the first session came after the checkpoint: the resumed run's numbers take its place.
    assert scalars["rollout/ep_rew_mean"] == [(2000, 3), (3000, 5)]
    assert scalars["eval/mean_reward"] == [(2000, 10), (4000, 30)]
    assert scalars["eval/mmd"] == [(2000, 0.125), (4000, 0.125)]
    assert scalars["time/total_timesteps"] == [(s, s) for s in (1000, 2000, 2000, 3000, 4000)]
    loss = scalars["train/critic_loss"]
    assert [step for step, _ in loss] == [1000, 2000, 3000]
    assert loss[0][1] == np.float32(0.1) and math.isnan(loss[1][1]) and loss[2][1] == math.inf


def test_event_records_have_right_checksums(out):
    files = sorted((out / "run").glob("events.out.tfevents.*"))
    assert len(files) == 2
    for file in files:
        data, position, records = file.read_bytes(), 0, 0
        while position < len(data):
            length, crc = struct.unpack_from("<QI", data, position)
            assert crc == masked_crc32c(data[position : position + 8])
            event = data[position + 12 : position + 12 + length]
            (crc,) = struct.unpack_from("<I", data, position + 12 + length)
            assert crc == masked_crc32c(event)
            position += 16 + length
            records += 1
        assert position == len(data) and records >= 4
