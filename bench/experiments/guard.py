"""Transactions beside query C: alone, beside stock's plans, beside anago, guarded and not.

    bench/python bench/experiments/guard.py --scale 10
    bench/python bench/experiments/guard.py --scale 10 --only step,shares

Lookups: --clients sessions of pgbench look up single orders at random, on cold data,
while query C runs in a loop in a session of its own; each variant has its own server,
cold.  Their figures are of the first --seconds, as later ones find more in memory; they go
on until C has ended once, and that run, which began cold, is C's time.
Changes: the same with pgbench's TPC-B-like transactions, in a database of their own.
Quiet: C without lookups, with the guard on and off.
Step: lookups begin and end while C reads, cold; the guard's limit over time.  Shares: sessions
with anago.share 100, 200, 400, 800 read lines of parts, others each, and their reads are
compared, from when all of them want more than they have until half of the table is read.
"""

import re
import statistics
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from lib import plots, queries, runs, session
from lib.cluster import ClusterError
from lib.ending import main_of
from lib.report import say

NAME = "guard"
TITLE = "Transactions beside queries"
QUESTION = ("What do single-row lookups lose while query C runs beside them, and what "
            "does C lose where the guard protects them?")
SECTIONS = ("lookups", "changes", "quiet", "step", "shares")

# (TPC-H's order keys: the first 8 of each 32)
LOOKUP = """\\set n random(0, {orders} - 1)
\\set k (:n / 8) * 32 + :n % 8 + 1
select o_totalprice from orders where o_orderkey = :k;
"""
ORDERS = 1_500_000          # for each unit of the scale

TPCB = "guard_tpcb"         # database of the TPC-B-like transactions
TPCB_SCALE = 20

AGAIN = 5                   # seconds of lookups whose figures are not used

SHARES = (100, 200, 400, 800)
SHARED_READS = 30
SHARED_PART = 0.5           # of the table: when so much is read most of what is looked for is cached
PARTS = 200_000             # for each unit of the scale
SHARED = "select sum(l_quantity) from lineitem where l_partkey >= {low} and l_partkey < {high}"
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


def preloaded(**settings):
    return {"shared_preload_libraries": "anago",
            **{f"anago.{name}": value for name, value in settings.items()}}


@dataclass(frozen=True)
class Beside:
    """What runs beside the lookups."""
    name: str
    server: dict
    session: dict | None    # None: nothing


def variants_of(args):
    on = {**queries.INDEX_PLAN, **queries.ANAGO_ON}
    several = {**on, **queries.parallel(args.workers)}
    made = [Beside("alone", {}, None),
            Beside("stock, same plan", {}, queries.INDEX_PLAN),
            Beside("stock, defaults", {}, {}),
            Beside("anago", preloaded(guard="off"), on),
            Beside("anago, guarded", preloaded(guard="on"), on)]
    if args.workers:
        made += [Beside(f"anago, {args.workers + 1} processes", preloaded(guard="off"), several),
                 Beside(f"anago, {args.workers + 1} processes, guarded",
                        preloaded(guard="on"), several)]
    return made


class Loop(threading.Thread):
    """A query, C, again and again until stop(); the time of each run."""

    def __init__(self, bench, settings, sql=None):
        super().__init__(daemon=True)
        self.conn = bench.cluster.connect(bench.dbname)
        runs.set_session(self.conn, settings)
        self.sql = sql or queries.text("C")
        self.took = []          # seconds of each run
        self.begun = None
        self.ending = False
        self.error = None

    def run(self):
        try:
            while not self.ending:
                self.begun = time.monotonic()
                self.conn.execute(self.sql).fetchall()
                self.took.append(time.monotonic() - self.begun)
        except psycopg.errors.QueryCanceled:
            pass
        except psycopg.Error as err:
            self.error = err

    def stop(self):
        self.ending = True
        while self.is_alive():
            self.conn.cancel()
            self.join(0.1)
        self.conn.close()
        if self.error:
            raise self.error


@contextmanager
def running(bench, settings):
    if settings is None:
        yield None
        return
    loop = Loop(bench, settings)
    loop.start()
    try:
        yield loop
    finally:
        loop.stop()


@dataclass(frozen=True)
class Lookups:
    tps: float
    ms: list                # latencies, ascending
    begin: float            # when the first one had begun, and the last one ended
    end: float


