"""dqs.Agent as its users meet it: learning, stopping, saving, going on, predicting, and everything that can be wrong."""
import json
import os
import struct
import subprocess
import sys
import textwrap
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from python_package import BUILD, PLAIN, ROOT, SMALL, dqs

from dqs import _native


class Counter(gymnasium.Env):
    """Observations say where they come from: [episode, step]. Ends by itself after `ends` steps, by the clock after `cut`."""

    def __init__(self, ends=4, cut=7, low=-3.0, high=1.0, dtype=np.float64, spaces_of=None):
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), dtype)
        self.action_space = spaces.Box(low, high, (1,), np.float32)
        self.ends, self.cut, self.episode, self.actions = ends, cut, -1, []

    def _obs(self):
        return np.array([self.episode, self.t], self.observation_space.dtype)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.t = self.episode + 1, 0
        return self._obs(), {}

    def step(self, action):
        assert action in self.action_space
        self.t += 1
        self.actions.append(action)
        even = self.episode % 2 == 0
        return self._obs(), -float(action[0] ** 2), even and self.t == self.ends, not even and self.t == self.cut, {}


class Goal(gymnasium.Env):
    """The trivial task: the best action is 1.5 in [-2, 4], whatever is seen."""

    observation_space, action_space = spaces.Box(-1, 1, (2,), np.float32), spaces.Box(-2, 4, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.t += 1
        return np.zeros(2, np.float32), -float((action[0] - 1.5) ** 2), False, self.t >= 20, {}


def small(env, algo="dqs", **more):
    return dqs.Agent(algo, env, **{**(SMALL if algo == "dqs" else PLAIN), **more})



# ---------------------------------------------------------------- learning
def test_learns_what_is_there_to_learn():
    agent = small(Goal(), "sac", warmup=100, width=64, lr_actor=3e-3, lr_critic=3e-3, gamma=0.5)
    calls = []
    assert agent.learn(900, callback=lambda a: calls.append(a.num_timesteps), progress_bar=False) is agent
    action, state = agent.predict(np.zeros(2, np.float32), state="kept")
    assert abs(action[0] - 1.5) < 0.25 and state == "kept"
    assert calls == list(range(1, 901)) and agent.num_episodes == 45 and agent.num_updates == 800
    assert agent.episode_lengths[-2:] == [20, 20] and agent.metrics()["train/n_updates"] == 800


def test_diffusion_policy_learns_it_too():
    agent = small(Goal(), score_width=64, critic_width=64, warmup=100, gamma=0.5, lr_critic=3e-3, lr_actor=3e-3)
    agent.learn(500)
    seen = agent.evaluate(Goal(), 3)
    assert seen.mean > -0.5 * 20 and seen.returns.shape == (3,) and list(seen.lengths) == [20] * 3
    rows = np.zeros((30, 2), np.float32)
    drawn, frozen = agent.predict(rows)[0], agent.predict(rows, deterministic=True)[0]
    assert len(np.unique(drawn)) > 10 and len(np.unique(frozen)) == 1  # one draws, the other does not
    assert frozen[0] == agent.predict(rows[0], deterministic=True)[0]
    assert drawn.dtype == np.float32 and (drawn >= -2).all() and (drawn <= 4).all()


@pytest.mark.parametrize("algo", ["td3", "ppo", "qsm"])
def test_every_kind_of_learner(algo):
    more = dict(warmup=60) if algo != "ppo" else {}
    options = {"ppo": dict(n_steps=32, batch=32, width=32, threads=1)}.get(algo, {**PLAIN, **more})
    agent = dqs.Agent(algo, Counter(), **options)
    agent.learn(100)
    assert agent.num_updates > 0 and agent.algo == algo
    assert all(np.isfinite(list(agent.metrics().values())))


def transitions_of(agent, monkeypatch, steps):
    """What the learner was told, row by row: (obs, action, reward, next_obs, terminated, truncated)."""
    told, real, lanes = [], _native.lib.dqs_agent_observe, agent._lanes

    def observe(*arguments):
        for row in range(lanes.n):
            told.append([a[row].copy() for a in (lanes.obs, lanes.action, lanes.reward, lanes.next_obs, lanes.terminated,
                                                 lanes.truncated)] + [row])
        return real(*arguments)

    monkeypatch.setattr(_native.lib, "dqs_agent_observe", observe)
    agent.learn(steps)
    return told


@pytest.mark.parametrize("mode", [None, *AutoresetMode])
def test_transitions_are_true(mode, monkeypatch):
    """No transition leads from one episode into another; an end by the clock is told apart from an end."""
    env = Counter() if mode is None else SyncVectorEnv([lambda: Counter(), lambda: Counter(ends=3)], autoreset_mode=mode)
    agent = small(env)
    told = transitions_of(agent, monkeypatch, 80)
    assert len(told) == 80
    last = {}
    for obs, action, reward, next_obs, terminated, truncated, row in told:
        ends = 3 if row == 1 else 4
        copy = row in last and all(np.array_equal(a, b) for a, b in zip(last[row], (obs, action, next_obs)))
        assert next_obs[0] == obs[0] and next_obs[1] == obs[1] + 1  # the same episode, one step on
        assert terminated == (obs[0] % 2 == 0 and next_obs[1] == ends)
        assert truncated == (obs[0] % 2 == 1 and next_obs[1] == 7)
        assert abs(reward + (-1 + 2 * action[0]) ** 2) < 1e-5  # [-1, 1] is [-3, 1] there
        assert not copy or (mode is AutoresetMode.NEXT_STEP and (terminated or truncated))
        if row in last and not copy:  # none is left out
            before = last[row][2]
            done = before[1] == (ends if before[0] % 2 == 0 else 7)
            assert tuple(obs) == ((before[0] + 1, 0) if done else tuple(before))
        last[row] = (obs, action, next_obs)
    assert set(agent.episode_lengths) <= {3, 4, 7} and agent.num_episodes > 8
    assert agent.num_timesteps == 80


def test_vectors_of_ours():
    agent = small(gymnasium.make_vec("dqs/pendulum-v0", num_envs=4))
    agent.learn(1000)
    assert agent.num_timesteps == 1000 and agent.num_episodes == 4 and set(agent.episode_lengths) == {200}
    assert agent.evaluate(n_eval_episodes=1).lengths[0] == 200


def test_ppo_and_steps_without_transitions():
    envs = SyncVectorEnv([Counter, Counter])
    with pytest.raises(dqs.UnsupportedError, match="SAME_STEP"):
        dqs.Agent("ppo", envs)
    envs = SyncVectorEnv([Counter, Counter], autoreset_mode=AutoresetMode.SAME_STEP)
    dqs.Agent("ppo", envs, n_steps=16, batch=32, width=32, threads=1).learn(100)


def test_half_cheetah_of_gymnasium(tmp_path):
    for module in ("mujoco", "imageio"):
        pytest.importorskip(module, reason=f"NO {module.upper()}: gymnasium[mujoco] IS NOT WHOLE, SO ITS TASKS ARE NOT TRIED")
    agent = small(gymnasium.make("HalfCheetah-v5")).learn(150)
    agent.save(tmp_path / "cheetah")
    again = dqs.Agent.load(tmp_path / "cheetah", "HalfCheetah-v5").learn(50)
    obs, _ = again.env.reset(seed=0)
    action, _ = again.predict(obs)  # float64 in
    assert obs.dtype == np.float64 and action in again.env.action_space and again.num_timesteps == 200
    assert again._lanes.obs.shape == (1, 17) and agent.options["target_critics"] == "auto"


def test_the_task_brings_its_preset():
    """A dqs/ task is configured as the program would; schedules know how long learning will be."""
    agent = dqs.Agent("dqs", "dqs/pendulum-v0", threads=1)
    agent.learn(0)
    assert agent.options["reward_scale"] == "0.05" and agent.options["warmup"] == "1000"
    agent = small(Counter(), "sac")
    agent.learn(123)
    assert agent.options["steps"] == "123" and agent.env_name == "Counter"
    assert small(Counter(), "sac", steps=50).learn(70).options["steps"] == "50"


# ---------------------------------------------------------------- keeping
@pytest.mark.parametrize("make", [lambda: gymnasium.make("dqs/pendulum-v0"),
                                  lambda: gymnasium.make_vec("dqs/pendulum-v0", num_envs=2)])
def test_going_on_is_exact(make, tmp_path):
    """All the bytes of the file: networks, replay, generators, environment, counters."""
    whole = small(make(), steps=500).learn(500)
    whole.save(tmp_path / "whole")
    parts = small(make(), steps=500).learn(230)
    parts.save(tmp_path / "parts")
    parts = dqs.Agent.load(tmp_path / "parts", make())
    assert parts.num_timesteps == 230
    parts.learn(270).save(tmp_path / "parts")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()
    assert whole.num_updates == parts.num_updates > 400


def test_where_the_environment_cannot_be_saved_a_seeded_episode_begins(tmp_path):
    agent = small(gymnasium.make("Pendulum-v1"))
    agent.learn(150).save(tmp_path / "a")
    ends = []
    for _ in range(2):
        again = dqs.Agent.load(tmp_path / "a", "Pendulum-v1")
        again.learn(100).save(tmp_path / "b")
        ends.append((tmp_path / "b").read_bytes())
        assert again.num_timesteps == 250 and again.episode_lengths == agent.episode_lengths
    assert ends[0] == ends[1]
    other = small(gymnasium.make("Pendulum-v1"), seed=1).learn(150)
    assert not np.array_equal(other._lanes.obs, agent._lanes.obs)


def test_loaded_without_an_environment(tmp_path):
    agent = small(Goal()).learn(100)
    agent.save(tmp_path / "a.safetensors")
    alone = dqs.Agent.load(tmp_path / "a.safetensors", threads=2)
    obs = np.zeros((3, 2), np.float32)
    assert np.array_equal(alone.predict(obs)[0], agent.predict(obs)[0])
    with pytest.raises(dqs.UsageError, match="set_env"):
        alone.learn(1)
    alone.set_env(Goal())
    alone.learn(10)
    policy = dqs.load_policy(tmp_path / "a.safetensors")
    drawn = np.array([policy.predict(obs[0])[0] for _ in range(50)])
    assert policy.bounded and drawn.shape == (50, 1) and drawn.max() > 1 and drawn.min() >= -2 and drawn.max() <= 4
    frozen = policy.predict(obs, deterministic=True)[0]
    assert len(np.unique(frozen)) == 1


def test_ctrl_c_leaves_an_agent_that_goes_on(tmp_path):
    """A real signal to a real process, in the middle of everything; then the file is as if nothing had been."""
    script = textwrap.dedent(f"""
        import os, signal, sys, threading, time
        sys.path.insert(0, {str(ROOT / 'tests')!r})
        from python_package import SMALL, dqs
        def agent(): return dqs.Agent("dqs", "dqs/pendulum-v0", **SMALL, steps=400)
        def stop(a):
            if a.num_timesteps == 150:
                os.kill(os.getpid(), signal.SIGINT)
        def stop_from_outside():
            while a.num_timesteps < 200 or not a._learning:
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGINT)
        a, stops = agent(), 0
        threading.Thread(target=stop_from_outside, daemon=True).start()
        while a.num_timesteps < 400:
            try:
                a.learn(400 - a.num_timesteps, callback=stop if a.num_timesteps < 150 else None)
            except KeyboardInterrupt:
                stops += 1
                a.save({str(tmp_path / 'stopped')!r})
                a = dqs.Agent.load({str(tmp_path / 'stopped')!r}, "dqs/pendulum-v0")
        a.save({str(tmp_path / 'stopped')!r})
        agent().learn(400).save({str(tmp_path / 'whole')!r})
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        print("stops", stops)
    """)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout.split()[-1]) == 2
    assert (tmp_path / "stopped").read_bytes() == (tmp_path / "whole").read_bytes()


