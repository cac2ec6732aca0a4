"""Learning curves as a Markdown table: a row for each run folder below the given ones, the mean return at each evaluation and,
behind them, the mean and the standard deviation over the episodes of the last one.

    python tools/curves_table.py results/trials [--every 10000]
"""
import argparse
import csv
from pathlib import Path


def evaluations(run):
    with open(run / "evaluations.csv") as file:
        return list(csv.DictReader(file))


def curve(rows):
    """{step: mean return}; of several evaluations at one step the first counts, so that all are of the same size."""
    means = {}
    for row in rows:
        means.setdefault(int(row["step"]), float(row["mean_reward"]))
    return means


def last(rows):
    return f"{float(rows[-1]['mean_reward']):.1f} +- {float(rows[-1]['std_reward']):.1f} ({rows[-1]['episodes']})" if rows else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=10_000)
    options = parser.parse_args()
    runs = {str(path.parent.relative_to(folder)): evaluations(path.parent)
            for folder in options.folders for path in sorted(folder.rglob("evaluations.csv"))}
    curves = {name: curve(rows) for name, rows in runs.items()}
    steps = sorted({step for means in curves.values() for step in means if step % options.every == 0})
    print("| run | " + " | ".join(f"{step // 1000}k" for step in steps) + " | last (episodes) |")
    print("|" + " --- |" * (len(steps) + 2))
    for name, means in curves.items():
        print(f"| {name} | " + " | ".join(f"{means[step]:.0f}" if step in means else "-" for step in steps) + f" | {last(runs[name])} |")


if __name__ == "__main__":
    main()
