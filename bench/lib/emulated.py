"""An emulated device with a file system on it, for as long as it is needed.

    with emulated("network", "/var/tmp/x", room=4 << 30) as disk:
        ... disk.directory is on a device of 1 ms; disk.limit says what it can

Below <outside>/emulated:

    image-N     the contents, a sparse file; N loop devices span it
    image-N.whole   is there while these are whole and nobody uses them
    fuse/       delayfs: fuse/disk is the image with the device's latencies
    files/      ext4 on the loop device, or btrfs over several of them
    device.json which device is mounted, by which process
    lock        held while it is

Everything is taken down at the end, in the order server, files, loop devices,
delayfs.  What a killed run left behind is taken down by the next one.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from lib import presets
from lib.cluster import ClusterError
from lib.fio import Fio
from lib.machine import block_reads, wait_until_quiet
from lib.report import say

PROGRAM = Path(__file__).parent.parent / "device"

# Of what is asked for, and for the file system itself.
ROOM_FACTOR = 1.05
ROOM_MORE = 300 << 20

# The image is sparse: its size is only what the file system counts with.
IMAGE_MOST = 1 << 40
IMAGE_LEAST = 1 << 30

# Time that a read spends in the block layer and in FUSE: part of the latency.
PATH_US = 25

# Replies that come later than the model says by more than this and by more
# than a tenth of the read's time are late.  What they are late by may be so
# much of the time that all reads take by the model: by that much the device is
# slower than it says it is.
TOLERANCE_US = 50
LATE_MOST = 0.02

CHECK_DEPTHS = (1, 8, 32)
CHECK_SECONDS = 1
CHECK_ATTEMPTS = 3
RATE_LEAST, RATE_MOST = 0.85, 1.1       # of what the model says

PATIENCE_S = 30


class DeviceError(ClusterError):
    """The device cannot be had, or is not what it says it is."""


@dataclass
class Emulated:
    """A mounted device; a path to its files wherever a path is wanted."""
    preset: presets.Preset
    folder: Path
    loops: list = field(default_factory=list)
    file_system: str = ""
    checked: list = field(default_factory=list)     # lines of the self-check
    before: tuple = (0, 0, 0)   # block_reads() when counts were last reset

    @property
    def directory(self) -> Path:
        return self.folder / "files"

    @property
    def limit(self) -> str:
        return str(self.preset)

    def __fspath__(self):
        return str(self.directory)

    def __str__(self):
        return str(self.directory)

    def counts(self) -> dict:
        return counts(self.folder)

    def reset_counts(self):
        (self.folder / "fuse" / "stats").write_text("reset")
        self.before = self._block_reads()

    def punctuality(self) -> str:
        """How long reads took since the counts were last reset.

        The kernel's mean has what waits before delayfs has seen it, which is
        late by no clock of delayfs: on the way there, and for a device that is
        at its limit.
        """
        reads, _, ms = (now - then for now, then in
                        zip(self._block_reads(), self.before))
        now = self.counts()
        return (f"{reads:,} reads took {ms / max(reads, 1) * 1e3:,.0f} us on "
                "average, by the model "
                f"{now['model_ns'] / max(now['reads'], 1) / 1e3:,.0f}; "
                + lateness(now))

    def _block_reads(self):
        return block_reads(Path("/sys/block") / Path(loop).name / "stat"
                           for loop in self.loops)

    def require_in_time(self, what="results are not reported"):
        """Raise if replies were late since the counts were last reset."""
        now = self.counts()
        if lateness_of(now) > LATE_MOST:
            raise DeviceError(f"{self.preset.name}: {self.punctuality()}: "
                              + what)

    # --- the self-check ---------------------------------------------------

    def check(self):
        """fio's random reads against the model; raise if they don't agree.

        A busy machine gets several attempts: what counts is whether the
        device can be had, not whether it always could.
        """
        fio = Fio.of_devices(self.loops)
        for depth in CHECK_DEPTHS:
            for attempt in range(1, CHECK_ATTEMPTS + 1):
                wait_until_quiet()
                wrong = self._check_once(fio, depth)
                if not wrong:
                    break
                if attempt == CHECK_ATTEMPTS:
                    raise DeviceError(f"{self.preset.name} cannot be emulated "
                                      f"now: {wrong}; is the machine busy?")
        self.reset_counts()

    def _check_once(self, fio, depth):
        """What is wrong, or None."""
        self.reset_counts()
        got = fio.random_reads(depth, "direct", CHECK_SECONDS)
        now = self.counts()
        rate, _ = self.preset.predicted(depth)
        said = (f"{depth} in flight: {got.reads_per_s:,.0f} reads/s, the model "
                f"says {rate:,.0f}")
        self.checked.append(f"{said}; {lateness(now)}")
        if lateness_of(now) > LATE_MOST:
            return f"{said}; {lateness(now)}"
        if not RATE_LEAST <= got.reads_per_s / rate <= RATE_MOST:
            return said
        return None


def counts(folder) -> dict:
    """What delayfs has counted, by the names of bench/device/stats.h."""
    try:
        return json.loads((Path(folder) / "fuse" / "stats").read_text())
    except OSError as err:
        raise DeviceError(f"the emulated device is gone ({err.strerror}): "
                          "delayfs has ended") from None


def lateness_of(now) -> float:
    """Time that replies were late, as a part of the model's for all reads."""
    return now["late_ns"] / max(now["model_ns"], 1)