def test_whatever_fails_in_a_step_the_agent_stays_whole(tmp_path):
    class Fragile(Counter):
        def step(self, action):
            if len(self.actions) == 77:
                self.actions.append(None)
                raise RuntimeError("the robot fell over")
            return super().step(action)

    agent = small(Fragile())
    with pytest.raises(RuntimeError, match="fell over"):
        agent.learn(200)
    assert agent.num_timesteps == 77
    agent.save(tmp_path / "a")
    agent.learn(50)  # with a new episode
    assert agent.num_timesteps == 127
    assert dqs.Agent.load(tmp_path / "a", Fragile()).learn(50).num_timesteps == 127


def test_callbacks_and_logs(tmp_path):
    agent = small(Goal()).learn(250, callback=[lambda a: a.num_timesteps < 200, lambda a: None], log_interval=40,
                                log_dir=tmp_path / "log")
    assert agent.num_timesteps == 200 and len(agent.history) == 5
    agent.learn(80, log_interval=40, log_dir=tmp_path / "log")
    run = dqs.load_run(tmp_path / "log")
    steps, returns = run.curve("rollout/ep_rew_mean")
    assert list(steps) == [40, 80, 120, 160, 200, 240, 280] and np.isfinite(returns).all()
    steps, losses = run.curve("train/critic_loss")
    assert list(steps) == [80, 120, 160, 200, 240, 280]  # a column that came later
    assert losses[-1] == agent.history[-1]["train/critic_loss"]  # to the bit


