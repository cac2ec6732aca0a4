#!/bin/sh
# Copies what a report needs of every finished run below FROM to the same place below TO: configuration, evaluations, progress, DONE.
#     tools/keep_results.sh runs/lab results/lab
set -eu
[ $# = 2 ] || { echo "usage: $0 FROM TO" >&2; exit 2; }
find "$1" -name DONE | sort | while read -r done; do
    run=$(dirname "$done")
    to=$2${run#"$1"}
    mkdir -p "$to"
    cp "$run/evaluations.csv" "$run/progress.csv" "$run/DONE" "$to/"
    sed "s|^out: .*|out: \"$to\"|" "$run/config.yaml" > "$to/config.yaml" # where it was made is nobody's business
done
