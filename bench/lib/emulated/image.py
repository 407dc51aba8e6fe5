"""The device's contents: a sparse file, and clusters that are copied onto it."""

import contextlib
import os
import shutil
from pathlib import Path

from lib.emulated.system import DeviceError, run

# Of what will be written, and for the file system itself.
ROOM_FACTOR = 1.05
ROOM_MORE = 300 << 20

# The image is sparse: its size is only what the file system counts with.
IMAGE_MOST = 1 << 40
IMAGE_LEAST = 1 << 30


def image_for(folder, preset, room, more, keep, bring) -> Path:
    """The image, new or kept; room for what comes onto it is made sure of."""
    image = folder / f"image-{preset.loops}"
    if not keep:
        discard_images(folder)
    if not whole(image).exists():
        image.unlink(missing_ok=True)
    there = image.stat().st_blocks * 512 if image.exists() else 0
    room = max(room, sum(bytes_of(root) for root in bring))
    needed = max(int(room * ROOM_FACTOR) - there, 0) + more + ROOM_MORE
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DeviceError(f"the emulated device needs {needed / 1e9:.1f} GB "
                          f"at {folder}, {free / 1e9:.1f} are free")
    if not image.exists():
        total = min(shutil.disk_usage(folder).total, IMAGE_MOST)
        with open(image, "wb") as made:
            made.truncate(max(total >> 30 << 30, IMAGE_LEAST))
        image.chmod(0o600)
    return image


def whole(image) -> Path:
    """Its marker: flushes are not kept, so that a crash may have torn it."""
    return image.with_suffix(".whole")


def note_whole(image):
    """The file system was unmounted: what the image has is all there is."""
    with contextlib.suppress(FileNotFoundError):
        fd = os.open(image, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        whole(image).touch()


def discard_images(folder):
    for image in folder.glob("image-*"):
        image.unlink()


def copy_cluster(root, disk) -> Path:
    """Copy a stopped cluster onto the device, unless it is there already.

    It gets its name when it is complete: an interrupted copy is made again.
    """
    root = Path(root).resolve()
    target = disk.directory / root.name
    if target.exists():
        return target
    if (root / "data" / "postmaster.pid").exists():
        raise DeviceError(f"a server runs on {root}: stop it, so that it can "
                          "be copied onto the device")
    needed, free = bytes_of(root), shutil.disk_usage(disk.directory).free
    if free < needed:
        raise DeviceError(f"{root} takes {needed / 1e9:.1f} GB, "
                          f"{free / 1e9:.1f} are free on the device")
    part = disk.directory / (root.name + ".part")
    if part.exists():
        shutil.rmtree(part)
    run("cp", "-a", root, part)
    part.rename(target)
    return target


def bytes_of(root) -> int:
    if not Path(root).exists():
        raise DeviceError(f"{root} is not there: nothing to copy")
    return int(run("du", "--summarize", "--block-size=1", root).split()[0])
