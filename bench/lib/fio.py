"""The device alone: fio's random reads on the same file system, or below it."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lib.account import lift_limits
from lib.machine import CpuWatch, wait_until_quiet

BLOCK = 8192

# A random map visits each block once: the file must outlast one measurement.
FILE_BYTES = 8 << 30

# Of a device without a file: the beginning, which is soon in some cache of it.
# A multiple of 160 stripes of 64 KiB: as much on each spindle.
DEVICE_BYTES = 80 << 20

# What fio says when a limit of this process is in the way, and what helps.
LIMITS = {
    "Cannot allocate memory": "locked memory is limited: ulimit -l unlimited",
    "Too many open files": "open files are limited: raise ulimit -n",
    "Operation not permitted": "io_uring is refused: see "
                               "/proc/sys/kernel/io_uring_disabled",
}


@dataclass(frozen=True)
class FioResult:
    depth: int
    mode: str               # "direct" or "cache"
    reads_per_s: float
    latency_us: float       # mean, from submission to completion
    latency_p99_us: float
    busy: bool              # others used the machine meanwhile
    latency_p50_us: float = 0.0


def version() -> str:
    """fio's own, for example fio-3.33."""
    return subprocess.run(["fio", "--version"], capture_output=True, text=True,
                          check=False).stdout.strip()


class Fio:
    """fio on one file of its own; remove() it at the end."""

    def __init__(self, folder, file_bytes=FILE_BYTES):
        if not shutil.which("fio"):
            raise SystemExit("fio is missing: install the package fio")
        lift_limits()
        self.path = Path(folder) / "fio.dat"
        self.file_bytes = file_bytes
        self.targets = str(self.path)
        self.options = ["--invalidate=1"]
        self.first = []

    @classmethod
    def of_devices(cls, devices):
        """fio on the beginning of block devices, which may be mounted.

        Only for reading, past the page cache.
        """
        made = cls("/nonexistent", DEVICE_BYTES)
        made.targets = ":".join(map(str, devices))
        made.options = ["--readonly", "--invalidate=0"]
        made.first = ["nice", "-n", "-20"]      # not to measure the scheduler
        return made

    def lay_out(self):
        """Write the file (random bytes), unless it is there already."""
        if self.path.exists() and self.path.stat().st_size == self.file_bytes:
            return
        self.remove()
        free = shutil.disk_usage(self.path.parent).free
        if free < 2 * self.file_bytes:
            raise SystemExit(f"fio needs {self.file_bytes / 1e9:.0f} GB at "
                             f"{self.path.parent}, {free / 1e9:.1f} are free")
        self._run("--rw=write", "--bs=1M", "--direct=1", "--iodepth=8",
                  "--refill_buffers", "--end_fsync=1",
                  "--ioengine=io_uring")

    def remove(self):
        self.path.unlink(missing_ok=True)

    def random_reads(self, depth, mode="direct", seconds=5, jobs=1):
        """8 KiB random reads; `cache` goes through a cold page cache."""
        os.sync()
        wait_until_quiet()
        cpu = CpuWatch().start()
        out = self._run(
            "--rw=randread", f"--bs={BLOCK}", f"--iodepth={depth}",
            f"--direct={int(mode == 'direct')}", *self.options,
            "--ioengine=io_uring", "--time_based", f"--runtime={seconds}",
            f"--numjobs={jobs}", "--group_reporting", "--randrepeat=0")
        *_, disturbed = cpu.stop()
        read = json.loads(out)["jobs"][0]["read"]
        latency = read["clat_ns"]
        return FioResult(depth, mode, read["iops"], latency["mean"] / 1e3,
                         latency["percentile"]["99.000000"] / 1e3,
                         disturbed, latency["percentile"]["50.000000"] / 1e3)

    def _run(self, *options):
        done = subprocess.run(
            [*self.first, "fio", "--name=anago", f"--filename={self.targets}",
             f"--size={self.file_bytes}", "--output-format=json", *options],
            capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = done.stdout + done.stderr
            hints = [hint for text, hint in LIMITS.items() if text in said]
            raise SystemExit(f"fio failed: {hints[0]}" if hints
                             else f"fio failed:\n{said}")
        return done.stdout[done.stdout.index("{"):]
