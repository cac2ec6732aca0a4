"""Options as the library's table has them: what there is, and how Python values become its text."""
from __future__ import annotations

from ctypes import byref
from typing import Any, NamedTuple

import numpy as np

from . import _native
from ._native import Handle, OptionInfo, lib
from .errors import OptionError

__all__ = ["Option", "options", "algorithms", "tasks"]

# Of the options that belong to a run of `dqs train`, those that mean something where Python owns the loop.
RUN_OPTIONS = {"seed", "threads", "kernels", "steps"}


class Option(NamedTuple):
    """A row of the table: `dqs options` prints the same."""

    value: str
    type: str
    range: str
    doc: str
    source: str


def algorithms() -> dict[str, str]:
    """{name: what it is} of the algorithms."""
    return _native.names("dqs_algo_name")


def tasks() -> dict[str, str]:
    """{name: what it is} of the tasks; `dqs/<name>-v0` is their Gymnasium id."""
    return _native.names("dqs_env_name")


def options(algo: str = "dqs", task: str | None = None, preset: str = "default") -> dict[str, Option]:
    """What can be set by keyword in Agent(algo, ...): {name: Option}."""
    config = configure(algo, task, preset, {})  # held by name: its number alone would not keep it alive
    return describe(config.value)


def describe(config: int) -> dict[str, Option]:
    rows: dict[str, Option] = {}
    info = OptionInfo()
    index = 0
    while lib.dqs_config_describe(config, index, byref(info)):
        index += 1
        if info.group != b"run" or info.key.decode() in RUN_OPTIONS:
            rows[info.key.decode()] = Option(*(getattr(info, name).decode()
                                               for name in ("value", "type", "range", "doc", "source")))
    return rows


def as_text(key: str, value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, str):
        return value
    raise OptionError(f"{key}: a {type(value).__name__} is no value for an option; give a number, a bool or a str")


def configure(algo: str, task: str | None, preset: str, given: dict[str, Any], name: str | None = None,
              terminates: bool = True) -> Handle:
    """A dqs_config: of a task of the library, or of an environment called `name` that it never sees."""
    for what, word in (("algo", algo), ("preset", preset)):
        if not isinstance(word, str):
            raise OptionError(f"{what}: a {type(word).__name__} is no name; `dqs.algorithms()` lists the algorithms")
    config = _native.create("dqs_config_create", "dqs_config_free", _native.text(algo, "name"),
                            None if task is None else _native.text(task, "name"))
    if name is not None:
        _native.call("dqs_config_name_env", config.value, _native.text(name, "name"), int(terminates))
    _native.call("dqs_config_preset", config.value, _native.text(preset, "name"))
    for key, value in given.items():
        _native.call("dqs_config_set", config.value, _native.text(key, "name"),
                     _native.text(as_text(key, value), "value"))
    own = describe(config.value)
    for key in given:
        if key not in own:
            raise OptionError(f"{key}: belongs to runs of `dqs train` and means nothing here, where Python owns the loop")
    return config
