"""Our MJCF models against the Control Suite's: the same when compiled, field by field, says dm_control."""

import copy
import functools
import os
import pathlib
import warnings

import numpy as np
import pytest

os.environ.setdefault("MUJOCO_GL", "disable")  # dm_control looks for a display unless told not to



def skip_loudly(missing, **how):
    reason = f"DMC MODELS NOT COMPARED: no Python package {missing.name}; pip install dm_control==1.0.44"
    warnings.warn(reason)
    pytest.skip(reason, **how)


try:
    import mujoco
except ModuleNotFoundError as missing:
    skip_loudly(missing, allow_module_level=True)

from dmc_compare import LIMITS, compare_models, compared_fields  # noqa: E402 (needs mujoco)

MODELS = pathlib.Path(__file__).resolve().parent.parent / "src" / "env" / "dmc" / "models"

# Model file, which is named after its domain, and the task whose model it is before the task's own edits.
DOMAINS = {
    "acrobot": "swingup",
    "ball_in_cup": "catch",
    "cartpole": "balance",
    "cheetah": "run",
    "finger": "spin",
    "fish": "swim",
    "hopper": "hop",
    "humanoid": "stand",
    "humanoid_CMU": "stand",
    "pendulum": "swingup",
    "point_mass": "easy",
    "quadruped": "run",
    "reacher": "hard",
    "stacker": "stack_4",
    "walker": "run",
}

# An mjModel of ours is about 0.1 MB; with the suite's sky of 800 x 4800 pixels it would be 11.
MOST_BYTES = 1_000_000


def load(domain):
    path = MODELS / f"{domain}.xml"
    assert path.exists(), f"{path.name}: no such model, but DOMAINS has a row for it"
    return mujoco.MjModel.from_xml_path(str(path))


@pytest.fixture(scope="module")
def suite():
    try:
        from dm_control import suite
    except ModuleNotFoundError as missing:
        skip_loudly(missing)
    return suite


@functools.lru_cache(maxsize=None)
def oracle(suite, domain):
    return suite.load(domain, DOMAINS[domain]).physics.model.ptr


@pytest.mark.parametrize("domain", DOMAINS)
def test_compiled_model_equals_the_suites(suite, domain):
    differences = compare_models(load(domain), oracle(suite, domain))
    assert not differences, "\n  ".join([f"{domain}.xml:", *differences])


@pytest.mark.parametrize("domain", DOMAINS)
def test_model_is_small_and_can_be_filmed(domain):
    model = load(domain)
    assert model.nbuffer < MOST_BYTES
    assert model.ncam > 0, "films use camera 0"


@pytest.mark.parametrize("domain", DOMAINS)
def test_model_stands_alone(domain):
    text = (MODELS / f"{domain}.xml").read_text()
    assert "<include" not in text and "file=" not in text


# ------------------------------------------------------------------ would the comparison notice?
# One wrong number each; the last column is a field that must be named.
@pytest.mark.parametrize("domain, right, wrong, field", [
    ("cheetah", 'settotalmass="14"', 'settotalmass="14.0000001"', "body_mass"),
    ("cheetah", 'range="-57 0.4"', 'range="-57 0.4000001"', "jnt_range"),
    ("cheetah", 'name="head" pos="0.6 0 0.1"', 'name="head" pos="0.6 0 0.1000001"', "inertia tensor"),
    ("finger", 'cone="elliptic"', 'cone="pyramidal"', "opt.cone"),
    ("finger", 'ref="-90"', 'ref="-90.00001"', "qpos0"),
    ("finger", 'objtype="xbody"', 'objtype="body"', "sensor_objtype"),
    ("finger", 'pos="0 0 0.13"', 'pos="0 0 0.130001"', "site_pos"),
    ("fish", '0 0.079 0 0 0.07 0', '0 0.07 0 0 0.079 0', "geom_quat"),
    ("fish", 'density="5000"', 'density="5000.001"', "opt.density"),
    ("fish", 'kp="3e-4"', 'kp="3.000001e-4"', "actuator_gainprm"),
    ("hopper", '"touch_toe"', '"touch_tip"', "names of kind sensor"),
    ("hopper", '"touch_toe"', '"touch_tip"', "sites"),
    ("quadruped", 'solref="0.005 0.5"', 'solref="0.005 0.50001"', "eq_solref"),
    ("quadruped", 'coef="0.333"', 'coef="0.333333"', "wrap_prm"),
    ("quadruped", 'dynprm="0.1"', 'dynprm="0.11"', "actuator_dynprm"),
    ("reacher", 'contact="disable"', 'contact="enable"', "opt.disableflags"),
    ("walker", 'conaffinity="0"', 'conaffinity="1"', "geom_conaffinity"),
    ("walker", 'timestep="0.0025"', 'timestep="0.00250001"', "opt.timestep"),
])
def test_a_wrong_number_is_noticed(suite, domain, right, wrong, field):
    text = (MODELS / f"{domain}.xml").read_text()
    assert right in text
    model = mujoco.MjModel.from_xml_string(text.replace(right, wrong))
    assert any(line.startswith(field) for line in compare_models(model, oracle(suite, domain)))


def spoil(model, field, kinds):
    """Makes a small change to all numbers of a field if they are of one of numpy's kinds; tells if it did."""
    *parts, name = field.split(".")
    owner = getattr(model, parts[0]) if parts else model
    value = getattr(owner, name)
    array = np.asarray(value)
    if array.dtype.kind not in kinds or array.size == 0 or (array.ndim == 0 and not parts):
        return False  # no such numbers, or a size, which is read-only
    kind = array.dtype.kind
    wrong = ~array if kind == "b" else array + 1e-6 * (array + 1.0) if kind == "f" else array + 1
    if array.ndim:
        value[...] = wrong
    else:
        setattr(owner, name, wrong.item())
    return True


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("kinds", ["f", "iub"], ids=["floats", "integers"])
def test_every_compared_field_is_compared(domain, kinds):
    model, spoilt = load(domain), load(domain)
    assert compare_models(model, model) == []
    fields = [f for f in [*compared_fields(model), "site_pos", "site_type"] if spoil(spoilt, f, kinds)]
    assert len(fields) > 50
    unread = [f for f in fields if f in LIMITS and not getattr(spoilt, LIMITS[f]).any()]
    found = {line.split("[")[0] for line in compare_models(spoilt, model)}
    assert [f for f in fields if f not in found] == unread


def test_colours_and_cameras_are_free():
    model = load("quadruped")
    other = copy.deepcopy(model)
    other.geom_rgba[:] = 0.1
    other.cam_pos[:] = 3.0
    other.body_quat[:] *= -1
    other.stat.extent = 7.0
    assert compare_models(other, model) == []


def test_a_missing_decorative_site_is_allowed_and_a_used_one_not():
    text = (MODELS / "quadruped.xml").read_text()
    model = load("quadruped")
    rays = [line for line in text.splitlines() if '<site name="rf_' in line]
    assert len(rays) == 20
    fewer = mujoco.MjModel.from_xml_string("\n".join(line for line in text.splitlines() if line not in rays))
    assert fewer.nsite == model.nsite - 20
    assert compare_models(fewer, model) == []
    renamed = mujoco.MjModel.from_xml_string(text.replace('site="toe_back_left"', 'site="toe_back_right"'))
    assert any(line.startswith("sensor_objid") for line in compare_models(renamed, model))
