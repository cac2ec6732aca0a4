"""SAC, TD3, DDPG and PPO beside Stable-Baselines3: the same task, budget, networks and constants, one after the other on the same processor.

    python3 -m venv .venv-peers && .venv-peers/bin/pip install torch==2.13.0 stable-baselines3==2.9.2 dm_control==1.0.44 mujoco==3.14.0
    .venv-peers/bin/python bench/peers/sb3.py [--algos sac,td3,ddpg,ppo] [--tasks pendulum,cheetah-run] [--seeds 0,1,2] [--steps N]
                                              [--out FOLDER] [--program build/dqs]

Prints a Markdown table: mean return of 20 evaluation episodes of every seed, wall time of the fastest run of each side without its
evaluation, steps a second, and the ratio. FOLDER keeps one JSON file per run, and a run that has one is not repeated.
"""
import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gymnasium
import numpy as np
import stable_baselines3 as sb3
import torch

EPISODES = 20
STEPS = {("ppo", "pendulum"): 200_000, ("ppo", "cheetah-run"): 100_000, ("sac", "pendulum"): 10_000, ("td3", "pendulum"): 10_000,
         ("ddpg", "pendulum"): 10_000, ("sac", "cheetah-run"): 30_000, ("td3", "cheetah-run"): 30_000, ("ddpg", "cheetah-run"): 30_000}
OFF_POLICY = dict(buffer_size=250_000, batch_size=256, gamma=0.99, tau=0.005, train_freq=1, gradient_steps=1)


class ControlTask(gymnasium.Env):
    """A task of dm_control as Gymnasium sees it: it is never over, only out of time."""

    def __init__(self, name):
        from dm_control import suite
        self.task = suite.load(*name.split("-", 1))
        action = self.task.action_spec()
        self.action_space = gymnasium.spaces.Box(action.minimum.astype(np.float32), action.maximum.astype(np.float32))
        size = sum(int(np.prod(s.shape)) for s in self.task.observation_spec().values())
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def flat(self, step):
        return np.concatenate([np.ravel(v) for v in step.observation.values()]).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.task.task._random = np.random.RandomState(seed)
        return self.flat(self.task.reset()), {}

    def step(self, action):
        step = self.task.step(action)
        return self.flat(step), step.reward, False, step.last(), {}


def environment(task):
    """Actions in [-1, 1], as our learners see every task: SB3's PPO takes them as they come, and its first noise is of size 1 in their units."""
    if task == "pendulum":
        return gymnasium.wrappers.RescaleAction(gymnasium.make("Pendulum-v1"), np.float32(-1), np.float32(1))
    return ControlTask(task)


def peer(algo, task, seed, steps):
    """Returns of a trained policy and the seconds of training."""
    torch.set_num_threads(1)
    small = task == "pendulum"
    env, warm_up = environment(task), 1000 if small else 10_000
    if algo == "sac":
        # From SB3's own 1, alpha needs 20 000 updates to come down: at 30 000 steps neither has begun to learn.
        model = sb3.SAC("MlpPolicy", env, seed=seed, learning_starts=warm_up, learning_rate=1e-3 if small else 3e-4, ent_coef="auto_0.1", device="cpu",
                        policy_kwargs=dict(net_arch=[256, 256]), **OFF_POLICY)
    elif algo in ("td3", "ddpg"):
        size = env.action_space.shape[0]
        noise = sb3.common.noise.NormalActionNoise(np.zeros(size), 0.1 * np.ones(size))
        learner = {"td3": sb3.TD3, "ddpg": sb3.DDPG}[algo]
        model = learner("MlpPolicy", env, seed=seed, learning_starts=warm_up, learning_rate=3e-4, action_noise=noise, device="cpu",
                        policy_kwargs=dict(net_arch=[256, 256]), **OFF_POLICY)
    else:
        model = sb3.PPO("MlpPolicy", env, seed=seed, gamma=0.9 if small else 0.99, learning_rate=1e-3 if small else 3e-4, device="cpu",
                        policy_kwargs=dict(net_arch=[64, 64] if small else [256, 256]))
    start = time.perf_counter()
    model.learn(steps)
    seconds = time.perf_counter() - start
    returns, _ = sb3.common.evaluation.evaluate_policy(model, sb3.common.monitor.Monitor(environment(task)), EPISODES, return_episode_rewards=True)
    return returns, seconds


def ours(program, algo, task, seed, steps):
    settings = ["eval_every=0", f"final_episodes={EPISODES}", "checkpoint_every=0"]
    if algo == "sac":
        settings += ["alpha=0.1", "log_sigma=clamp", "log_sigma_min=-20"]  # the last two are SB3's
    if algo == "ddpg":
        settings += ["last_layer=1"]  # SB3's actor starts like any layer of PyTorch's
    if algo == "ppo":
        settings += ["width=64", "lr=1e-3"] if task == "pendulum" else ["width=256", "lr=3e-4"]
    words = [w for s in settings for w in ("--set", s)]
    preset = ["--preset", "sb3"] if algo == "ppo" else []
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", task, "--algo", algo, "--seed", str(seed), "--steps", str(steps), "--threads", "1", "--quiet", "--json",
                   "--out", Path(folder) / "run", *preset, *words]
        result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().splitlines()[-1])
    return result


def remember(path, make):
    if not path.exists():
        value = make()
        path.write_text(json.dumps(value))
    return json.loads(path.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algos", default="sac,td3,ddpg,ppo")
    parser.add_argument("--tasks", default="pendulum,cheetah-run")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--steps", type=int, help="of every run; otherwise " + ", ".join(f"{a} {t} {n}" for (a, t), n in STEPS.items()))
    parser.add_argument("--out", type=Path, default=Path("runs/sb3"))
    parser.add_argument("--program", type=Path, default=Path(__file__).resolve().parents[2] / "build" / "dqs")
    o = parser.parse_args()
    o.out.mkdir(parents=True, exist_ok=True)
    seeds = [int(s) for s in o.seeds.split(",")]
    print(f"stable-baselines3 {sb3.__version__}, torch {torch.__version__}\n")
    print("| algorithm | task | steps | ours: returns | SB3's returns | ours: wall time | SB3's wall time | ours: steps/s | SB3's steps/s | ratio |\n"
          "|---|---|---|---|---|---|---|---|---|---|")
    for task in o.tasks.split(","):
        for algo in o.algos.split(","):
            steps = o.steps or STEPS[algo, task]
            mine, theirs = [], []
            for seed in seeds:  # in turn, so that both see the same machine
                name = f"{task}-{algo}-{steps}-s{seed}"
                result = remember(o.out / f"ours-{name}.json", lambda: ours(o.program, algo, task, seed, steps))
                mine.append((result["eval_mean"], result["steps_per_second"]))
                returns, seconds = remember(o.out / f"sb3-{name}.json", lambda: peer(algo, task, seed, steps))
                theirs.append((float(np.mean(returns)), steps / seconds))
            show = lambda rows: ", ".join(f"{r:.0f}" for r, _ in rows)
            speed = [max(s for _, s in rows) for rows in (mine, theirs)]
            wall = [f"{steps / v:.1f} s" for v in speed]
            print(f"| {algo} | {task} | {steps:,} | {show(mine)} | {show(theirs)} | {wall[0]} | {wall[1]} | {speed[0]:,.0f} | {speed[1]:,.0f} | {speed[0] / speed[1]:.1f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
