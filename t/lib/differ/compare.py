"""Run a query with anago and without, compare the rows, show a difference.

Both runs see one snapshot: they happen in one REPEATABLE READ transaction.
Each is inside a savepoint, so that an error does not lose the snapshot.
"""

import json
import time
from collections import Counter
from dataclasses import dataclass, field, replace

import psycopg
from psycopg import errors

from differ import memory

# Stock gets less time than anago: what stock can do, anago must.  Forced plans
# are slow ones at times, and share two cores with those of other readers, so
# that less than this would not tell a slow plan from one that hangs.
STOCK_TIMEOUT_MS = 4_000
ANAGO_TIMEOUT_MS = 60_000

# debug_force takes bad plans, too.  Out of time is no difference if the same
# plan takes this long with one task at a time and ordinary reads.
SLOW_PLAN_S = 0.5

# What anago may answer when the simulator fails a read for good.
READ_ERRORS = (errors.IoError, errors.DataCorrupted)

SHOWN_ROWS = 5

# The setting in which a function of effects.py counts its calls.
COUNTER = "differ.calls"

# Held by whoever runs a statement that changes tables.
WRITERS_LOCK = 12

# Stock without indexes, for where these are not in order (zones.py): a Merge Join
# believes in the order, too.
NO_INDEXES = {"enable_indexscan": "off", "enable_indexonlyscan": "off",
              "enable_bitmapscan": "off", "enable_mergejoin": "off",
              "enable_seqscan": "on"}


@dataclass
class Outcome:
    """What a query gave: rows or an error."""
    rows: list = None
    error: Exception = None
    calls: int = None       # of the function that counts (Query.effects)
    least: list = None      # rows that there must be, where not all of rows must
    whole: list = None      # rows of which these are some (Query.part_of)
    peak_kb: int = None     # memory of the backend (memory.py)

    def describe(self) -> str:
        if self.error is not None:
            name = type(self.error).__name__
            return f"{name}: {str(self.error).strip()}"
        calls = "" if self.calls is None else f", {self.calls} calls"
        least = "" if self.least is None else f", at least {len(self.least)}"
        whole = "" if self.whole is None else f" of {len(self.whole)}"
        return f"{len(self.rows)} rows{whole}{least}{calls}"


@dataclass
class Difference(Exception):
    """Stock and anago do not agree; str() has all that is needed to look."""
    query: object
    settings: dict
    stock: Outcome
    anago: Outcome
    plan: str
    notes: list = field(default_factory=list)

    def __str__(self):
        lines = ["DIFFERENCE", f"stock: {self.stock.describe()}",
                 f"anago: {self.anago.describe()}", *self._rows(), *self.notes,
                 f"executed as: {self.query.execute}"
                 f"{', ordered' * self.query.ordered}",
                 *(f"set {name} = '{value}';"
                   for name, value in self.settings.items()),
                 *_as_script(self.query), "plan with anago:", self.plan]
        return "\n".join(lines)

    def _rows(self):
        if self.stock.error or self.anago.error:
            return
        if self.query.effects:
            return
        stock, anago = _counted(self.stock.rows), _counted(self.anago.rows)
        if self.stock.whole is not None:
            stock = _counted(self.stock.whole) | (stock & anago)
        least = stock if self.stock.least is None else _counted(self.stock.least)
        if self.stock.whole is not None:
            least = Counter()
        for name, more in (("missing", least - anago), ("extra", anago - stock)):
            rows = list(more.elements())
            if rows:
                yield f"{name} with anago: {len(rows)} rows, of these:"
                yield from ("    " + row for row in rows[:SHOWN_ROWS])
        if stock == anago and self.query.ordered:
            yield "the same rows in another order"


def _counted(rows) -> Counter:
    return Counter(map(repr, rows))


def _as_script(query):
    if query.steps:
        return ["begin;", f"declare c no scroll cursor for {query.sql};",
                *(f"{step} in c;" for step in query.steps), "commit;"]
    if not query.values:
        return [query.sql + ";"]
    return [f"prepare q ({', '.join(query.types)}) as {query.sql};",
            f"execute q ({', '.join(query.values)});"]


def same(stock: Outcome, anago: Outcome, query) -> bool:
    """Do two outcomes agree?  Two errors agree if their SQLSTATE does."""
    if stock.error or anago.error:
        return (stock.error is not None and anago.error is not None
                and stock.error.sqlstate == anago.error.sqlstate)
    if query.effects:
        return (len(stock.rows), stock.calls) == (len(anago.rows), anago.calls)
    if query.ordered:
        return stock.rows == anago.rows
    if query.part_of:
        return (len(stock.rows) == len(anago.rows)
                and _counted(anago.rows) <= _counted(stock.whole))
    all_, given = _counted(stock.rows), _counted(anago.rows)
    if stock.least is not None:
        return given <= all_ and _counted(stock.least) <= given
    return given == all_


def capabilities(conn):
    """(I/O methods, modes) that anago takes in this build and on this server."""
    conn.execute("load 'anago'")
    rows = dict(conn.execute(
        "select name, enumvals from pg_settings where name in "
        "('anago.io_method', 'anago.mode')").fetchall())
    methods = [m for m in rows["anago.io_method"] if _is_taken(conn, m)]
    return methods, rows["anago.mode"]


