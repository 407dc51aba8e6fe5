"""How much memory a backend takes at the peak of a query.

Private memory, as the kernel counts it: resident pages that are no file's and no
shared memory's.  What malloc keeps for later counts, too: both runs of a query are
made by one process, so that what is left over from others is in both figures.
Workers are processes of their own and are not looked at.
"""

from pathlib import Path

# What anago may take beyond stock for the same query: its bound in bytes (see
# docs/settings.md) is that of a hash table, and there are rings, tables of reads in
# flight and a catalog cache that has grown, besides.
HASH_MEM_MULTIPLIER = 2         # the default; settings.py does not change it
ALLOWANCE_KB = 24 << 10

RESET_PEAK = "5"                # for clear_refs, see proc(5)
UNITS_KB = {"kB": 1, "MB": 1 << 10, "GB": 1 << 20}


class Peak:
    """Of one backend, since the last reset()."""

    def __init__(self, conn):
        self.proc = Path(f"/proc/{conn.info.backend_pid}")

    @staticmethod
    def works() -> bool:
        """Does the kernel let us reset a peak?"""
        try:
            Path("/proc/self/clear_refs").write_text(RESET_PEAK)
        except OSError:
            return False
        return True

    def reset(self):
        (self.proc / "clear_refs").write_text(RESET_PEAK)

    def private_kb(self) -> int:
        """The peak, less what of it is files and shared memory now."""
        lines = (line.split() for line in
                 (self.proc / "status").read_text().splitlines())
        kb = {words[0]: int(words[1]) for words in lines if words[-1:] == ["kB"]}
        return kb["VmHWM:"] - kb["RssFile:"] - kb["RssShmem:"]


def peak_of(conn, wanted):
    """What measures the backend of a connection; None if not wanted.

    Where the kernel does not let us, the run says so once.
    """
    if wanted and not Peak.works():
        print("no peak of memory can be had here: it is not compared", flush=True)
        return None
    return Peak(conn) if wanted else None


def allowed_kb(stock_kb, settings, nodes) -> int:
    """What so many nodes may take, where stock took so much."""
    number, unit = settings["work_mem"][:-2], settings["work_mem"][-2:]
    each = int(number) * UNITS_KB[unit] * HASH_MEM_MULTIPLIER
    return stock_kb + nodes * each + ALLOWANCE_KB
