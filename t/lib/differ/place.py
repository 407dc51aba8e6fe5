"""A throw-away cluster for a long test, and what its log must not say."""

import os
import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

from lib.cluster import Cluster, ClusterError

DBNAME = "differ"

LOG_RULES = Path(__file__).resolve().parents[3] / "ci" / "bad-log.txt"


def log_rule(*kinds):
    """The patterns of these kinds in ci/bad-log.txt, as one."""
    lines = (line.split(" ", 1) for line in LOG_RULES.read_text().splitlines())
    return re.compile("|".join(rest[0] for kind, *rest in lines if kind in kinds))


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
    bad, fine = log_rule("never", "strict"), log_rule("fine")
    text = cluster.log.read_text(errors="replace")
    return [line for line in text.splitlines()
            if bad.search(line) and not fine.search(line)]
