"""Bring a device up, for as long as it is needed: emulated()."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from lib import presets
from lib.emulated.disk import Emulated
from lib.emulated.down import take_down
from lib.emulated.image import (copy_cluster, discard_images, image_for, whole)
from lib.emulated.system import DeviceError, mounted, run
from lib.report import say

PROGRAM = Path(__file__).resolve().parents[2] / "device"

# Time that a read spends in the block layer and in FUSE: part of the latency.
PATH_US = 25

# Replies that come later than the model says by more than this and by more
# than a tenth of the read's time are late.
TOLERANCE_US = 50


@contextlib.contextmanager
def emulated(name, outside, room, more=0, keep=False, bring=(), check=True):
    """Yield an Emulated of preset `name`, its contents in files at `outside`.

    room    bytes that will be written to it, or are there from the last time
    more    bytes that will be written besides
    keep    leave the contents for the next run, and use those that are left
    bring   directories of clusters to copy onto it, unless they are there
    check   let fio check it first
    """
    preset = presets.preset(name)
    folder = Path(outside).resolve() / "emulated"
    require_programs(preset)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise DeviceError(f"cannot create {folder}: {err.strerror}") from None
    with _locked(folder):
        disk = None
        try:
            take_down(folder)
            program = _build()
            image = image_for(folder, preset, room, more, keep, bring)
            disk = Emulated(preset, folder)
            _bring_up(disk, image, program)
            if check:
                disk.check()
            for root in bring:
                copy_cluster(root, disk)
            disk.reset_counts()
            yield disk
        finally:
            with _undisturbed():
                take_down(folder)
                if not keep:
                    discard_images(folder)


def require_programs(preset):
    """Whatever is missing, in one line."""
    if os.geteuid() != 0:
        raise DeviceError("an emulated device needs root: it mounts")
    if not Path("/dev/fuse").exists():
        raise DeviceError("an emulated device needs FUSE, and there is no "
                          "/dev/fuse: modprobe fuse")
    if not Path("/dev/loop-control").exists():
        raise DeviceError("an emulated device needs loop devices, and there "
                          "is no /dev/loop-control: modprobe loop")
    needed = {"gcc": "gcc", "make": "make", "pkg-config": "pkg-config",
              "fio": "fio", "losetup": "mount", "mkfs.ext4": "e2fsprogs"}
    if preset.loops > 1:
        needed["mkfs.btrfs"] = "btrfs-progs"
    missing = [package for program, package in needed.items()
               if not shutil.which(program)]
    if "pkg-config" not in missing and subprocess.run(
            ["pkg-config", "--exists", "fuse3"], check=False).returncode:
        missing.append("libfuse3-dev")
    if missing:
        raise DeviceError("an emulated device needs "
                          f"{', '.join(missing)}: apt-get install "
                          + " ".join(missing))


@contextlib.contextmanager
def _locked(folder):
    with open(folder / "lock", "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise DeviceError(f"the emulated device in {folder} is in use by "
                              f"process {lock.read().strip()}") from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


@contextlib.contextmanager
def _undisturbed():
    """A second Ctrl-C does not leave half of it mounted."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    try:
        before = {n: signal.signal(n, signal.SIG_IGN) for n in numbers}
    except ValueError:                      # not the main thread
        before = {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _build() -> Path:
    done = subprocess.run(["make", "-s", "-C", PROGRAM, "delayfs"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DeviceError(f"cannot build {PROGRAM}/delayfs:\n{done.stderr}")
    return PROGRAM / "delayfs"


def _bring_up(disk, image, program):
    new = not whole(image).exists()
    for mount_point in (disk.folder / "fuse", disk.directory):
        mount_point.mkdir(exist_ok=True)
    daemon = _start(disk, image, program)
    size = image.stat().st_size // disk.preset.loops >> 20 << 20
    for number in range(disk.preset.loops):
        disk.loops.append(run(
            "losetup", "--find", "--show", "--direct-io=on",
            "--offset", number * size, "--sizelimit", size,
            disk.folder / "fuse" / "disk").strip())
    disk.file_system = "ext4" if disk.preset.loops == 1 else "btrfs"
    _note(disk, daemon)
    whole(image).unlink(missing_ok=True)   # nothing was written to it yet
    if new:
        _make_file_system(disk)
    _mount(disk)
    # From now on a loop device goes away with the mount.
    for loop in disk.loops:
        run("losetup", "--detach", loop)
    disk.directory.chmod(0o755)


def _start(disk, image, program):
    """Start delayfs; return it when it is mounted."""
    log = disk.folder / "delayfs.log"
    with open(log, "w") as output:
        daemon = subprocess.Popen(
            [program, *disk.preset.options(), f"--path-us={PATH_US}",
             f"--tolerance-us={TOLERANCE_US}", image, disk.folder / "fuse"],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True)         # Ctrl-C must not end it before us
    _note(disk, daemon)
    said = time.monotonic() + 2             # it may have to read much first
    while not mounted(disk.folder / "fuse"):
        if daemon.poll() is not None:
            raise DeviceError("delayfs did not start: "
                              + (log.read_text().strip() or "no reason given"))
        if time.monotonic() > said:
            say(f"{disk.preset.name}: bringing the device's "
                f"{image.stat().st_blocks * 512 / 1e9:.1f} GB into memory")
            said = float("inf")
        time.sleep(0.02)
    if warning := log.read_text().strip():
        say(warning)
    return daemon


def _note(disk, daemon):
    """device.json, from which anybody can take the device down."""
    (disk.folder / "device.json").write_text(json.dumps({
        "name": disk.preset.name, "limit": disk.limit, "pid": daemon.pid,
        "loops": disk.loops, "file_system": disk.file_system}) + "\n")


def _make_file_system(disk):
    if disk.file_system == "ext4":
        run("mkfs.ext4", "-q", "-F", "-m", 0, "-E", "nodiscard,"
             "lazy_itable_init=1,lazy_journal_init=1", *disk.loops)
    else:
        run("mkfs.btrfs", "-q", "-f", "-K", "-d", "raid0", "-m", "raid0",
             *disk.loops)


def _mount(disk):
    """As a plain disk: no access times; btrfs neither copies nor sums."""
    options = "noatime,discard,noinit_itable"
    if disk.file_system == "btrfs":
        options = "noatime,discard=async,nodatacow," + ",".join(
            f"device={loop}" for loop in disk.loops)
    run("mount", "-t", disk.file_system, "-o", options, disk.loops[0],
         disk.directory)
