"""Clients of CH-benCHmark's queries, and one that looks at the servers meanwhile.

Each is a thread with connections of its own, for one part of the time: a Part has
what came of it.  Transactions are pgbench's.
"""

import random
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

import psycopg

from lib import ch

# A standby cancels a query with one of these where replay has to go on.
CONFLICTS = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)

LOOK_S = 1.0

# What is asked of a server at each look.
OF_BALANCER = "select state, olap_cores, shipping_cores from anago_balancer()"
OF_STANDBY = ("select anago_freshness() as freshness, extract(epoch from "
              "now() - pg_last_xact_replay_timestamp())::float8 as age")
OF_PRIMARY = ("select max(extract(epoch from replay_lag))::float8 as replay_lag "
              "from pg_stat_replication")


@dataclass
class Part:
    """What was finished in one part of the time, and seen."""
    share: float                # of OLTP clients
    tps: list = field(default_factory=list)     # each second
    failed: int = 0
    queries: list = field(default_factory=list) # (seconds since its start, name)
    stopped: int = 0            # by the limit of time
    cancelled: int = 0          # by the standby
    looks: list = field(default_factory=list)   # {what: value}, each second


class Queries(threading.Thread):
    """One client: all queries in an order of its own, until told to end."""

    def __init__(self, connect, seed, part, end):
        super().__init__(daemon=True)
        self.connect, self.conn = connect, connect()
        self.random, self.part, self.end = random.Random(seed), part, end
        self.begin, self.error = time.monotonic(), None

    def run(self):
        texts = ch.queries()
        try:
            while time.monotonic() < self.end:
                for name in self.random.sample(sorted(texts), len(texts)):
                    if time.monotonic() >= self.end:
                        break
                    self.one(name, texts[name])
        except psycopg.Error as err:
            self.error = err
        finally:
            self.conn.close()

    def one(self, name, sql):
        """Its own limit stops a query; the end of the part does, too."""
        try:
            self.conn.execute(sql).fetchall()
        except psycopg.errors.QueryCanceled:
            self.part.stopped += time.monotonic() < self.end
            return
        except CONFLICTS:
            self.part.cancelled += 1
            if self.conn.closed:
                self.conn = self.connect()
            return
        if time.monotonic() < self.end:
            self.part.queries.append((time.monotonic() - self.begin, name))

    def finish(self):
        """After the end; raises what went wrong."""
        if self.is_alive():
            with suppress(psycopg.Error):       # it has just ended
                self.conn.cancel()
        self.join()
        if self.error:
            raise self.error


class Watch(threading.Thread):
    """Freshness, lag, and what balancers decide, once in a second.

    asked: [(connection, prefix, SQL of one row)]; what was seen has the names of
    its columns, with the prefix, which tells two servers' balancers apart.
    """

    def __init__(self, asked, part, end):
        super().__init__(daemon=True)
        self.asked, self.part, self.end = asked, part, end
        self.begin, self.error = time.monotonic(), None

    def run(self):
        try:
            while time.monotonic() < self.end:
                self.part.looks.append(self.look())
                time.sleep(LOOK_S)
        except psycopg.Error as err:
            self.error = err
        finally:
            for conn, _, _ in self.asked:
                conn.close()

    def look(self) -> dict:
        seen = {"at": time.monotonic() - self.begin}
        for conn, prefix, sql in self.asked:
            try:
                cursor = conn.execute(sql)
            except CONFLICTS:
                continue
            names = [prefix + column.name for column in cursor.description]
            seen.update(zip(names, cursor.fetchone()))
        return seen

    def finish(self):
        self.join()
        if self.error:
            raise self.error
