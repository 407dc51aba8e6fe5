"""The device under a path, and what it has read.

A block device or partition; or an emulated one (lib/emulated/), which may
consist of several loop devices and also counts the replies that were late.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from lib.emulated import LATE_MOST, counts, emulated, facts_of, lateness_of
from lib.machine import block_reads

__all__ = ["Device", "Reads", "emulated"]


@dataclass(frozen=True)
class Reads:
    """Counts since boot, or differences of them."""
    requests: int
    bytes: int
    late_ns: int = 0            # of an emulated device: what replies were late by
    model_ns: int = 0           # and what all should have taken

    def __sub__(self, other):
        return Reads(*(getattr(self, name) - getattr(other, name)
                       for name in self.__dataclass_fields__))

    @property
    def late(self) -> bool:
        """Was the emulated device noticeably slower than its model?"""
        return lateness_of(vars(self)) > LATE_MOST


class Device:
    """The device that holds a path."""

    def __init__(self, path):
        path = Path(path).resolve()
        while not path.exists():
            path = path.parent
        mount_point, self.file_system = _mount_of(path)
        self.facts = facts_of(mount_point)
        if self.facts:
            self.name = f"{self.facts['name']} (emulated)"
            self._folder = mount_point.parent
            self._stats = [Path("/sys/block") / Path(loop).name / "stat"
                           for loop in self.facts["loops"]]
            return
        dev = os.stat(path).st_dev
        stat = Path(f"/sys/dev/block/{os.major(dev)}:{os.minor(dev)}/stat")
        if not stat.exists():
            raise SystemExit(f"{path} is not on a block device (tmpfs, "
                             "overlay?): reads cannot be counted there")
        self.name = stat.resolve().parent.name
        self._stats = [stat]

    def reads(self) -> Reads:
        """Reads that the device has completed, and how much."""
        requests, size, _ = block_reads(self._stats)
        if not self.facts:
            return Reads(requests, size)
        now = counts(self._folder)
        return Reads(requests, size, now["late_ns"], now["model_ns"])


def _mount_of(path):
    """(mount point, type) of the mount that a path is on."""
    best, kind = Path("/"), "unknown"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ")
        point = Path(before.split()[4].replace("\\040", " "))
        if path.is_relative_to(point) and len(point.parts) >= len(best.parts):
            best, kind = point, after.split()[0]
    return best, kind
