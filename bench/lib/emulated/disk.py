"""A mounted device: what it has counted, and is it what it says it is?"""

import json
from dataclasses import dataclass, field
from pathlib import Path

from lib import presets
from lib.emulated.system import DeviceError
from lib.fio import Fio
from lib.machine import block_reads, wait_until_quiet

# Late replies may be so much of the time that all reads take by the model: by
# that much the device is slower than it says it is.  (Which replies are late:
# TOLERANCE_US of up.py.)
LATE_MOST = 0.02

CHECK_DEPTHS = (1, 8, 32)
CHECK_SECONDS = 1
CHECK_ATTEMPTS = 3
RATE_LEAST, RATE_MOST = 0.85, 1.1       # of what the model says


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
