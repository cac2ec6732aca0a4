"""libdqs through ctypes: the functions of dqs.h as the header declares them, and nothing else.

ctypes lets go of the interpreter's lock during every call, so other threads run while the learner computes. A handle
is for one thread at a time; the classes above this module hold a lock of their own around their handle.
"""
from __future__ import annotations

import ctypes
import os
import sys
import weakref
from ctypes import (POINTER, Structure, byref, c_char, c_char_p, c_double, c_float, c_int, c_uint64,
                    c_void_p)
from pathlib import Path
from typing import Any, Callable

from .errors import BY_STATUS, FileError

OK = 0
EXPLORE, EVALUATE, EXACT, FROZEN = range(4)


class ErrorStruct(Structure):
    _fields_ = [("status", c_int), ("message", c_char * 500)]


class Number(Structure):
    _fields_ = [("name", c_char * 40), ("value", c_double)]


class Spec(Structure):
    _fields_ = [("obs_dim", c_int), ("act_dim", c_int), ("max_steps", c_int), ("state_dim", c_int),
                ("terminates", c_int), ("act_low", POINTER(c_float)), ("act_high", POINTER(c_float))]


class Outcome(Structure):
    _fields_ = [("reward", c_double), ("terminated", c_int), ("truncated", c_int)]


class OptionInfo(Structure):
    _fields_ = [(name, c_char_p) for name in
                ("key", "type", "value", "preset_default", "range", "doc", "source", "group")]


HANDLE = c_void_p
ARRAY = c_void_p  # addresses: of NumPy arrays, taken once where they live long
ERR = POINTER(ErrorStruct)

# name: (result, arguments). tests/test_python_binding.py holds this table to dqs.h.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "dqs_strerror": (c_char_p, [c_int]),
    "dqs_version": (c_char_p, []),
    "dqs_env_create": (c_int, [POINTER(HANDLE), c_char_p, c_char_p, ERR]),
    "dqs_env_spec": (POINTER(Spec), [HANDLE]),
    "dqs_env_reset": (c_int, [HANDLE, c_uint64, ARRAY, ERR]),
    "dqs_env_step": (c_int, [HANDLE, ARRAY, ARRAY, POINTER(Outcome), ERR]),
    "dqs_env_get_state": (c_int, [HANDLE, ARRAY, ERR]),
    "dqs_env_set_state": (c_int, [HANDLE, ARRAY, ARRAY, ERR]),
    "dqs_env_free": (None, [HANDLE]),
    "dqs_batch_create": (c_int, [POINTER(HANDLE), c_char_p, c_char_p, c_int, c_int, ERR]),
    "dqs_batch_spec": (POINTER(Spec), [HANDLE]),
    "dqs_batch_reset": (c_int, [HANDLE, c_uint64, ARRAY, ERR]),
    "dqs_batch_step": (c_int, [HANDLE, ARRAY, ARRAY, ARRAY, ARRAY, ARRAY, ARRAY, ERR]),
    "dqs_batch_get_state": (c_int, [HANDLE, ARRAY, POINTER(c_uint64), ERR]),
    "dqs_batch_set_state": (c_int, [HANDLE, ARRAY, c_uint64, ARRAY, ERR]),
    "dqs_batch_free": (None, [HANDLE]),
    "dqs_env_name": (c_char_p, [c_int, POINTER(c_char_p)]),
    "dqs_algo_name": (c_char_p, [c_int, POINTER(c_char_p)]),
    "dqs_config_create": (c_int, [POINTER(HANDLE), c_char_p, c_char_p, ERR]),
    "dqs_config_name_env": (c_int, [HANDLE, c_char_p, c_int, ERR]),
    "dqs_config_preset": (c_int, [HANDLE, c_char_p, ERR]),
    "dqs_config_set": (c_int, [HANDLE, c_char_p, c_char_p, ERR]),
    "dqs_config_get": (c_char_p, [HANDLE, c_char_p]),
    "dqs_config_describe": (c_int, [HANDLE, c_int, POINTER(OptionInfo)]),
    "dqs_config_free": (None, [HANDLE]),
    "dqs_agent_create": (c_int, [POINTER(HANDLE), HANDLE, c_int, c_int, c_int, ERR]),
    "dqs_agent_act": (c_int, [HANDLE, ARRAY, c_int, c_int, ARRAY, ERR]),
    "dqs_agent_observe": (c_int, [HANDLE, ARRAY, ARRAY, ARRAY, ARRAY, ARRAY, ARRAY, ERR]),
    "dqs_agent_update_due": (c_int, [HANDLE]),
    "dqs_agent_update": (c_int, [HANDLE, ERR]),
    "dqs_agent_metrics": (c_int, [HANDLE, POINTER(Number), c_int]),
    "dqs_agent_save": (c_int, [HANDLE, c_char_p, ERR]),
    "dqs_agent_load": (c_int, [HANDLE, c_char_p, ERR]),
    "dqs_agent_open": (c_int, [POINTER(HANDLE), c_char_p, c_int, c_int, ERR]),
    "dqs_agent_config": (HANDLE, [HANDLE]),
    "dqs_agent_size": (None, [HANDLE, POINTER(c_int), POINTER(c_int), POINTER(c_int)]),
    "dqs_agent_set_bounds": (c_int, [HANDLE, ARRAY, ARRAY, ERR]),
    "dqs_agent_set_note": (c_int, [HANDLE, c_char_p, ERR]),
    "dqs_agent_note": (c_char_p, [HANDLE]),
    "dqs_agent_free": (None, [HANDLE]),
    "dqs_policy_load": (c_int, [POINTER(HANDLE), c_char_p, ERR]),
    "dqs_policy_obs_dim": (c_int, [HANDLE]),
    "dqs_policy_act_dim": (c_int, [HANDLE]),
    "dqs_policy_action_repeat": (c_int, [HANDLE]),
    "dqs_policy_seed": (None, [HANDLE, c_uint64]),
    "dqs_policy_act": (c_int, [HANDLE, ARRAY, ARRAY, ERR]),
    "dqs_policy_free": (None, [HANDLE]),
}


