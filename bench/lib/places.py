"""Where clusters are, by the same options in every script."""

import argparse
import os
from contextlib import contextmanager
from pathlib import Path

from lib import tpch
from lib.cluster import Cluster

DEFAULT_DIR = Path("/var/tmp/anago-bench")
DEFAULT_PORT = 5650

LOCAL = "local"
DEVICES = (LOCAL, "nvme", "cloud", "network", "disks")


def count(text) -> int:
    """A number from 1 on, from the command line."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def add_place_options(parser, scale=1.0):
    """--scale, --device, --dir, --port."""
    parser.add_argument("--scale", type=float, default=scale,
                        help="TPC-H scale factor (1: about 2 GB)")
    parser.add_argument("--device", choices=DEVICES, default=LOCAL,
                        help="the disk below --dir, or an emulated one in a "
                        "file there")
    parser.add_argument("--dir", type=Path, default=os.environ.get(
        "ANAGO_BENCH_DIR", DEFAULT_DIR), help="where clusters are kept")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT,
                        help="port in the socket's name; no TCP is used")


@contextmanager
def storage(args, extra_bytes=0):
    """Within, args.dir is on the device that was asked for; yields that device.

    What is on an emulated one is kept for the next run; a cluster that is loaded
    beside it is copied there, which is much faster than loading.  `local` yields
    None.
    """
    if args.device == LOCAL:
        yield None
        return
    from lib import device      # emulation needs more than counting does
    outside = args.dir
    beside = cluster_of(args)
    room = tpch.bytes_needed(args.scale) + extra_bytes
    with device.emulated(args.device, outside, room, keep=True,
                         bring=[beside.root] if beside.exists() else []) as disk:
        args.dir = Path(disk)
        try:
            yield disk
        finally:
            args.dir = outside


def database_name(scale) -> str:
    return "tpch" + f"{scale:g}".replace(".", "_")


def at_scale(args, scale):
    """The same options, for another scale."""
    return argparse.Namespace(**{**vars(args), "scale": scale})


def cluster_of(args) -> Cluster:
    """The cluster of a scale and of PG_CONFIG's version: <dir>/pg18-sf10."""
    probe = Cluster(args.dir, port=args.port)
    return Cluster(Path(args.dir) / f"pg{probe.major()}-sf{args.scale:g}",
                   bindir=probe.bindir, port=args.port)
