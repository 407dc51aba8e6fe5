"""CH-benCHmark: transactions and queries at once, on one copy of the data and on two.

    bench/python bench/experiments/htap.py --scale 5

TPC-C's transactions by pgbench and CH-benCHmark's 22 queries, each client in a loop
without thinking.  A fixed ratio of clients, and one that changes (50:50, 70:30,
30:70).  One copy of the data, on which both run:

    unified-stock    Baseline Unified: one pool of CPUs, all processes alike
    unified-anago    the same, with queries planned by anago
    static           queries of anago's have half of the CPUs, as HTAL begins, and
                     keep it
    htal             anago's balancer moves parts of CPUs between transactions and
                     queries

Two copies on the same machine, transactions on a primary, queries on its standby:

    decoupled-stock  Baseline Decoupled: each side has half of the CPUs, log shipping
                     has those of its side
    decoupled-anago  the same, with queries planned by anago; so it is static, too
    htal-standby     both have all CPUs, and a balancer on each side

Transactions and queries finished, transactions that failed, queries that the standby
cancelled, freshness and replay lag, over time; of balancers the decisions, too.  Each
run has a fresh copy of the data.  After each, TPC-C's conditions of consistency are
checked on both copies; rows of all queries are compared before.

Interrupted, the same command goes on with the runs that are not done.
"""

import hashlib
import os
import re
import statistics
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psycopg

from lib import ch, copies, plots, queries, session
from lib.clients import OF_BALANCER, OF_PRIMARY, OF_STANDBY, Part, Queries, Watch
from lib.cluster import Cluster, ClusterError, wait_for
from lib.done import Done
from lib.ending import main_of
from lib.htap import LOADS, MEASURES, PUBLISHED, against, percent, same_sign
from lib.report import say

NAME = "htap"
TITLE = "Transactions and queries on one copy of the data, and on two"
QUESTION = ("What do queries take from transactions beside them, planned by stock and "
            "with anago, on one copy of the data and on a standby, as their ratio "
            "changes?")

SERVER = {"shared_preload_libraries": "anago", "shared_buffers": "1GB",
          "max_wal_size": "4GB", "random_page_cost": 1.1,
          "effective_io_concurrency": 200}

# Queries of a standby hold back what VACUUM and pruning remove, as those of a primary
# do, and soon.  Without it replay waits for them, and at last cancels them.
FEEDBACK = {"hot_standby_feedback": "on", "wal_receiver_status_interval": "1s"}

