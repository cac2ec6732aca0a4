"""Two compiled MuJoCo models, field by field: is the physics the same?

The fields come from the MjModel class itself, so that one added by a newer MuJoCo is compared without
being asked for; what is left out stands in the tables below, each with its reason. Integers and flags must be
equal, floats agree to RELATIVE. Rotations are compared as matrices (q and -q are one), inertias as tensors
(the order of the principal axes is the compiler's choice), sites by name (decorative ones may be missing).
"""

import fnmatch
import functools

import mujoco
import numpy as np

RELATIVE = 1e-9  # of the number itself
ROUNDING = 1e-12  # of the largest number in its row: a coordinate of 1e-17 beside one of 1 is a zero
TINY = 1e-18  # of a whole row that should be zero; the fish's moments of inertia begin at 1e-8

# Fields that cannot change a trajectory, as patterns.
LEFT_OUT = {
    # looks
    "*_rgba": "colour", "*_matid": "colour", "*_group": "what is drawn", "tendon_width": "drawn",
    "cam_*": "cameras", "light_*": "lights", "mat_*": "materials", "tex_*": "textures", "skin_*": "skins",
    "ncam": "cameras", "nlight": "lights", "nmat": "materials", "ntex*": "textures", "nskin*": "skins",
    "vis": "looks", "stat.extent": "scale of the view", "stat.center": "where a free camera looks",
    # strings and files
    "names": "compared as lists of names", "names_map": "hash of the names", "name_*adr": "places in names",
    "nnames*": "length of the names", "paths": "files", "npaths": "files", "*_pathadr": "files",
    "*_user": "no meaning to MuJoCo", "nuser_*": "no meaning to MuJoCo",
    # of the memory, not of the physics
    "nbuffer": "bytes", "narena": "bytes", "signature": "hash of the element tree, cameras included",
    # handled apart
    "nsite": "sites are compared by name", "site_*": "sites are compared by name",
    "body_inertia": "in the inertia tensor", "body_iquat": "in the inertia tensor",
    "hfield_*": "compared if a geom is one", "nhfield*": "compared if a geom is one",
}
NAMES_LEFT_OUT = {"cam", "light", "mat", "tex", "skin", "site", "hfield"}

# Numbers that are read only where a limit is on: the range, and how hard a joint or tendon limit is.
LIMITS = {
    **dict.fromkeys(("jnt_range", "jnt_solref", "jnt_solimp", "jnt_margin"), "jnt_limited"),
    **dict.fromkeys(("tendon_range", "tendon_solref_lim", "tendon_solimp_lim", "tendon_margin"),
                    "tendon_limited"),
    "jnt_actfrcrange": "jnt_actfrclimited", "tendon_actfrcrange": "tendon_actfrclimited",
    "actuator_ctrlrange": "actuator_ctrllimited", "actuator_forcerange": "actuator_forcelimited",
    "actuator_actrange": "actuator_actlimited",
}


def compare_models(ours, theirs):
    """The differences of two mujoco.MjModel, one line each; an empty list if they are the same."""
    out = []
    sites = _compare_sites(out, ours, theirs)
    _compare_names(out, ours, theirs)
    for field in compared_fields(theirs):
        _compare(out, field, _value(ours, field, sites), _value(theirs, field, None))
    if _any_hfield(ours) or _any_hfield(theirs):
        for field in (f for f in _fields(theirs) if fnmatch.fnmatch(f, "*hfield*") and not _is_file(f)):
            _compare(out, field, getattr(ours, field), getattr(theirs, field))
    _compare(out, "inertia tensor", _inertia(ours), _inertia(theirs))
    return out


def compared_fields(model):
    """The fields compared one by one: "nq", "geom_size", "opt.timestep", ..."""
    fields = [f for f in _fields(model) if f not in ("opt", "stat")]
    fields += [f"{part}.{f}" for part in ("opt", "stat") for f in _fields(getattr(model, part))]
    return [f for f in fields if not _left_out(f)]


@functools.lru_cache(maxsize=None)
def _left_out(field):
    return any(fnmatch.fnmatch(field, pattern) for pattern in LEFT_OUT)


@functools.lru_cache(maxsize=None)
def _attributes(kind):
    return [f for f in dir(kind) if not f.startswith("_") and not callable(getattr(kind, f))]


def _fields(struct):
    return _attributes(type(struct))


def _is_file(field):
    return field.startswith("name_") or field.endswith("_pathadr")


