"""Our DeepMind Control tasks beside the real dm_control, in double precision, on every task the program knows.

The oracle is the Python package itself, on the same version of MuJoCo. Our side is dmc_probe: the library's own
callbacks at the end of a pipe. For each task:

  stepping  from random states under random actions, 200 control steps a case, our state set to dm_control's every 10
            steps because contact is chaotic: observations within 1e-6, rewards within 1e-8
  resets    given the random numbers our side draws, dm_control's resets give the same states; and without that, the
            same distribution: two-sample tests on every coordinate and on what follows from them
  model     the compiled model after a reset, field by field
  state     set_state and stepping give the same bits as having been there, in this process and in a fresh one
  episode   the clock runs out at the same step; the public interface gives the float32 of the doubles compared here

Float32 is where the public interface ends: an observation of 20 is rounded to the next 2e-6 there, so 1e-6 can hold
for the doubles only. The rounding itself is checked to be the only difference.

The largest differences seen are written to dmc_parity.md in the build folder.
"""

import json
import os
import subprocess

import numpy as np
import pytest

os.environ["MUJOCO_GL"] = "disable"  # before the imports: nothing is drawn here, and no GL is needed


def skip_all(why):
    pytest.skip(f"OUR CONTROL TASKS WERE NOT COMPARED WITH DM_CONTROL: {why}", allow_module_level=True)


try:
    import mujoco
    import scipy.stats
    from dm_control.rl import control
    from dmc_compare import compare_models
    from dmc_pair import BUILD, PROBE, OurRandom, Pair, Probe, ProbeError
except ImportError as problem:
    skip_all(f"{problem}; install tools/requirements-test.txt from PyPI")
if not os.access(PROBE, os.X_OK):
    skip_all(f"{PROBE} is not built; type `make mujoco`, then `make`")
ours_is = subprocess.run([PROBE, "version"], capture_output=True, text=True, check=True).stdout.strip()
if ours_is != mujoco.__version__:
    skip_all(f"this build has MuJoCo {ours_is}, the oracle {mujoco.__version__}")

TASKS = subprocess.run([PROBE, "list"], capture_output=True, text=True, check=True).stdout.split()
OBS_TOLERANCE, REWARD_TOLERANCE = 1e-6, 1e-8
CASE, BLOCK = 200, 10  # control steps of a case, and between two times the states are set equal
CASES, RESETS = 4, 1000
# A reset of the CMU humanoid tries many poses, one of the quadruped many heights: 90 ms in dm_control.
SLOW = {"humanoid_CMU", "quadruped"}
FEWER_CASES, FEWER_RESETS = 2, 300
# dm_control draws these models at random when it loads them; ours is the one of this seed.
SEED_OF_MODEL = {"lqr": 0}
ALPHA = 1e-3  # the chance that any of the tests on resets fails while all distributions are equal
COMPARISONS = 10_000  # that many of them at most in all tasks together (Bonferroni); checked at the end

ROWS = {}  # task -> what was measured


@pytest.fixture(scope="module", autouse=True)
def table():
    """Writes down what was measured, after the last test."""
    yield
    columns = ["steps", "observation", "reward", "state", "never set equal", "rewards seen", "contacts", "reset",
               "resets", "coordinates", "smallest p"]
    lines = ["Largest differences from dm_control, absolute, in double precision; states set equal every "
             f"{BLOCK} control steps.",
             f"never set equal: of the observation, in {CASE} control steps from one reset. reset: of 20 starts made "
             "from the same random numbers.",
             "resets, coordinates, smallest p: of the two-sample tests on starts from other random numbers.", "",
             "| task | " + " | ".join(columns) + " |", "|" + " --- |" * (len(columns) + 1)]
    for name, row in ROWS.items():
        lines.append(f"| {name} | " + " | ".join(str(row.get(column, "")) for column in columns) + " |")
    (BUILD / "dmc_parity.md").write_text("\n".join(lines) + "\n")
    (BUILD / "dmc_parity.json").write_text(json.dumps(ROWS, indent=1) + "\n")


