#!/usr/bin/env python3
"""Runs every test of the project, stage by stage, and ends with one line that counts them.

    tools/run_tests.py [--fuzz-seconds S] [stage ...]        (no stage: all of them, in the order of STAGES)

A stage prints one line with its counts and seconds; what failed is printed in full below it. Counted are the single
tests of the cmocka programs and of pytest, and the single checks of the other stages. Only the standard library is
used; `make test` sets everything up first.
"""
import argparse
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
TIMEOUT = 900  # seconds for one program
TAIL = 60      # lines of a failed program that are shown,
WIDTH = 300    # and characters of each
RUNNING = set() # programs under way
TAP_LINE = re.compile(r"^(ok|not ok) \d+ (- |# SKIP )?(.*)$")
TAP_PLAN = re.compile(r"^1\.\.(\d+)$")


class Stage:
    """The counts of a stage, and the words for what went wrong."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.notes = []
        self.remark = ""

    def check(self, good, name, output=""):
        if good:
            self.passed += 1
        else:
            self.failed += 1
            self.notes.append(f"FAILED {name}\n{tail(output)}".rstrip())
        return good

    def skip(self, name, why):
        self.skipped += 1
        self.notes.append(f"skipped {name}: {why}")

    def counts(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def tail(text):
    lines = text.rstrip().splitlines()
    cut = [f"... {len(lines) - TAIL} lines before"] if len(lines) > TAIL else []
    return "\n".join("    " + line[:WIDTH] for line in cut + lines[-TAIL:])


def run(command, timeout=TIMEOUT, cwd=TOP, env=None):
    """(exit code, stdout and stderr together); negative codes are signals, None is a timeout."""
    command = [str(word) for word in command]
    if not command:
        return 127, "the program was not built"
    try:
        process = subprocess.Popen(command, cwd=cwd, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    except OSError as problem:
        return 127, f"{command[0]}: {problem}"
    RUNNING.add(process)
    try:
        output, _ = process.communicate(timeout=timeout)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        stop(process)
        output, _ = process.communicate()
        return None, f"{output}\nno end after {timeout} s"
    finally:
        RUNNING.discard(process)


def stop(process):
    """Ends a program and what it started: they are a session of their own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def interrupted(number, _):
    """Ctrl-C and SIGTERM do not reach the sessions of the programs: nothing may be left running."""
    for process in list(RUNNING):
        stop(process)
    print(f"\ntest: stopped by {signal.Signals(number).name}", flush=True)
    os._exit(128 + number)


def ending(code):
    if code is None:
        return "timed out"
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def build(stage, preset):
    """Builds a preset; a failure is one failed check, success counts only where the build is itself the test."""
    code, output = run(["tools/build.sh", preset])
    if code != 0:
        told = [line for line in output.splitlines() if not re.match(r"\[\d+/\d+\] ", line)] # without the progress
        stage.check(False, f"build of {preset}", "\n".join(told))
    return code == 0


# ---------------------------------------------------------------- cmocka programs and examples, as ctest knows them
def registered(folder):
    """[{name, command, cwd, labels}] of a build folder."""
    code, output = run(["ctest", "--test-dir", TOP / folder, "--show-only=json-v1"])
    if code != 0:
        return []
    tests = []
    for test in json.loads(output[output.index("{"):])["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        tests.append({"name": test["name"], "command": test.get("command", []), "labels": properties.get("LABELS", []),
                      "cwd": properties.get("WORKING_DIRECTORY", TOP)})
    return tests


def count_tap(stage, name, code, output):
    """Adds the results of one cmocka program, which speaks TAP."""
    planned = seen = failed = 0
    for line in output.splitlines():
        plan, result = TAP_PLAN.match(line), TAP_LINE.match(line)
        if plan:
            planned += int(plan.group(1))
        elif result and result.group(2) == "# SKIP ":
            seen += 1
            stage.skip(f"{name}: {result.group(3)}", "says the test")
        elif result:
            seen += 1
            good = result.group(1) == "ok"
            failed += not good
            stage.check(good, f"{name}: {result.group(3)}")
    if failed:
        stage.notes.append(f"output of {name}\n{tail(output)}")
    if not seen or seen < planned or (code != 0 and not failed):
        stage.check(False, f"{name}: {ending(code)} after {seen} of {planned or 'its'} tests", output)


