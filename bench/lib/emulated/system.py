"""What the other files want of the system: commands, mounts, patience."""

import json
import subprocess
import time
from pathlib import Path

from lib.cluster import ClusterError

PATIENCE_S = 30


class DeviceError(ClusterError):
    """The device cannot be had, or is not what it says it is."""


def facts_of(mount_point):
    """device.json of the emulated device mounted there, or None."""
    mount_point = Path(mount_point)
    if mount_point.name != "files":
        return None
    try:
        return json.loads((mount_point.parent / "device.json").read_text())
    except (OSError, ValueError):
        return None


def wait_until(condition, seconds=PATIENCE_S) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def mounted(path) -> bool:
    """By the kernel's list: a dead FUSE mount cannot be looked at."""
    wanted = str(path).replace(" ", "\\040")
    return any(line.split()[4] == wanted for line in
               Path("/proc/self/mountinfo").read_text().splitlines())


def run(*argv) -> str:
    done = subprocess.run([str(a) for a in argv], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise DeviceError(f"{argv[0]} failed: "
                          f"{(done.stderr or done.stdout).strip()}")
    return done.stdout
