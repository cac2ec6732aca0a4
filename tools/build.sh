#!/usr/bin/env bash
# Configures (once) and builds one preset of CMakePresets.json: tools/build.sh release|debug|clang|asan|tsan|fuzz.
# Quiet when all goes well; the whole output when not.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
folder=build
[ "$preset" = release ] || folder=build-$preset
mkdir -p "$folder"
log=$folder/configure.log
# A cache from another compiler or generator cannot be mended, only made anew.
if ! cmake --preset "$preset" >"$log" 2>&1; then
    echo "$folder cannot be configured as it stands; configuring it anew"
    rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles"
    cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
fi
cmake --build "$folder"