CPUS = sorted(os.sched_getaffinity(0))
HALF = max(1, len(CPUS) // 2)

READS = 256                     # in flight, of all queries: anago's default

STATIC = {"anago.server_processes": HALF, "anago.server_inflight_reads": READS // 2}
BALANCED = {"anago.balancer": "on", "anago.balancer_oltp": "application_name:pgbench"}


@dataclass(frozen=True)
class Way:
    """How transactions and queries are run beside each other."""
    title: str
    colour: str
    anago: bool = True          # plans the queries
    standby: bool = False       # queries run there
    split: bool = False         # each side has CPUs of its own
    settings: dict = field(default_factory=dict)    # of all servers

    @property
    def session(self) -> dict:
        return queries.ANAGO_ON if self.anago else queries.ANAGO_OFF

    @property
    def balanced(self) -> bool:
        return "anago.balancer" in self.settings

    @property
    def line(self) -> str:
        return "--" if self.standby else "-"


WAYS = {
    "unified-stock": Way("Unified, stock", plots.COLOURS["stock"], anago=False),
    "unified-anago": Way("Unified, anago", plots.COLOURS["anago"]),
    "static": Way("static", plots.COLOURS["static"], settings=STATIC),
    "htal": Way("HTAL", "#6a4c93", settings=BALANCED),
    "decoupled-stock": Way("Decoupled, stock", plots.COLOURS["stock"], anago=False,
                           standby=True, split=True),
    "decoupled-anago": Way("Decoupled, anago", plots.COLOURS["anago"],
                           standby=True, split=True),
    "htal-standby": Way("HTAL, standby", "#6a4c93", standby=True, settings={
        **BALANCED, "anago.balancer_actuators": "budgets, affinity"})}

# HTAL and what it is compared with, by the number of copies.
COMPARED = {"one": ("static", "htal"), "two": ("decoupled-anago", "htal-standby")}

# Less than this is no difference.
NOISE = 0.03

STATES = ("OLTP", "log shipping", "OLAP", "nobody")

# A run takes so long beside its parts: copies, servers, conditions of consistency.
BESIDE_S = 30

# Two copies, and what each may grow by.
GROWS_BYTES = 8 << 30


# --- servers ----------------------------------------------------------------

@dataclass(frozen=True)
class Servers:
    """Which server transactions, and which queries, are sent to."""
    oltp: Cluster
    olap: Cluster


def cpus_of(way) -> tuple:
    """CPUs of the transactions' side, and of the queries'."""
    if not way.split:
        return CPUS, CPUS
    return CPUS[:HALF], CPUS[-HALF:] if len(CPUS) < 2 else CPUS[HALF:]


@contextmanager
def servers_of(bench, way):
    """Copies of the loaded data, as a way needs them; removed at the end."""
    oltp_cpus, olap_cpus = cpus_of(way)
    settings = {**SERVER, **way.settings}
    with ExitStack() as stack:
        primary = standby = stack.enter_context(
            copies.copied(bench.cluster, "htap-primary"))
        if way.standby:
            standby = stack.enter_context(
                copies.copied(bench.cluster, "htap-standby"))
            copies.make_standby(standby)
        os.sync()
        stack.enter_context(copies.running(primary, settings, oltp_cpus))
        if way.standby:
            stack.enter_context(copies.running(
                standby, {**settings, **({} if bench.args.no_feedback else FEEDBACK),
                          **copies.follows(primary)}, olap_cpus))
            wait_for(lambda: is_streaming(bench, primary), "the standby to stream")
        servers = Servers(primary, standby)
        if way.balanced:
            for server in {primary, standby}:
                wait_for(lambda: is_balanced(bench, server), "the balancer to begin")
        yield servers


def one_row(bench, server, sql) -> tuple:
    with server.connect(bench.dbname) as conn:
        return conn.execute(sql).fetchone()


def is_streaming(bench, primary) -> bool:
    return one_row(bench, primary, "select count(*) from pg_stat_replication "
                                   "where state = 'streaming'")[0] > 0


def is_balanced(bench, server) -> bool:
    state, *_ = one_row(bench, server, OF_BALANCER)
    return state.startswith("favour")


def connect(bench, server, way):
    """A session of a query's client."""
    conn = server.connect(bench.dbname)
    for name, value in {**way.session,
                        "statement_timeout": f"{bench.args.limit:g}s"}.items():
        conn.execute("select set_config(%s, %s, false)", (name, str(value)))
    return conn


def asked(bench, servers, way) -> list:
    """What is looked at once in a second."""
    wanted = []
    if way.standby:
        wanted += [(servers.olap, "", OF_STANDBY), (servers.oltp, "", OF_PRIMARY)]
    if way.balanced:
        wanted.append((servers.olap, "", OF_BALANCER))
    if way.balanced and way.standby:
        wanted.append((servers.oltp, "primary_", OF_BALANCER))
    return [(server.connect(bench.dbname), prefix, sql)
            for server, prefix, sql in wanted]


# --- one run ----------------------------------------------------------------

def run_part(bench, servers, way, share, seed) -> Part:
    args, part = bench.args, Part(share)
    oltp = max(1, min(round(args.clients * share), args.clients - 1))
    end = time.monotonic() + args.seconds
    clients = [Queries(lambda: connect(bench, servers.olap, way), seed + n, part, end)
               for n in range(args.clients - oltp)]
    clients.append(Watch(asked(bench, servers, way), part, end))
    for client in clients:
        client.start()
    with tempfile.TemporaryDirectory(prefix="anago-htap-") as folder, \
            copies.on_cpus(cpus_of(way)[0]):
        Path(folder).chmod(0o755)
        out = servers.oltp.program(
            "pgbench", "-n", *ch.scripts(folder, ch.warehouses_of(args.scale)),
            "-c", oltp, "-j", 1, "-T", args.seconds, "-P", 1,
            f"dbname={bench.dbname}")
    for client in clients:
        client.finish()
    part.tps = [float(tps) for tps in
                re.findall(r"^progress: \S+ s, ([\d.]+) tps", out.stderr, re.M)]
    part.failed = int((re.search(r"failed transactions: (\d+)", out.stdout)
                       or [0, 0])[1])
    return part


def run(bench, way, load, repetition):
    """One list of parts, on a fresh copy of the data."""
    with servers_of(bench, way) as servers:
        parts = [run_part(bench, servers, way, share, 1000 * repetition + 100 * number)
                 for number, share in enumerate(LOADS[load])]
        check_consistency(bench, servers.oltp, f"after {load}, {way.title}")
        if way.standby:
            copies.wait_until_applied(servers.oltp, servers.olap)
            check_consistency(bench, servers.olap,
                              f"on the standby, after {load}, {way.title}")
    return parts


def all_runs(bench):
    """[(load, way, repetition)], those of a round after each other."""
    return [(load, way, repetition)
            for repetition in range(1, bench.args.repetitions + 1)
            for load in bench.args.loads for way in bench.args.ways]


def run_all(bench, done, begin):
    """Those that are not done, as long as there is time; False: some are missing."""
    longest = 3 * bench.args.seconds + BESIDE_S
    for load, way, repetition in all_runs(bench):
        if done.get(load, way, repetition) is not None:
            continue
        now = time.monotonic()
        if now - begin + longest > 60 * bench.args.minutes:
            return False
        parts = run(bench, WAYS[way], load, repetition)
        longest = max(longest, time.monotonic() - now)
        done.add((load, way, repetition), [asdict(part) for part in parts])
        say(f"{load}, {WAYS[way].title} #{repetition}: " + ", ".join(
            f"{key} {value:.4g}" for key, value in summed(bench.args, parts).items()
            if value is not None))
    return True


# --- what came out ----------------------------------------------------------

def mean_seen(parts, name):
    """Of what was looked at; None: it never was known."""
    seen = [look[name] for part in parts for look in part.looks
            if look.get(name) is not None]
    return statistics.fmean(seen) if seen else None


def summed(args, parts) -> dict:
    seconds = args.seconds * len(parts)
    freshness = mean_seen(parts, "freshness")
    one_copy = not any("freshness" in look for part in parts for look in part.looks)
    return {"tps": statistics.fmean(tps for part in parts for tps in part.tps),
            "qph": sum(len(part.queries) for part in parts) / seconds * 3600,
            "freshness": 1.0 if one_copy else freshness,
            "replay_lag": mean_seen(parts, "replay_lag"),
            "age": mean_seen(parts, "age"),
            "stopped": sum(part.stopped for part in parts),
            "cancelled": sum(part.cancelled for part in parts),
            "failed": sum(part.failed for part in parts),
            "olap_cores": mean_seen(parts, "olap_cores"),
            "shipping_cores": mean_seen(parts, "shipping_cores")}


def median(values):
    """Of those that are known; None: none is."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def cell(value, form) -> str:
    return "" if value is None else format(value, form)


def collect(bench, done) -> dict:
    """{(load, way): [parts of each round]}; each run goes into the CSV file."""
    found = {}
    for load, way, repetition in all_runs(bench):
        kept = done.get(load, way, repetition)
        if kept is None:
            continue
        parts = [Part(**part) for part in kept]
        found.setdefault((load, way), []).append(parts)
        bench.results.add({"load": load, "way": way, "repetition": repetition,
                           **summed(bench.args, parts)})
    return found


def levels(bench, found) -> dict:
    rows, out = [], {}
    for (load, way), runs in found.items():
        each = [summed(bench.args, parts) for parts in runs]
        middle = {key: median(one[key] for one in each) for key in each[0]}
        rows.append([load, WAYS[way].title, f"{middle['tps']:,.0f}",
                     f"{middle['qph']:,.0f}", cell(middle["freshness"], ".1%"),
                     cell(middle["replay_lag"], ".2f"), f"{middle['cancelled']:g}",
                     f"{middle['stopped']:g}", f"{middle['failed']:g}",
                     cell(middle["olap_cores"], ".2f"),
                     cell(middle["shipping_cores"], ".2f")])
        out[load, way] = middle
    bench.results.table("levels", "medians", [
        "load", "way", "tps", "queries per hour", "freshness", "replay lag, s",
        "queries cancelled", "queries stopped", "transactions failed",
        "cores of queries", "cores of log shipping"], rows)
    return out


def verdict(ours, published) -> str:
    return "no difference" if abs(ours) < NOISE else same_sign(ours, published)


def compare(bench, middle):
    """HTAL against static, beside what is published."""
    rows = []
    for copies_, (static, htal) in COMPARED.items():
        for load in bench.args.loads:
            old, new = middle.get((load, static)), middle.get((load, htal))
            if not old or not new:
                continue
            # on one copy data is as fresh as it can be
            names = [name for name in MEASURES if name != "freshness" or (
                WAYS[htal].standby and old[name] is not None and new[name] is not None)]
            ours = against({**new, "freshness": new["freshness"] or 0},
                           {**old, "freshness": old["freshness"] or 0})
            published = dict(zip(MEASURES, PUBLISHED[load]))
            rows += [[load, copies_, name, percent(published[name]),
                      percent(ours[name]), verdict(ours[name], published[name])]
                     for name in names]
    bench.results.table("compared", "HTAL against static", [
        "load", "copies", "measure", "published", "here", "same sign"], rows)


def decisions(bench, found):
    """How much of the time each balancer favoured whom."""
    rows = []
    for (load, way), runs in found.items():
        if not WAYS[way].balanced:
            continue
        for where, name in (("primary", "primary_state"), ("standby", "state")) \
                if WAYS[way].standby else (("the server", "state"),):
            seen = [look[name] for parts in runs for part in parts
                    for look in part.looks if name in look]
            rows.append([load, WAYS[way].title, where, *(
                f"{seen.count('favour ' + state) / max(len(seen), 1):.0%}"
                for state in STATES)])
    bench.results.table("decisions", "Time in which a balancer favoured", [
        "load", "way", "balancer of", *STATES], rows)


def report(bench, done, used) -> dict:
    found = collect(bench, done)
    if not found:
        raise ClusterError("no run is done: give it more --minutes")
    middle = levels(bench, found)
    compare(bench, middle)
    decisions(bench, found)
    bench.results.note(f"anago in the plan of {sum(used.values())} of {len(used)} "
                       "queries; rows of all are stock's")
    plot(bench, found)
    return {**{f"{load}, {way}": one for (load, way), one in middle.items()},
            "anago_used": used}


def over_time(parts, width, name):
    """[(second, value)] of what was looked at."""
    return [(number * width + look["at"], look[name])
            for number, part in enumerate(parts) for look in part.looks
            if look.get(name) is not None]


def plot_way(axes, parts, way, width):
    style = {"color": way.colour, "linestyle": way.line}
    tps = [(n * width + second, value) for n, part in enumerate(parts)
           for second, value in enumerate(part.tps)]
    axes[0].plot(*zip(*tps), label=way.title, linewidth=1, **style)
    axes[1].step([n * width for n in range(len(parts) + 1)],
                 [len(part.queries) / width * 3600 for part in (parts[0], *parts)],
                 **style)
    if fresh := over_time(parts, width, "freshness"):
        axes[2].plot(*zip(*fresh), linewidth=1, **style)


def plot(bench, found):
    """The first round."""
    loads = [load for load in bench.args.loads if any(load == one for one, _ in found)]
    figure, axes = plots.plt.subplots(3, len(loads), sharex=True, sharey="row",
                                      squeeze=False, figsize=(4.0 * len(loads), 7.0))
    for column, load in enumerate(loads):
        for key, way in WAYS.items():
            if (load, key) in found:
                plot_way(axes[:, column], found[load, key][0], way, bench.args.seconds)
        axes[0][column].set_title(f"{load} load", fontsize=9)
        axes[2][column].set_xlabel("seconds")
    for one, label in zip(axes[:, 0], ("tps", "queries per hour", "freshness")):
        one.set_ylabel(label)
        one.set_ylim(bottom=0)
    axes[2][0].set_ylim(top=1.05)
    axes[0][0].legend(fontsize=6)
    plots.save(figure, bench.results)


# --- is it right? -----------------------------------------------------------

def digest(conn, sql) -> str:
    rows = sorted(map(repr, conn.execute(sql).fetchall()))
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def compare_rows(bench):
    """{query: is a plan of anago's in it}; stops where rows differ."""
    used = {}
    with bench.cluster.connect(bench.dbname) as conn:
        for name, sql in ch.queries().items():
            found = []
            for side in (queries.ANAGO_OFF, queries.ANAGO_ON):
                for key, value in side.items():
                    conn.execute(f"set {key} = {value}")
                found.append(digest(conn, sql))
            if found[0] != found[1]:
                raise ClusterError(f"{name}: anago's rows are not stock's")
            plan = "\n".join(row[0] for row in conn.execute(f"explain {sql}"))
            used[name] = "Anago" in plan
    return used


def check_consistency(bench, server, when):
    with server.connect(bench.dbname) as conn:
        if wrong := ch.inconsistent(conn):
            raise ClusterError(f"{when}: it does not hold that {'; '.join(wrong)}")


def check(bench, done):
    """The data as loaded; what compare_rows() gives, which is kept as a run is."""
    if (used := done.get("rows")) is None:
        with bench.cluster.started(SERVER):
            check_consistency(bench, bench.cluster, "as loaded")
            used = compare_rows(bench)
        done.add(("rows",), used)
    return used


# --- the script -------------------------------------------------------------

def chosen(text, names) -> list:
    """Those that are named, in their order."""
    wanted = text.split(",")
    if unknown := set(wanted) - set(names):
        raise SystemExit(f"{NAME}: there is no {', '.join(sorted(unknown))}; there are "
                         + ", ".join(names))
    return [name for name in names if name in wanted]


def options():
    parser = session.parser(__doc__, repetitions=1, scale=5)
    parser.add_argument("--seconds", type=int, default=40,
                        help="of each part; a load has three")
    parser.add_argument("--clients", type=int, default=8,
                        help="of transactions and of queries together")
    parser.add_argument("--limit", type=float, default=60,
                        help="seconds after which a query is stopped")
    parser.add_argument("--no-feedback", action="store_true",
                        help="the standby has no hot_standby_feedback, as is "
                        "PostgreSQL's default")
    parser.add_argument("--ways", default=",".join(WAYS), help="to run, by comma")
    parser.add_argument("--loads", default=",".join(LOADS), help="to run, by comma")
    parser.add_argument("--minutes", type=float, default=40,
                        help="begin no run that would end later; results are of those "
                        "that are done, and the same command goes on with the others")
    parser.add_argument("--sum-up", action="store_true",
                        help="run nothing: results of what an interrupted run has done")
    args = parser.parse_args()
    if args.clients < 2:
        parser.error("--clients: one of each kind at least")
    if args.seconds < 2:
        parser.error("--seconds: two at least")
    args.ways, args.loads = chosen(args.ways, WAYS), chosen(args.loads, LOADS)
    set_label(args)
    return args


def set_label(args):
    """Results of other than all have a name of their own."""
    parts = [args.device]
    if (args.ways, args.loads) != (list(WAYS), list(LOADS)):
        parts += [*args.loads, *args.ways]
    if args.no_feedback:
        parts.append("no-feedback")
    args.label = getattr(args, "label", "-".join(parts))


def measure(bench, begin):
    done = Done(bench.results, bench.args, bench.args.again)
    try:
        used = check(bench, done)
        every = not bench.args.sum_up and run_all(bench, done, begin)
    except KeyboardInterrupt:
        say(f"{NAME}: {done.path} has what is done; the same command goes on, with "
            "--sum-up it makes results of it")
        raise
    runs = len(all_runs(bench))
    there = sum(done.get(*key) is not None for key in all_runs(bench))
    if there < runs:
        bench.results.header["incomplete"] = f"{there} of {runs} runs"
        bench.results.note(f"{there} of {runs} runs are done")
    bench.results.finish(report(bench, done, used))
    if every or there == runs:
        done.remove()


def main():
    begin = time.monotonic()
    args = options()
    extra = 2 * (ch.BYTES * ch.warehouses_of(args.scale) + GROWS_BYTES)
    with session.experiment(NAME, TITLE, QUESTION, args, extra_bytes=extra,
                            data=ch) as bench:
        measure(bench, begin)


if __name__ == "__main__":
    main_of(NAME, main)