def _places() -> list[Path]:
    """Where the library may be: as told, beside this file (installed), in the build folder of the source tree."""
    told = os.environ.get("DQS_LIBRARY")
    if told:
        return [Path(told)]
    here = Path(__file__).resolve().parent
    return [here / "lib" / "libdqs.so", here.parent.parent / "build" / "libdqs.so"]


def _load() -> ctypes.CDLL:
    places = _places()
    for place in places:
        if place.exists():
            library = ctypes.CDLL(str(place))
            break
    else:
        raise ImportError(f"libdqs is not at {' or '.join(map(str, places))}; install the package with "
                          "`pip install ./python`, or set DQS_LIBRARY to a libdqs.so")
    for name, (result, arguments) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{place}: has no function {name}; it is of another version than this package, "
                              "build both anew") from None
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()


def check(status: int, error: ErrorStruct) -> None:
    """Raises what a status other than DQS_OK stands for."""
    if status != OK:
        raise BY_STATUS[min(status, len(BY_STATUS)) - 1](error.message.decode(errors="replace"))


def text(value: str | os.PathLike[str], what: str) -> bytes:
    """UTF-8 for C: a zero byte would silently cut the word there."""
    data = os.fsencode(value) if what == "path" else str(value).encode(errors="surrogateescape")
    if b"\0" in data:
        raise FileError(f"{value!r}: a {what} cannot have a zero byte")
    return data


def _free(function: Callable[[int], None], pointer: int, process: int) -> None:
    # A forked child has the handle but not its threads: what it freed would wait for them for ever.
    if os.getpid() == process and not sys.is_finalizing():
        function(pointer)


class Handle:
    """A pointer of the library that is freed with this object, or before by close()."""

    def __init__(self, free: str, pointer: c_void_p):
        assert pointer.value is not None
        self.value: int = pointer.value
        self.process = os.getpid()
        self.close = weakref.finalize(self, _free, getattr(lib, free), self.value, self.process)

    @property
    def usable(self) -> bool:
        return self.close.alive and os.getpid() == self.process


def create(function: str, free: str, *arguments: Any) -> Handle:
    """Calls *_create, *_load or *_open."""
    pointer, error = c_void_p(), ErrorStruct()
    check(getattr(lib, function)(byref(pointer), *arguments, byref(error)), error)
    return Handle(free, pointer)


def call(function: str, *arguments: Any) -> None:
    """Calls a function that may fail, outside of hot loops."""
    error = ErrorStruct()
    check(getattr(lib, function)(*arguments, byref(error)), error)


def names(function: str) -> dict[str, str]:
    """{name: one-line doc} of dqs_env_name or dqs_algo_name."""
    found: dict[str, str] = {}
    doc = c_char_p()
    while (name := getattr(lib, function)(len(found), byref(doc))) is not None:
        found[name.decode()] = (doc.value or b"").decode()
    return found

