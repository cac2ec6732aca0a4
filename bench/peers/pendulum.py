"""SAC on pendulum at the setting with which RLtools publishes its times (10 000 steps, two layers of 64, batches of 100, one update a step),
beside Stable-Baselines3 (PyTorch) and SBX (JAX): one thread each, in turn on the same processor.

    .venv/bin/python bench/peers/pendulum.py [--seeds 0,1,2] [--steps N] [--program build/dqs] [--json FILE]

Needs stable-baselines3, sbx-rl and gymnasium. Prints a Markdown table: mean return of 20 evaluation episodes of every seed, and the seconds of training
of the fastest seed (SBX compiles within them: its first run is not its fastest).
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Before the libraries are loaded: one thread, as ours.
os.environ.update(OMP_NUM_THREADS="1", XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import gymnasium
import numpy as np
import sbx
import stable_baselines3 as sb3
import torch
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

EPISODES, WIDTH, BATCH, WARM_UP, RATE = 20, 64, 100, 100, 1e-3


def peer(make, seed, steps):
    model = make("MlpPolicy", gymnasium.make("Pendulum-v1"), seed=seed, learning_starts=WARM_UP, learning_rate=RATE, batch_size=BATCH,
                 buffer_size=250_000, gamma=0.99, tau=0.005, train_freq=1, gradient_steps=1, policy_kwargs=dict(net_arch=[WIDTH, WIDTH]), device="cpu")
    start = time.perf_counter()
    model.learn(steps)
    seconds = time.perf_counter() - start
    returns, _ = evaluate_policy(model, Monitor(gymnasium.make("Pendulum-v1")), EPISODES, return_episode_rewards=True)
    return float(np.mean(returns)), seconds


def ours(program, seed, steps):
    options = dict(width=WIDTH, batch=BATCH, warmup=WARM_UP, lr_actor=RATE, lr_critic=RATE, lr_alpha=RATE, eval_every=0, checkpoint_every=0,
                   final_episodes=EPISODES)
    words = [word for key, value in options.items() for word in ("--set", f"{key}={value}")]
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "pendulum", "--algo", "sac", "--seed", str(seed), "--steps", str(steps), "--threads", "1", "--quiet", "--json",
                   "--out", Path(folder) / "run", *words]
        result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().splitlines()[-1])
    return result["eval_mean"], result["steps"] / result["steps_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--program", type=Path, default=Path(__file__).resolve().parents[2] / "build" / "dqs")
    parser.add_argument("--json", type=Path, help="write the table there too")
    o = parser.parse_args()
    torch.set_num_threads(1)
    learners = {"dqs": lambda seed: ours(o.program, seed, o.steps), f"SBX {sbx.__version__}": lambda seed: peer(sbx.SAC, seed, o.steps),
                f"Stable-Baselines3 {sb3.__version__}": lambda seed: peer(sb3.SAC, seed, o.steps)}
    seen = {name: [] for name in learners}
    for seed in o.seeds.split(","):  # in turn, so that all see the same machine
        for name, learn in learners.items():
            seen[name].append(learn(int(seed)))
    fastest = {name: min(seconds for _, seconds in runs) for name, runs in seen.items()}
    print("| | returns | seconds | steps/s | times ours |\n|---|---|---|---|---|")
    for name, runs in seen.items():
        print(f"| {name} | {', '.join(f'{r:.0f}' for r, _ in runs)} | {fastest[name]:.1f} | {o.steps / fastest[name]:,.0f} | {fastest[name] / fastest['dqs']:.1f} |")
    if o.json:
        o.json.write_text(json.dumps({name: [dict(mean_return=r, seconds=s) for r, s in runs] for name, runs in seen.items()}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
