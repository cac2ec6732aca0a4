"""The library's tasks as Gymnasium environments, single and as vectors, under Gymnasium's own checker."""
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from python_package import dqs

MUJOCO = "mujoco none" not in dqs.build
BUILT_IN = [f"dqs/{name}-v0" for name in ("gmm", "maze", "maze-small", "pendulum")]
IDS = dqs.ids if MUJOCO else BUILT_IN


def test_all_tasks_are_there():
    assert len(dqs.ids) == len(dqs.tasks()) >= 49
    assert "dqs/cheetah-run-v0" in gymnasium.registry and set(BUILT_IN) <= set(dqs.ids)


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_is_content(name):
    env = gymnasium.make(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # its advice counts too, but for two things that are the tasks' own
        warnings.filterwarnings("ignore", message=".*Box observation space m[ai][nx]imum value is.*")
        warnings.filterwarnings("ignore", message=".*recommend using a symmetric and normalized space.*")
        check_env(env.unwrapped, skip_render_check=True)
    env.close()
    with pytest.raises(dqs.UsageError, match="was closed"):
        env.unwrapped.reset()


@pytest.mark.parametrize("name", ["dqs/pendulum-v0", "dqs/maze-small-v0", *(["dqs/walker-run-v0"] if MUJOCO else [])])
def test_a_vector_is_its_rows(name):
    """Each row of a vector goes where a single environment goes from the same state, and ends when it does."""
    n = 3
    vector, single = gymnasium.make_vec(name, num_envs=n), gymnasium.make(name).unwrapped
    assert isinstance(vector.unwrapped, dqs.VectorTask)
    obs, _ = vector.reset(seed=5)
    again, _ = vector.reset(seed=5)
    assert np.array_equal(obs, again) and obs.shape == (n, *single.observation_space.shape) and obs in vector.observation_space
    state = vector.unwrapped.dqs_get_state()
    rows = np.array([float.fromhex(x) for x in state["state"]]).reshape(n, -1)
    rng = np.random.default_rng(1)
    actions = rng.uniform(vector.action_space.low, vector.action_space.high, (40, *vector.action_space.shape)).astype(np.float32)
    went = [vector.step(a) for a in actions]
    for row in range(n):
        single.reset(seed=0)
        own = {"task": state["task"], "state": [x.hex() for x in rows[row, :-2]], "generator": state["generator"]}
        assert np.array_equal(single.dqs_set_state(own), obs[row])
        for t, (seen, reward, terminated, truncated, _) in enumerate(went):
            one = single.step(actions[t, row])
            assert np.array_equal(one[0], seen[row]) and np.float32(one[1]) == np.float32(reward[row])
            assert (one[2], one[3]) == (terminated[row], truncated[row])
    vector.close()
    with pytest.raises(dqs.UsageError, match="was closed"):
        vector.reset()


def test_ends_within_the_step():
    vector = gymnasium.make_vec("dqs/pendulum-v0", num_envs=2)
    assert vector.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP
    vector.reset(seed=1)
    for t in range(1, 202):
        obs, _, terminated, truncated, infos = vector.step(np.zeros((2, 1), np.float32))
        assert truncated.all() == (t == 200) and not terminated.any()
        if t == 200:
            assert infos["_final_obs"].all() and not np.array_equal(infos["final_obs"], obs)
        else:
            assert "final_obs" not in infos
    vector.close()


def test_a_saved_state_goes_on_to_the_bit():
    """Over the end of an episode too: the next one begins from the same seed."""
    for make in (lambda: gymnasium.make("dqs/pendulum-v0").unwrapped,
                 lambda: gymnasium.make_vec("dqs/pendulum-v0", num_envs=2).unwrapped):
        one, two = make(), make()
        one.reset(seed=3)
        two.reset(seed=77)
        action = np.full(one.action_space.shape, 0.7, np.float32)
        for _ in range(150):
            one.step(action)
        obs = two.dqs_set_state(one.dqs_get_state())
        for _ in range(100):
            (a, *_, cut, _), (b, *_, cut2, _) = one.step(action), two.step(action)
            assert np.array_equal(a, b) and np.array_equal(cut, cut2)
            if np.any(cut) and one.metadata.get("autoreset_mode") is None:
                assert np.array_equal(one.reset()[0], two.reset()[0])
        with pytest.raises(dqs.UsageError, match="state is one of"):
            two.dqs_set_state({"task": "gmm", "state": []})
        with pytest.raises(dqs.UsageError, match="numbers where"):
            two.dqs_set_state({"task": "pendulum", "state": ["0x1p0"]})
        assert obs.dtype == np.float32


def test_wrong_use_is_told():
    env = gymnasium.make("dqs/pendulum-v0").unwrapped
    with pytest.raises(dqs.UsageError, match="reset"):
        env.step(np.zeros(1, np.float32))
    env.reset(seed=0)
    for bad in (np.zeros(2, np.float32), 0.0, np.zeros((1, 1), np.float32), ["a"], None):
        with pytest.raises(dqs.UsageError, match="action"):
            env.step(bad)
    with pytest.raises(dqs.NumericError, match="action"):
        env.step(np.array([np.nan], np.float32))
    with pytest.raises(dqs.UnknownError, match="pendulum"):
        dqs.Task("pendulun")
    with pytest.raises(dqs.OptionError):
        dqs.Task("pendulum", options="colour=red")
    with pytest.raises(dqs.UsageError, match="render"):
        gymnasium.make("dqs/pendulum-v0").unwrapped.__class__("pendulum", render_mode="rgb_array")
    with pytest.raises(dqs.UsageError):
        dqs.VectorTask("pendulum", num_envs=0)
    with pytest.raises(dqs.UsageError, match="one seed"):
        dqs.VectorTask("pendulum", num_envs=2).reset(seed=[1, 2])


def test_stable_baselines_trains_on_ours():
    sb3 = pytest.importorskip("stable_baselines3", reason="STABLE-BASELINES3 IS NOT INSTALLED, SO NOBODY ELSE'S LEARNER TRAINED ON OUR TASKS: "
                              "it brings torch, gigabytes of it; pip install stable-baselines3, then run this test again")
    env = gymnasium.make("dqs/pendulum-v0")
    model = sb3.SAC("MlpPolicy", env, learning_starts=50, batch_size=32, policy_kwargs={"net_arch": [32, 32]}, seed=0)
    model.learn(120)
    action, _ = model.predict(env.reset(seed=0)[0])
    assert action.shape == (1,) and model.num_timesteps == 120
    sb3.PPO("MlpPolicy", env, n_steps=64, batch_size=32).learn(64)
