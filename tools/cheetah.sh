#!/usr/bin/env bash
# The runs behind "cheetah-run" in docs/results.md: two seeds of the default preset to 100 000 steps, ten evaluation
# episodes every 10 000. About 45 minutes on two cores. Run folders go to runs/cheetah; a stopped run goes on where it stood.
set -euo pipefail
cd "$(dirname "$0")/.."
out=runs/cheetah
mkdir -p "$out"
train() { # SEED
    local name=cheetah-run-s$1
    if [ -e "$out/$name/checkpoint.safetensors" ]; then
        build/dqs resume "$out/$name" --threads 1 --json >"$out/$name.json" 2>>"$out/$name.log"
    else
        build/dqs train cheetah-run --seed "$1" --threads 1 --steps 100000 --set eval_every=10000 --set eval_episodes=10 \
            --set final_episodes=10 --out "$out/$name" --json >"$out/$name.json" 2>"$out/$name.log"
    fi
}
export -f train
export out
printf '%s\n' 0 1 | xargs -P2 -I{} bash -c 'train {}'
build/dqs plot "$out/cheetah-run-s0" "$out/cheetah-run-s1"
tail -n 1 "$out"/*/evaluations.csv
