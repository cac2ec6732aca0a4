"""What the README promises of the installed package, in small: run by tools/run_tests.py from another folder."""
import sys
from importlib.metadata import version
from pathlib import Path

import gymnasium

import dqs

assert Path(dqs.__file__).is_relative_to(sys.argv[1]), dqs.__file__
assert version("dqs") == dqs.__version__ and (Path(dqs.__file__).parent / "py.typed").exists()
agent = dqs.Agent("dqs", gymnasium.make("Pendulum-v1"), preset="quick", threads=1, warmup=100, batch=32)
agent.learn(150)
agent.save("agent.safetensors")
again = dqs.Agent.load("agent.safetensors", "Pendulum-v1").learn(20)
action, _ = again.predict(gymnasium.make("Pendulum-v1").reset(seed=0)[0])
assert action.shape == (1,) and again.num_timesteps == 170
task = "dqs/pendulum-v0" if "mujoco none" in dqs.build else "dqs/cheetah-run-v0"
env = gymnasium.make(task)
env.reset(seed=0)
env.step(env.action_space.sample())
print(dqs.build, task)
