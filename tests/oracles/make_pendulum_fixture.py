#!/usr/bin/env python3
"""Writes tests/fixtures/pendulum.txt: trajectories of Gymnasium's own Pendulum-v1, in double precision.

Needs gymnasium and numpy. One line a step: episode, torque, then theta, theta_dot and the reward after the
step; a line with torque "start" gives the first state of an episode.
"""
import sys
from pathlib import Path

import gymnasium
import numpy as np

OUT = Path(__file__).resolve().parent.parent / "fixtures" / "pendulum.txt"


def torque_of(episode, rng, state):
    if episode == 2:  # pump energy in, so that the speed limit is met
        return 2.0 if state[1] >= 0 else -2.0
    return rng.uniform(-2.6, 2.6)  # beyond the bounds on purpose: the task clips


def main():
    rng = np.random.default_rng(7)
    env = gymnasium.make("Pendulum-v1").unwrapped
    versions = f"gymnasium {gymnasium.__version__}, numpy {np.__version__}"
    lines = [f"# {versions}: episode torque theta theta_dot reward"]
    for episode in range(3):
        env.reset(seed=100 + episode)
        if episode == 1:
            env.state = np.array([9.5, -3.0])  # outside one turn: the angle is wrapped for the reward alone
        lines.append(f"{episode} start {env.state[0]:.17g} {env.state[1]:.17g} 0")
        for _ in range(120):
            # A float32 value in a float64 array: gymnasium then computes in double throughout, as we do.
            torque = np.array([np.float32(torque_of(episode, rng, env.state))], dtype=np.float64)
            _, reward, _, _, _ = env.step(torque)
            lines.append(f"{episode} {torque[0]:.9g} {env.state[0]:.17g} {env.state[1]:.17g} {reward:.17g}")
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
