# %% [markdown]
# # A diffusion policy on a Gymnasium environment
#
# Cells for a notebook editor; also a plain program: `python examples/gym_pendulum.py [steps]`. It needs the package (`pip install
# ./python`), and matplotlib for the picture if you want one.

# %%
import sys
from pathlib import Path

import gymnasium
import numpy as np

import dqs

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 10_000
OUT = Path(sys.argv[2]) if len(sys.argv) > 2 else Path("runs/gym-pendulum")
print(dqs.build)

# %% [markdown]
# ## Learn
#
# Rewards of this task go down to -16 a step, which is a lot for Adam's small steps: `reward_scale` brings them near one. `preset="quick"` takes
# small networks; for a task of 17 observations and 6 actions leave it out. `dqs.options("dqs")` lists what else there is.

# %%
env = gymnasium.make("Pendulum-v1")
agent = dqs.Agent("dqs", env, preset="quick", warmup=1000, reward_scale=0.05, lr_critic=1e-3, kappa=0.02, seed=1)
try:
    agent.learn(STEPS, progress_bar=sys.stderr.isatty(), log_dir=OUT, log_interval=500)
except KeyboardInterrupt:
    print("stopped; what was learned is kept")

# %% [markdown]
# ## Look

# %%
result = agent.evaluate(n_eval_episodes=10)
print(f"return {result.mean:.0f} +- {result.std:.0f} over {len(result.returns)} episodes")
steps, returns = dqs.load_run(OUT).curve("rollout/ep_rew_mean")
for step, value in list(zip(steps, returns))[:: max(1, len(steps) // 8)]:
    print(f"{step:7d}  {value:8.1f}  {'#' * max(0, int(60 + value / 30))}")

# %% [markdown]
# A diffusion policy draws its actions. Hanging down, either way round will do: the policy may know both.

# %%
hanging = np.tile(np.array([-1, 0, 0], np.float32), (500, 1))
torque = agent.predict(hanging)[0][:, 0]
for low, count in zip(np.linspace(-2, 1.5, 8), np.histogram(torque, bins=8, range=(-2, 2))[0]):
    print(f"torque {low:+.1f} .. {low + 0.5:+.1f}  {'#' * (count // 8)}")

# %% [markdown]
# ## Keep, and go on
#
# The file has everything, the replay too. The pendulum's state cannot be saved, so learning goes on with a new episode whose seed is known.

# %%
agent.save(OUT / "agent.safetensors")
again = dqs.Agent.load(OUT / "agent.safetensors", "Pendulum-v1")
again.learn(200)
print(again)

# %% [markdown]
# ## A picture, where there is matplotlib

# %%
try:
    import matplotlib.pyplot as plt
except ImportError:
    print("no matplotlib, no picture")
else:
    plt.plot(steps, returns)
    plt.xlabel("steps")
    plt.ylabel("return of the last 100 episodes")
    plt.savefig(OUT / "curve.png")
    print(OUT / "curve.png")