def _value(model, field, sites):
    """The numbers to compare. `sites` turns our site ids into theirs where a field holds them."""
    value = model
    for part in field.split("."):
        value = getattr(value, part)
    if field in LIMITS:
        value = (value.T * getattr(model, LIMITS[field])).T
    if field.endswith("_quat"):
        value = np.array([_matrix(q) for q in value]).reshape(-1, 9)
    if sites is not None:
        value = _with_sites_of(model, field, value, sites)
    return value


def _compare(out, field, ours, theirs):
    if isinstance(theirs, (bool, int, float)):
        ours, theirs = np.array([ours]), np.array([theirs])
    if isinstance(theirs, bytes):
        ours, theirs = np.frombuffer(ours, np.uint8), np.frombuffer(theirs, np.uint8)
    if not isinstance(theirs, np.ndarray) or theirs.dtype == object:
        out.append(f"{field}: {type(theirs).__name__} is a kind of field this comparison does not know")
        return
    if ours.shape != theirs.shape:
        out.append(f"{field}: shape {ours.shape}, should be {theirs.shape}")
        return
    for index in np.argwhere(~_same(ours, theirs))[:4]:
        index = tuple(int(i) for i in index)
        out.append(f"{field}{list(index)}: {ours[index]!r}, should be {theirs[index]!r}")


def _same(ours, theirs):
    if not np.issubdtype(theirs.dtype, np.floating):
        return ours == theirs
    size = np.maximum(abs(ours), abs(theirs))
    row = size.max(axis=tuple(range(1, size.ndim)), keepdims=True, initial=0) if size.ndim > 1 else 0 * size
    return abs(ours - theirs) <= RELATIVE * size + ROUNDING * row + TINY


def _matrix(quat):
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quat)
    return matrix


def _inertia(model):
    rotations = [_matrix(q).reshape(3, 3) for q in model.body_iquat]
    return np.array([r @ np.diag(i) @ r.T for r, i in zip(rotations, model.body_inertia)])


def _any_hfield(model):
    return bool((model.geom_type == mujoco.mjtGeom.mjGEOM_HFIELD).any())


# ------------------------------------------------------------------ names and sites
def _names(model, kind):
    return [model.names[start:].split(b"\0", 1)[0].decode() for start in getattr(model, f"name_{kind}adr")]


def _compare_names(out, ours, theirs):
    kinds = [f[len("name_"):-len("adr")] for f in _fields(theirs) if fnmatch.fnmatch(f, "name_*adr")]
    for kind in (k for k in kinds if k not in NAMES_LEFT_OUT):
        a, b = _names(ours, kind), _names(theirs, kind)
        if a != b:
            out.append(f"names of kind {kind}: {a}, should be {b}")


def _compare_sites(out, ours, theirs):
    """Compares the sites both have and returns the ids of our sites in their model."""
    a, b = _names(ours, "site"), _names(theirs, "site")
    unknown = [name for name in a if name not in b]
    if unknown:
        out.append(f"sites {unknown}: the other model has none of these names")
    shared = [(i, b.index(name)) for i, name in enumerate(a) if name in b]
    if [j for _, j in shared] != sorted(j for _, j in shared):
        out.append(f"sites {a}: not in the order of {b}")
    rows, other_rows = [i for i, _ in shared], [j for _, j in shared]
    for field in (f for f in _fields(theirs) if f.startswith("site_")):
        if not any(fnmatch.fnmatch(field, p) for p in LEFT_OUT if p != "site_*"):
            _compare(out, field, _value(ours, field, None)[rows], _value(theirs, field, None)[other_rows])
    return dict(shared)


def _with_sites_of(model, field, value, sites):
    """Site ids among the references of sensors, actuators, tendons and equalities, in the other model's
    numbers. A site the other has not becomes -2, which no model holds."""
    obj, trn, wrap = mujoco.mjtObj.mjOBJ_SITE, mujoco.mjtTrn, mujoco.mjtWrap.mjWRAP_SITE
    holds = {
        "sensor_objid": lambda: model.sensor_objtype == obj,
        "sensor_refid": lambda: model.sensor_reftype == obj,
        "actuator_trnid": lambda: np.isin(model.actuator_trntype, (trn.mjTRN_SITE, trn.mjTRN_SLIDERCRANK)),
        "wrap_objid": lambda: model.wrap_type == wrap,
        "eq_obj1id": lambda: model.eq_objtype == obj,
        "eq_obj2id": lambda: model.eq_objtype == obj,
    }
    if field not in holds:
        return value
    mapped = value.copy()
    for row in np.flatnonzero(holds[field]()):
        mapped[row] = np.vectorize(lambda i: -1 if i == -1 else sites.get(int(i), -2))(value[row])
    return mapped