def lookups(bench, seconds, changes=False) -> Lookups:
    """One run of pgbench: lookups, or transactions that change rows."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        script = Path(folder, "lookup.sql")
        script.write_text(LOOKUP.format(orders=round(ORDERS * bench.args.scale)))
        what = ["-b", "tpcb-like"] if changes else ["-f", script]
        done = bench.cluster.program(
            "pgbench", "-n", "-M", "prepared", "-c", bench.args.clients, "-T", seconds,
            *what, "-l", f"--log-prefix={folder}/log",
            f"dbname={TPCB if changes else bench.dbname}")
        tps = float(re.search(r"tps = ([\d.]+)", done.stdout)[1])
        # client, number, microseconds, script, when it ended: seconds, microseconds
        lines = [line.split() for log in Path(folder).glob("log.*")
                 for line in log.read_text().splitlines()]
    ended = [(int(line[4]) + int(line[5]) / 1e6, int(line[2]) / 1e6) for line in lines]
    return Lookups(tps, sorted(took * 1000 for _, took in ended),
                   min(at - took for at, took in ended), max(at for at, _ in ended))


def lookups_until(bench, loop, changes) -> Lookups:
    """The first of such runs; the same again and again until query C has ended once."""
    until = time.monotonic() + bench.args.limit
    first = lookups(bench, bench.args.seconds, changes)
    while loop and not loop.took and loop.is_alive() and time.monotonic() < until:
        lookups(bench, AGAIN, changes)
    return first


def quantile(ordered, part):
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]


def one_run(bench, variant, repetition, changes):
    """What one variant gives: a dict of figures."""
    seconds = bench.args.seconds
    bench.cluster.stop()
    bench.cluster.restart_cold({**runs.COLD_SERVER, **variant.server})
    with running(bench, variant.session) as loop:
        time.sleep(1)
        first = lookups_until(bench, loop, changes)
    took = loop.took[0] if loop and loop.took else None
    if loop and not took:
        say(f"{variant.name} #{repetition}: C did not end within {bench.args.limit} s")
    figures = {"tps": first.tps, "c_s": took or bench.args.limit if loop else 0,
               **{name: quantile(first.ms, part) for name, part in QUANTILES.items()}}
    bench.records("changes" if changes else "lookups", "C", variant.name, repetition, seconds,
                  marks=" ".join(f"{name}={value:.4g}" for name, value in figures.items()))
    say(f"{variant.name} #{repetition}: {figures}")
    return figures


def measure_beside(bench, section, title, changes=False):
    variants = variants_of(bench.args)
    figures = {variant.name: [] for variant in variants}
    for repetition in range(bench.args.repetitions):
        for variant in variants:
            figures[variant.name].append(one_run(bench, variant, repetition, changes))
    out = {name: {key: statistics.median(one[key] for one in taken) for key in taken[0]}
           for name, taken in figures.items()}
    rows = []
    base, stock = out["alone"], out["stock, same plan"]
    for name, mine in out.items():
        rows.append([name, f"{mine['tps']:.0f}", f"{mine['tps'] / base['tps']:.2f}",
                     *(f"{mine[key]:.2f}" for key in QUANTILES),
                     f"{mine['p99'] / base['p99']:.2f}",
                     *([f"{mine['c_s']:.1f}", f"{stock['c_s'] / mine['c_s']:.2f}"]
                       if mine["c_s"] else ["", ""])])
    bench.results.table(section, f"{bench.args.clients} clients {title} beside query C",
                        ["beside", "tps", "of alone", "p50 ms", "p99 ms", "p99.9 ms",
                         "p99, of alone", "C, seconds", "C, times stock's same plan"], rows)
    return out


def measure_lookups(bench):
    return measure_beside(bench, "lookups", "of lookups")


def measure_changes(bench):
    bench.cluster.stop()
    bench.cluster.restart_cold(runs.COLD_SERVER)
    with bench.cluster.connect() as conn:
        conn.execute(f"drop database if exists {TPCB}")
        conn.execute(f"create database {TPCB}")
    try:
        bench.cluster.program("pgbench", "-i", "-q", "-s", TPCB_SCALE, f"dbname={TPCB}")
        return measure_beside(bench, "changes", "of TPC-B-like transactions", changes=True)
    finally:
        with bench.cluster.connect() as conn:
            conn.execute(f"drop database {TPCB} with (force)")


def measure_quiet(bench):
    """What the guard costs C where there are no transactions."""
    on = {**queries.INDEX_PLAN, **queries.ANAGO_ON}
    took = {"off": [], "on": []}
    for _ in range(bench.args.repetitions):
        for guard, taken in took.items():
            bench.cluster.stop()
            bench.cluster.restart_cold({**runs.COLD_SERVER, **preloaded(guard=guard)})
            with running(bench, on) as loop:
                while loop.is_alive() and not loop.took:
                    time.sleep(0.01)
            taken.append(loop.took[0])
    figures = {guard: statistics.median(taken) for guard, taken in took.items()}
    bench.results.table("quiet", "C without lookups", ["guard", "C, seconds", "of unguarded"],
                        [[guard, f"{figures[guard]:.2f}", f"{figures['off'] / figures[guard]:.3f}"]
                         for guard in took])
    return figures


@contextmanager
def watching(bench):
    """A connection to a database of its own, which is new, as its extension is: what
    runs is seen from all databases."""
    with bench.cluster.connect() as conn:
        conn.execute("drop database if exists guard_watch")
        conn.execute("create database guard_watch")
    try:
        with bench.cluster.connect("guard_watch") as conn:
            conn.execute("create extension anago")
            conn.execute("create table one (id int primary key)")
            yield conn
    finally:
        with bench.cluster.connect() as conn:
            conn.execute("drop database guard_watch with (force)")


# Who looks is no transaction to the guard: it has a query of anago's open, which never runs.
OPEN = """set anago.enable = on; set anago.debug_force = on;
begin; declare open cursor for select * from one where id > 0;
set anago.enable = off"""

WATCH = """do $$ begin
    for i in 1 .. {looks} loop
        insert into guard_watch select clock_timestamp(), g.inflight_limit, g.part_of_time, g.state,
            (select coalesce(sum(in_flight), 0) from anago_activity) from anago_guard g;
        perform pg_sleep(0.005);
    end loop;
