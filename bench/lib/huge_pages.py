"""Huge pages for a server's shared buffers, for as long as a run lasts.

A parallel worker is a new process.  Without huge pages it takes a page fault for
each 4 KiB of shared buffers that it comes to, in every query anew: of query C
with everything in buffers that is a third of a worker's time.  So a server with
large buffers and parallel queries is run with huge pages, stock's or anago's.
"""

from contextlib import contextmanager
from pathlib import Path

RESERVED = Path("/proc/sys/vm/nr_hugepages")


@contextmanager
def huge_pages(cluster, settings):
    """Yield `settings` with huge pages on if they can be had, else with off.

    The server must not run yet; what was reserved before is put back.
    """
    try:
        before = int(RESERVED.read_text())
        wanted = int(cluster.computed("shared_memory_size_in_huge_pages", settings))
        RESERVED.write_text(str(before + wanted))
    except (OSError, ValueError):           # none here, or not as this user
        yield {**settings, "huge_pages": "off"}
        return
    try:
        got = int(RESERVED.read_text()) >= before + wanted
        yield {**settings, "huge_pages": "on" if got else "off"}
    finally:
        RESERVED.write_text(str(before))