def _is_taken(conn, method) -> bool:
    """Does the server have it?  All versions list all names."""
    try:
        with conn.transaction():
            conn.execute("select set_config('anago.io_method', %s, true)", [method])
    except errors.InvalidParameterValue:
        return False
    return True


def apply(conn, settings):
    """Exactly these settings, in two round trips."""
    conn.execute("reset all")
    calls = ", ".join("set_config(%s, %s, false)" for _ in settings)
    conn.execute(f"select {calls}",
                 [str(word) for pair in settings.items() for word in pair])


def run(conn, query, timeout_ms=ANAGO_TIMEOUT_MS, peak=None) -> Outcome:
    """Run it as query.execute says; errors of the server are an outcome.

    peak: what measures memory meanwhile, or None.
    """
    conn.execute("savepoint before_query")
    conn.execute(f"set statement_timeout = {timeout_ms}")
    if peak:
        peak.reset()
    try:
        if query.effects:
            conn.execute(f"set {COUNTER} = 0")
        outcome = Outcome(rows=_RUN[query.execute](conn, query))
        if query.effects:
            outcome.calls = int(conn.execute(f"show {COUNTER}").fetchone()[0])
    except psycopg.OperationalError as err:
        if conn.closed:
            raise
        outcome = Outcome(error=err)
    except psycopg.Error as err:
        outcome = Outcome(error=err)
    if peak:
        outcome.peak_kb = peak.private_kb()
    _end_savepoint(conn, undo=outcome.error is not None or bool(query.changes))
    return outcome


def _end_savepoint(conn, undo):
    """Back to before the query, and to no time limit.

    The limit may be so short, or the end of the query so late within it, that
    it strikes here.
    """
    while True:
        try:
            if undo:
                conn.execute("rollback to savepoint before_query")
            conn.execute("set statement_timeout = 0")
            conn.execute("release savepoint before_query")
            return
        except errors.QueryCanceled:
            undo = True


def _run_plain(conn, query):
    return conn.execute(query.sql).fetchall()


def _run_prepared(conn, query):
    _prepare(conn, query)
    return conn.execute(_execute_text(query)).fetchall()


def _run_cursor(conn, query):
    """Few rows, then the rest; an ordered one also backward."""
    scroll = "scroll" if query.ordered else "no scroll"
    conn.execute(f"declare c {scroll} cursor for {query.sql}")
    steps = ["3", "forward 10"]
    if query.ordered:
        steps += ["backward 4", "first", "last", "absolute 2"]
    rows = []
    for step in [*steps, "all"]:
        rows += conn.execute(f"fetch {step} from c").fetchall()
    conn.execute("close c")
    return rows


def _run_part(conn, query):
    """The steps of a cursor that is closed then; rows of those that fetch."""
    conn.execute(f"declare c no scroll cursor for {query.sql}")
    rows = []
    for step in query.steps:
        answer = conn.execute(f"{step} in c")
        if step.startswith("fetch"):
            rows += answer.fetchall()
    conn.execute("close c")
    return rows


def _run_write(conn, query):
    """Rows that it returns, or their number, and all rows of the tables it may change.

    Readers that run such statements at the same time would wait for each other's
    locks in any order: one at a time.
    """
    conn.execute("select pg_advisory_xact_lock(%s)", [WRITERS_LOCK])
    answer = conn.execute(query.sql)
    rows = answer.fetchall() if answer.description else [(answer.rowcount,)]
    for table in query.changes:
        rows += conn.execute(f"select '{table}', t from {table} t").fetchall()
    return rows


_RUN = {"plain": _run_plain, "prepared": _run_prepared, "cursor": _run_cursor,
        "part": _run_part, "write": _run_write}


def _prepare(conn, query):
    conn.execute("deallocate all")
    types = f"({', '.join(query.types)})" if query.types else ""
    conn.execute(f"prepare q {types} as {query.sql}")


def _execute_text(query) -> str:
    values = f"({', '.join(query.values)})" if query.values else ""
    return f"execute q {values}"


def plan_of(conn, query) -> str:
    """EXPLAIN under the settings of now, as JSON text."""
    sql = query.sql
    if query.execute == "prepared":
        _prepare(conn, query)
        sql = _execute_text(query)
    row = conn.execute(f"explain (format json, costs off) {sql}").fetchone()
    return json.dumps(row[0][0]["Plan"], indent=1)


def _whole_of(query):
    execute = "plain" if query.execute == "part" else query.execute
    return replace(query, sql=query.part_of, execute=execute)


def expected(conn, query, settings, peak=None) -> Outcome:
    """What stock makes of it."""
    if not query.at_least:
        apply(conn, settings)
        outcome = run(conn, query, STOCK_TIMEOUT_MS, peak)
        if query.part_of and outcome.error is None:
            whole = run(conn, _whole_of(query), STOCK_TIMEOUT_MS)
            outcome.error, outcome.whole = whole.error, whole.rows
        return outcome
    apply(conn, {**settings, **NO_INDEXES})
    outcome = run(conn, query, STOCK_TIMEOUT_MS, peak)
    least = run(conn, replace(query, sql=query.at_least), STOCK_TIMEOUT_MS)
    outcome.error = outcome.error or least.error
    outcome.least = least.rows
    return outcome


