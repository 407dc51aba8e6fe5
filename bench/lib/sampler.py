"""What a server does while a query runs: CPU and reads, many times a second."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """One interval."""
    at: float               # seconds since the query began, its middle
    cores: float            # CPU used by the server's processes
    reads_per_s: float
    bytes_per_s: float


class Sampler:
    """Samples a cluster's CPU and a device's reads in a thread of its own.

        with Sampler(cluster, device, 0.05) as sampler:
            ...
        sampler.samples

    CPU is taken from schedstat, in nanoseconds: /proc/PID/stat counts in ticks
    of 10 ms.  The threads of a process count (io_uring's workers are such), and
    of what has ended meanwhile, what was seen of it last.
    """

    def __init__(self, cluster, device, interval_s):
        self.cluster = cluster
        self.device = device
        self.interval_s = interval_s
        self.samples = []
        self._seen = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._pid = self.cluster.postmaster_pid()
        self._begin = time.perf_counter()
        self._last = self._read()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()
        self._take()

    def _run(self):
        while not self._end.wait(self.interval_s):
            self._take()

    def _take(self):
        now = self._read()
        then, self._last = self._last, now
        elapsed = max(now[0] - then[0], 1e-6)
        reads = now[2] - then[2]
        self.samples.append(Sample(
            (now[0] + then[0]) / 2 - self._begin,
            (now[1] - then[1]) / elapsed / 1e9,
            reads.requests / elapsed, reads.bytes / elapsed))

    def _read(self):
        """(time, nanoseconds of CPU so far, reads so far)."""
        pids = [self._pid]
        try:
            pids += Path(f"/proc/{self._pid}/task/{self._pid}/children") \
                .read_text().split()
        except OSError:
            pass
        for pid in pids:
            for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                try:
                    self._seen[str(task)] = int(task.read_text().split()[0])
                except (OSError, IndexError):
                    pass
        return (time.perf_counter(), sum(self._seen.values()),
                self.device.reads())