def test_load_run_reads_what_the_program_wrote(tmp_path):
    out = tmp_path / "run"
    subprocess.run([BUILD / "dqs", "train", "pendulum", "--preset", "quick", "--steps", "300", "--out", out, "--quiet", "--threads", "1",
                    *(word for pair in ("warmup=100", "batch=32", "critic_width=32", "score_width=32", "final_episodes=2", "action_repeat=2",
                                        "eval_every=150", "eval_episodes=2", "log_every=50") for word in ("--set", pair))],
                   check=True, capture_output=True)
    run = dqs.load_run(out)
    assert run.done and run.config["env"] == "pendulum" and run.config["batch"] == "32" and "pendulum" not in repr(run.progress)
    steps, returns = run.curve("eval/mean_reward")
    assert list(steps) == [150, 300, 300] or list(steps) == [150, 300]
    assert np.array_equal(returns[-1:], run.evaluations["mean_reward"][-1:])
    policy = dqs.load_policy(out)
    assert policy.action_repeat == 2
    actions = np.array([policy.predict(np.zeros(3, np.float32))[0] for _ in range(20)])
    assert policy.bounded and np.abs(actions).max() > 1 and np.abs(actions).max() <= 2
    with pytest.raises(dqs.UsageError, match="reports no"):
        run.curve("eval/beauty")
    try:
        import pandas  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="pip install pandas"):
            run.frame()
    else:
        assert list(run.frame("evaluations")["step"]) == list(run.evaluations["step"])
    with open(out / "progress.csv", "a") as file:
        file.write("350,1.5")  # a row under way
    assert len(dqs.load_run(out).progress["time/total_timesteps"]) == len(run.progress["time/total_timesteps"])
    for text, words in (("a,b\n1\n", "1 cells"), ("a,b\n1,x\n", "a word"), ("a,a\n1,2\n", "same name")):
        (out / "progress.csv").write_text(text)
        with pytest.raises(dqs.FormatError, match=words):
            dqs.load_run(out)
    for bad in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(dqs.FileError):
            dqs.load_run(bad)