def compare_once(conn, query, shared_settings, anago_settings, tally,
                 timeout_ms=ANAGO_TIMEOUT_MS, peak=None):
    """One query both ways, in the snapshot of the open transaction.

    Where anago_settings inject read errors, or anago has only a short time,
    it may also answer with just that error.  Memory is compared if `peak` is given.
    """
    shared_settings = {**shared_settings, **query.settings}
    stock = expected(conn, query, shared_settings, peak)
    if isinstance(stock.error, errors.QueryCanceled):
        tally.counts["skipped"] += 1
        return
    apply(conn, {**shared_settings, **anago_settings})
    plan = plan_of(conn, query) if stock.error is None else "(none)"
    anago = run(conn, query, timeout_ms, peak)
    tally.compared(query, stock, "anago" in plan.lower(),
                   may_share="parallel_setup_cost" in shared_settings
                   and shared_settings["max_parallel_workers_per_gather"] != 0,
                   shared=_shared_by_workers(plan))
    if anago.error and isinstance(anago.error, _asked_for(anago_settings, timeout_ms)):
        tally.counts["injected errors"] += 1
    elif (isinstance(anago.error, errors.QueryCanceled)
          and (_starts_workers_again(plan)
               or _slow_in_series(conn, query, plan))):
        tally.counts["skipped"] += 1
    elif _is_over(conn, query, shared_settings, anago):
        raise anago.error
    elif not same(stock, anago, query):
        settings = {**shared_settings, **anago_settings}
        raise Difference(query, settings, stock, anago, plan)
    if peak and stock.error is None:
        _check_memory(query, {**shared_settings, **anago_settings}, stock, anago,
                      plan)


def _is_over(conn, query, settings, anago) -> bool:
    """Has another session made this transaction fail, whoever goes on with it?"""
    if not isinstance(anago.error, errors.SerializationFailure):
        return False
    apply(conn, settings)
    return isinstance(run(conn, query).error, errors.SerializationFailure)


def _check_memory(query, settings, stock, anago, plan):
    allowed = memory.allowed_kb(stock.peak_kb, settings, len(_anago_nodes(plan)))
    if anago.peak_kb > allowed:
        raise Difference(query, settings, stock, anago, plan, [
            f"MEMORY: stock took {stock.peak_kb:,} kB at its peak, anago "
            f"{anago.peak_kb:,}; {allowed:,} are allowed"])


def _nodes(plan):
    """All nodes of a plan that plan_of() gave, each with the node above it."""
    stack = [(json.loads(plan), None)] if plan != "(none)" else []
    while stack:
        node, above = stack.pop()
        yield node, above
        stack += [(child, node) for child in node.get("Plans", [])]


def _anago_nodes(plan):
    return [node for node, _ in _nodes(plan)
            if node.get("Custom Plan Provider", "").startswith("Anago")]


def _shared_by_workers(plan) -> bool:
    """Do several processes share one of the plan's anago nodes?"""
    return any(node["Parallel Aware"] for node in _anago_nodes(plan))


def _starts_workers_again(plan) -> bool:
    """Does it start workers anew for each row of an outer side?

    That takes long, and how long depends on whether any can be had.
    """
    return any(above and above["Node Type"] == "Nested Loop"
               and node["Parent Relationship"] == "Inner"
               and any(below["Node Type"].startswith("Gather")
                       for below, _ in _nodes(json.dumps(node)))
               for node, above in _nodes(plan))


def _slow_in_series(conn, query, plan) -> bool:
    """Is it the plan that takes its time, and not the out-of-order run?

    Where an ANALYZE in between has changed the plan nobody can tell.
    """
    conn.execute("set anago.mode = 'serial'")
    if plan_of(conn, query) != plan:
        return True
    start = time.monotonic()
    run(conn, query)
    return time.monotonic() - start > SLOW_PLAN_S


def _asked_for(anago_settings, timeout_ms):
    """The errors that these settings and this time limit ask for."""
    classes = ()
    if float(anago_settings.get("anago.sim_fault_rate", 0)) > 0:
        classes += READ_ERRORS
    if timeout_ms < ANAGO_TIMEOUT_MS:
        classes += (errors.QueryCanceled,)
    return classes


def repeat_difference(conn, difference, shared_settings):
    """In the same snapshot: does it come again, and does stock agree?"""
    for name, settings in (("stock", shared_settings),
                           ("anago", difference.settings)):
        outcomes = []
        for _ in range(3):
            apply(conn, {**settings, **difference.query.settings})
            again = run(conn, difference.query)
            agrees = same(difference.stock, again, difference.query)
            outcomes.append("as stock" if agrees else again.describe())
        difference.notes.append(f"{name} three times again, same snapshot: "
                                + "; ".join(outcomes))
