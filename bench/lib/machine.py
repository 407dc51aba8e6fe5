"""Where and with what something was measured, and whether others disturbed."""

import datetime
import os
import shutil
import subprocess
import time
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")

# More than this much of a core used by others marks a run as busy.
BUSY_CORES = 0.25

# Programs that emulate hardware: what they take, a device would not.
HARDWARE = {"delayfs"}

KERNEL_THREAD = 0x00200000      # PF_KTHREAD, among the flags of proc(5)

# CPU is counted in ticks of 10 ms, core by core: a short run sees noise.
TICK_NOISE_S = 0.05

QUIET_SAMPLE_S = 0.3

SECTOR = 512                # bytes; the kernel's unit, whatever the device's

NO_COMMIT = "none"          # a checkout without git

# What figures are kept and shown in.
SHOWN = ("bench/results", "docs", "README.md")

# How long a run waits for others to leave the machine alone; --patience.
patience_s = 5.0


def describe(cluster=None, device=None) -> dict:
    """What the header of every result says."""
    facts = {
        "date": datetime.datetime.now(datetime.timezone.utc)
                .strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE")
                            * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "kernel": os.uname().release,
    }
    if device:
        facts["device"] = device.name
        facts["file_system"] = device.file_system
    if cluster:
        facts["postgresql"] = cluster.version()
    return facts


def commit() -> str:
    """Commit of the checkout; with '+' when files differ from it.

    Results do not count, nor the pages that show them: taking one experiment
    after the other changes these.
    """
    here = Path(__file__).parent

    def git(*args):
        return subprocess.run(["git", "-C", here, *args], capture_output=True,
                              text=True, check=False).stdout.strip()
    if not shutil.which("git"):
        return NO_COMMIT
    head = git("rev-parse", "--short", "--verify", "-q", "HEAD") or NO_COMMIT
    changed = git("status", "--porcelain", "-uno", "--", ":(top)",
                  *(f":(top,exclude){path}" for path in SHOWN))
    return head + ("+" if changed else "")


def block_reads(stats) -> tuple:
    """(reads, bytes, ms that they took in sum) since boot, of block devices.

    stats: their files `stat` below /sys.
    """
    fields = [stat.read_text().split() for stat in stats]
    reads, sectors, ms = (sum(int(f[n]) for f in fields) for n in (0, 2, 3))
    return reads, sectors * SECTOR, ms


def is_commit(text) -> bool:
    """Does it name one state of the code?"""
    return text != NO_COMMIT and not text.endswith("+")


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def wait_until_quiet():
    """Wait, at most patience_s, until others leave the machine alone.

    To be called while nothing of ours runs.  Returns whether it got quiet.
    """
    end = time.monotonic() + patience_s
    while True:
        _, _, disturbed = CpuWatch().start().after(QUIET_SAMPLE_S)
        if not disturbed or time.monotonic() >= end:
            return not disturbed


class CpuWatch:
    """CPU used by a cluster, this process, and everybody else.

    Counted from start() to stop().  Without a cluster, what this process
    started and waited for is the only thing that is ours.  Everybody else are
    other programs, and other virtual machines as far as they took time from this
    one.  Kernel threads are nobody's: most of what they do here are our reads.
    """

    def __init__(self, cluster=None):
        self.cluster = cluster

    def start(self):
        self._at = self._read()
        return self

    def after(self, seconds):
        """stop() after a while."""
        time.sleep(seconds)
        return self.stop()

    def stop(self):
        """Return (CPU seconds of the cluster, cores used by others, busy)."""
        now = self._read()
        elapsed = max(now[0] - self._at[0], 1e-9)
        everybody, cluster, client = (
            then - before for then, before in zip(now[1:], self._at[1:]))
        others = max(everybody - cluster - client, 0.0) / elapsed
        disturbed = others * elapsed > BUSY_CORES * elapsed + TICK_NOISE_S
        return cluster, others, disturbed

    def _read(self):
        times = os.times()
        client = (times.user + times.system
                  + times.children_user + times.children_system)
        cluster = (_tree_cpu_s(self.cluster.postmaster_pid())
                   if self.cluster else 0.0)
        return (time.monotonic(), _programs_cpu_s() + _stolen_s(), cluster,
                client)


def _stolen_s() -> float:
    """Seconds of all cores that the hypervisor gave to somebody else."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return int(fields[7]) / TICKS_PER_S


def _programs_cpu_s() -> float:
    """CPU of all programs that run, and of their children that have ended."""
    ticks = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        name, fields = _stat_of(pid)
        if name not in HARDWARE and not int(fields[6]) & KERNEL_THREAD:
            ticks += sum(_times_in(fields))
    return ticks / TICKS_PER_S


def _tree_cpu_s(pid) -> float:
    """CPU of a process, its children, and its children that have ended."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return (sum(_process_times(pid)) + sum(
        sum(_process_times(child)[:2]) for child in children)) / TICKS_PER_S


def _process_times(pid):
    """utime, stime, cutime, cstime in ticks; zeros if it has just ended."""
    return _times_in(_stat_of(pid)[1])


def _times_in(fields):
    return tuple(map(int, fields[11:15]))


def _stat_of(pid):
    """A process's name, and what follows it in proc(5)'s stat.

    Zeros if it has just ended.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "", ["0"] * 15
    before, after = stat.rsplit(")", 1)
    return before.split("(", 1)[1], after.split()
