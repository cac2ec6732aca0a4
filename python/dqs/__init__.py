"""dqs: diffusion policies that draw actions from exp(Q/T), on any Gymnasium environment with continuous actions.

    import dqs, gymnasium
    agent = dqs.Agent("dqs", gymnasium.make("HalfCheetah-v5"))
    agent.learn(100_000, progress_bar=True)
    action, _ = agent.predict(observation)
    agent.save("cheetah.safetensors")

The learners, their arithmetic and the tasks `dqs/...` are the C library libdqs; docs/python.md tells the rest.
"""
from . import _native
from .agent import Agent, Callback, Evaluation
from .envs import Task, VectorTask, register_all
from .errors import *  # noqa: F403
from .errors import __all__ as _errors
from .options import Option, algorithms, options, tasks
from .policy import Policy, load_policy
from .runs import Run, load_run

__version__: str = _native.lib.dqs_version().decode().split()[0]
build: str = _native.lib.dqs_version().decode()
"""Version, compiler, BLAS and MuJoCo of the library in use."""
ids: list[str] = register_all()
"""The Gymnasium ids of the library's tasks."""

__all__ = ["Agent", "Callback", "Evaluation", "Option", "Policy", "Run", "Task", "VectorTask", "algorithms", "build",
           "ids", "load_policy", "load_run", "options", "tasks", *_errors]
