"""A simulated machine for transactions and analytical queries, and its balancer.

    with Library() as library:
        machine = Partitioned(library, Params(), seed=1, balanced=True)
        machine.load(192, 192)
        second = machine.second()

The machine is bench/htap/model.c, the balancer src/resource/htal.c: the functions
that the server has, compiled into one library.  SharedCores is the same machine
without cores of its own for each kind of work.
"""

import ctypes
import os
import subprocess
import tempfile
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (ROOT / "bench/htap/model.c", ROOT / "src/resource/htal.c")

CORES = 96

# HTAL against static, as published: tps, queries per hour, freshness.
PUBLISHED = {"fixed": (0.326, -0.556, 0.064), "changing": (0.101, -0.053, 0.199)}

MEASURES = ("tps", "qph", "freshness")

# Share of OLTP clients in each part of the time.
LOADS = {"fixed": (0.5, 0.5, 0.5), "changing": (0.5, 0.7, 0.3)}

# As in htal.h.
CLASSES = ("OLTP", "OLTP dispatch", "OLAP", "OLAP dispatch", "log shipping",
           "balancer")
OLTP, OLTP_DISPATCH, OLAP, OLAP_DISPATCH, SHIPPING, BALANCER = range(len(CLASSES))
MOVE_CORE, MOVE_BORDERS = 1, 2


def against(new, old) -> dict:
    """By how much each measure is larger, as a share."""
    return {name: new[name] / old[name] - 1 if old[name] else float("inf")
            for name in MEASURES}


def percent(share) -> str:
    return f"{share:+.1%}"


def same_sign(ours, published) -> str:
    return "yes" if ours * published > 0 else "no"


@dataclass(frozen=True)
class Params:
    """What the simulated machine and its load are like, and why."""

    # The clock.  Some steps for each transaction; finer changes nothing.
    step: float = 0.25e-3

    # Core seconds of a transaction of TPC-C's mix, as stored procedures: some
    # 30 statements by index, 30 us each.
    transaction: float = 1e-3

    # The published start has one dispatch core for five OLTP cores, and its
    # threshold is 60%: dispatch of as many transactions as five cores do keeps
    # one below that.
    dispatch: float = 0.1e-3

    # Core seconds of a query of CH-benCHmark with 1,000 warehouses: half of an
    # order_line of 300 million rows, at 2.5 million rows a second and core.
    query: float = 60.0

    # Planning, and putting together what the parts give.
    query_dispatch: float = 20e-3

    # WAL records of a transaction of TPC-C's mix, in the mean (new order 36 for
    # 45%, payment 6 for 43%, delivery 130 for 4%), at 1.5 us each.
    apply: float = 24 * 1.5e-6

    # Share of log shipping that is one stream (receive, decode, hand out).
    apply_serial: float = 0.15

    # 25 GB/s of storage, where a core's scan takes 0.4 GB/s.
    fed_cores: float = 62.5

    # Parallel workers of one query.
    degree: float = 8.0

    # A core that changes hands begins with cold caches, and what waits on it is
    # moved: some tens of transactions' time.
    pause: float = 20e-3

    # CH-benCHmark's home warehouses are uniform.
    hot_share: float = 0.0
    hot_ranges: int = 0
    ranges: int = 1000          # a warehouse is a key range

    # Cores at which log shipping is at its best: another one adds less than a
    # tenth, by apply_serial.
    shipping_best: int = 5

    # Seconds between two moves: long enough that means over it are steady.
    period: float = 1.0

    # Seconds of changes that freshness is a share of, as by anago_freshness().
    window: float = 60.0

    # Where any core takes any transaction: what latches and locks add to it,
    # which a single owner of the keys does without.
    shared_cost: float = 1.3

    # On one copy of the data: what scans beside it add to a transaction, by
    # shared buffers, versions that must be kept, and caches.
    scan_cost: float = 1.3


class _Params(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double) for name in (
        "step", "transaction", "dispatch", "query", "query_dispatch", "apply",
        "apply_serial", "fed_cores", "degree", "pause", "hot_share")] + [
        ("hot_ranges", ctypes.c_int), ("ranges", ctypes.c_int)]


class Cores(ctypes.Structure):
    _fields_ = [("of", ctypes.c_int * len(CLASSES))]


class Inputs(ctypes.Structure):
    _fields_ = [("waiting", ctypes.c_double),
                ("queue_variance", ctypes.c_double),
                ("freshness", ctypes.c_double),
                ("olap_iowait", ctypes.c_double),
                ("cpu", ctypes.c_double * len(CLASSES)),
                ("shipping_best", ctypes.c_int),
                ("absent", ctypes.c_bool * len(CLASSES)),
                ("one_queue", ctypes.c_bool)]


class _Thresholds(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double) for name in (
        "waiting", "freshness", "dispatch_cpu", "queue_variance", "olap_cpu",
        "olap_iowait")]


class _Move(ctypes.Structure):
    _fields_ = [("action", ctypes.c_int), ("to", ctypes.c_int),
                ("source", ctypes.c_int)]


class _Seen(ctypes.Structure):
    _fields_ = [("transactions", ctypes.c_double), ("queries", ctypes.c_double),
                ("applied", ctypes.c_double), ("backlog", ctypes.c_double),
                ("inputs", Inputs)]