def run_programs(stage, folder, label=None, wrapper=(), env=None):
    """The cmocka programs of a build folder, side by side."""
    tests = [t for t in registered(folder) if "example" not in t["labels"] and "setup" not in t["labels"]]
    tests = [t for t in tests if label is None or label in t["labels"]]
    if not tests:
        stage.check(False, f"{folder} has no unit tests", "nothing to run")
    env = {**(env or {}), "CMOCKA_MESSAGE_OUTPUT": "TAP"}
    seconds = {}

    def timed(test):
        begin = time.monotonic()
        result = run([*wrapper, *test["command"]], cwd=test["cwd"], env=env)
        seconds[test["name"]] = time.monotonic() - begin
        return result

    with ThreadPoolExecutor(os.cpu_count() or 1) as workers:
        for test, result in zip(tests, workers.map(timed, tests)):
            count_tap(stage, test["name"], *result)
    slowest = sorted(seconds, key=seconds.get)[-3:][::-1]
    stage.remark += " slowest: " + ", ".join(f"{name} {seconds[name]:.0f} s" for name in slowest)


def run_examples(stage, folder, env=None):
    """One after the other: the second uses the policy of the first."""
    for test in registered(folder):
        if "example" in test["labels"] or "setup" in test["labels"]:
            code, output = run(test["command"], env=env)
            if "example" in test["labels"]:
                stage.check(code == 0, f"{test['name']}: {ending(code)}", output)


def run_pytest(stage, folder, files, env=None):
    """Python tests of the programs in a build folder."""
    if importlib.util.find_spec("pytest") is None:
        stage.skip(files, "NO PYTEST: the packages of tools/requirements-test.txt could not be installed")
        return
    report = TOP / folder / "pytest.xml"
    report.unlink(missing_ok=True)
    side_by_side = ["-n", str(os.cpu_count() or 1), "--dist", "worksteal"] if importlib.util.find_spec("xdist") else []
    code, output = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *side_by_side, "--junitxml", report, files],
                       timeout=2 * TIMEOUT, env={**(env or {}), "DQS_BUILD": str(TOP / folder)})
    if not report.exists():
        stage.check(False, f"pytest: {ending(code)}", output)
        return
    failed = 0
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        problem = case.find("failure") if case.find("failure") is not None else case.find("error")
        if case.find("skipped") is not None:
            stage.skip(name, case.find("skipped").get("message"))
        else:
            failed += problem is not None
            stage.check(problem is None, name, "" if problem is None else problem.text or "")
    if code not in (0, 1) or (code == 1 and not failed):
        stage.check(False, f"pytest: {ending(code)}", output)


# ---------------------------------------------------------------- stages
def stage_layers(stage, _):
    code, output = run([sys.executable, "tools/check_layers.py"])
    stage.check(code == 0, "src/LAYERS", output)


def stage_build(stage, _):
    if build(stage, "release"):
        for name in ("dqs", "libdqs.so", "libdqs.a"):
            stage.check((TOP / "build" / name).exists(), f"build/{name} is missing")


def stage_unit(stage, _):
    run_programs(stage, "build")


def stage_pytest(stage, _):
    run_pytest(stage, "build", "tests")


def stage_examples(stage, _):
    run_examples(stage, "build")


def stage_clang(stage, _):
    if build(stage, "clang"):
        stage.check(True, "clang build")
        run_programs(stage, "build-clang")


def stage_asan(stage, _):
    env = {"ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1",
           "LSAN_OPTIONS": f"suppressions={TOP / 'tests' / 'lsan.supp'}:print_suppressions=0"}
    if build(stage, "asan"):
        run_programs(stage, "build-asan", env=env)
        run_examples(stage, "build-asan", env=env)
        run_pytest(stage, "build-asan", "tests/test_cli.py", env=env)
        run_pytest(stage, "build-asan", "tests/test_python_fuzz.py", env=env)


def stage_tsan(stage, _):
    if not build(stage, "tsan"):
        return
    # Kernels with much address randomisation are beyond this sanitizer's memory map; without it, it runs.
    wrapper, reason = thread_sanitizer_wrapper()
    if wrapper is None:
        stage.skip("thread sanitizer", reason)
        return
    env = {"TSAN_OPTIONS": f"halt_on_error=1:second_deadlock_stack=1:allocator_may_return_null=1:suppressions={TOP / 'tests' / 'tsan.supp'}"}
    run_programs(stage, "build-tsan", label="threads", wrapper=wrapper, env=env)


def thread_sanitizer_wrapper():
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "probe.c", Path(folder) / "probe"
        source.write_text("int main(void) { return 0; }\n")
        run(["cc", "-fsanitize=thread", source, "-o", program])
        for wrapper in ((), ("setarch", os.uname().machine, "-R")):
            outcomes = [run([*wrapper, program]) for _ in range(8)] # the map is random: one success says little
            if all(code == 0 for code, _ in outcomes):
                return wrapper, ""
        return None, f"it does not run on this kernel: {outcomes[-1][1].strip().splitlines()[:1]}"


