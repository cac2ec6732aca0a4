"""Control steps a second: ours, a bare loop of mj_step, and dm_control's own Python loop, in one run.

    .venv/bin/python bench/peers/dm_control_steps.py [--tasks a,b] [--seconds 0.5] [--program build/dqs]

Prints a Markdown table. One core is one thread of ours against one Python process; two cores are two threads against two
processes. Tasks are taken in turn, ours and theirs right after each other, best of several; the ratio to the bare loop is the
median of pairs of turns.
"""
import argparse
import json
import multiprocessing
import os
import subprocess
import time
from pathlib import Path

os.environ.setdefault("MUJOCO_GL", "disable")
TOP = Path(__file__).resolve().parent.parent.parent
PAPER = ["cheetah-run", "finger-spin", "finger-turn_hard", "fish-swim", "hopper-hop", "quadruped-run", "reacher-hard",
         "walker-run"]


def python_loop(task, seconds, seed=0):
    """Control steps a second of dm_control's environment under uniform actions drawn beforehand."""
    import numpy as np
    from dm_control import suite
    domain, _, name = task.partition("-")
    env = suite.load(domain, name, task_kwargs={"random": seed})
    spec = env.action_spec()
    actions = np.random.default_rng(seed).uniform(spec.minimum, spec.maximum, (200, *spec.shape))
    best = 0.0
    for _ in range(3):
        env.reset()
        steps, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            for action in actions:
                env.step(action)
            steps += len(actions)
        best = max(best, steps / (time.perf_counter() - begin))
    return best


def ours(program, task, threads):
    output = subprocess.run([program, "bench", "envs", task, "--threads", str(threads), "--repeats", "60", "--json"],
                            capture_output=True, text=True, check=True).stdout
    return next(row for row in json.loads(output) if row["task"] == task)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", default=",".join(PAPER))
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--program", default=TOP / "build" / "dqs")
    options = parser.parse_args()
    print("| task | steps/s | bare mj_step | ours / bare, time | dm_control | ours / dm_control | 2 threads | dm_control, "
          "2 processes | ratio |\n|" + " --- |" * 9)
    with multiprocessing.get_context("spawn").Pool(2) as processes:
        for task in options.tasks.split(","):
            one, two = ours(options.program, task, 1), ours(options.program, task, 2)
            alone = processes.apply(python_loop, (task, options.seconds))
            both = sum(processes.starmap(python_loop, [(task, options.seconds, seed) for seed in (0, 1)]))
            mine, bare, batch = one["steps_per_second"], one["bare_steps_per_second"], two["batch_steps_per_second"]
            print(f"| {task} | {mine:,.0f} | {bare:,.0f} | {one['ratio']:.3f} | {alone:,.0f} | {mine / alone:.1f} | "
                  f"{batch:,.0f} | {both:,.0f} | {batch / both:.1f} |", flush=True)


if __name__ == "__main__":
    main()
