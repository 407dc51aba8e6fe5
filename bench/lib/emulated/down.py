"""Take a device down, ours or what a killed run left.

In the order server, files, loop devices, delayfs.
"""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from lib.emulated.disk import counts
from lib.emulated.image import note_whole
from lib.emulated.system import (DeviceError, facts_of, mounted, run,
                                 wait_until)


def take_down(folder):
    """Whatever is up there, ours or of a run that was killed."""
    folder = Path(folder)
    facts = facts_of(folder / "files")
    whole = False
    if mounted(folder / "files"):
        _stop_servers(folder / "files")
        whole = _unmount(folder / "files") and _runs(folder, facts)
    for loop in _loops_of(folder / "fuse" / "disk"):
        subprocess.run(["losetup", "--detach", loop], capture_output=True,
                       check=False)
    if mounted(folder / "fuse"):
        _unmount(folder / "fuse")
    # Before it is mounted it brings the image into memory, and does not look up.
    _end_daemon(folder, facts, patience=10 if whole else 1)
    if mounted(folder / "fuse"):
        _unmount(folder / "fuse")
    if whole:
        note_whole(folder / f"image-{len(facts['loops'])}")
    (folder / "device.json").unlink(missing_ok=True)
    for name in ("fuse", "files"):
        with contextlib.suppress(OSError):
            (folder / name).rmdir()


def _runs(folder, facts) -> bool:
    """Does delayfs still serve the device, and has it lost nothing?"""
    try:
        return bool(facts) and not counts(folder)["lost"]
    except DeviceError:
        return False


def _stop_servers(files):
    """A killed run leaves its server; it would keep the files busy.

    Where delayfs was killed nothing can be read: then no server can be found.
    """
    try:
        found = list(files.glob("*/data/postmaster.pid"))
    except OSError:
        found = []
    for pid_file in found:
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = int(pid_file.read_text().split()[0])
            data = os.readlink(f"/proc/{pid}/cwd")
            if Path(data) != pid_file.parent:
                continue
            os.kill(pid, signal.SIGINT)     # fast shutdown
            wait_until(lambda: not Path(f"/proc/{pid}").exists())


def _unmount(mount_point) -> bool:
    """Somebody may look at it just now; who stays keeps only its own view.

    Returns whether nobody did.
    """
    def gone():
        return subprocess.run(["umount", mount_point], capture_output=True,
                              check=False).returncode == 0
    if wait_until(gone, 10):
        return True
    run("umount", "--lazy", mount_point)
    return False


def _loops_of(file):
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            backing = path.read_text().strip().removesuffix(" (deleted)")
            if backing == str(file):
                yield f"/dev/{path.parent.parent.name}"


def _end_daemon(folder, facts, patience):
    """delayfs ends with its mount; one that does not is ended."""
    if facts is None:
        return
    pid = facts["pid"]

    def gone():
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)     # if it is a child of ours
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return True
        return str(folder / "fuse").encode() not in words
    if not wait_until(gone, patience):
        os.kill(pid, signal.SIGKILL)
        wait_until(gone)
