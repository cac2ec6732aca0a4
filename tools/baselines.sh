#!/usr/bin/env bash
# The runs behind the baselines in docs/results.md: each algorithm on cheetah-run, two seeds to 100 000 steps, ten evaluation
# episodes every 10 000, and three seeds on pendulum. Give the algorithms to run (all by default). Two runs at a time, one thread each; a
# stopped run goes on where it stood. Run folders go to runs/baselines.
set -euo pipefail
cd "$(dirname "$0")/.."
out=runs/baselines
program=${DQS:-build/dqs}
mkdir -p "$out"
train() { # ALGO TASK SEED OPTION...
    local algo=$1 task=$2 seed=$3
    shift 3
    local run=$out/$task-$algo-s$seed
    if [ -s "$run.json" ]; then
        return
    elif [ -e "$run/checkpoint.safetensors" ]; then
        "$program" resume "$run" --threads 1 --json >"$run.part" 2>>"$run.log"
    else
        "$program" train "$task" --algo "$algo" --seed "$seed" --threads 1 --set eval_every=10000 --out "$run" --json "$@" >"$run.part" 2>"$run.log"
    fi
    mv "$run.part" "$run.json"
}
export -f train
export out program
for algo in ${*:-td3 sac ddpg qsm ppo dacer dipo}; do
    for seed in 0 1; do
        echo "$algo cheetah-run $seed --steps 100000 --set eval_episodes=10 --set final_episodes=10"
    done
    for seed in 0 1 2; do
        steps=10000
        [ "$algo" = ppo ] && steps=200000
        echo "$algo pendulum $seed --steps $steps --set final_episodes=20"
    done
done | xargs -P2 -I{} bash -c 'train {}'
tail -qn 1 "$out"/*/evaluations.csv