end $$"""


def measure_step(bench):
    """Lookups begin and end beside C; how long until the limit follows?"""
    args = bench.args
    bench.cluster.stop()
    bench.cluster.restart_cold({**runs.COLD_SERVER, **preloaded(guard="on")})
    with watching(bench) as conn:
        conn.execute("create unlogged table guard_watch (at timestamptz, inflight_limit int,"
                     " part float8, state text, in_flight bigint)")
        with running(bench, {**queries.INDEX_PLAN, **queries.ANAGO_ON}):
            conn.execute(OPEN)
            watcher = threading.Thread(target=lambda: conn.execute(
                WATCH.format(looks=round((args.step * 3) / 0.006))), daemon=True)
            watcher.start()
            time.sleep(args.step)
            done = lookups(bench, round(args.step))
            watcher.join()
        conn.execute("commit")
        taken = conn.execute("select extract(epoch from at)::float8, inflight_limit, part, state,"
                             " in_flight from guard_watch order by at").fetchall()
    return report_step(bench, taken, done.begin, done.end)


def first_after(taken, moment, holds):
    return next((row[0] - moment for row in taken if row[0] >= moment and holds(row)), None)


def report_step(bench, taken, begin, end):
    down = first_after(taken, begin, lambda row: row[1] is not None)
    up = first_after(taken, end, lambda row: row[1] is None)
    figure, axes = plots.plt.subplots(figsize=(7.0, 3.0))
    axes.step([row[0] - begin for row in taken], [row[4] for row in taken], where="post")
    for moment in (0, end - begin):
        axes.axvline(moment, color="#d1495b", linewidth=0.8)
    axes.set_yscale("symlog")
    axes.set_xlabel("seconds since lookups began")
    axes.set_ylabel("reads in flight of query C")
    plots.save(figure, bench.results, "-step")
    shown = [["lookups begin", f"{down * 1000:.0f}" if down is not None else "never"],
             ["lookups end", f"{up * 1000:.0f}" if up is not None else "never"]]
    bench.results.table("step", "until the limit follows", ["when", "ms"], shown)
    return {"down_s": down, "up_s": up}


SHARES_SEEN = """select share, reads, wanted > in_flight, in_flight, extract(epoch from clock_timestamp())::float8
    from anago_activity order by share"""


def all_want_more(seen):
    return len(seen) == len(SHARES) and all(row[2] for row in seen)


def reads_of(seen):
    return {row[0]: row[1] for row in seen}


def watch_shares(conn, blocks, seconds):
    """Looks from when all want more than they have until they have read so many blocks."""
    until = time.monotonic() + seconds + 5
    looks = []
    while time.monotonic() < until:
        seen = conn.execute(SHARES_SEEN).fetchall()
        if looks or all_want_more(seen):
            looks.append(seen)
        if looks and (len(seen) < len(SHARES) or
                      sum(reads_of(seen).values()) >= blocks or
                      seen[0][4] - looks[0][0][4] >= seconds):
            return looks
        time.sleep(0.01)
    return looks


def one_run_of_shares(bench):
    """Parts that sessions with other shares have, by what these say: of reads that are
    done, and of those in flight; and for how long that was."""
    bench.cluster.stop()
    bench.cluster.restart_cold({**runs.COLD_SERVER, **preloaded(server_inflight_reads=SHARED_READS)})
    settings = {**queries.INDEX_PLAN, **queries.ANAGO_ON}
    each = PARTS * bench.args.scale / len(SHARES)
    with bench.cluster.connect(bench.dbname) as conn:
        blocks = conn.execute("select relpages from pg_class where relname = 'lineitem'").fetchone()[0]
    loops = [Loop(bench, {**settings, "anago.share": share},
                  SHARED.format(low=round(number * each), high=round((number + 1) * each)))
             for number, share in enumerate(SHARES)]
    with watching(bench) as conn:
        for loop in loops:
            loop.start()
        try:
            looks = watch_shares(conn, blocks * SHARED_PART, bench.args.share_seconds)
        finally:
            for loop in loops:
                loop.stop()
    if len(looks) < 3 or len(looks[-1]) < len(SHARES):
        raise ClusterError("shares: the sessions did not all want reads for long enough")
    return parts_of_shares(looks)


def parts_of_shares(looks):
    first, last = reads_of(looks[0]), reads_of(looks[-1])
    had = {share: last[share] - first[share] for share in SHARES}
    held = {share: sum(row[3] for seen in looks for row in seen if row[0] == share) for share in SHARES}
    want = statistics.mean(all_want_more(seen) for seen in looks)

    def of_due(amounts, share):
        return amounts[share] * sum(SHARES) / share / max(sum(amounts.values()), 1)
    return {"seconds": looks[-1][0][4] - looks[0][0][4], "want": want, "reads": had,
            "done": {share: of_due(had, share) for share in SHARES},
            "held": {share: of_due(held, share) for share in SHARES}}


def measure_shares(bench):
    """Reads of sessions with other shares, while most of the table is not cached.

    The sessions look for rows all over the table, so that the pages of each are those of
    all.  Once they have read half of it most of what they look for is in shared buffers:
    then CPUs are what is short, and reads are left over.
    """
    taken = []
    for repetition in range(bench.args.repetitions):
        taken.append(one_run_of_shares(bench))
        bench.records("shares", "", "anago", repetition, taken[-1]["seconds"],
                      marks=" ".join(f"{share}={taken[-1]['done'][share]:.3f}" for share in SHARES))
        say(f"shares #{repetition}: {taken[-1]}")

    def span(key, share):
        parts = [one[key][share] for one in taken]
        return f"{statistics.median(parts):.2f} ({min(parts):.2f}-{max(parts):.2f})"
    bench.results.table(
        "shares", f"reads of {len(SHARES)} sessions, {SHARED_READS} in flight together, "
        f"{statistics.median(one['seconds'] for one in taken):.1f} seconds",
        ["share", "reads", "of what it should have", "of reads in flight"],
        [[share, round(statistics.median(one["reads"][share] for one in taken)), span("done", share),
          span("held", share)] for share in SHARES])
    bench.results.note("All wanted more than they had in "
                       f"{min(one['want'] for one in taken):.0%} of the looks, or more.")
    return taken


MEASURE = {"lookups": measure_lookups, "changes": measure_changes, "quiet": measure_quiet,
           "step": measure_step, "shares": measure_shares}


def main():
    parser = session.parser(__doc__, repetitions=2)
    parser.add_argument("--clients", type=int, default=4, help="of the lookups")
    parser.add_argument("--seconds", type=int, default=20, help="of lookups, each run")
    parser.add_argument("--limit", type=float, default=120, help="seconds that C may take beside lookups")
    parser.add_argument("--workers", type=int, default=1, help="of the variants in several processes")
    parser.add_argument("--step", type=float, default=2, help="seconds before, during and after lookups")
    parser.add_argument("--share-seconds", type=float, default=5, help="in which reads are counted, at most")
    session.add_sections(parser, SECTIONS)
    args = parser.parse_args()
    wanted = session.sections_of(args, SECTIONS)
    with session.experiment(NAME, TITLE, QUESTION, args) as bench:
        bench.results.finish({name: MEASURE[name](bench) for name in wanted})


if __name__ == "__main__":
    main_of(NAME, main)
