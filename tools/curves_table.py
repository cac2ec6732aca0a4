"""Learning curves as a Markdown table: a row for each run folder below the given ones, the mean return at each evaluation and,
behind them, the mean and the standard deviation over the episodes of the last one.

    python tools/curves_table.py results/trials [--every 10000] [--training 20]

--training N adds what the last N episodes of training returned, with the exploration in them, by the running means of progress.csv; these are over a
hundred episodes, so only for runs of a hundred or fewer.
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


def training(run, n):
    """The mean return of the last n training episodes, or None where progress.csv was not kept or its running means forget the first ones."""
    if not (run / "progress.csv").exists():
        return None
    with open(run / "progress.csv") as file:
        rows = [row for row in csv.DictReader(file) if row["rollout/ep_rew_mean"]]
    total = {int(float(row["time/episodes"])): float(row["time/episodes"]) * float(row["rollout/ep_rew_mean"]) for row in rows}
    end = max(total, default=0)
    before = max((k for k in total if k <= end - n), default=None)
    return None if before is None or end > 100 else (total[end] - total[before]) / (end - before)


def last(rows):
    return f"{float(rows[-1]['mean_reward']):.1f} +- {float(rows[-1]['std_reward']):.1f} ({rows[-1]['episodes']})" if rows else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=10_000)
    parser.add_argument("--training", type=int, metavar="N")
    options = parser.parse_args()
    folders = {str(path.parent.relative_to(folder)): path.parent for folder in options.folders for path in sorted(folder.rglob("evaluations.csv"))}
    runs = {name: evaluations(folder) for name, folder in folders.items()}
    curves = {name: curve(rows) for name, rows in runs.items()}
    extra = {name: training(folder, options.training) for name, folder in folders.items()} if options.training else {}
    steps = sorted({step for means in curves.values() for step in means if step % options.every == 0})
    print("| run | " + " | ".join(f"{step // 1000}k" for step in steps) + " | last (episodes) |" + (f" training, last {options.training} |" if extra else ""))
    print("|" + " --- |" * (len(steps) + 2 + bool(extra)))
    for name, means in curves.items():
        print(f"| {name} | " + " | ".join(f"{means[step]:.0f}" if step in means else "-" for step in steps) + f" | {last(runs[name])} |"
              + (f" {'-' if extra[name] is None else format(extra[name], '.0f')} |" if extra else ""))


if __name__ == "__main__":
    main()
