"""`dqs sweep --slurm` on a real Slurm: one task is killed without warning and queued again, one is told that its time is
nearly up. The runs end with the bits of a sweep that nobody disturbed."""
import os
import re
import subprocess
import time

import pytest

import slurm_cluster
from test_cli import DQS, dqs, only_json, wait_for
from test_sweep import litter, same_results, write

# Long enough that both tasks are met in the middle of their first run, on any machine.
GRID = """
tasks: [pendulum]
algos: [td3]
seeds: 4
steps: 15000
warmup: 500
batch: 64
width: 32
replay: 15000
eval_every: 5000
eval_episodes: 2
final_episodes: 3
checkpoint_every: 500
"""


@pytest.fixture
def cluster(tmp_path):
    why = slurm_cluster.missing()
    if why:
        pytest.skip(why)
    folder = tmp_path / "cluster"
    folder.mkdir()
    for place in (folder, *folder.parents):  # munged is not root and must reach its folder
        if os.stat(place).st_uid == 0 and place.is_relative_to("/tmp") and place != place.__class__("/tmp"):
            place.chmod(0o755)
    slurm = slurm_cluster.Cluster(folder)
    try:
        try:
            slurm.start()
        except (RuntimeError, OSError) as error:  # a machine that does not let daemons run is not our fault
            pytest.skip(f"SLURM DOES NOT START HERE, SO IT WAS NOT TRIED: {error}")
        yield slurm
    finally:
        slurm.stop()


def job_state(cluster, task):
    text = cluster.ask("scontrol", "show", "job", task)
    return dict(re.findall(r"\b(JobState|Restarts|Reason|Requeue)=(\S+)", text))


def queue_again_now(cluster, task):
    """Slurm lets a job that was queued again wait for two minutes; here it need not. But it takes a start within the second of
    the end before it for the one that was revoked then."""
    cluster.wait(lambda: job_state(cluster, task).get("JobState") == "PENDING", f"{task} is not queued again", 60)
    time.sleep(2)
    cluster.wait(lambda: subprocess.run(["scontrol", "update", f"JobId={task}", "StartTime=now"], env=cluster.env,
                                        capture_output=True).returncode == 0, f"{task} cannot be started")


def test_killed_and_requeued_tasks_end_with_the_same_bits(cluster, tmp_path):
    file = write(tmp_path, GRID)
    submitted = subprocess.run([DQS, "sweep", file, "--out", "out", "--slurm", "--tasks", "2", "--lease", "3"],
                               env=cluster.env, cwd=tmp_path, capture_output=True, text=True)
    assert submitted.returncode == 0, submitted.stderr + cluster.logs()
    job = re.match(r"submitted job (\d+): 2 tasks for 4 runs in out\n", submitted.stdout).group(1)
    out = tmp_path / "out"

    def begun():
        return [p.parent for p in out.rglob("checkpoint.safetensors") if not (p.parent / "DONE").exists()]

    assert wait_for(lambda: len(begun()) >= 2, pause=0.02), cluster.logs()
    assert job_state(cluster, f"{job}_0")["Requeue"] == "1"
    # As when a node dies: worker and run are gone at once. Then Slurm, here by hand, queues the task again.
    cluster.ask("scancel", "--signal=KILL", "--full", f"{job}_0")
    # As ahead of the time limit: Slurm tells the worker alone, which stops its run and goes back by itself.
    cluster.ask("scancel", "--signal=USR1", "--batch", f"{job}_1")
    cluster.wait(lambda: job_state(cluster, f"{job}_0").get("JobState") not in ("RUNNING", "COMPLETING"), "not killed")
    cluster.ask("scontrol", "requeue", f"{job}_0")
    half_done = {p: (p / "DONE").exists() for p in begun()}
    assert half_done and not any(half_done.values()), "both were met before the end"
    for task in (f"{job}_0", f"{job}_1"):
        queue_again_now(cluster, task)
    assert wait_for(lambda: len(list(out.rglob("DONE"))) == 4, 120, 0.1), cluster.logs()
    cluster.wait(lambda: not cluster.ask("squeue", "-h").strip(), "the tasks do not end", 60)
    assert [job_state(cluster, f"{job}_{i}").get("Restarts") for i in (0, 1)] == ["1", "1"]
    logs = [(out / "slurm" / f"{job}_{i}.log").read_text() for i in (0, 1)]
    assert "back into the queue" in logs[1] and "back into the queue" not in logs[0], logs
    assert sum(log.count("resumed  ") for log in logs) >= 2, logs

    (out / "sweep.yaml").unlink()  # the tasks had a grid of their own, out of reach of other sweeps into the folder
    grid, = (out / "slurm").glob("grid-*.yaml")
    told = only_json(dqs("sweep", grid, "--status", "--json", cwd=tmp_path))
    assert (told["done"], told["failed"]) == (4, 0)
    assert litter(out) == []
    calm = dqs("sweep", file, "--out", tmp_path / "calm", "--jobs", 2)
    assert calm.returncode == 0, calm.stderr
    assert len(same_results(out, tmp_path / "calm")) == 4


def test_cancelled_tasks_stop_with_a_checkpoint(cluster, tmp_path):
    """`scancel`, and preemption alike, send SIGTERM to every process of the task. The sweep goes on here, without Slurm."""
    file = write(tmp_path, GRID.replace("seeds: 4", "seeds: 1").replace("checkpoint_every: 500", "checkpoint_every: 0"))
    submitted = subprocess.run([DQS, "sweep", file, "--out", "out", "--slurm"], env=cluster.env, cwd=tmp_path,
                               capture_output=True, text=True)
    assert submitted.returncode == 0, submitted.stderr
    job = re.match(r"submitted job (\d+): 1 task for 1 run in", submitted.stdout).group(1)
    run = tmp_path / "out" / "pendulum/td3/default-s0"
    assert wait_for(lambda: (run / "progress.csv").exists() and len((run / "progress.csv").read_text().splitlines()) > 2)
    cluster.ask("scancel", job)
    cluster.wait(lambda: not cluster.ask("squeue", "-h").strip(), "it does not end", 60)
    assert (run / "checkpoint.safetensors").exists() and not (run / "DONE").exists()
    assert not (run / "failures.txt").exists()
    result = dqs("sweep", tmp_path / "out")
    assert result.returncode == 0 and "resumed  " in result.stderr, result.stderr


def test_what_sbatch_refuses_is_told(cluster, tmp_path):
    file = write(tmp_path, GRID)
    refused = subprocess.run([DQS, "sweep", file, "--out", "out", "--slurm", "--partition", "none"], env=cluster.env,
                             cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 1 and len(refused.stderr.splitlines()) == 1
    assert "sbatch failed" in refused.stderr and "partition" in refused.stderr
