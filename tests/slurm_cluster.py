"""A Slurm of one machine for a test: Debian's munged, slurmctld and slurmd, started in a folder of their own on free
ports and stopped by their process numbers. Needs root, and the packages that `tools/setup.sh test` installs."""
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo")
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"

CONF = """ClusterName=dqstest
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
SlurmctldPort={ctld_port}
SlurmdPort={d_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
MinJobAge=300
SchedulerParameters=sched_interval=1,sched_min_interval=100000,bf_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=512 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """Why it cannot be started here; empty if it can."""
    absent = [name for name in PROGRAMS if not shutil.which(name, path=PATH)]
    if absent:
        return f"NO SLURM: {' '.join(absent)} not installed; `tools/setup.sh test` installs them as root"
    if os.geteuid() != 0:
        return "NO SLURM: starting its daemons needs root"
    return ""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Cluster:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.daemons = []
        self.env = {**os.environ, "PATH": PATH, "SLURM_CONF": str(self.folder / "slurm.conf")}
        self.env = {k: v for k, v in self.env.items() if not k.startswith(("SBATCH_", "SLURM_")) or k == "SLURM_CONF"}

    def start(self):
        host = socket.gethostname().split(".")[0]
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir()
        (self.folder / "slurm.conf").write_text(
            CONF.format(host=host, folder=self.folder, ctld_port=free_port(), d_port=free_port()))
        self.start_munge()
        self.daemon("slurmctld", "-D", "-i")
        self.daemon("slurmd", "-D", "-N", host)
        self.wait(lambda: "idle" in self.ask("sinfo", "-h", "-o", "%t"), "the node is not idle", 60)

    def start_munge(self):
        place = self.folder / "munge"
        owner = pwd.getpwnam("munge")
        (place / "key").write_bytes(os.urandom(128))
        (place / "key").chmod(0o400)
        for path in (place, place / "key"):
            os.chown(path, owner.pw_uid, owner.pw_gid)
        place.chmod(0o755)
        self.daemon("munged", "--foreground", f"--socket={place}/socket", f"--key-file={place}/key",
                    f"--pid-file={place}/pid", f"--log-file={place}/log", f"--seed-file={place}/seed",
                    user=owner.pw_uid, group=owner.pw_gid, extra_groups=[])
        self.wait((place / "socket").exists, "munged made no socket")

    def daemon(self, *words, **more):
        log = open(self.folder / f"{words[0]}.out", "w")
        program = shutil.which(words[0], path=PATH)
        self.daemons.append(subprocess.Popen([program, *words[1:]], env=self.env, stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=log, cwd=self.folder, start_new_session=True, **more))

    def ask(self, *words):
        done = subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=30)
        return done.stdout if done.returncode == 0 else ""

    def wait(self, condition, what, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end or any(d.poll() is not None for d in self.daemons):
                raise RuntimeError(f"{what}\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        files = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out"), *self.folder.glob("munge/log")])
        return "\n".join(f"--- {f.name}\n" + f.read_text(errors="replace")[-1500:] for f in files)

    def stop(self):
        self.ask("scancel", "--user=root")
        end = time.monotonic() + 15
        while self.ask("squeue", "-h").strip() and time.monotonic() < end:
            time.sleep(0.1)
        for daemon in reversed(self.daemons):
            if daemon.poll() is None:
                daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