@pytest.fixture(scope="module", params=TASKS)
def pair(request, tmp_path_factory):
    pair = Pair(request.param, tmp_path_factory.mktemp("model"))
    pair.row = ROWS.setdefault(pair.name, {})
    yield pair
    pair.probe.close()


@pytest.fixture
def rng():
    return np.random.default_rng(20240101)


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log where it stands


# ---------------------------------------------------------------- stepping
class Tally:
    """The largest differences so far; complains as soon as one is too large."""

    def __init__(self, pair):
        self.pair, self.steps, self.contacts = pair, 0, 0
        self.obs = self.reward = self.state = 0.0
        self.rewards = []

    def compare_obs(self, ours, theirs, when):
        assert ours.obs.shape == theirs.shape
        assert np.array_equal(ours.obs32, ours.obs.astype(np.float32)), "the float32 is not the rounded double"
        difference = np.abs(ours.obs - theirs)
        worst = int(difference.argmax())
        assert difference[worst] <= OBS_TOLERANCE, \
            f"{when}: observation {worst} is {ours.obs[worst]!r}, dm_control says {theirs[worst]!r}"
        self.obs = max(self.obs, difference[worst])

    def compare_step(self, ours, obs, reward, over, when):
        self.compare_obs(ours, obs, when)
        assert abs(ours.reward - reward) <= REWARD_TOLERANCE, \
            f"{when}: reward is {ours.reward!r}, dm_control says {reward!r}"
        assert ours.terminated == over, f"{when}: terminated is {ours.terminated}, dm_control says {over}"
        state = self.pair.oracle.state(self.pair)
        self.steps += 1
        self.contacts = max(self.contacts, ours.ncon)
        self.reward = max(self.reward, abs(ours.reward - reward))
        self.state = max(self.state, np.abs(ours.state - state).max())
        self.rewards.append(reward)

    def record(self):
        self.pair.row.update({"steps": self.steps, "observation": f"{self.obs:.1e}", "reward": f"{self.reward:.1e}",
                              "state": f"{self.state:.1e}", "contacts": self.contacts,
                              "rewards seen": f"{min(self.rewards):.3g} to {max(self.rewards):.3g}"})


def compare_block(pair, tally, rng, style, when):
    """From dm_control's state, both sides under the same actions. False if the episode ended within."""
    ours = pair.probe.set_state(pair.oracle.state(pair))
    tally.compare_obs(ours, pair.oracle.observe(), f"{when}, state set equal")
    for step in range(BLOCK):
        action = pair.action(rng, style)
        try:
            ours = pair.probe.step(action)
        except ProbeError as problem:  # MuJoCo warned: then it must have warned there, too
            with pytest.raises(control.PhysicsError):
                pair.oracle.step(action)
            print(f"{pair.name}: {when}: both sides stopped: {problem}")
            return False
        obs, reward, over = pair.oracle.step(action)
        tally.compare_step(ours, obs, reward, over, f"{when}, step {step + 1} of the block")
        if over:
            return False
    return True


