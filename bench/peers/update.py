"""One DQS update of cheetah-run's size: ours, PyTorch's and JAX's side by side, in one run.

    .venv/bin/python bench/peers/update.py [--presets wide,paper] [--threads 1,2] [--repeats 5] [--program build/dqs]

Needs torch, jax, numpy and safetensors. `dqs bench --fixture` writes a learner before and after an update; every peer
starts from it, makes the same update from the same random numbers and says how far it ends from ours. Then all are
timed in turn, on the same processors, and the best of the repeats counts. "Hoisted" peers multiply a part of the input
that rows share once, as we do; the others are written as one would write them. Prints a Markdown table.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = {
    "PyTorch": ["torch_update.py"],
    "PyTorch, hoisted": ["torch_update.py", "--hoist"],
    "PyTorch, compiled": ["torch_update.py", "--compile"],
    "JAX": ["jax_update.py"],
    "JAX, hoisted": ["jax_update.py", "--hoist"],
}
TOLERANCE = 1e-4  # of losses and parameters, relative
ACTS = 200
PLAIN = ["--set", "particles=1"]  # one chain per decision: the peers know no others


class Peer:
    def __init__(self, words, fixture, threads):
        program, *flags = words
        command = [sys.executable, HERE / program, *flags, "--fixture", fixture, "--threads", str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.agreement = self.answer()
        self.best = {}

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args}: ended; see its message above")
        return json.loads(line)

    def ask(self, what, count):
        self.process.stdin.write(f"{what} {count}\n")
        self.process.stdin.flush()
        for key, value in self.answer().items():
            self.best[key] = min(value, self.best.get(key, value))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def ours(program, preset, threads, only):
    words = ["--repeats", "1", "--preset", preset, "--threads", str(threads), "--only", only, *PLAIN]
    pin = lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    command = [program, "bench", "--json", *words]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, preexec_fn=pin).stdout)


def our_acting(program, preset, threads):
    rows = ours(program, preset, threads, "acting")["acting"]
    return next(row["p50_us"] for row in rows if row["rows"] == 1 and row["steps"] == 20)


def compare(options, preset, threads, fixture, acting):
    """Prints the rows of one setting. The paper's update is long: one of it is enough."""
    count = 1 if preset in ("paper", "authors") else 20
    peers = {name: Peer(PEERS[name], fixture, threads) for name in options.peers}
    update, act = float("inf"), float("inf")
    for peer in peers.values():  # the first ones compile
        peer.ask("update", count)
        if acting:
            peer.ask("act", ACTS)
        peer.best = {}
    for _ in range(options.repeats):
        update = min(update, ours(options.program, preset, threads, "update")["update"]["ms"])
        act = min(act, our_acting(options.program, preset, threads)) if acting else act
        for peer in peers.values():
            peer.ask("update", count)
            if acting:
                peer.ask("act", ACTS)
    decision = lambda us: f"{us:,.0f} | {us / act:.1f}" if acting else "- | -"
    print(f"| {preset} | {threads} | ours | {update:,.2f} | 1.0 | {decision(act)} | - |")
    wrong = []
    for name, peer in peers.items():
        peer.close()
        ms, error = peer.best["ms"], max(peer.agreement["loss_error"], peer.agreement["parameter_error"])
        print(f"| {preset} | {threads} | {name} | {ms:,.2f} | {ms / update:.2f} | {decision(peer.best.get('us', 0))} | "
              f"{error:.0e} |", flush=True)
        if not error < TOLERANCE:
            wrong.append(f"{name}, {preset}: {peer.agreement}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--presets", type=lambda text: text.split(","), default=["wide", "paper"])
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peers", type=lambda text: text.split(";"), default=list(PEERS), help="names, ';' between")
    parser.add_argument("--program", default=str(HERE.parent.parent / "build" / "dqs"))
    options = parser.parse_args()
    print("| preset | threads | | ms an update | times ours | us to act, N = 20 | times ours | differs from ours by |")
    print("|" + " --- |" * 8, flush=True)
    wrong = []
    for preset in options.presets:
        with tempfile.TemporaryDirectory() as fixture:
            subprocess.run([options.program, "bench", "--preset", preset, "--fixture", fixture, *PLAIN], check=True)
            for threads in options.threads:
                wrong += compare(options, preset, threads, fixture, acting=preset == "wide")
    if wrong:
        sys.exit("not the same update: " + "; ".join(wrong))


if __name__ == "__main__":
    main()
