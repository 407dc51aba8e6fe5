"""Does the emulated device keep data, hold reads back, and go away?

    bench/python bench/device/selftest.py

Prints "ok" and "not ok" lines; says so where it cannot run (no root, no FUSE).
Nothing here depends on how fast the machine is: a busy one only takes longer.
"""

import contextlib
import mmap
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib import emulated as device
from lib import presets
from lib.device import Device
from lib.ending import main_of

BLOCK = 8192
BLOCKS = 1024
ROOM = 64 << 20
WAIT_S = 60

failed = []


def ok(condition, what):
    print(f"{'ok' if condition else 'not ok'} device: {what}", flush=True)
    if not condition:
        failed.append(what)


def write_blocks(path, blocks):
    """In random order, as a server would; then out of the page cache."""
    order = list(range(len(blocks)))
    random.Random(2).shuffle(order)
    with open(path, "wb") as file:
        for number in order:
            file.seek(number * BLOCK)
            file.write(blocks[number])
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextlib.contextmanager
def direct(path):
    """Yield a function that reads a block past the page cache."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    page = mmap.mmap(-1, BLOCK)             # aligned, as O_DIRECT asks
    page.write(bytes(BLOCK))                # a missing page may make it cached

    def read(number):
        os.preadv(fd, [page], number * BLOCK)
        return page[:]
    try:
        yield read
    finally:
        os.close(fd)
        page.close()


def keeps_data(disk, name):
    blocks = [random.Random(n).randbytes(BLOCK) for n in range(BLOCKS)]
    path = disk.directory / "blocks"
    write_blocks(path, blocks)
    ok(path.read_bytes() == b"".join(blocks),
       f"{name}: blocks are read as they were written")
    with direct(path) as read:
        some = random.Random(3).sample(range(BLOCKS), 50)
        ok(all(read(n) == blocks[n] for n in some),
           f"{name}: and so past the page cache")


def holds_image(disk, name):
    """What was written stays in memory, though the kernel is asked to drop it."""
    with open(next(disk.folder.glob("image-*")), "rb") as image:
        os.posix_fadvise(image.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    disk.reset_counts()
    with direct(disk.directory / "blocks") as read:
        for number in range(BLOCKS):
            read(number)
    missed = disk.counts()["missed"]
    ok(not missed, f"{name}: the image is held in memory, {missed} missed")


def holds_back(disk, name):
    """However busy the machine: a read is never earlier than the model."""
    reads = 20
    device_of_it = Device(disk.directory)
    with direct(disk.directory / "blocks") as read:
        before = device_of_it.reads()
        start = time.monotonic()
        for number in range(reads):
            read(number * 7)
        took = time.monotonic() - start
        counted = device_of_it.reads() - before
    least = (disk.preset.alone_us - device.PATH_US) / 1e6
    ok(took >= reads * least, f"{name}: {reads} reads took "
       f"{took * 1e3:.1f} ms, at least {reads * least * 1e3:.1f}")
    ok(counted.requests >= reads, f"{name}: reads are counted")


def left_of(outside):
    """Whatever is mounted or running below a directory."""
    left = [line for line in Path("/proc/mounts").read_text().splitlines()
            if str(outside) in line]
    left += [path.read_text() for path in
             Path("/sys/block").glob("loop*/loop/backing_file")
             if str(outside) in path.read_text()]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if words[0].endswith(b"/delayfs") and any(
                    word.startswith(os.fsencode(outside)) for word in words):
                left.append(path.parent.name)
    left += map(str, (Path(outside) / "emulated").glob("image-*"))
    return left


def goes_away(outside, when):
    left = left_of(outside)
    ok(not left, f"{when}: nothing is left {left or ''}")


def child(outside, file):
    """In a process of its own: a device up until a signal comes."""
    with device.emulated("network", outside, ROOM, check=False):
        Path(file).touch()
        time.sleep(10 * WAIT_S)


def started_child(outside):
    file = outside / "is-up"
    file.unlink(missing_ok=True)
    started = subprocess.Popen([sys.executable, __file__, outside, file],
                               stderr=subprocess.DEVNULL)
    end = time.monotonic() + WAIT_S
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.05)
    ok(file.exists(), "a child process has the device up")
    return started


def refused(outside, wanted, what, room=ROOM):
    try:
        with device.emulated("network", outside, room, check=False):
            ok(False, what)
    except device.DeviceError as err:
        ok(wanted in str(err), f"{what}: {err}")


def survives_signals(outside):
    for number in (signal.SIGTERM, signal.SIGINT):
        started = started_child(outside)
        if number == signal.SIGTERM:
            refused(outside, "in use by", "a second user is refused")
        started.send_signal(number)
        started.wait(WAIT_S)
        goes_away(outside, f"after {number.name}")
    started = started_child(outside)
    started.kill()
    started.wait(WAIT_S)
    ok(left_of(outside), "a killed process leaves its mounts")
    with device.emulated("network", outside, ROOM, check=False) as disk:
        ok(not list(disk.directory.glob("blocks")),
           "the next one starts with an empty device")
    goes_away(outside, "after the next one")


def survives_its_end(outside):
    """delayfs is killed below a mounted file system."""
    try:
        with device.emulated("network", outside, ROOM, check=False) as disk:
            facts = device.facts_of(disk.directory)
            os.kill(facts["pid"], signal.SIGKILL)
            time.sleep(0.5)
            disk.counts()
            ok(False, "a dead device is noticed")
    except device.DeviceError as err:
        ok("is gone" in str(err), f"a dead device is noticed: {err}")
    goes_away(outside, "after the end of delayfs")


def all_of(outside):
    for name in ("network", "disks"):
        with device.emulated(name, outside, ROOM, check=False) as disk:
            keeps_data(disk, name)
            holds_image(disk, name)
            holds_back(disk, name)
        goes_away(outside, name)
    with device.emulated("nvme", outside, ROOM, keep=True,
                         check=False) as disk:
        (disk.directory / "kept").write_text("as it was")
    with device.emulated("cloud", outside, ROOM, keep=True,
                         check=False) as disk:
        ok((disk.directory / "kept").read_text() == "as it was",
           "kept contents are there under another model")
    survives_signals(outside)
    survives_its_end(outside)
    refused(outside, "GB", "too little room is said before", 1 << 60)


def main():
    if len(sys.argv) == 3:
        child(*map(Path, sys.argv[1:]))
        return
    try:
        device.require_programs(presets.preset("disks"))
    except device.DeviceError as err:
        print(f"skipped device: {err}")
        return
    with tempfile.TemporaryDirectory(dir="/var/tmp",
                                     prefix="anago-device-") as outside:
        all_of(Path(outside))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main_of("selftest", main)