def stage_mujoco(stage, _):
    """With the system's old MuJoCo, and with none: compiled, and what a user would try first."""
    for preset, version in (("mujoco2", "2."), ("bare", "none")):
        folder = TOP / f"build-{preset}"
        folder.mkdir(exist_ok=True)
        code, output = run(["cmake", "--preset", preset])
        if code == 0:
            code, output = run(["cmake", "--build", folder, "--target", "dqs_program", "test_dmc", "test_env_batch"])
        if not stage.check(code == 0, f"build with MuJoCo {version}", output):
            continue
        for name in ("test_dmc", "test_env_batch"):
            count_tap(stage, f"{preset} {name}", *run([folder / "tests" / name], env={"CMOCKA_MESSAGE_OUTPUT": "TAP"}))
        code, output = run([folder / "dqs", "--version"])
        stage.check(code == 0 and f"mujoco {version}" in output, f"{preset}: dqs --version names MuJoCo", output)
        code, output = run([folder / "dqs", "envs"])
        stage.check(code == 0 and ("make mujoco" in output) == (preset == "bare"), f"{preset}: dqs envs", output)


def stage_fuzz(stage, options):
    if not build(stage, "fuzz"):
        return
    programs = sorted(p for p in (TOP / "build-fuzz").glob("fuzz_*") if os.access(p, os.X_OK) and p.is_file())
    if not programs:
        stage.check(False, "build-fuzz has no fuzz targets", "nothing to run")
    with ThreadPoolExecutor(os.cpu_count() or 1) as workers:
        results = list(workers.map(lambda program: fuzz(program, options.fuzz_seconds), programs))
    for program, (code, output) in zip(programs, results):
        done = re.search(r"Done (\d+) runs", output)
        stage.check(code == 0 and done is not None, f"{program.name}: {ending(code)}", output)
        stage.remark += f" {program.name[5:]} {done.group(1) if done else '?'} inputs"


def fuzz(program, seconds):
    thing = program.name.removeprefix("fuzz_")
    found = TOP / "build-fuzz" / "corpus" / thing # grows from run to run; the seeds stay as committed
    artifacts = TOP / "build-fuzz" / "artifacts"
    found.mkdir(parents=True, exist_ok=True)
    artifacts.mkdir(exist_ok=True)
    seeds = [s for s in [TOP / "tests" / "fuzz" / "corpus" / thing] if s.is_dir()]
    return run([program, f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=2048", "-verbosity=1",
                f"-artifact_prefix={artifacts}/", found, *seeds], timeout=seconds + 300)


# ---------------------------------------------------------------- the installed package, as a stranger uses it
def stage_install(stage, _):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        prefix = folder / "prefix"
        code, output = run(["cmake", "--install", "build", "--prefix", prefix])
        if not stage.check(code == 0, "cmake --install", output):
            return
        check_symbols(stage, prefix)
        check_header(stage, prefix)
        code, output = run([prefix / "bin" / "dqs", "--version"], cwd=folder)
        stage.check(code == 0, "the installed program", output)
        check_pkg_config(stage, prefix, folder)
        check_cmake_package(stage, prefix, folder)


# ---------------------------------------------------------------- the Python package, installed by pip
def stage_python(stage, _):
    """The package as pip builds it, used from elsewhere. What it needs is in .venv already, so nothing is fetched; without
    optimisation, because only the packing is new here."""
    if importlib.util.find_spec("scikit_build_core") is None or importlib.util.find_spec("pip") is None:
        stage.skip("pip install ./python", "NO SCIKIT-BUILD-CORE: the packages of tools/requirements-test.txt could not be installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        site = folder / "site"
        code, output = run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-build-isolation",
                            "--no-deps", "--target", site, "-C", f"build-dir={TOP / 'build-python'}", "-C", "cmake.build-type=Debug",
                            "./python"])
        if not stage.check(code == 0, "pip install ./python", output):
            return
        env = {"PYTHONPATH": str(site), "DQS_LIBRARY": "", "DQS_PROGRAM": ""}
        for name, words in (("the installed package trains", [sys.executable, TOP / "tests" / "python_installed.py", site]),
                            ("the installed program", [sys.executable, site / "bin" / "dqs", "--version"])):
            code, output = run(words, cwd=folder, env=env)
            stage.check(code == 0, f"{name}: {ending(code)}", output)


