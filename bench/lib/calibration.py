"""A device that anago's planner has measured, for an experiment and no longer."""

from contextlib import contextmanager

from lib import session
from lib.report import say


def _at_rest(bench, do):
    """`do` with a connection to a server that runs for nothing else."""
    bench.cluster.stop()
    try:
        with bench.cluster.started(session.ANAGO_SERVER), \
                bench.cluster.connect(bench.dbname) as conn:
            return do(conn)
    finally:
        bench.cluster.stop()


def _measure(conn):
    with conn.execute("select * from anago_calibrate()") as found:
        return {column.name: str(value) for column, value in
                zip(found.description, found.fetchone())}


@contextmanager
def calibrated(bench):
    """anago_calibrate() is called first; what it says is in the results' header."""
    try:
        found = _at_rest(bench, _measure)
        bench.results.header["calibration"] = found
        say(f"calibrated: {found}")
        yield
    finally:
        _at_rest(bench, lambda conn: conn.execute("delete from anago_calibration"))
