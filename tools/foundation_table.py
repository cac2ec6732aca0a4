"""Tables of docs/results.md from the folders that tools/foundation.sh leaves: python3 tools/foundation_table.py DIR."""
import csv
import glob
import json
import os
import sys


def last_values(path):
    """The last value of every column that ever had one."""
    values = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            values.update({key: float(text) for key, text in row.items() if text})
    return values


def show(title, columns, rows):
    print(f"\n{title}\n\n| run | " + " | ".join(columns) + " |\n|" + " --- |" * (len(columns) + 1))
    for name, values in rows:
        cells = [f"{values[c]:.5g}" if values.get(c) is not None else "-" for c in columns]
        print(f"| {name} | " + " | ".join(cells) + " |")


def main(folder):
    runs = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path) as file:
            text = file.read().strip()
        if text:
            name = os.path.basename(path)[:-5]
            runs[name] = {**last_values(os.path.join(folder, name, "progress.csv")), **json.loads(text)}
    def of(start):
        return [(name, values) for name, values in runs.items() if name.startswith(start)]
    show("gmm", ["steps", "episodes", "mmd", "mmd_floor", "mmd_median", "mmd_median_floor", "modes", "mode_entropy", "seconds"],
         of("gmm"))
    show("maze-small", ["steps", "eval_mean", "success", "goal_top_left", "goal_bottom_right", "goal_entropy", "path_top",
                        "path_left", "seconds"], of("maze-small"))
    show("pendulum", ["steps", "eval_mean", "eval_std", "episodes", "seconds"], of("pendulum"))
    tv = ["diag/tv", "diag/tv_corrected", "diag/tv_floor", "diag/tv_cold", "diag/tv_cold_corrected", "diag/tv_cold_floor",
          "diag/tv_hot", "diag/tv_hot_corrected", "diag/tv_hot_floor"]
    show("total variation between the policy and exp(Q/T)", tv, [(n, v) for n, v in runs.items() if "diag/tv_corrected" in v])


if __name__ == "__main__":
    main(sys.argv[1])
