"""The table of the binding beside dqs.h, which it was typed from: every function, every argument, every struct."""
import ctypes
import re
import subprocess
import threading
import time

import numpy as np
import pytest
from python_package import BUILD, ROOT, SMALL, dqs

from dqs import _native

HEADER = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / "dqs.h").read_text(), flags=re.S)
PROTOTYPE = re.compile(r"^([\w ]+?\**)\s*\**(dqs_\w+)\(([^;{]*?)\);", re.M)
VALUES = {"int": ctypes.c_int, "dqs_status": ctypes.c_int, "dqs_act_mode": ctypes.c_int, "uint64_t": ctypes.c_uint64}
STRUCTS = {"dqs_error": _native.ErrorStruct, "dqs_number": _native.Number, "dqs_spec": _native.Spec,
           "dqs_outcome": _native.Outcome, "dqs_option_info": _native.OptionInfo}


def as_ctypes(declared):
    """What a C type is on the other side."""
    words = declared.replace("const", "").replace("struct", "").strip()
    base, stars = words.rstrip("* ").split()[0], words.count("*")
    if stars == 0:
        return None if base == "void" else VALUES[base]
    if base == "char":
        return ctypes.c_char_p if stars == 1 else ctypes.POINTER(ctypes.c_char_p)
    if base in STRUCTS:
        return ctypes.POINTER(STRUCTS[base])
    if stars == 2:
        return ctypes.POINTER(ctypes.c_void_p)
    return ctypes.c_void_p  # arrays and handles


def declared():
    found = {}
    for result, name, arguments in PROTOTYPE.findall(HEADER):
        whole = re.search(rf"^(.*?){name}\(", HEADER, re.M).group(1)
        types = [re.sub(r"\w+\s*$", "", a) if not a.strip().endswith("*") else a for a in arguments.split(",")]
        types = [] if arguments.strip() == "void" else types
        found[name] = (whole.strip(), types)
    return found


def test_every_function_is_as_the_header_says():
    header = declared()
    assert len(header) > 50
    for name, (result, arguments) in _native.FUNCTIONS.items():
        assert name in header, name
        whole, types = header[name]
        wanted = [as_ctypes(t) for t in types]
        # Where one number is handed out, a pointer to it says more than an address.
        alike = {ctypes.POINTER(ctypes.c_int): ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64): ctypes.c_void_p}
        assert [alike.get(a, a) for a in arguments] == wanted, name
        assert result == as_ctypes(whole), name


def test_structs_have_the_layout_of_the_compiler(tmp_path):
    lines = []
    for name, struct in STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));' for field, *_ in struct._fields_]
    source = tmp_path / "layout.c"
    source.write_text("#include <dqs.h>\n#include <stdio.h>\nint main(void)\n{\n" + "\n".join(lines) + "\n}\n")
    subprocess.run(["cc", "-I", ROOT / "include", source, "-o", tmp_path / "layout"], check=True)
    told = dict(line.split() for line in subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True)
                .stdout.splitlines())
    for name, struct in STRUCTS.items():
        assert ctypes.sizeof(struct) == int(told[name])
        for field, *_ in struct._fields_:
            assert getattr(struct, field).offset == int(told[f"{name}.{field}"]), (name, field)


def test_every_status_has_its_class():
    names = re.findall(r"X\((\w+), \"", HEADER)
    assert len(names) == len(dqs.errors.BY_STATUS) + 1
    for status, name in enumerate(names):
        if status:
            problem = _native.ErrorStruct(status, b"word")
            with pytest.raises(dqs.Error, match="word"):
                _native.check(status, problem)
    assert issubclass(dqs.errors.BY_STATUS[names.index("E_IO") - 1], OSError)
    assert issubclass(dqs.errors.BY_STATUS[names.index("E_MEMORY") - 1], MemoryError)


def test_the_interpreter_runs_on_while_the_library_computes():
    agent = dqs.Agent("dqs", "dqs/pendulum-v0", **{**SMALL, "N": 100, "warmup": 1})
    rows = np.zeros((20000, 3), np.float32)
    stamps, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            stamps.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    box = np.empty((len(rows), 1), np.float32)
    _native.call("dqs_agent_act", agent._handle.value, rows.ctypes.data, len(rows), _native.EVALUATE, box.ctypes.data)
    end = time.monotonic()
    stop.set()
    thread.join()
    assert end - begin > 0.03, "too quick to tell"
    inside = [t for t in stamps if begin + 0.01 < t < end - 0.01]
    assert inside, f"no other thread ran in a call of {end - begin:.3f} s"


def test_threads_take_turns():
    """Eight threads predict with one agent while it learns; a handle used by two at once would crash or give NaN."""
    agent = dqs.Agent("dqs", "dqs/pendulum-v0", **SMALL)
    good, problems = [], []

    def predict():
        try:
            for _ in range(50):
                action, _ = agent.predict(np.zeros((5, 3), np.float32))
                good.append(np.isfinite(action).all() and action.shape == (5, 1))
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=predict) for _ in range(8)]
    for thread in threads:
        thread.start()
    agent.learn(150)
    for thread in threads:
        thread.join()
    assert not problems and len(good) == 400 and all(good)


def test_the_library_is_the_one_under_test():
    assert str(BUILD) in dqs._native.lib._name
    assert dqs.build.startswith(dqs.__version__)
