"""A throw-away cluster for a long test, and what its log must not say."""

import os
import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

from lib.cluster import Cluster, ClusterError

DBNAME = "differ"

BAD_IN_LOG = re.compile(
    r"WARNING:|PANIC:|TRAP:|leak|terminated by signal|"
    r"exited with exit code|was not properly shut down|"
    r"invalid memory alloc|could not fork|runtime error", re.IGNORECASE)

# Ends of processes that are as they should be; a parallel worker ends so by an
# error, its own or the leader's.
FINE_IN_LOG = re.compile(r"logical replication launcher|"
                         r'"parallel worker" .* exited with exit code 1$')


@contextmanager
def throw_away_cluster(port, library=None):
    """A new, empty cluster; gone afterwards unless the test failed.

    The test says so by SystemExit.  `library` must be installed, if given.
    """
    scratch = os.environ.get("ANAGO_SCRATCH", "/var/tmp")
    root = Path(tempfile.mkdtemp(prefix="anago-differ-", dir=scratch))
    cluster = Cluster(root, port=port)
    keep = False
    try:
        if library and not cluster.library(library).exists():
            raise ClusterError(f"{library} is not installed in "
                               f"{cluster.version()}: make install with the "
                               "same PG_CONFIG")
        cluster.create()
        yield cluster
    except SystemExit:
        keep = True
        raise
    finally:
        cluster.stop()
        if keep:
            print(f"the cluster is kept in {root}")
        else:
            shutil.rmtree(root)


def bad_log_lines(cluster):
    """Lines of the server's log that no run may cause."""
    text = cluster.log.read_text(errors="replace")
    return [line for line in text.splitlines()
            if BAD_IN_LOG.search(line) and not FINE_IN_LOG.search(line)]
