#!/usr/bin/env python3
"""How the cost of one update grows: a Markdown table for each of K, N, batch, width, action dimension and threads.

Runs `dqs bench --only update` once per value, everything else at the preset's default and cheetah-run's size:
    bench/scaling.py [--preset wide] [--repeats 10]
"""
import argparse
import json
import subprocess
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent / "build" / "dqs"
AXES = {  # heading: values, and how one of them is asked for
    "wide": {
        "K": ([2, 4, 8, 16, 32, 64], lambda v: ["--set", f"K={v}"]),
        "N": ([2, 6, 20, 50, 100], lambda v: ["--set", f"N={v}"]),
        "batch": ([64, 128, 256, 512, 1024], lambda v: ["--set", f"batch={v}"]),
        "width": ([64, 128, 256, 512], lambda v: ["--set", f"critic_width={v}", "--set", f"score_width={v}"]),
        "action dimensions": ([1, 6, 12, 21, 38], lambda v: ["--act", str(v)]),
    },
    "paper": {
        "K": ([100, 250, 500, 1000, 2000], lambda v: ["--set", f"K={v}"]),
        "N": ([100, 250, 500, 1000], lambda v: ["--set", f"N={v}"]),
    },
}


def measure(preset, repeats, words, threads=1):
    command = [PROGRAM, "bench", "--only", "update", "--preset", preset, "--repeats", str(repeats), "--threads", str(threads), "--json"]
    return json.loads(subprocess.run(command + words, check=True, capture_output=True, text=True).stdout)["update"]


def table(heading, rows):
    phases = [p["name"] for p in rows[0][1]["phases"] if p["name"] not in ("sample", "noise", "blend", "rest")]
    print(f"\n| {heading} | ms | " + " | ".join(phases) + " |")
    print("|---" * (len(phases) + 2) + "|")
    for value, update in rows:
        cost = {p["name"]: p["ms"] for p in update["phases"]}
        print(f"| {value} | {update['ms']:.1f} | " + " | ".join(f"{cost[p]:.2f}" for p in phases) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="wide", choices=sorted(AXES))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2, help="the most, for the last table")
    o = parser.parse_args()
    for heading, (values, words) in AXES[o.preset].items():
        table(heading, [(v, measure(o.preset, o.repeats, words(v))) for v in values])
    table("threads", [(t, measure(o.preset, o.repeats, [], t)) for t in range(1, o.threads + 1)])


if __name__ == "__main__":
    main()
