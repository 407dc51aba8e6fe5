"""The device alone: fio's random reads on the same file system."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lib.machine import CpuWatch, wait_until_quiet

BLOCK = 8192

# A random map visits each block once: the file must outlast one measurement.
FILE_BYTES = 8 << 30


@dataclass(frozen=True)
class FioResult:
    depth: int
    mode: str               # "direct" or "cache"
    reads_per_s: float
    latency_us: float       # mean, from submission to completion
    latency_p99_us: float
    busy: bool              # others used the machine meanwhile


class Fio:
    """fio on one file of its own; remove() it at the end."""

    def __init__(self, folder, file_bytes=FILE_BYTES):
        if not shutil.which("fio"):
            raise SystemExit("fio is missing: install the package fio")
        self.path = Path(folder) / "fio.dat"
        self.file_bytes = file_bytes

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
            f"--direct={int(mode == 'direct')}", "--invalidate=1",
            "--ioengine=io_uring", "--time_based", f"--runtime={seconds}",
            f"--numjobs={jobs}", "--group_reporting", "--randrepeat=0")
        *_, disturbed = cpu.stop()
        read = json.loads(out)["jobs"][0]["read"]
        latency = read["clat_ns"]
        return FioResult(depth, mode, read["iops"], latency["mean"] / 1e3,
                         latency["percentile"]["99.000000"] / 1e3,
                         disturbed)

    def _run(self, *options):
        done = subprocess.run(
            ["fio", "--name=anago", f"--filename={self.path}",
             f"--size={self.file_bytes}", "--output-format=json", *options],
            capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"fio failed:\n{done.stdout}{done.stderr}")
        return done.stdout[done.stdout.index("{"):]