# ---------------------------------------------------------------- wrong
class Odd(Goal):
    """A good task with one thing changed."""

    def __init__(self, observation=None, action=None, obs=None, reward=None):
        self.observation_space = observation or self.observation_space
        self.action_space = action or self.action_space
        self.obs, self.bad_reward = obs, reward

    def step(self, action):
        obs, reward, *rest = super().step(action)
        late = self.t > 10
        return (self.obs if late and self.obs is not None else obs,
                self.bad_reward if late and self.bad_reward is not None else reward, *rest)


BOX = spaces.Box(-1, 1, (2,), np.float32)


@pytest.mark.parametrize("env, words", [
    (Odd(observation=spaces.Discrete(3)), "observation space is Discrete.*FlattenObservation"),
    (Odd(observation=spaces.Dict(a=BOX)), "observation space is Dict"),
    (Odd(action=spaces.Discrete(3)), "action space is Discrete.*continuous"),
    (Odd(action=spaces.MultiBinary(3)), "action space is MultiBinary"),
    (Odd(action=spaces.Box(-np.inf, np.inf, (1,), np.float32)), "infinite.*RescaleAction"),
    (Odd(action=spaces.Box(0, 9, (1,), np.int64)), "int64"),
    (Odd(action=spaces.Box(1, 1, (1,), np.float32)), "without room"),
    (Odd(observation=spaces.Box(-1, 1, (0,), np.float32)), "empty"),
    (object(), "no gymnasium.Env"), (Goal, "no gymnasium.Env"),
])
def test_spaces_that_will_not_do(env, words):
    with pytest.raises(dqs.SpaceError, match=words):
        dqs.Agent("dqs", env)


