"""An emulated device with a file system on it, for as long as it is needed.

    with emulated("network", "/var/tmp/x", room=4 << 30) as disk:
        ... disk.directory is on a device of 1 ms; disk.limit says what it can

    up.py       bring it up: image, delayfs, loop devices, file system
    disk.py     a mounted device: its counts, its check against the model
    image.py    its contents: the file, and clusters copied onto it
    down.py     take it down, ours or what a killed run left
    system.py   commands, mounts, patience

Below <outside>/emulated:

    image-N     the contents, a sparse file; N loop devices span it
    image-N.whole   is there while these are whole and nobody uses them
    fuse/       delayfs: fuse/disk is the image with the device's latencies
    files/      ext4 on the loop device, or btrfs over several of them
    device.json which device is mounted, by which process
    lock        held while it is

Everything is taken down at the end.  What a killed run left behind is taken
down by the next one.
"""

from lib.emulated.disk import LATE_MOST, counts, lateness, lateness_of
from lib.emulated.system import DeviceError, facts_of
from lib.emulated.up import PATH_US, emulated, require_programs

__all__ = ["LATE_MOST", "PATH_US", "DeviceError", "counts", "emulated",
           "facts_of", "lateness", "lateness_of", "require_programs"]
