#!/usr/bin/env bash
# The runs behind docs/results.md: three seeds of gmm, maze-small and pendulum at the default preset, and the paper's
# annealing on maze-small. About 25 minutes on two cores. Run folders go to runs/foundation, the table to standard output.
set -euo pipefail
cd "$(dirname "$0")/.."
out=runs/foundation
mkdir -p "$out"
train() { # NAME ENV SEED OPTIONS...
    local name=$1 env=$2 seed=$3
    shift 3
    if [ ! -e "$out/$name/DONE" ]; then
        rm -rf "${out:?}/$name"
        build/dqs train "$env" --seed "$seed" --threads 1 --out "$out/$name" --json "$@" >"$out/$name.json" 2>"$out/$name.log"
    fi
}
export -f train
export out
xargs -d '\n' -P2 -I{} bash -c 'train {}' <<'JOBS'
gmm-s0 gmm 0 --set eval_every=20000 --set diag_states=200 --set diag_samples=2048
maze-small-s0 maze-small 0 --set eval_every=15000 --set diag_states=200 --set diag_samples=2048 --set final_episodes=100
pendulum-s0 pendulum 0 --set eval_every=2500 --set eval_episodes=20 --set final_episodes=20
maze-small-s1 maze-small 1 --set eval_every=10000 --set final_episodes=100
pendulum-s1 pendulum 1 --set eval_every=2500 --set eval_episodes=20 --set final_episodes=20
pendulum-s2 pendulum 2 --set eval_every=2500 --set eval_episodes=20 --set final_episodes=20
gmm-s1 gmm 1 --set eval_every=10000
maze-small-s2 maze-small 2 --set eval_every=10000 --set final_episodes=100
gmm-s2 gmm 2 --set eval_every=10000
maze-small-anneal-s0 maze-small 0 --set temperature=anneal --set T=10 --set T_end=1 --set eval_every=10000 --set final_episodes=100
JOBS
python3 tools/foundation_table.py "$out"