@pytest.mark.parametrize("env, error, words", [
    (Odd(obs=np.array([0, np.nan], np.float32)), dqs.NumericError, "next_obs is nan in row 0, entry 1"),
    (Odd(obs=np.array([np.inf, 0])), dqs.NumericError, "next_obs is inf in row 0, entry 0"),
    (Odd(obs=np.array([1e300, 0])), dqs.NumericError, "next_obs is inf"),
    (Odd(obs=np.zeros(3)), dqs.UsageError, r"shape \(3,\).*promises \(2,\)"),
    (Odd(obs="high"), dqs.UsageError, "type str"), (Odd(obs={"a": 1}), dqs.UsageError, "type dict"),
    (Odd(obs=np.array([0, None])), dqs.NumericError, "observation 1"),
    (Odd(reward=np.nan), dqs.NumericError, "reward is nan"), (Odd(reward=np.inf), dqs.NumericError, "reward"),
])
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_environments_that_break_their_word(env, error, words):
    agent = small(env)
    with pytest.raises(error, match=words):
        agent.learn(100)
    assert agent.num_timesteps == 10
    agent.predict(np.zeros(2, np.float32))


@pytest.mark.parametrize("obs, words", [
    (np.zeros(3), r"shape is \(3,\); the agent takes \(2,\)"), (np.zeros((2, 3)), "shape"), (np.zeros((0, 2)), "shape"),
    (0.0, "shape"), (np.zeros((1, 1, 2)), "shape"), ([0, np.nan], "not finite"), (["a", "b"], "float32"), (None, "shape|finite"),
    ({"a": 1}, "float32"), (object(), "float32"), ([[0, 0], [0]], "float32"),
])
def test_observations_that_will_not_do(obs, words):
    agent = small(Goal(), "sac")
    with pytest.raises(dqs.UsageError, match=words):
        agent.predict(obs)
    assert agent.predict(np.zeros(2, np.int8))[0].shape == (1,)  # but any number type will
    assert agent.predict([[0, 0], [1, 1]])[0].shape == (2, 1)
    assert agent.predict(np.zeros((4, 6), np.float32)[:, ::3])[0].shape == (4, 1)  # and any strides


@pytest.mark.parametrize("options, error, words", [
    (dict(gama=0.9), dqs.OptionError, "did you mean gamma"), (dict(gamma=2), dqs.OptionError, "gamma"),
    (dict(batch=30), dqs.OptionError, "multiple of 4"), (dict(batch="many"), dqs.OptionError, "batch"),
    (dict(preset="qick"), dqs.UnknownError, "there are"), (dict(gamma=None), dqs.OptionError, "NoneType"),
    (dict(gamma=[1]), dqs.OptionError, "list"), (dict(eval_every=5), dqs.OptionError, "owns the loop"), (dict(action_repeat=2), dqs.OptionError, "owns the loop"),
    (dict(n_envs=3), dqs.UsageError, "follows from"), (dict(out="x"), dqs.OptionError, "owns the loop"),
    (dict(seed=-1), dqs.OptionError, "seed"), (dict(kernels="mmx"), dqs.OptionError, "kernels|mmx"),
    (dict(replay=10**9, obs_octaves=12), dqs.OutOfMemoryError, "memory"),
])
def test_options_that_will_not_do(options, error, words, monkeypatch):
    wide = Odd(observation=spaces.Box(-1, 1, (50000,), np.float32)) if "replay" in options else Goal()
    with pytest.raises(error, match=words):
        dqs.Agent("dqs", wide, **options)


