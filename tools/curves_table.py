"""Learning curves as a Markdown table: a row for each run folder below the given ones, the mean return at each evaluation.

    python tools/curves_table.py results/trials [--every 10000]
"""
import argparse
import csv
from pathlib import Path


def curve(run):
    """{step: mean return}; of several evaluations at one step the first counts, so that all are of the same size."""
    means = {}
    with open(run / "evaluations.csv") as file:
        for row in csv.DictReader(file):
            means.setdefault(int(row["step"]), float(row["mean_reward"]))
    return means


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=10_000)
    options = parser.parse_args()
    runs = sorted(path.parent for folder in options.folders for path in folder.rglob("evaluations.csv"))
    curves = {run.name: curve(run) for run in runs}
    steps = sorted({step for means in curves.values() for step in means if step % options.every == 0})
    print("| run | " + " | ".join(f"{step // 1000}k" for step in steps) + " |")
    print("|" + " --- |" * (len(steps) + 1))
    for name, means in curves.items():
        print(f"| {name} | " + " | ".join(f"{means[step]:.0f}" if step in means else "-" for step in steps) + " |")


if __name__ == "__main__":
    main()
