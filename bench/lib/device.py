"""The block device under a path, and what it has read."""

import os
from dataclasses import dataclass
from pathlib import Path

SECTOR = 512


@dataclass(frozen=True)
class Reads:
    """Counts since boot, or differences of them."""
    requests: int
    bytes: int

    def __sub__(self, other):
        return Reads(self.requests - other.requests, self.bytes - other.bytes)


class Device:
    """The block device (or partition) that holds a path."""

    def __init__(self, path):
        path = Path(path).resolve()
        while not path.exists():
            path = path.parent
        dev = os.stat(path).st_dev
        self.number = f"{os.major(dev)}:{os.minor(dev)}"
        self._stat = Path("/sys/dev/block") / self.number / "stat"
        if not self._stat.exists():
            raise SystemExit(f"{path} is not on a block device (tmpfs, "
                             "overlay?): reads cannot be counted there")
        self.name = self._stat.resolve().parent.name
        self.file_system = _mount_type(self.number)

    def reads(self) -> Reads:
        """Reads that the device has completed, and how much."""
        fields = self._stat.read_text().split()
        return Reads(int(fields[0]), int(fields[2]) * SECTOR)


def _mount_type(number) -> str:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ")
        if before.split()[2] == number:
            return after.split()[0]
    return "unknown"