class Library:
    """Both sources, compiled for as long as this is open."""

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="anago-htap-")
        target = Path(self._folder.name, "htap.so")
        subprocess.run([os.environ.get("CC", "cc"), "-std=gnu99", "-O2", "-Wall",
                        "-Wextra", "-Werror", "-Wno-missing-field-initializers",
                        "-shared", "-fPIC", f"-I{ROOT / 'src'}",
                        f"-I{ROOT / 'bench/htap'}", "-o", target, *SOURCES, "-lm"],
                       check=True)
        self.c = ctypes.CDLL(str(target))
        self.c.model_new.restype = ctypes.c_void_p
        self.c.model_new.argtypes = [ctypes.POINTER(_Params), ctypes.c_ulonglong]
        self.c.model_free.argtypes = [ctypes.c_void_p]
        self.c.model_load.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
        self.c.model_assign.argtypes = [ctypes.c_void_p, ctypes.POINTER(Cores),
                                        ctypes.c_bool]
        self.c.model_run.argtypes = [ctypes.c_void_p, ctypes.c_double,
                                     ctypes.POINTER(_Seen)]
        self.c.anago_htal_start.restype = Cores
        self.c.anago_htal_move.restype = _Move
        self.c.anago_htal_apply.restype = ctypes.c_bool
        self.c.anago_htal_state_name.restype = ctypes.c_char_p
        self.c.anago_htal_action_name.restype = ctypes.c_char_p
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def balance(self, inputs, cores):
        """One step of HTAL: (state, action, whether key ranges are to be cut);
        `cores` is changed."""
        thresholds = ctypes.byref(
            _Thresholds.in_dll(self.c, "anago_htal_default"))
        state = self.c.anago_htal_state(thresholds, ctypes.byref(inputs))
        move = self.c.anago_htal_move(state, thresholds, ctypes.byref(inputs),
                                      ctypes.byref(cores))
        self.c.anago_htal_apply(move, ctypes.byref(cores))
        return (self.c.anago_htal_state_name(state).decode(),
                self.c.anago_htal_action_name(move.action).decode(),
                move.action == MOVE_BORDERS)


@dataclass
class Second:
    """What happened in one period."""
    tps: float
    qph: float
    freshness: float
    waiting: float = 0.0
    variance: float = 0.0
    state: str = ""
    action: str = ""
    cores: tuple = ()


@dataclass
class Freshness:
    """The share that is applied of the changes of the last `window` seconds."""
    window: float
    period: float
    made: float = 0.0
    _before: deque = field(default_factory=deque)

    def after(self, made, backlog) -> float:
        """One period later, with so many more changes made and a backlog."""
        self._before.append(self.made)
        self.made += made
        if len(self._before) > self.window / self.period:
            self._before.popleft()
        since = self._before[0]
        if self.made == since:
            return 1.0
        return min(max((self.made - backlog - since) / (self.made - since), 0), 1)


class Partitioned:
    """Each kind of work has cores of its own: static, or moved by HTAL."""

    def __init__(self, library, params, seed, balanced):
        self.library, self.params, self.balanced = library, params, balanced
        self._model = library.c.model_new(ctypes.byref(_Params(*(
            getattr(params, name) for name, _ in _Params._fields_))), seed)
        if not self._model:
            raise ValueError("the model does not take these parameters")
        self.cores = library.c.anago_htal_start(CORES)
        self.freshness = Freshness(params.window, params.period)
        library.c.model_assign(self._model, ctypes.byref(self.cores), True)

    def close(self):
        self.library.c.model_free(self._model)

    def load(self, transactions, queries):
        self.library.c.model_load(self._model, transactions, queries)

    def second(self) -> Second:
        seen, period = _Seen(), self.params.period
        self.library.c.model_run(self._model, period, ctypes.byref(seen))
        inputs = seen.inputs
        inputs.freshness = self.freshness.after(seen.transactions, seen.backlog)
        inputs.shipping_best = self.params.shipping_best
        done = Second(seen.transactions / period, seen.queries / period * 3600,
                      inputs.freshness, inputs.waiting, inputs.queue_variance,
                      cores=tuple(self.cores.of))
        if self.balanced:
            done.state, done.action, cut = self.library.balance(inputs, self.cores)
            self.library.c.model_assign(self._model, ctypes.byref(self.cores), cut)
        return done


class SharedCores:
    """All processes share all cores, each process the same.

    Unified: one copy of the data.  Decoupled: queries have a copy, which one
    process keeps up to date, with the share of a core that it gets.
    """

    def __init__(self, params, unified):
        self.params, self.unified = params, unified
        self.freshness = Freshness(params.window, params.period)
        self.backlog = 0.0

    def close(self):
        pass

    def load(self, transactions, queries):
        self.transactions, self.queries = transactions, queries

    def second(self) -> Second:
        p = self.params
        # Workers as many as there are cores, beside the leaders.
        scans = self.queries + min(CORES, self.queries * (p.degree - 1))
        processes = self.transactions + scans + (0 if self.unified else 1)
        share = min(CORES / processes, 1)
        cost = (p.transaction + p.dispatch) * p.shared_cost
        cost *= p.scan_cost if self.unified else 1
        tps = self.transactions * share / cost
        fed = min(scans * share, p.fed_cores)
        if self.unified:
            return Second(tps, fed / p.query * 3600, 1.0)
        self.backlog = max(0, self.backlog + (tps - share / p.apply) * p.period)
        return Second(tps, fed / p.query * 3600,
                      self.freshness.after(tps * p.period, self.backlog))
