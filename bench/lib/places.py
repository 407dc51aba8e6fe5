"""Where clusters are, by the same options in every script."""

import os
from pathlib import Path

from lib.cluster import Cluster

DEFAULT_DIR = Path("/var/tmp/anago-bench")
DEFAULT_PORT = 5650


def add_place_options(parser, scale=1.0):
    """--scale, --dir, --port."""
    parser.add_argument("--scale", type=float, default=scale,
                        help="TPC-H scale factor (1: about 2 GB)")
    parser.add_argument("--dir", type=Path, default=os.environ.get(
        "ANAGO_BENCH_DIR", DEFAULT_DIR), help="where clusters are kept")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT,
                        help="port in the socket's name; no TCP is used")


def database_name(scale) -> str:
    return "tpch" + f"{scale:g}".replace(".", "_")


def cluster_of(args) -> Cluster:
    """The cluster of a scale and of PG_CONFIG's version: <dir>/pg18-sf10."""
    probe = Cluster(args.dir, port=args.port)
    return Cluster(Path(args.dir) / f"pg{probe.major()}-sf{args.scale:g}",
                   bindir=probe.bindir, port=args.port)
