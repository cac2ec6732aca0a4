"""dqs render: films and contact sheets, read back by other programs (ffprobe, ffmpeg, Pillow) and looked at.

What needs ffmpeg, MuJoCo or OpenGL is skipped where they are missing, and says so.
"""
import json
import math
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors import safe_open

ROOT = Path(__file__).resolve().parent.parent
DQS = str(Path(os.environ.get("DQS_BUILD", ROOT / "build")).resolve() / "dqs")
TINY = ["--preset", "quick", "--set", "warmup=100", "--set", "batch=32", "--set", "replay=2000", "--set",
        "critic_width=32", "--set", "score_width=32", "--set", "final_episodes=2", "--set", "eval_every=0",
        "--threads", "1", "--quiet"]
PAPER = ["cheetah-run", "finger-spin", "finger-turn_hard", "fish-swim", "hopper-hop", "quadruped-run",
         "reacher-hard", "walker-run"]
PAINTED = ["gmm", "maze", "maze-small", "pendulum"]

if not os.access(DQS, os.X_OK):
    pytest.skip(f"{DQS} is not built", allow_module_level=True)

needs_ffmpeg = pytest.mark.skipif(not (shutil.which("ffmpeg") and shutil.which("ffprobe")),
                                  reason="ffmpeg is not installed: films are not tested; apt-get install ffmpeg")


def render(*args, cwd=None, **env):
    clean = {k: v for k, v in os.environ.items() if k != "MUJOCO_GL"}
    return subprocess.run([DQS, "render", *map(str, args)], cwd=cwd, env={**clean, **env}, timeout=300,
                          capture_output=True, text=True)


def complaint(result, code):
    """One line on stderr, nothing on stdout; returns the line."""
    assert result.returncode == code, (result.returncode, result.stderr)
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1 and result.stderr.startswith("dqs: "), result.stderr
    return result.stderr.strip()


def good(result):
    assert result.returncode == 0, result.stderr
    return result


def probe(path):
    out = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-select_streams", "v", "-of", "json",
                          "-show_streams", str(path)], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)["streams"][0]


def frames(path):
    """All frames of a film, [n, height, width, 3]."""
    stream = probe(path)
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
                         capture_output=True, check=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(-1, stream["height"], stream["width"], 3)


def cells(path, width, height):
    """The frames of a contact sheet: six columns of 320 pixels, gaps of 12, edges of 24, a head of 68."""
    sheet = np.asarray(Image.open(path).convert("RGB"))
    side = round(320 * height / width)
    found = []
    for top in range(68, sheet.shape[0] - side, side + 24 + 12):
        for left in range(24, sheet.shape[1] - 320, 332):
            found.append(sheet[top:top + side, left:left + 320])
    return [cell for cell in found if (cell != 255).any()] # the last row may be short


def moved(a, b):
    """The share of pixels that differ between two pictures."""
    return float((np.abs(a.astype(int) - b.astype(int)).max(axis=-1) > 24).mean())


