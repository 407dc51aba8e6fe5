"""The emulated devices, and what each of them can do according to its model.

The models are those of bench/device/model.c; here they are solved for a given
number of random reads in flight, which is what fio keeps.
"""

import heapq
import os
import random
from dataclasses import dataclass, replace

from lib.fio import BLOCK

# Tags of a loop device: more reads wait in the block layer.  Its module takes
# another number at boot only.
IN_FLIGHT_PER_LOOP = 128

# What the emulation itself can do beside a busy server.  It is made part of
# the model: beyond it replies would be late, and results not those of any
# device.  ANAGO_DEVICE_READS_PER_S sets another limit for this machine.
EMULATED_PER_CORE = 10_000
EMULATED_MOST = 80_000

# Every byte is copied twice on its way.
EMULATED_MB_PER_S_PER_CORE = 200

SIMULATED_READS = 20_000


@dataclass(frozen=True)
class Preset:
    """One device; 0 where a term is absent."""
    name: str
    latency_us: int = 0
    reads_per_s: int = 0        # most reads that start in a second
    spindles: int = 0
    seek_us: int = 0            # for which a read occupies a spindle
    loops: int = 1              # loop devices that the file system spans
    mb_per_s: int = 0           # most bytes in a second; always the emulation's
    capped_by: str = "device"   # whose limit reads_per_s is

    @property
    def in_flight(self) -> int:
        """Most reads that can reach the device at once."""
        return self.loops * IN_FLIGHT_PER_LOOP

    @property
    def alone_us(self) -> int:
        """How long a read takes that no other read is in the way of."""
        return self.latency_us + self.seek_us

    @property
    def most_reads_per_s(self) -> float:
        """What no number of reads in flight gets beyond; 0 for no limit."""
        all_busy = self.spindles and self.spindles / self.seek_us * 1e6
        return min(filter(None, [all_busy, *self._caps()]), default=0)

    def _caps(self) -> list:
        """Random reads per second that the model's caps allow."""
        return list(filter(None, [self.reads_per_s,
                                  self.mb_per_s * 1e6 / BLOCK]))

    def options(self) -> list:
        """The model, for delayfs's command line."""
        terms = {"latency-us": self.latency_us,
                 "reads-per-s": self.reads_per_s, "mb-per-s": self.mb_per_s,
                 "spindles": self.spindles, "seek-us": self.seek_us}
        return [f"--{name}={value}" for name, value in terms.items() if value]

    def __str__(self):
        said = [f"{self.spindles} spindles of {self.seek_us / 1e3:g} ms"
                if self.spindles else f"{self.latency_us} us"]
        if self.reads_per_s:
            said.append(f"at most {self.reads_per_s:,} reads/s"
                        + " (the emulation's limit)"
                        * (self.capped_by != "device"))
        if self.mb_per_s:
            said.append(f"at most {self.mb_per_s:,} MB/s (the emulation's limit)")
        return ", ".join(said) + f", up to {self.in_flight} in flight"

    # --- what it can do ---------------------------------------------------

    def predicted(self, depth):
        """(reads/s, mean latency in us) with `depth` random reads in flight.

        Little's law holds for all that fio sees: reads that wait for a tag of
        the loop device are in flight for it.
        """
        inside = min(depth, self.in_flight)
        rate = (self._rate_of_spindles(inside) if self.spindles
                else inside / self.latency_us * 1e6)
        rate = min([rate, *self._caps()])
        return rate, depth / rate * 1e6

    def _rate_of_spindles(self, depth) -> float:
        """Simulate: each read that completes is followed by another one."""
        chance = random.Random(depth)
        free_at = [0.0] * self.spindles
        under_way = [0.0] * depth           # when each completes
        now = 0.0
        for _ in range(SIMULATED_READS + depth):
            now = heapq.heappop(under_way)
            spindle = chance.randrange(self.spindles)
            free_at[spindle] = max(free_at[spindle], now) + self.seek_us
            heapq.heappush(under_way, free_at[spindle] + self.latency_us)
        return SIMULATED_READS / now * 1e6


PRESETS = {preset.name: preset for preset in (
    Preset("nvme", latency_us=200),
    Preset("cloud", latency_us=500, reads_per_s=16_000),
    Preset("network", latency_us=1000),
    Preset("disks", spindles=160, seek_us=5000, loops=4),
)}


def preset(name) -> Preset:
    """A preset as this machine can emulate it."""
    found = replace(PRESETS[name],
                    mb_per_s=EMULATED_MB_PER_S_PER_CORE * os.cpu_count())
    limit = _emulation_limit()
    if limit and not 0 < PRESETS[name].most_reads_per_s <= limit:
        found = replace(found, reads_per_s=limit, capped_by="emulation")
    return found


def _emulation_limit() -> int:
    """Reads/s; 0 for none."""
    text = os.environ.get("ANAGO_DEVICE_READS_PER_S")
    if text is None:
        return min(EMULATED_PER_CORE * os.cpu_count(), EMULATED_MOST)
    if not text.isdigit():
        raise SystemExit("ANAGO_DEVICE_READS_PER_S must be a number of reads "
                         f"per second, or 0 for no limit, not {text!r}")
    return int(text)