def test_stepping(pair, rng):
    tally = Tally(pair)
    if pair.oracle.domain in SEED_OF_MODEL:
        pair.oracle.load(SEED_OF_MODEL[pair.oracle.domain] + 1)  # what is drawn there is a part of the state
    pair.oracle.seed(1)
    check_bounds(pair)
    cases = FEWER_CASES if pair.oracle.domain in SLOW else CASES
    for case in range(cases):  # from a reset, and from ever further into the episode
        pair.oracle.reset()
        for _ in range(40 * case):
            if pair.oracle.step(pair.action(rng, "any"))[2]:
                pair.oracle.reset()
        for block in range(CASE // BLOCK):
            style = "bounds" if block % 4 == 3 else "any"
            if not compare_block(pair, tally, rng, style, f"case {case}, block {block}"):
                pair.oracle.reset()
    for state in states_of_many_rewards(pair, rng, CASE // BLOCK):
        pair.oracle.reset()
        pair.oracle.set_state(pair, state)
        compare_block(pair, tally, rng, "any", "a state of some reward")
    tally.record()
    pair.row["never set equal"] = f"{difference_when_left_alone(pair, rng):.1e}"
    assert tally.steps >= cases * CASE
    assert max(tally.rewards) > 0, "no state with a reward was met: the rewards were not compared"


def difference_when_left_alone(pair, rng):
    """The largest of an observation within 200 steps; nothing is promised about it, a bit of difference may grow."""
    pair.oracle.reset()
    pair.probe.set_state(pair.oracle.state(pair))
    largest = 0.0
    for _ in range(CASE):
        action = pair.action(rng, "any")
        obs, _, over = pair.oracle.step(action)
        largest = max(largest, np.abs(pair.probe.step(action).obs - obs).max())
        if over:
            break
    return largest


def check_bounds(pair):
    info, spec = pair.probe.info, pair.oracle.env.action_spec()
    limited = pair.oracle.model.actuator_ctrllimited.astype(bool)
    assert spec.shape == (info["nu"],) and pair.oracle.reset().shape == (info["obs_dim"],)
    assert np.array_equal(pair.low[limited], spec.minimum[limited].astype(np.float32))
    assert np.array_equal(pair.high[limited], spec.maximum[limited].astype(np.float32))
    assert (spec.minimum <= pair.low)[~limited].all() and (pair.high <= spec.maximum)[~limited].all()  # theirs: 1e10
    assert pair.oracle.env.control_timestep() == pytest.approx(info["timestep"] * info["substeps"], rel=1e-12)


def states_of_many_rewards(pair, rng, n):
    """States our side finds by pushing fresh ones about: half of them the most rewarded, half from all over."""
    found = []
    for seed in range(40):
        fresh = pair.probe.reset(seed).state
        for kick in range(20):
            state = fresh.copy()
            shake(pair, state, rng, kick)
            try:
                pair.probe.set_state(state)
                after = pair.probe.step(pair.action(rng, "any"))
            except ProbeError:
                continue
            found.append((after.reward, len(found), state))
    found.sort(reverse=True)
    spread = np.linspace(0, len(found) - 1, n - n // 2).astype(int)
    return [state for _, _, state in found[:n // 2]] + [found[i][2] for i in spread]


def shake(pair, state, rng, strength):
    """Joints anywhere at even strengths, all velocities at odd ones, both at every fourth."""
    parts, model = pair.probe.split(state), pair.oracle.model
    if strength % 2 == 0:
        for joint in np.flatnonzero(model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)):
            place = model.jnt_qposadr[joint]
            parts["qpos"][place:place + 3] += rng.uniform(-0.4, 0.4, 3)
        for joint in np.flatnonzero(model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)):
            slide = model.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_SLIDE)
            low, high = model.jnt_range[joint] if model.jnt_limited[joint] else \
                (-0.4, 0.4) if slide else (-np.pi, np.pi)
            parts["qpos"][model.jnt_qposadr[joint]] = rng.uniform(low, high)
    if strength % 4 != 2:
        parts["qvel"] += rng.normal(size=parts["qvel"].size) * 0.5 * strength


# ---------------------------------------------------------------- resets
def test_resets_from_the_same_draws(pair):
    """Where dm_control asks for a random number it is given the one our side draws: then the starts are not only
    equally distributed, they are the same."""
    if pair.oracle.domain in SEED_OF_MODEL:
        pair.oracle.load(SEED_OF_MODEL[pair.oracle.domain])
    largest = 0.0
    for seed in range(20):
        ours = pair.probe.reset(seed)
        pair.oracle.env.task._random = OurRandom(pair.probe, seed)
        obs, state = pair.oracle.reset(), pair.oracle.state(pair)
        for what, a, b in (("state", ours.state, state), ("observation", ours.obs, obs)):
            worst = int(np.abs(a - b).argmax())
            assert abs(a[worst] - b[worst]) <= OBS_TOLERANCE * max(1, abs(b[worst])), \
                f"seed {seed}: {what} {worst} is {a[worst]!r}, dm_control's is {b[worst]!r}"
            largest = max(largest, abs(a[worst] - b[worst]))
        assert ours.ncon == pair.oracle.data.ncon
    pair.row["reset"] = f"{largest:.1e}"


def test_resets(pair):
    n = FEWER_RESETS if pair.oracle.domain in SLOW else RESETS
    if pair.oracle.domain in SEED_OF_MODEL:
        pair.oracle.load(SEED_OF_MODEL[pair.oracle.domain])
    pair.oracle.seed(2)
    names = coordinate_names(pair)
    ours = np.array([our_coordinates(pair, pair.probe.reset(1000 + i)) for i in range(n)])
    theirs = np.array([their_coordinates(pair) for _ in range(n)])
    assert ours.shape == theirs.shape == (n, len(names))
    smallest, compared, wrong = 1.0, 0, []
    for name, a, b in zip(names, np.round(ours, 9).T, np.round(theirs, 9).T):  # rounding noise is not a distribution
        if np.ptp(a) == 0 and np.ptp(b) == 0:
            if abs(a[0] - b[0]) > 1e-8:
                wrong.append(f"{name}: always {a[0]}, in dm_control always {b[0]}")
            continue
        p = min(scipy.stats.ks_2samp(a, b, method="asymp").pvalue, range_p_value(a, b), range_p_value(-a, -b))
        compared += 3
        smallest = min(smallest, p)
        if p < ALPHA / COMPARISONS:
            wrong.append(f"{name}: p = {p:.1e}; ours {summary(a)}, dm_control's {summary(b)}")
    pair.row.update({"resets": n, "coordinates": len(names), "smallest p": f"{smallest:.1e}", "tests": compared})
    assert not wrong, "\n".join(wrong)


def range_p_value(a, b):
    """Of equal ends of the ranges: how many of one sample lie above all of the other. The Kolmogorov-Smirnov test is
    nearly blind there. With equal distributions and sizes k are at the top with probability 2 * 2^-k."""
    return min(1.0, 2.0 * 0.5 ** max((a > b.max()).sum(), (b > a.max()).sum()))


def summary(a):
    return f"{a.mean():.4g} +- {a.std():.2g} in [{a.min():.4g}, {a.max():.4g}]"


def target_places(model):
    """Bodies and geoms that are targets, as rows of xpos and geom_xpos one below the other."""
    names = [model.body(i).name for i in range(model.nbody)] + [model.geom(i).name for i in range(model.ngeom)]
    return [i for i, name in enumerate(names) if "target" in name]


def derived(ncon, com, xpos, geom_xpos, targets):
    """Contacts; heights of the bodies and of the centre of mass; distances of all geoms to the targets."""
    places = np.concatenate([xpos, geom_xpos])
    distances = [np.linalg.norm(geom_xpos - places[target], axis=1) for target in targets]
    return np.concatenate([[ncon, com[2]], xpos[:, 2], *distances])


def our_coordinates(pair, snapshot):
    """The float64 state, the observation and what follows from them."""
    targets = target_places(pair.oracle.model)
    return np.concatenate([snapshot.state, snapshot.obs,
                           derived(snapshot.ncon, snapshot.com, snapshot.xpos, snapshot.geom_xpos, targets)])


def their_coordinates(pair):
    oracle, data = pair.oracle, pair.oracle.data
    obs = oracle.reset()
    targets = target_places(oracle.model)
    return np.concatenate([oracle.state(pair), obs,
                           derived(data.ncon, data.subtree_com[0], data.xpos, data.geom_xpos, targets)])


def coordinate_names(pair):
    info, model = pair.probe.info, pair.oracle.model
    names = [f"{part}[{i}]" for part, n in pair.probe.sizes.items() for i in range(n)]
    names += [f"{field}[{index}]" for field, index in pair.edits]
    names += [f"observation[{i}]" for i in range(info["obs_dim"])]
    names += ["contacts", "height of the centre of mass"]
    names += [f"height of {model.body(i).name}" for i in range(model.nbody)]
    return names + [f"distance of geom {model.geom(i).name or i} to target {target}"
                    for target in target_places(model) for i in range(model.ngeom)]


def test_number_of_comparisons():
    assert sum(row.get("tests", 0) for row in ROWS.values()) <= COMPARISONS


# ---------------------------------------------------------------- model
def test_model(pair, tmp_path):
    """As both sides use it, with the lasting edits; what is drawn at a reset is set equal first."""
    pair.oracle.reset()
    ours = pair.probe.model(tmp_path)
    for (field, our_index), (_, index) in zip(pair.probe.info["edits"], pair.edits):
        getattr(ours, field).flat[our_index] = getattr(pair.oracle.model, field).flat[index]
    assert compare_models(ours, pair.oracle.model) == []


# ---------------------------------------------------------------- state
def test_set_state_gives_the_same_bits(pair, rng):
    """From the middle of an episode, with contacts where the task ever has any."""
    probe = pair.probe
    there = probe.reset(5)
    for step in range(400):
        if step >= 60 and there.ncon > 0:
            break
        there = probe.step(pair.action(rng, "any"))
    pair.row["contacts where a state was set"] = there.ncon
    actions = [pair.action(rng, "any") for _ in range(40)]
    went = [probe.step(action).bytes for action in actions]
    fresh = Probe(pair.name)
    try:
        for where, side in (("the same process", probe), ("a fresh process", fresh)):
            back = side.set_state(there.state)
            assert back.bytes[24:] == there.bytes[24:], f"{where}: another state than was set"  # but for the reward
            again = [side.step(action).bytes for action in actions]
            wrong = [i for i in range(len(went)) if again[i] != went[i]]
            assert not wrong, f"{where}: other bits from step {wrong[0] + 1} on"
    finally:
        fresh.close()


def test_a_reset_follows_from_its_seed(pair, rng):
    """Whatever was done before: the episode of a seed begins with the same bits as in a fresh process."""
    state = pair.probe.reset(8).state.copy()
    pair.probe.split(state)["edits"][:] += 0.01
    pair.probe.set_state(state)
    pair.probe.step(pair.action(rng, "any"))
    fresh = Probe(pair.name)
    there, here = fresh.reset(9), pair.probe.reset(9)
    fresh.close()
    assert here.bytes == there.bytes
    assert here.bytes != pair.probe.reset(10).bytes


def test_names(pair):
    for name in (pair.name.replace("-", "_"), pair.name.upper(), f"dm_control/{pair.name}-v0"):
        other = Probe(name)
        other.close()
        assert other.info == pair.probe.info, name


# ---------------------------------------------------------------- episode
def test_episode(pair):
    """dm_control ends an episode by the clock with discount 1: a truncation, at the same step as ours. Ours is the
    public interface, in float32."""
    info, env = pair.probe.info, pair.oracle.env
    steps, terminated, truncated, wrong = pair.probe.episode(11)
    assert wrong == 0, "numbers of dqs.h that are not the float32 of the doubles"
    assert (steps, terminated, truncated) == (info["max_steps"], 0, 1)
    if np.isfinite(env._step_limit):
        assert info["max_steps"] == env._step_limit
        env.reset()
        env._step_count = info["max_steps"] - 3  # the steps before it are those of test_stepping
        last = [env.step(pair.low) for _ in range(3)]
        assert [step.last() for step in last] == [False, False, True]
        assert [step.discount for step in last] == [1.0, 1.0, 1.0]


def test_termination(pair):
    """A task that ends by itself does so at rest in its goal, as in dm_control, with discount 0."""
    pair.oracle.reset()
    if not pair.probe.info["terminates"]:
        assert pair.oracle.env.task.get_termination(pair.oracle.env.physics) is None
        return
    state = pair.oracle.state(pair)
    for part in ("qpos", "qvel", "qacc_warmstart"):
        pair.probe.split(state)[part][:] = 0
    pair.oracle.set_state(pair, state)
    pair.probe.set_state(state)
    rest = np.zeros(pair.low.size, np.float32)
    step = pair.oracle.env.step(rest)
    assert step.last() and step.discount == 0.0
    assert pair.probe.step(rest).terminated