@pytest.fixture(scope="session")
def control(tmp_path_factory):
    """Skips where the control tasks cannot be drawn."""
    out = tmp_path_factory.mktemp("control") / "a.png"
    result = render("cheetah-run", "--random", "--seconds", 0.02, "--size", "64x48", "--out", out)
    for missing in ("needs MuJoCo", "cannot load", "neither EGL nor OSMesa"):
        if missing in result.stderr:
            pytest.skip("the control tasks cannot be drawn here: " + result.stderr.strip())
    good(result)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("render") / "run"
    done = subprocess.run([DQS, "train", "pendulum", *TINY, "--steps", "300", "--out", str(folder)],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


# ---------------------------------------------------------------- what is written

@needs_ffmpeg
def test_films_of_a_run(run, tmp_path):
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    before = {p.name: p.read_bytes() for p in copy.iterdir()}
    result = good(render(copy, "--episodes", 2))
    *files, last = result.stdout.splitlines()
    assert files == [f"{copy}/render.{ending}" for ending in ("mp4", "gif", "png")]
    assert last.startswith("pendulum: 2 episodes at 20 frames/s")
    assert {p.name: p.read_bytes() for p in copy.iterdir() if not p.name.startswith("render.")} == before

    stream = probe(copy / "render.mp4")
    assert (stream["codec_name"], stream["pix_fmt"]) == ("h264", "yuv420p")
    assert (stream["width"], stream["height"], stream["r_frame_rate"]) == (640, 480, "20/1")
    assert int(stream["nb_read_frames"]) == 2 * 201 # 200 steps and the start, at 20 steps a second
    mp4 = (copy / "render.mp4").read_bytes()
    assert mp4.index(b"moov") < mp4.index(b"mdat") # plays before it is wholly loaded

    with Image.open(copy / "render.gif") as gif:
        assert gif.size == (320, 240)
        assert abs(gif.n_frames - 201) <= 1 # the first episode
        assert gif.info["duration"] == 50
    with Image.open(copy / "render.png") as sheet:
        assert sheet.size[0] > 1500
    assert len(cells(copy / "render.png", 640, 480)) == 24


@needs_ffmpeg
def test_json_and_a_film_of_chosen_size_rate_and_length(tmp_path):
    out = tmp_path / "film.mp4"
    result = good(render("pendulum", "--random", "--size", "320x200", "--fps", 25, "--seconds", 2, "--out", out,
                         "--json"))
    found = json.loads(result.stdout)
    assert found["files"] == [str(out)] and found["fps"] == 25 and found["env"] == "pendulum"
    assert len(found["returns"]) == 1 and -700 < found["returns"][0] < 0
    stream = probe(out)
    assert (stream["width"], stream["height"], stream["r_frame_rate"]) == (320, 200, "25/1")
    assert int(stream["nb_read_frames"]) == 51 # both ends of two seconds
    assert os.listdir(tmp_path) == ["film.mp4"]


def test_png_alone_needs_no_ffmpeg(tmp_path):
    result = good(render("maze", "--random", "--seconds", 1, "--format", "png", cwd=tmp_path, PATH="/nonexistent"))
    assert result.stdout.splitlines()[0] == "maze.png"
    assert os.listdir(tmp_path) == ["maze.png"]
    assert len(cells(tmp_path / "maze.png", 640, 480)) == 24


def test_a_short_episode_makes_a_short_sheet(tmp_path):
    good(render("gmm", "--random", "--seconds", 0.6, "--out", tmp_path / "a.png"))
    assert len(cells(tmp_path / "a.png", 640, 480)) == 7 # ten steps a second, and the start


def test_sheet_spans_the_whole_of_a_long_episode(tmp_path):
    """The ball leaves a trail: more of it is seen from print to print, evenly, to the end."""
    good(render("gmm", "--random", "--out", tmp_path / "a.png", "--size", "320x240", "--fps", 60))
    prints = cells(tmp_path / "a.png", 320, 240)
    changes = [moved(a, b) for a, b in zip(prints, prints[1:])]
    assert len(prints) == 24 and min(changes) > 0


# ---------------------------------------------------------------- what is seen

@needs_ffmpeg
def test_pictures_show_the_starts_of_evaluation(run, tmp_path):
    """The pendulum's orange end stands where the observation that dqs eval recorded says: cos, sin of its angle."""
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    subprocess.run([DQS, "eval", str(copy), "--episodes", "3", "--seed", "11"], check=True, capture_output=True)
    with safe_open(copy / "trace.safetensors", "numpy") as trace:
        obs = trace.get_tensor("obs")
    good(render(copy, "--episodes", 3, "--seconds", 0.05, "--seed", 11, "--out", tmp_path / "a.mp4"))
    film = frames(tmp_path / "a.mp4").astype(int)
    assert len(film) == 6 # two of each
    for episode in range(3):
        picture = film[2 * episode]
        orange = (picture[..., 0] - picture[..., 2] > 90) & (picture[..., 0] > 170)
        y, x = np.argwhere(orange).mean(axis=0)
        unit = (480 / 240) * (240 - 20) / 2.6 # pixels a metre
        cos, sin, _ = obs[episode, 0]
        assert math.hypot(x - (320 - sin * unit), y - (240 - cos * unit)) < 3, (episode, x, y, cos, sin)


@pytest.mark.parametrize("task", PAINTED)
def test_painted_tasks_move(task, tmp_path):
    good(render(task, "--random", "--seconds", 3, "--out", tmp_path / "a.png", "--seed", 1))
    prints = cells(tmp_path / "a.png", 640, 480)
    assert moved(prints[0], prints[-1]) > 0.0005
    assert len(np.unique(prints[0].reshape(-1, 3), axis=0)) > 20


@pytest.mark.parametrize("task", PAPER)
def test_control_tasks_are_seen_moving(control, task, tmp_path):
    good(render(task, "--random", "--seconds", 1, "--fps", 8, "--size", "320x240", "--out", tmp_path / "a.png"))
    prints = cells(tmp_path / "a.png", 320, 240)
    assert len(prints) == 9
    for picture in prints:
        grey = picture.mean(axis=-1)
        assert 60 < grey.mean() < 235 and grey.std() > 8, "too dark, too bright or empty"
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 100
    assert moved(prints[0], prints[-1]) > 0.001, "nothing moves"


@needs_ffmpeg
def test_a_control_task_as_a_film(control, tmp_path):
    good(render("cheetah-run", "--random", "--seconds", 0.5, "--size", "320x240", "--out", tmp_path, "--seed", 3))
    film = frames(tmp_path / "cheetah-run.mp4")
    assert len(film) == 26 and probe(tmp_path / "cheetah-run.mp4")["r_frame_rate"] == "50/1" # 100 steps a second
    assert all(20 < frame.mean() < 240 for frame in film)
    steps = [moved(a, b) for a, b in zip(film, film[1:])]
    assert max(steps) > 0 and max(steps) < 0.3, "the body moves, the scene does not flicker"
    # The sky is above: rows come out the right way up.
    top, bottom = film[0][:60].astype(int), film[0][-40:].astype(int)
    assert (top[..., 2] - top[..., 0]).mean() > (bottom[..., 2] - bottom[..., 0]).mean() + 10


def test_egl_and_osmesa_draw_the_same(control, tmp_path):
    prints = {}
    for kind in ("egl", "osmesa"):
        result = render("walker-run", "--random", "--seconds", 0.2, "--fps", 5, "--size", "320x240", "--out",
                        tmp_path / f"{kind}.png", "--json", MUJOCO_GL=kind)
        if "no off-screen picture" in result.stderr:
            pytest.skip(f"this machine lacks one of the two: {result.stderr.strip()}")
        assert json.loads(good(result).stdout)["drawn_by"].lower() == kind
        prints[kind] = cells(tmp_path / f"{kind}.png", 320, 240)[0].astype(int)
    assert np.abs(prints["egl"] - prints["osmesa"]).mean() < 2


def test_cameras(control, tmp_path):
    pictures = []
    for camera in ("0", "side", "1"):
        good(render("cheetah-run", "--random", "--seconds", 0.01, "--size", "320x240", "--camera", camera, "--out",
                    tmp_path / "a.png"))
        pictures.append(cells(tmp_path / "a.png", 320, 240)[0])
    assert (pictures[0] == pictures[1]).all()
    assert moved(pictures[0], pictures[2]) > 0.05
    line = complaint(render("cheetah-run", "--random", "--camera", "moon", "--out", tmp_path / "b.png"), 2)
    assert "moon" in line and "0 side" in line and "1 front" in line
    assert not (tmp_path / "b.png").exists()


def test_same_seed_same_picture(tmp_path):
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        good(render("pendulum", "--random", "--seconds", 1, "--seed", seed, "--out", tmp_path / f"{name}.png"))
    a, b, c = ((tmp_path / f"{name}.png").read_bytes() for name in "abc")
    assert a == b != c


# ---------------------------------------------------------------- what goes wrong

@pytest.mark.parametrize("args, code, words", [
    ([], 2, ["missing RUN"]),
    (["no-such-folder"], 1, ["no-such-folder", "config.yaml"]),
    (["pendulum"], 2, ["--random"]),
    (["pendulun", "--random"], 2, ["pendulun", "dqs envs"]),
    (["pendulum", "--random", "--format", "avi"], 2, ["avi", "mp4, gif and png"]),
    (["pendulum", "--random", "--format", "mp4,png", "--out", "a.mp4"], 2, ["a.mp4", "folder"]),
    (["pendulum", "--random", "--size", "641x480"], 2, ["641x480", "even"]),
    (["pendulum", "--random", "--size", "640"], 2, ["640x480"]),
    (["pendulum", "--random", "--fps", "0"], 2, ["--fps"]),
    (["pendulum", "--random", "--seconds", "-1"], 2, ["--seconds"]),
    (["pendulum", "--random", "--episodes", "0"], 2, ["--episodes"]),
    (["pendulum", "--random", "--camera", "side"], 2, ["no cameras"]),
    (["pendulum", "--random", "--out", "/proc/none/a.png"], 1, ["/proc/none/a.png"]),
])
def test_mistakes_get_one_line(args, code, words, tmp_path):
    line = complaint(render(*args, cwd=tmp_path), code)
    assert all(word in line for word in words), line
    assert os.listdir(tmp_path) == []


def test_without_ffmpeg_one_line_says_what_to_install(tmp_path):
    line = complaint(render("pendulum", "--random", cwd=tmp_path, PATH="/nonexistent"), 1)
    assert "apt-get install ffmpeg" in line and "--format png" in line
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("script, words", [
    ("echo 'Unknown encoder libx264' >&2; exit 1", "Unknown encoder libx264"), # before it has read anything
    ("head -c 1000000 >/dev/null; exit 1", "no reason"), # in the middle
    ("cat >/dev/null; exit 1", "no reason"), # at the end
])
def test_a_failing_ffmpeg_is_an_error_and_not_a_signal(script, words, tmp_path):
    bad = tmp_path / "bin" / "ffmpeg"
    bad.parent.mkdir()
    bad.write_text(f"#!/bin/sh\n{script}\n")
    bad.chmod(0o755)
    result = render("pendulum", "--random", "--out", tmp_path / "a.mp4", PATH=f"{bad.parent}:{os.environ['PATH']}")
    assert result.returncode == 1 and result.stdout == ""
    last = result.stderr.splitlines()[-1]
    assert last.startswith("dqs: ") and "a.mp4" in last and words in last
    assert os.listdir(tmp_path) == ["bin"]


@needs_ffmpeg
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_films_leave_nothing(number, tmp_path):
    child = subprocess.Popen([DQS, "render", "maze", "--random", "--episodes", "1000", "--out", str(tmp_path)],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not os.listdir(tmp_path) and time.monotonic() < end: # ffmpeg has begun its file
        time.sleep(0.05)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 128 + number and out == ""
    assert err.splitlines()[-1] == "dqs: film: stopped; no file was written"
    assert os.listdir(tmp_path) == []


def test_a_machine_without_opengl_is_told_what_to_install(control, tmp_path):
    line = complaint(render("cheetah-run", "--random", "--out", tmp_path / "a.png", MUJOCO_GL="egl",
                            __EGL_VENDOR_LIBRARY_DIRS=str(tmp_path)), 1)
    assert "apt-get install libegl1 libgl1-mesa-dri" in line
    line = complaint(render("cheetah-run", "--random", "--out", tmp_path / "a.png", MUJOCO_GL="glfw"), 2)
    assert "egl or osmesa" in line
    assert os.listdir(tmp_path) == []


def test_nothing_links_to_opengl():
    build = Path(DQS).parent
    for name in ("dqs", "libdqs.so"):
        if not (build / name).exists():
            continue
        out = subprocess.run(["readelf", "-d", str(build / name)], capture_output=True, text=True, check=True).stdout
        needed = [line for line in out.splitlines() if "NEEDED" in line]
        assert needed and not [line for line in needed if any(w in line for w in ("GL", "OSMesa", "mujoco"))]
