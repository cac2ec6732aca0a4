#!/usr/bin/env bash
# Installs what is missing, and nothing else. `tools/setup.sh build` for building and running, `tools/setup.sh test`
# for the tests too, `tools/setup.sh mujoco` for MuJoCo alone. When all is there it says nothing and takes a fraction of
# a second.
set -euo pipefail
cd "$(dirname "$0")/.."
purpose=${1:-build}

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
have_library() { have pkg-config && pkg-config --exists "$1"; }

have_daemon() { PATH=$PATH:/sbin:/usr/sbin have "$1"; }
have_runtime() { PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep "$1" >/dev/null; }

# Prints the packages (Debian names) whose work cannot be done yet. Things are tried rather than looked up in a
# package list, so that a compiler from elsewhere counts too.
missing_packages() {
    can_compile || echo build-essential
    have cmake && cmake_is_new_enough || echo cmake
    have ninja || echo ninja-build
    have pkg-config || echo pkg-config
    have_library openblas || echo libopenblas-dev
    have_library yaml-0.1 || echo libyaml-dev
    have_library jansson || echo libjansson-dev
    have_library cairo || echo libcairo2-dev
    if [ "$purpose" = test ]; then
        have_library cmocka || echo libcmocka-dev
        if ! have clang; then
            echo clang
            echo libclang-rt-14-dev
        elif ! clang_can_fuzz; then
            echo "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
        fi
        find_python >/dev/null || echo python3-venv
        [ -e /usr/include/mujoco/mujoco.h ] || echo libmujoco-dev # the old one: the tests build with it too
        have ffmpeg || echo ffmpeg # `dqs render` and what it draws with
        have_daemon munged || echo munge # Slurm: `dqs sweep --slurm` is tested on a real one
        have_daemon slurmctld || echo slurmctld
        have_daemon slurmd || echo slurmd
        have sbatch || echo slurm-client
        have_runtime libOSMesa.so || echo libosmesa6
        have_runtime libEGL.so || echo libegl1
        have_runtime libEGL_mesa.so || echo libegl-mesa0
    fi
    mujoco_is_there || find_pip >/dev/null || echo python3-venv # pip fetches it
}

can_compile() { # with the C library's headers; C++ for the check that dqs.h is fit for it
    have cc && have c++ && echo '#include <stdio.h>' | cc -E -x c - >/dev/null 2>&1
}

cmake_is_new_enough() {
    local version
    version=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
    [ "$(printf '%s\n3.22\n' "$version" | sort -V | head -n 1)" = 3.22 ]
}

clang_can_fuzz() { # the sanitizers' own libraries are a package apart
    [ -e "$(clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a")" ] ||
        compgen -G "$(clang -print-resource-dir)/lib/*/libclang_rt.fuzzer*.a" >/dev/null
}

find_python() { # prints a Python that is at least 3.11 and can make virtual environments
    local python
    for python in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
        if have "$python" && "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$python"
            return 0
        fi
    done
    return 1
}

install_packages() {
    local packages=("$@") as_root=()
    if ! have apt-get; then
        die "missing: ${packages[*]} (Debian's names). Install them with this system's package manager, then try again."
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if have sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
            as_root=(sudo)
        else
            die "missing: ${packages[*]}. As root, type:
    apt-get update && apt-get install -y --no-install-recommends ${packages[*]}
then try again."
        fi
    fi
    say "installing with apt: ${packages[*]}"
    "${as_root[@]}" apt-get -qq update || say "apt-get update failed; trying with the package lists that are there"
    # dpkg's chatter only when something goes wrong
    if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -qq --no-install-recommends install \
        "${packages[@]}" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        die "apt-get could not install them; see the lines above"
    fi
}