def test_algorithms_and_calls_that_will_not_do(tmp_path):
    with pytest.raises(dqs.UnknownError, match="known are dqs"):
        dqs.Agent("dsq", Goal())
    with pytest.raises(dqs.OptionError, match="NoneType"):
        dqs.Agent(None, Goal())
    with pytest.raises(dqs.UsageError, match="Agent.load"):
        dqs.Agent("dqs")
    agent = small(Goal(), "sac")
    for steps in (-1, 1.5, "many", None, True):
        with pytest.raises(dqs.UsageError, match="total_timesteps"):
            agent.learn(steps)
    with pytest.raises(dqs.UsageError, match="give one"):
        agent.evaluate()
    with pytest.raises(dqs.MismatchError):
        agent.evaluate("Pendulum-v1")
    with pytest.raises(dqs.UsageError, match="other thread|already"):
        agent.learn(5, callback=lambda a: a.learn(1))
    import copy
    with pytest.raises(TypeError, match="save it"):
        copy.copy(agent)
    with pytest.raises(dqs.FileError):
        agent.save(tmp_path / "no" / "such" / "folder")
    with pytest.raises(dqs.FileError, match="zero byte"):
        agent.save("a\0b")
    agent.close()
    agent.close()
    for call in (lambda: agent.predict(np.zeros(2)), lambda: agent.learn(1), lambda: agent.save(tmp_path / "a"), agent.metrics):
        with pytest.raises(dqs.UsageError, match="was closed"):
            call()


def test_files_of_another_environment(tmp_path):
    agent = small(Goal()).learn(80)
    agent.save(tmp_path / "goal")
    for env, words in ((gymnasium.make("Pendulum-v1"), r"\(3,\).*made for Goal"),
                       (Odd(action=spaces.Box(-1, 1, (1,), np.float32)), r"in \[-2, 4\]"),
                       (gymnasium.vector.SyncVectorEnv([Goal, Goal]), "2 environments")):
        with pytest.raises(dqs.MismatchError, match=words):
            dqs.Agent.load(tmp_path / "goal", env)

    class Goal2(Goal):
        pass
    with pytest.warns(UserWarning, match="learned Goal and goes on with Goal2"):
        dqs.Agent.load(tmp_path / "goal", Goal2())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dqs.Agent.load(tmp_path / "goal", Goal())


def rewritten(data, change):
    """A safetensors file with its metadata changed, and the checksum made right again."""
    import zlib
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    change(header["__metadata__"])
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    body = struct.pack("<Q", len(text)) + text + data[8 + length:-8]
    return body + struct.pack("<q", zlib.crc32(body))