def library_folder(prefix):
    return next(prefix.rglob("libdqs.a")).parent


def check_symbols(stage, prefix):
    libraries = library_folder(prefix)
    for name, flags in (("libdqs.so", ["-D"]), ("libdqs.a", ["-g"])):
        code, output = run(["nm", *flags, "--defined-only", libraries / name])
        shown = [line.split()[-1] for line in output.splitlines() if re.match(r"^[0-9a-f]+ [A-Z] ", line)]
        strange = [s for s in shown if not s.startswith("dqs_") and s not in ("_init", "_fini")]
        stage.check(code == 0 and shown and not strange, f"{name} shows dqs_* and nothing else", "\n".join(strange))
    declared = set(re.findall(r"\b(dqs_\w+)\(", re.sub(r"/\*.*?\*/", "", (prefix / "include/dqs.h").read_text(), flags=re.S)))
    missing = declared - {"dqs_plugin"} - set(shown)
    stage.check(not missing, "every function of dqs.h is in the library", "\n".join(sorted(missing)))


def check_header(stage, prefix):
    for compiler, language, standard in (("cc", "c", "c11"), ("c++", "c++", "c++11")):
        code, output = run([compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                            "-fsyntax-only", prefix / "include" / "dqs.h"])
        stage.check(code == 0, f"dqs.h as {standard}", output)


def check_pkg_config(stage, prefix, folder):
    libraries = library_folder(prefix)
    env = {"PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "LD_LIBRARY_PATH": str(libraries)}
    for kind in ("shared", "static"):
        out = folder / kind
        static = ["STATIC=1"] if kind == "static" else []
        code, output = run(["make", "-C", "examples", f"OUT={out}", *static], env=env)
        if stage.check(code == 0, f"examples by pkg-config, {kind}", output):
            code, output = run([out / "hello", folder / f"{kind}-run", "300"], cwd=folder,
                               env=env if kind == "shared" else None)
            stage.check(code == 0, f"hello by pkg-config, {kind}", output)


def check_cmake_package(stage, prefix, folder):
    out = folder / "cmake"
    code, output = run(["cmake", "-S", "examples", "-B", out, f"-DCMAKE_PREFIX_PATH={prefix}"])
    if code == 0:
        code, output = run(["cmake", "--build", out])
    if stage.check(code == 0, "examples by find_package(dqs)", output):
        code, output = run([out / "own_env", folder / "own-run", "300"], cwd=folder)
        stage.check(code == 0, "own_env by find_package(dqs)", output)


STAGES = {
    "layers": (stage_layers, "src/LAYERS is kept"),
    "build": (stage_build, "build with gcc"),
    "unit": (stage_unit, "unit tests"),
    "examples": (stage_examples, "examples"),
    "install": (stage_install, "installed package, pkg-config and CMake"),
    "python": (stage_python, "the Python package, installed by pip"),
    "pytest": (stage_pytest, "program and files, from Python"),
    "clang": (stage_clang, "build with clang, unit tests"),
    "asan": (stage_asan, "address and undefined behaviour sanitizers"),
    "tsan": (stage_tsan, "thread sanitizer"),
    "mujoco": (stage_mujoco, "the system's MuJoCo, and none"),
    "fuzz": (stage_fuzz, "fuzzing of the parsers"),
}


def main():
    parser = argparse.ArgumentParser(description="Runs the tests; without a stage, all of them.")
    parser.add_argument("stages", nargs="*", metavar="stage", help=" ".join(STAGES))
    parser.add_argument("--fuzz-seconds", type=int, default=10)
    options = parser.parse_args()
    unknown = [name for name in options.stages if name not in STAGES]
    if unknown:
        parser.error(f"no stage {unknown[0]}; there are {' '.join(STAGES)}")
    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, interrupted)
    total, start = Stage(), time.monotonic()
    for name in options.stages or STAGES:
        function, title = STAGES[name]
        print(f"test: {name:9} {title} ...", flush=True)
        stage, begin = Stage(), time.monotonic()
        function(stage, options)
        print(f"test: {name:9} {stage.counts()}  ({time.monotonic() - begin:.1f} s){stage.remark}", flush=True)
        for note in stage.notes:
            print(note, flush=True)
        total.passed += stage.passed
        total.failed += stage.failed
        total.skipped += stage.skipped
        if name == "build" and stage.failed:
            print("test: stopped here: without a build there is nothing to test")
            break
    print(f"test: all stages took {time.monotonic() - start:.0f} s")
    print(total.counts())
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
