"""What every experiment does around its measuring: options, cluster, header."""

import argparse
import sys
from contextlib import contextmanager

from lib import load, machine, places, report
from lib.cluster import ClusterError
from lib.device import Device

# anago is loaded by the session, so that stock runs can be without it.
ANAGO_SERVER = {"session_preload_libraries": "anago"}

# PostgreSQL's own asynchronous direct reads (18 and later).  Each possible
# process has a ring of io_max_concurrency entries and a share of the buffers
# to pin: few processes, so that both are generous.
DIRECT_SERVER = {"debug_io_direct": "data", "io_method": "io_uring",
                 "io_max_concurrency": 512, "max_connections": 20,
                 "max_worker_processes": 8, "max_wal_senders": 0}


def parser(doc, repetitions=5, scale=1.0):
    """The options every experiment has."""
    made = argparse.ArgumentParser(
        description=doc.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    places.add_place_options(made, scale)
    made.add_argument("--repetitions", type=int, default=repetitions,
                      help="interleaved rounds; medians are taken over them")
    made.add_argument("--patience", type=float, default=5,
                      help="seconds that a run waits for a quiet machine")
    made.add_argument("--label", default="local",
                      help="goes into the names of the result files")
    return made


@contextmanager
def experiment(name, args, needs_anago=True):
    """Yield (cluster, dbname, device, results); always stops the server.

    The data are loaded if they are not yet; no server runs at first.
    """
    machine.patience_s = args.patience
    cluster = places.cluster_of(args)
    dbname = places.database_name(args.scale)
    try:
        load.ensure_loaded(cluster, args.scale)
        if needs_anago:
            _create_extension(cluster, dbname)
        device = Device(cluster.data)
        header = {"experiment": name, "scale": args.scale,
                  **machine.describe(cluster, device)}
        results = report.Results(
            f"{name}-sf{args.scale:g}-{args.label}", header)
        results.say_header()
        yield cluster, dbname, device, results
    except ClusterError as err:
        sys.exit(f"{name}: {err}")
    finally:
        cluster.stop()


def _create_extension(cluster, dbname):
    library = cluster.library("anago")
    if not library.exists():
        raise ClusterError(f"anago is not installed in {cluster.version()}: "
                           "make install with the same PG_CONFIG")
    with cluster.started(), cluster.connect(dbname) as conn:
        conn.execute("create extension if not exists anago")
