"""Load TPC-H into a private cluster, at any scale, restartable.

    bench/python bench/load.py --scale 10

See lib/load.py for how.
"""

import argparse
import sys

import psycopg

from lib.cluster import ClusterError
from lib.ending import main_of
from lib.load import load
from lib.places import add_place_options, cluster_of, count, storage
from lib.session import only_one


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add_place_options(parser)
    parser.add_argument("--jobs", type=count, default=2,
                        help="pieces loaded at the same time")
    args = parser.parse_args()
    try:
        with storage(args), only_one(cluster_of(args)) as cluster:
            seconds = load(cluster, args.scale, args.jobs)
            size = sum(f.stat().st_size for f in cluster.data.rglob("*")
                       if f.is_file())
    except (ClusterError, psycopg.Error, OSError) as err:
        sys.exit(f"load: {err}")
    except KeyboardInterrupt:
        print("the same command goes on from here", file=sys.stderr)
        raise
    print(f"loaded scale {args.scale:g} in {seconds:.0f} s, "
          f"{size / 1e9:.1f} GB in {cluster.root}")


if __name__ == "__main__":
    main_of("load", main)