setup_python() {
    local stamp=.venv/installed-requirements.txt python
    cmp -s tools/requirements-test.txt "$stamp" && [ -x .venv/bin/python ] && .venv/bin/python -c '' 2>/dev/null && return
    python=$(find_python) || die "no Python >= 3.11 with venv; try: apt-get install python3-venv"
    say "making .venv with $("$python" --version) and installing tools/requirements-test.txt into it (about 1.1 GB)"
    rm -rf .venv
    "$python" -m venv .venv
    if ! .venv/bin/python -m pip install --disable-pip-version-check --quiet -r tools/requirements-test.txt >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        say "PIP COULD NOT INSTALL THE TEST PACKAGES (see above): the Python tests, dm_control's among them, WILL BE SKIPPED"
        return
    fi
    cp tools/requirements-test.txt "$stamp"
}

# MuJoCo is its makers' wheel from PyPI, pinned by its hash: the library and its headers, unpacked into .deps/mujoco.
# Python's version does not matter: the wheel is only opened.
mujoco_version=3.14.0
declare -A mujoco_hash=(
    [x86_64]=922983dfdf88d29f4eb0f451a1d18867156d9fc97e3df6e63b9933cc0eba4d38
    [aarch64]=068080a3c98f7514f1e17a2c414e40cd86f797679b182c21799584ea27300f9a
)

mujoco_is_there() { # the pinned one, or one the user points to
    [ -n "${MUJOCO_DIR:-}" ] || [ -e ".deps/mujoco/libmujoco.so.$mujoco_version" ]
}

find_pip() { # prints a Python that has pip, or can make a virtual environment that has
    local python
    for python in .venv/bin/python python3; do
        if have "$python" && "$python" -m pip --version >/dev/null 2>&1; then
            echo "$python"
            return 0
        fi
    done
    find_python
}

setup_mujoco() { # without it everything but the DeepMind Control tasks works, so trouble here is said and not fatal
    mujoco_is_there && return
    local machine python hash
    machine=$(uname -m)
    hash=${mujoco_hash[$machine]:-}
    if [ -z "$hash" ]; then
        say "no MuJoCo wheel is pinned for $machine: set MUJOCO_DIR to one of yours, or do without the control tasks"
        return 1
    fi
    say "fetching MuJoCo $mujoco_version (28 MB) into .deps/mujoco"
    mkdir -p .deps
    python=$(find_pip) || { say "no Python with pip; try: apt-get install python3-venv"; return 1; }
    if ! "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv .deps/pip && python=.deps/pip/bin/python
    fi
    printf 'mujoco==%s --hash=sha256:%s\n' "$mujoco_version" "$hash" >.deps/mujoco.txt
    rm -rf .deps/wheel .deps/mujoco
    if ! "$python" -m pip download --disable-pip-version-check --quiet --no-deps --only-binary :all: --require-hashes \
        --implementation cp --python-version 3.11 --abi cp311 --platform "manylinux_2_28_$machine" \
        --dest .deps/wheel -r .deps/mujoco.txt >"$log" 2>&1; then
        tail -n 5 "$log" >&2
        say "MuJoCo could not be fetched (see above): the DeepMind Control tasks are left out; \`make mujoco\` tries again"
        return 1
    fi
    "$python" - <<'UNPACK' || return 1
import pathlib, zipfile
place = pathlib.Path(".deps/mujoco")
(wheel,) = pathlib.Path(".deps/wheel").glob("mujoco-*.whl")
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        part = name.removeprefix("mujoco/")
        if part.startswith("libmujoco.so") or pathlib.PurePath(part).match("include/mujoco/*.h"):
            (place / part).parent.mkdir(parents=True, exist_ok=True)
            (place / part).write_bytes(archive.read(name))
UNPACK
    rm -rf .deps/wheel
}

case $purpose in build | test | mujoco) ;; *) die "what for? tools/setup.sh build, test or mujoco" ;; esac
log=$(mktemp)
trap 'rm -f "$log"' EXIT
mapfile -t packages < <(missing_packages)
if [ ${#packages[@]} -gt 0 ]; then
    install_packages "${packages[@]}"
    mapfile -t packages < <(missing_packages)
    [ ${#packages[@]} -eq 0 ] || die "still missing after the installation: ${packages[*]}"
fi
if [ "$purpose" = test ]; then
    setup_python
fi
if [ "$purpose" = mujoco ]; then
    setup_mujoco
else
    setup_mujoco || true
fi