def lateness(now) -> str:
    if not now["late"]:
        return "no reply was late"
    return (f"{now['missed']:,} of {now['reads']:,} reads had to go to the local "
            "disk, " * bool(now["missed"])
            + f"{100 * now['late'] / now['reads']:.2f}% of the replies were late, "
            f"by {now['late_ns'] / now['late'] / 1e3:,.0f} us on average, which "
            f"is {100 * lateness_of(now):.2f}% of the time of all "
            f"({100 * LATE_MOST:g}% may be)")


def facts_of(mount_point):
    """device.json of the emulated device mounted there, or None."""
    mount_point = Path(mount_point)
    if mount_point.name != "files":
        return None
    try:
        return json.loads((mount_point.parent / "device.json").read_text())
    except (OSError, ValueError):
        return None


# --- up -------------------------------------------------------------------

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
            image = _image(folder, preset, room, more, keep, bring)
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
                    _discard_images(folder)


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


def _image(folder, preset, room, more, keep, bring) -> Path:
    """The image, new or kept; room for what comes onto it is made sure of."""
    image = folder / f"image-{preset.loops}"
    if not keep:
        _discard_images(folder)
    if not _whole(image).exists():
        image.unlink(missing_ok=True)
    there = image.stat().st_blocks * 512 if image.exists() else 0
    room = max(room, sum(_bytes_of(root) for root in bring))
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


def _whole(image) -> Path:
    """Its marker: flushes are not kept, so that a crash may have torn it."""
    return image.with_suffix(".whole")


def _discard_images(folder):
    for image in folder.glob("image-*"):
        image.unlink()


def _bring_up(disk, image, program):
    new = not _whole(image).exists()
    for mount_point in (disk.folder / "fuse", disk.directory):
        mount_point.mkdir(exist_ok=True)
    daemon = _start(disk, image, program)
    size = image.stat().st_size // disk.preset.loops >> 20 << 20
    for number in range(disk.preset.loops):
        disk.loops.append(_run(
            "losetup", "--find", "--show", "--direct-io=on",
            "--offset", number * size, "--sizelimit", size,
            disk.folder / "fuse" / "disk").strip())
    disk.file_system = "ext4" if disk.preset.loops == 1 else "btrfs"
    _note(disk, daemon)
    _whole(image).unlink(missing_ok=True)   # nothing was written to it yet
    if new:
        _make_file_system(disk)
    _mount(disk)
    # From now on a loop device goes away with the mount.
    for loop in disk.loops:
        _run("losetup", "--detach", loop)
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
        _run("mkfs.ext4", "-q", "-F", "-m", 0, "-E", "nodiscard,"
             "lazy_itable_init=1,lazy_journal_init=1", *disk.loops)
    else:
        _run("mkfs.btrfs", "-q", "-f", "-K", "-d", "raid0", "-m", "raid0",
             *disk.loops)


def _mount(disk):
    """As a plain disk: no access times; btrfs neither copies nor sums."""
    options = "noatime,discard,noinit_itable"
    if disk.file_system == "btrfs":
        options = "noatime,discard=async,nodatacow," + ",".join(
            f"device={loop}" for loop in disk.loops)
    _run("mount", "-t", disk.file_system, "-o", options, disk.loops[0],
         disk.directory)


# --- down -----------------------------------------------------------------

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
        _note_whole(folder / f"image-{len(facts['loops'])}")
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


def _note_whole(image):
    """The file system was unmounted: what the image has is all there is."""
    with contextlib.suppress(FileNotFoundError):
        fd = os.open(image, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        _whole(image).touch()


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
            _wait_until(lambda: not Path(f"/proc/{pid}").exists())


def _unmount(mount_point) -> bool:
    """Somebody may look at it just now; who stays keeps only its own view.

    Returns whether nobody did.
    """
    def gone():
        return subprocess.run(["umount", mount_point], capture_output=True,
                              check=False).returncode == 0
    if _wait_until(gone, 10):
        return True
    _run("umount", "--lazy", mount_point)
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
    if not _wait_until(gone, patience):
        os.kill(pid, signal.SIGKILL)
        _wait_until(gone)


def _wait_until(condition, seconds=PATIENCE_S) -> bool:
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


def _run(*argv) -> str:
    done = subprocess.run([str(a) for a in argv], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise DeviceError(f"{argv[0]} failed: "
                          f"{(done.stderr or done.stdout).strip()}")
    return done.stdout


# --- contents -------------------------------------------------------------

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
    needed, free = _bytes_of(root), shutil.disk_usage(disk.directory).free
    if free < needed:
        raise DeviceError(f"{root} takes {needed / 1e9:.1f} GB, "
                          f"{free / 1e9:.1f} are free on the device")
    part = disk.directory / (root.name + ".part")
    if part.exists():
        shutil.rmtree(part)
    _run("cp", "-a", root, part)
    part.rename(target)
    return target


def _bytes_of(root) -> int:
    if not Path(root).exists():
        raise DeviceError(f"{root} is not there: nothing to copy")
    return int(_run("du", "--summarize", "--block-size=1", root).split()[0])
