"""make bench: a short form of every experiment, and one page of all of them.

    bench/python bench/all.py --scale 1

Each experiment writes its results when it is done; started again after an
interruption, those of the same commit and options are not taken again (--again
takes all anew).  At the end page.py puts everything on one HTML page.
"""

import argparse
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from lib import app, load, page, pgbench, places, skew, tpch
from lib.cluster import ClusterError
from lib.ending import main_of
from lib.report import say

HERE = Path(__file__).parent
RESULTS = HERE / "page"

SMALLER = (0.3,)            # scales that scaling.py loads besides

FIO_BYTES = 3 << 30         # fio reads each block once, two seconds at most


@dataclass(frozen=True)
class Part:
    """One experiment, and what makes it short."""
    name: str
    options: tuple
    at: str = "experiments/"

    @property
    def script(self) -> Path:
        return HERE / f"{self.at}{self.name}.py"


def _fio(seconds):
    return ("--fio-bytes", str(FIO_BYTES), "--fio-seconds", str(seconds))


PARTS = (
    Part("device", ("--short",)),
    Part("over_time", ("--repetitions", "2", "--interval", "0.02")),
    Part("against_stock", ("--repetitions", "1")),
    Part("selectivity", ("--repetitions", "1", "--limit", "10")),
    Part("tpch", ("--repetitions", "1", "--limit", "60")),
    Part("order", ("--repetitions", "1", "--limit", "30")),
    Part("app", ("--repetitions", "1", "--limit", "30")),
    Part("cost", ("--rounds", "5")),
    Part("planning", ("--plans", "40", "--sessions", "3")),
    Part("left_on", ("--repetitions", "1", "--limit", "30", "--random", "20",
                     "--settings", "tuned", "--only", "cached", "--label",
                     "local-cached")),
    Part("scaling", ("--repetitions", "1", "--sizes",
                     *(f"{size:g}" for size in (*SMALLER, 1)), *_fio(1))),
    Part("workers", ("--repetitions", "1", "--only",
                     "reads,serial,skew,cached,cpu", *_fio(1))),
    Part("one_process", ("--repetitions", "1", "--only",
                         "cold,cached,memory"), at=""),
)


def run(part, args) -> int:
    """Run one script to its end; its exit code."""
    argv = [sys.executable, str(part.script), "--scale", f"{args.scale:g}",
            "--device", args.device, "--dir", str(args.dir),
            "--port", str(args.port),
            "--results", str(args.results), "--patience", "1", *part.options]
    if args.again:
        argv.append("--again")
    # A session of its own: Ctrl-C reaches us alone, and it once.
    child = subprocess.Popen(argv, start_new_session=True)
    try:
        return child.wait()
    except BaseException:
        child.send_signal(signal.SIGTERM)   # it stops its server itself
        child.wait()
        raise


def check(args):
    """What would stop us later is said now."""
    cluster = places.cluster_of(args)
    if cluster.running():
        raise ClusterError(f"a server runs on {cluster.data}: another bench? "
                           "Stop it first")
    load.check_room(cluster, args.scale, 2 * FIO_BYTES + pgbench.BYTES
                    + skew.bytes_needed(args.scale)
                    + app.bytes_needed(args.scale)
                    + sum(map(tpch.bytes_needed, SMALLER)))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    places.add_place_options(parser)
    parser.add_argument("--results", type=Path, default=RESULTS,
                        help="folder of the page and of the result files")
    parser.add_argument("--only", default="",
                        help="experiments to run, by comma (default: all)")
    parser.add_argument("--again", action="store_true",
                        help="also those whose results are there already")
    args = parser.parse_args()
    names = [part.name for part in PARTS]
    only = args.only.split(",") if args.only else names
    if unknown := set(only) - set(names):
        sys.exit(f"bench: no such experiment: {', '.join(sorted(unknown))}; "
                 f"there are {', '.join(names)}")
    parts = [part for part in PARTS if part.name in only]
    try:
        check(args)
    except ClusterError as err:
        sys.exit(f"bench: {err}")
    begin, failed = time.monotonic(), []
    for number, part in enumerate(parts, 1):
        say(f"=== {number} of {len(parts)}: {part.name}")
        start = time.monotonic()
        if run(part, args) != 0:
            failed.append(part.name)
        say(f"=== {part.name}: {time.monotonic() - start:.0f} s")
        page.write(args.results)            # so far
    print(f"{len(parts) - len(failed)} of {len(parts)} experiments in "
          f"{time.monotonic() - begin:.0f} s; the page: "
          f"{args.results / page.NAME}")
    if failed:
        sys.exit(f"bench: failed: {', '.join(failed)} (what they said is above; "
                 "the same command takes only these again)")


if __name__ == "__main__":
    main_of("bench", main)
