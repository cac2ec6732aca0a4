"""`dqs report`, as a user and a script meet it: folders of runs made here, the package rliable as the judge of the
statistics, names that try to break out of LaTeX and HTML.

The program is $DQS_BUILD/dqs, or build/dqs beside the sources.
"""
import csv
import html.parser
import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
DQS = str(Path(os.environ.get("DQS_BUILD", ROOT / "build")).resolve() / "dqs")

if not os.access(DQS, os.X_OK):
    pytest.skip(f"{DQS} is not built", allow_module_level=True)


def dqs(*args, cwd=None, code=0):
    env = {**os.environ, "LANG": "C.UTF-8"}
    result = subprocess.run([DQS, *map(str, args)], cwd=cwd, env=env, timeout=120, capture_output=True, text=True)
    assert result.returncode == code, (result.returncode, result.stderr)
    return result


def make_run(folder, env, algo, seed, scores, preset="default", more=(), steps=250000, speed=100, threads=1):
    """scores: {step: return}; speed: steps a second."""
    folder.mkdir(parents=True)
    settings = {"env": env, "algo": algo, "preset": preset, "recorded_version": "0.1.0 (test)", "recorded_cpu": "a cpu",
                "recorded_threads": threads, "steps": steps, "seed": seed, "env_options": "", **dict(more)}
    # JSON texts are YAML texts
    (folder / "config.yaml").write_text("".join(f"{k}: {json.dumps(v)}\n" for k, v in settings.items()))
    (folder / "evaluations.csv").write_text("step,episodes,mean_reward,std_reward\n" + "".join(
        f"{step},100,{float(score)!r},1\n" for step, score in scores.items()))
    (folder / "progress.csv").write_text("time/total_timesteps,time/time_elapsed\n" + "".join(
        f"{step},{step / speed}\n" for step in scores))