def test_damaged_files(tmp_path):
    agent = small(Goal()).learn(80)
    path = tmp_path / "a"
    agent.save(path)
    good = path.read_bytes()

    def note(change):
        def edit(words):
            data = json.loads(words["note"])
            change(data)
            words["note"] = json.dumps(data)
        return edit

    cases = [(good[:1000], dqs.FormatError), (b"", dqs.FormatError), (good[:-9] + b"x" + good[-8:], dqs.FormatError),
             (rewritten(good, lambda w: w.pop("config")), dqs.FormatError),
             (rewritten(good, lambda w: w.update(obs_dim="-3")), dqs.FormatError),
             (rewritten(good, lambda w: w.update(obs_dim="7")), dqs.MismatchError),
             (rewritten(good, lambda w: w.update(n_envs="100000")), dqs.FormatError),
             (rewritten(good, lambda w: w.update(config=w["config"].replace("algo: \"dqs\"", "algo: \"sac\""))), dqs.Error),
             (rewritten(good, lambda w: w.update(config=w["config"].replace("replay: 2000", "replay: 999999999"))), dqs.Error),
             (rewritten(good, lambda w: w.update(note="")), dqs.FormatError),
             (rewritten(good, lambda w: w.update(note="[" * 100000)), dqs.FormatError),
             (rewritten(good, note(lambda n: n.pop("action"))), dqs.FormatError),
             (rewritten(good, note(lambda n: n.update(format=9))), dqs.FormatError),
             (rewritten(good, note(lambda n: n["observation"].update(shape=[5]))), dqs.FormatError),
             (rewritten(good, note(lambda n: n["action"].update(low=["x"]))), dqs.FormatError),
             (rewritten(good, note(lambda n: n["action"].update(high=[float("nan")]))), dqs.FormatError),
             (rewritten(good, note(lambda n: n["action"].update(dtype="O"))), dqs.FormatError)]
    for index, (data, error) in enumerate(cases):
        path.write_bytes(data)
        with pytest.raises(error):
            dqs.Agent.load(path)
            pytest.fail(f"case {index} was taken")
    path.write_bytes(good)
    assert dqs.Agent.load(path).num_timesteps == 80
    task = small(dqs.Task("pendulum")).learn(80)
    task.save(path)
    for state in (7, {}, {"env": {}}, {"env": {"task": "pendulum", "state": "xy", "generator": 0}},
                  {"env": {"task": "pendulum", "state": ["0x1p0"] * 3, "generator": {}}, "returns": [], "lengths": []}):
        (tmp_path / "b").write_bytes(rewritten(path.read_bytes(), note(lambda n: n.update(state=state))))
        agent = dqs.Agent.load(tmp_path / "b", dqs.Task("pendulum"))
        with pytest.raises((dqs.FormatError, dqs.UsageError)):
            agent.learn(5)
        assert agent.learn(5).num_timesteps == 85  # with a new episode
    with pytest.raises(dqs.FileError):
        dqs.Agent.load(tmp_path / "nothing")
    with pytest.raises(dqs.FileError):
        dqs.load_policy(tmp_path / "nothing")


def test_a_forked_child_is_told(tmp_path):
    script = textwrap.dedent(f"""
        import os, sys
        sys.path.insert(0, {str(ROOT / 'tests')!r})
        from python_package import SMALL, dqs
        import numpy
        agent = dqs.Agent("dqs", "dqs/pendulum-v0", **{{**SMALL, "threads": 2}})
        if os.fork() == 0:
            try:
                agent.predict(numpy.zeros(3))
            except dqs.UsageError as problem:
                del agent
                os._exit(7 if "fork" in str(problem) else 1)
            os._exit(1)
        sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
    """)
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", script], timeout=120).returncode == 7


def test_export_speaks(tmp_path):
    """Whether or not this build can export: a file, or one clear exception."""
    agent = small(Goal()).learn(80)
    try:
        report = agent.export(tmp_path / "policy.c")
    except dqs.UnsupportedError as problem:
        assert "export" in str(problem)
    else:
        assert report and any(tmp_path.glob("policy*"))
    with pytest.raises(dqs.OptionError, match="c and onnx"):
        agent.export(tmp_path / "x", format="exe")


def test_the_example(tmp_path):
    result = subprocess.run([sys.executable, ROOT / "examples" / "gym_pendulum.py", "1030", tmp_path / "out"], capture_output=True, text=True,
                            env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, timeout=300)
    assert result.returncode == 0 and "1230 steps" in result.stdout, result.stdout + result.stderr


def test_what_there_is():
    assert {"dqs", "sac", "td3", "ddpg", "ppo", "qsm", "dacer", "dipo"} <= set(dqs.algorithms())
    table = dqs.options("sac")
    assert table["gamma"].type == "real" and "discount" in table["gamma"].doc and "seed" in table and "eval_every" not in table
    assert dqs.options("dqs", task="pendulum")["warmup"].value == "1000"