TASKS = ["cheetah-run", "reacher-hard", "walker-run"]
SEEDS = {"dqs": 6, "sac": 5}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder of runs and the arrays behind it: {(algo, steps): seeds x tasks}."""
    top, rng, truth = tmp_path_factory.mktemp("study"), np.random.default_rng(3), {}
    for algo, seeds in SEEDS.items():
        final = rng.uniform(300, 900, (seeds, len(TASKS))) + (60 if algo == "dqs" else 0)
        truth[algo, 250000], truth[algo, 100000] = final, final * 0.6
        for t, task in enumerate(TASKS):
            for s in range(seeds):
                make_run(top / task / algo / f"default-s{s}", task, algo, s,
                         {50000: final[s, t] * 0.4, 100000: final[s, t] * 0.6, 250000: final[s, t]})
    return top, truth


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def one(rows, **wanted):
    found = [r for r in rows if all(r[k] == str(v) for k, v in wanted.items())]
    assert len(found) == 1, (wanted, len(found))
    return found[0]


# ---------------------------------------------------------------- statistics

def agrees(ours, resampled):
    """Our ends of an interval lie between neighbouring percentiles of rliable's resampled measures: what two bootstraps
    of that size differ by, by chance, once in some hundred times (3 standard deviations of a percentile)."""
    slack = 3 * (0.025 * 0.975 / len(resampled)) ** 0.5
    for end, level in (("low", 0.025), ("high", 0.975)):
        low, high = np.quantile(resampled, [max(level - slack, 0), min(level + slack, 1)])
        assert low - 1e-9 <= float(ours[end]) <= high + 1e-9, (ours["measure"], end, low, float(ours[end]), high)


def test_statistics_are_those_of_rliable(study):
    from rliable import library, metrics
    top, truth = study
    rows = rows_of(dqs("report", top, "--format", "csv", "--bootstrap", 50000).stdout)
    measures = {"IQM": metrics.aggregate_iqm, "median": metrics.aggregate_median, "mean": metrics.aggregate_mean,
                "optimality gap": metrics.aggregate_optimality_gap}
    np.random.seed(0)
    for algo in SEEDS:
        scores = truth[algo, 250000] / 1000
        resampled = library.StratifiedBootstrap(scores).apply(
            lambda x: np.array([f(x) for f in measures.values()]), reps=2000)
        for k, (name, measure) in enumerate(measures.items()):
            row = one(rows, kind="common", steps=250000, method=algo, measure=name)
            assert float(row["value"]) == pytest.approx(measure(scores), abs=1e-9)
            agrees(row, resampled[:, k])
        taus = (0.25, 0.5, 0.75)
        profiles, _ = library.create_performance_profile({"a": scores}, taus, reps=10)
        for k, tau in enumerate(taus):
            row = one(rows, kind="common", steps=250000, method=algo, measure=f"above {tau:.2f}")
            assert float(row["value"]) == pytest.approx(profiles["a"][k], abs=1e-9)
    pair = [truth["dqs", 250000], truth["sac", 250000]]
    resampled = library.StratifiedIndependentBootstrap(*pair).apply(
        lambda x, y: np.array([metrics.probability_of_improvement(x, y)]), reps=1000)
    row = one(rows, kind="pair", steps=250000, method="dqs", against="sac")
    assert float(row["value"]) == pytest.approx(metrics.probability_of_improvement(*pair), abs=1e-9)
    agrees(row, resampled[:, 0])
    for algo in SEEDS:
        row = one(rows, kind="common", steps=100000, method=algo, measure="IQM")
        assert float(row["value"]) == pytest.approx(metrics.aggregate_iqm(truth[algo, 100000] / 1000), abs=1e-9)


def test_returns_are_means_over_seeds(study):
    top, truth = study
    rows = rows_of(dqs("report", top, "--format", "csv").stdout)
    for t, task in enumerate(TASKS):
        for algo, seeds in SEEDS.items():
            scores = truth[algo, 100000][:, t]
            row = one(rows, kind="task", steps=100000, task=task, method=algo, measure="return")
            assert float(row["value"]) == pytest.approx(scores.mean(), abs=1e-9)
            assert float(row["std"]) == pytest.approx(scores.std(ddof=1), abs=1e-9)
            assert int(row["seeds"]) == seeds and row["preset"] == "default"
            hours = one(rows, kind="task", steps=100000, task=task, method=algo, measure="core hours")
            assert float(hours["value"]) == pytest.approx(1000 / 3600)
            for s in range(seeds):
                seed = one(rows, kind="seed", steps=100000, task=task, method=algo, seed=s)
                assert float(seed["value"]) == scores[s]


def test_the_same_files_give_the_same_report(study):
    top, _ = study
    assert dqs("report", top).stdout == dqs("report", top).stdout


# ---------------------------------------------------------------- tables

def cells(markdown, heading, row):
    """The cells of the first row that begins so, under the heading."""
    part = markdown.split(f"## {heading}\n", 1)[1]
    line = next(line for line in part.splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_markdown_goes_to_standard_output(study):
    top, truth = study
    result = dqs("report", top)
    assert result.stderr == "" and result.stdout.startswith("# Report of ")
    row = cells(result.stdout, "Returns at 250k steps", "cheetah-run")
    means = [truth[algo, 250000][:, 0].mean() for algo in SEEDS]
    stds = [truth[algo, 250000][:, 0].std(ddof=1) for algo in SEEDS]
    best = int(np.argmax(means))
    for k, (algo, seeds) in enumerate(SEEDS.items()):
        text = f"{means[k]:.2f} ± {stds[k]:.2f} ({seeds})"
        close = means[k] >= means[best] - stds[best]
        assert row[1 + k] == (f"**{text}**" if k == best else f"<u>{text}</u>" if close else text)
    # Every table names preset and seeds.
    tables = re.findall(r"^(\S.*)\n\n((?:\|.*\n)+)", result.stdout, re.M)
    assert len(tables) >= 9
    for caption, table in tables:
        assert "preset" in (caption + table).lower(), caption
        assert re.search("seeds|runs", (caption + table).lower()), caption
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_a_preset_is_named_once(tmp_path):
    make_run(tmp_path / "a", "cheetah-run", "ppo", 0, {100000: 100.0})
    make_run(tmp_path / "b", "cheetah-run", "ppo", 0, {100000: 200.0}, preset="paper")
    make_run(tmp_path / "c", "cheetah-run", "sac", 0, {100000: 300.0})
    assert "presets: sac default, ppo default, ppo paper; " in dqs("report", tmp_path).stdout


def test_what_is_other_than_in_the_paper_is_said(tmp_path):
    manner = [("action_repeat", "2"), ("updates_per_step", "4"), ("reset_first", "16000"), ("eval_choice", "best"), ("eval_particles", "32"), ("average", "0.0003")]
    make_run(tmp_path / "a", "walker-run", "dqs", 0, {100000: 500}, more=manner)
    make_run(tmp_path / "b", "walker-run", "dqs", 0, {100000: 500}, more=[*manner, ("K", "8")])
    make_run(tmp_path / "c", "walker-run", "sac", 0, {100000: 500}, more=[("updates_per_step", "1")])
    told = dqs("report", tmp_path, "--at", "100k").stdout
    line, = (row for row in told.splitlines() if "other than in the paper" in row)
    assert re.fullmatch(r"- dqs.* and 1 more, other than in the paper: actions held for 2 steps; 4 updates a step; "
                        r"networks begin anew after 16000, 32000, \.\.\. steps; "
                        r"evaluated by the best of 32 draws from averaged networks", line)


def test_verdicts_compare_with_the_paper(tmp_path):
    # The paper's Table 1 at 100k: cheetah-run DQS 492.61 +- 30.99, reacher-hard 914.15 +- 18.28, walker-run SAC 226.52 +- 37.38.
    for s, score in enumerate((480.0, 500.0, 700.0)):
        make_run(tmp_path / f"c{s}", "cheetah-run", "dqs", s, {100000: score})
    for s, score in enumerate((800.0, 810.0)):
        make_run(tmp_path / f"r{s}", "reacher-hard", "dqs", s, {100000: score})
    for s in range(4):
        make_run(tmp_path / f"w{s}", "walker-run", "sac", s, {100000: 300.0 + s})
        make_run(tmp_path / f"g{s}", "gmm", "dqs", s, {100000: -5.0})
    rows = json.loads(dqs("report", tmp_path, "--json").stdout)
    verdicts = {(r["task"], r["method"]): r for r in rows if "verdict" in r}
    assert {k: v["verdict"] for k, v in verdicts.items()} == {
        ("cheetah-run", "dqs"): "reproduced", ("reacher-hard", "dqs"): "below (2 seeds)", ("walker-run", "sac"): "above"}
    assert verdicts["walker-run", "sac"]["against_mean"] == 226.52
    text = dqs("report", tmp_path).stdout
    assert cells(text, "Against the paper", "reacher-hard")[3:] == [
        "2", "805.00 [800.00, 810.00]", "DQS 914.15 ± 18.28", "below (2 seeds)"]
    assert "At 100k steps: 1 reproduced, 1 above, 1 below." in text
    assert "Without a common scale, and so left out: gmm." in text


def test_against_other_methods(study):
    top, _ = study
    text = dqs("report", top, "--against", "sac").stdout
    assert "## Against sac" in text and re.search(r"\| (level|above|below) \|", text) and "reproduced" not in text
    assert "sac over dqs" in text
    text = dqs("report", top, "--against", "td-mpc2").stdout
    assert "TD-MPC2 519.10" in text and "tdmpc2.csv, 3 seeds" in text
    assert "there are: paper, dqs, sac" in dqs("report", top, "--against", "nobody", code=2).stderr


def test_budgets(study, tmp_path):
    top, _ = study
    text = dqs("report", top, "--at", "50k,100000").stdout
    assert "## Returns at 50k steps" in text and "## Returns at 100k steps" in text and "250k" not in text
    assert "evaluation at these steps" in dqs("report", top, "--at", 77, code=1).stderr
    assert "'12x' is not a whole number" in dqs("report", top, "--at", "12x", code=2).stderr
    # A task without the usual budgets is told at the end of its runs.
    make_run(tmp_path / "a", "gmm", "dqs", 0, {10000: -3.0, 20000: -2.0}, steps=20000)
    assert cells(dqs("report", tmp_path).stdout, "Returns at the end of the runs", "gmm")[1:] == ["20000", "-2.00 (1)"]
    # Who ended before the others are told of is named, with what would show it.
    for algo in ("sac", "td3"):
        make_run(tmp_path / algo, "gmm", algo, 0, {10000: -4.0}, steps=10000)
    text = dqs("report", tmp_path).stdout
    assert "not in these tables: on gmm, sac, td3, of 10000 steps; --at 10000 shows them" in text
    assert "sac" in dqs("report", tmp_path, "--at", "10000").stdout.split("## ")[1]
    assert "not in these" not in dqs("report", top).stdout


def test_methods_with_other_tasks_are_compared_on_the_common_ones(tmp_path):
    for s in range(2):
        make_run(tmp_path / f"a{s}", "cheetah-run", "dqs", s, {100000: 500.0 + s})
        make_run(tmp_path / f"b{s}", "cheetah-run", "sac", s, {100000: 400.0 + s})
        make_run(tmp_path / f"c{s}", "walker-run", "dqs", s, {100000: 100.0 + s})
    rows = rows_of(dqs("report", tmp_path, "--format", "csv").stdout)
    assert one(rows, kind="common", method="dqs", measure="mean")["tasks"] == "1"
    assert float(one(rows, kind="common", method="dqs", measure="mean")["value"]) == pytest.approx(0.5005)
    assert float(one(rows, kind="own", method="dqs", measure="mean")["value"]) == pytest.approx(0.3005)


# ---------------------------------------------------------------- files

class Page(html.parser.HTMLParser):
    VOID = {"meta", "br", "path", "rect", "use", "circle", "line", "img", "stop"}

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.ids, self.links = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        for key, value in attrs:
            if key == "id":
                self.ids.append(value)
            if key in ("href", "xlink:href", "src", "action") or key.startswith("on"):
                self.links.append(value)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in self.VOID:
            return
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()


def read_page(text):
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    assert len(page.ids) == len(set(page.ids)), "two elements share an id"
    assert all(link.startswith("#") for link in page.links), "the page needs something outside it"
    return page


def check_latex(text):
    """Braces and environments in order, nothing special unescaped, ASCII."""
    assert text.isascii()
    plain = re.sub(r"\\.", "", text.replace("\\\\", "\\n"))
    depth = 0
    for c in plain:
        depth += (c == "{") - (c == "}")
        assert depth >= 0
    assert depth == 0
    assert not set(plain.split("\\begin{document}")[-1]) & set("#~^_%")
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        stack.append(name) if kind == "begin" else None
        assert kind == "begin" or stack.pop() == name
    assert stack == []
    for table in re.findall(r"\\begin\{longtable\}.*?\\end\{longtable\}", text, re.S):
        lines = [re.sub(r"\\&", "", line) for line in table.splitlines() if line.endswith(" \\\\")]
        assert len({line.count("&") for line in lines}) == 1
    if shutil.which("pdflatex"):
        return True
    return False


def compile_latex(path):
    result = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", path.name],
                            cwd=path.parent, capture_output=True, timeout=120)
    assert result.returncode == 0, result.stdout.decode(errors="replace")[-2000:]


def test_all_forms_are_written(study, tmp_path):
    top, _ = study
    out = tmp_path / "deep" / "er"
    result = dqs("report", top, "--out", out)
    names = ["report.md", "report.tex", "report.csv", "report.html"]
    assert result.stdout.split() == [str(out / n) for n in names]
    assert sorted(p.name for p in out.iterdir()) == sorted(names)
    assert (out / "report.md").read_text() == dqs("report", top).stdout
    assert (out / "report.csv").read_text() == dqs("report", top, "--format", "csv").stdout
    page = read_page((out / "report.html").read_text())
    assert page.seen.count("figure") == 5  # curves; intervals and profiles at both budgets
    assert page.seen.count("svg") == 5 and page.seen.count("table") >= 9
    if check_latex((out / "report.tex").read_text()):
        compile_latex(out / "report.tex")
    assert dqs("report", top, "--out", tmp_path / "x", "--format", "latex,csv").stdout.count("\n") == 2


def test_names_from_files_stay_names(tmp_path):
    evil = ["<script>alert(1)</script>", "a|b*c_d*[x](http://y)", "\\input{/etc/passwd}", "$x^2$ & 100% #1 ~ \\\\", "[1cm]",
            "日本語 ± \u202e", '"><img src=x onerror=y>', "`rm`", "-->", "</table>"]
    for i, name in enumerate(evil):
        make_run(tmp_path / "runs" / f"r{i}", name, name.replace("/", "") or "x", i, {100000: 1.0 * i}, preset=name)
        make_run(tmp_path / "runs" / f"s{i}", name, "dqs", i, {100000: 2.0 * i}, more=[("T", name)])
        make_run(tmp_path / "runs" / f"t{i}", name, "dqs", i, {100000: 2.0 * i}, more=[("T", "0.1")])
    odd = tmp_path / "runs" / "odd\x1b[31m\n<b>"
    odd.mkdir()
    (odd / "config.yaml").write_text("[")
    result = dqs("report", tmp_path / "runs", "--out", tmp_path / "out")
    assert result.stderr.count("\n") == 1 and "\x1b" not in result.stderr
    text = (tmp_path / "out" / "report.html").read_text()
    page = read_page(text)
    assert not {"script", "img", "b>"} & set(page.seen)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    if check_latex((tmp_path / "out" / "report.tex").read_text()):
        compile_latex(tmp_path / "out" / "report.tex")
    markdown = (tmp_path / "out" / "report.md").read_text()
    assert "<script" not in markdown and "[x](http" not in markdown and "\x1b" not in markdown
    for table in re.findall(r"(?:^\|.*\n)+", markdown, re.M):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    rows = rows_of((tmp_path / "out" / "report.csv").read_text())
    assert {r["task"] for r in rows if r["task"]} == set(evil)


# ---------------------------------------------------------------- a person at the keyboard

def complaint(*args, code):
    result = dqs(*args, code=code)
    assert result.stdout == "" and len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr


def test_errors_name_the_thing_and_the_way_out(study, tmp_path):
    top, _ = study
    assert "dqs train" in complaint("report", tmp_path, code=1)
    assert "check the path" in complaint("report", tmp_path / "none", code=1)
    assert "did you mean --format?" in complaint("report", top, "--fromat", "md", code=2)
    assert "md, latex, csv, html" in complaint("report", top, "--format", "pdf", code=2)
    assert "--out DIR" in complaint("report", top, "--format", "md,html", code=2)
    assert "usage: dqs report DIR" in dqs("report", "--help").stdout
    assert "report" in dqs("help").stdout
    (tmp_path / "file").write_text("")
    assert "file" in complaint("report", top, "--out", tmp_path / "file", code=1)


def test_a_damaged_run_costs_one_line(study, tmp_path):
    top, _ = study
    shutil.copytree(top, tmp_path / "copy")
    victim = tmp_path / "copy" / "cheetah-run" / "dqs" / "default-s0" / "evaluations.csv"
    victim.write_bytes(b"step,mean_reward\n100000,\xff\n")
    result = dqs("report", tmp_path / "copy")
    assert result.stderr.count("\n") == 1 and str(victim) in result.stderr
    assert "(5)" in cells(result.stdout, "Returns at 100k steps", "cheetah-run")[1]
    assert f"passed over: {victim}" in result.stdout.replace("\\", "")
    # A finished run has evaluations, whatever its file says; one that goes on may have none yet.
    for text in ("", "garbage\n", "step,episodes,mean_reward\n"):
        victim.write_text(text)
        (victim.parent / "DONE").write_text("steps: 250000\n")
        result = dqs("report", tmp_path / "copy")
        assert result.stderr.count("\n") == 1 and str(victim.parent) in result.stderr and "evaluations.csv" in result.stderr
        assert "(5)" in cells(result.stdout, "Returns at 100k steps", "cheetah-run")[1]
    (victim.parent / "DONE").unlink()
    assert dqs("report", tmp_path / "copy").stderr == ""


def test_a_folder_named_twice_is_read_once(study):
    top, _ = study
    once = dqs("report", top)
    twice = dqs("report", top, f"{top}//", top / TASKS[0])
    assert twice.stderr == "" and twice.stdout.split("\n")[2:] == once.stdout.split("\n")[2:]


def test_the_committed_results_can_be_reported():
    text = dqs("report", ROOT / "results").stdout
    assert "cheetah-run" in text and "pendulum" in text
    assert "DQS 492.61 ± 30.99" in text


def test_a_run_of_the_program_itself(tmp_path):
    for seed in (0, 1):
        dqs("train", "pendulum", "--algo", "td3", "--steps", 600, "--seed", seed, "--threads", 1, "--quiet", "--out",
            tmp_path / f"s{seed}", "--set", "width=16", "--set", "warmup=200", "--set", "eval_every=300", "--set",
            "final_episodes=2", "--set", "eval_episodes=2")
    rows = rows_of(dqs("report", tmp_path, "--format", "csv").stdout)
    method = "td3 warmup=200 width=16"  # a method says how it departs from its preset
    row = one(rows, kind="task", task="pendulum", method=method, measure="return")
    ends = [float(re.search(r"eval_mean: (\S+)", (tmp_path / f"s{s}" / "DONE").read_text())[1]) for s in (0, 1)]
    assert float(row["value"]) == pytest.approx(np.mean(ends), rel=1e-12) and row["steps"] == "600"
    assert float(one(rows, kind="task", method=method, measure="core hours")["value"]) > 0
