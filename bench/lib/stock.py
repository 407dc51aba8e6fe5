"""Stock PostgreSQL, tuned by hand: the settings somebody patient would try.

Generous on purpose.  Each query is run with all of them, and anago is compared
with the one that is best for that query: nobody sets a server up for one query
alone, and the planner's hints below (`enable_...`) are not for production at all.
The tuned servers may use four times as many workers as there are cores, because
stock's workers mostly wait for their reads.
"""

from dataclasses import dataclass, field, replace

from lib import queries
from lib.runs import Variant, of, summary

CHEAP_READS = {"random_page_cost": 1.1, "effective_cache_size": "16GB",
               "work_mem": "256MB", "hash_mem_multiplier": 4, "jit": "off"}
DEEP = {"effective_io_concurrency": 512, "maintenance_io_concurrency": 512}

# A setting is given up in the first round when it takes so many times as long as
# the best before it; short queries get these seconds all the same.
GIVE_UP = 3
GIVE_UP_LEAST_S = 10

ONLY_NESTED_LOOPS = {"enable_seqscan": "off", "enable_hashjoin": "off",
                     "enable_mergejoin": "off"}

MANY_WORKERS = {"max_worker_processes": 40, "max_parallel_workers": 32}

# How reads are made that stock makes ahead (bitmap and full scans).  Before 18
# there is no choice: the kernel is told what will be read (fadvise).
IO_WORKERS = {"io_method": "worker", "io_workers": 16,
              "io_max_concurrency": 256}
IO_URING = {"io_method": "io_uring", "io_max_concurrency": 256}


@dataclass(frozen=True)
class Tuning:
    """One way to run stock."""
    name: str
    session: dict
    server: dict = field(default_factory=dict)

    def variant(self, like) -> Variant:
        """The same query, run that way."""
        return replace(like, name="stock, " + self.name, session=self.session,
                       server=self.server)


def tunings(cluster, cores) -> list:
    """All that are tried besides the defaults."""
    workers = 4 * cores
    ssd = {**CHEAP_READS, **DEEP}
    parallel = {**ssd, **queries.parallel(workers)}
    many = f"{workers} workers"
    bitmap = {"enable_indexscan": "off", "enable_indexonlyscan": "off",
              "enable_seqscan": "off"}
    bitmap_joins = {**ONLY_NESTED_LOOPS, "enable_indexscan": "off",
                    "enable_indexonlyscan": "off"}
    index_joins = {**ONLY_NESTED_LOOPS, "enable_bitmapscan": "off"}
    made = []
    for io_name, io in _ways_to_read(cluster):
        server = {**MANY_WORKERS, **io}
        made += [
            Tuning(f"cheap random pages{io_name}", ssd, server),
            Tuning(f"cheap random pages, {many}{io_name}", parallel, server),
            Tuning(f"bitmap scans{io_name}", {**ssd, **bitmap}, server),
            Tuning(f"bitmap scans, {many}{io_name}", {**parallel, **bitmap},
                   server),
            Tuning(f"bitmap joins, {many}{io_name}",
                   {**parallel, **bitmap_joins}, server),
            Tuning(f"hash joins, {many}{io_name}",
                   {**parallel, "enable_nestloop": "off"}, server),
        ]
    # Index scans read page by page, whatever the method.
    made += [Tuning("index joins", {**ssd, **index_joins}, MANY_WORKERS),
             Tuning(f"index joins, {many}", {**parallel, **index_joins},
                    MANY_WORKERS)]
    return made


def _ways_to_read(cluster):
    if cluster.major() < 18:
        return [("", {})]
    ways = [(", I/O workers", IO_WORKERS)]
    if has_io_uring(cluster):
        ways.append((", io_uring", IO_URING))
    return ways


def has_io_uring(cluster) -> bool:
    """Was this server built with liburing (18 and later)?"""
    return cluster.major() >= 18 and cluster.takes("io_method", "io_uring")


def best_of(bench, query, section, finalists, others=(), like=None):
    """Run stock tuned in every way, cold; return (runs, name of the best).

    like: a variant of the query, if it is not one of queries/.

    One round of all, in which those that take far too long are stopped; then the
    best of it, as many as `finalists`, in all rounds, together with `others`
    (stock's defaults, anago).  The median of all rounds decides.
    """
    like = like or Variant("", queries.text(query), query=query)
    known = {v.name: v for v in (t.variant(like) for t in
                                 tunings(bench.cluster, bench.args.cores))}
    seen = {}
    done = bench.cold(others, section, 1, seen=seen)
    tried = []
    for variant in known.values():
        tried += bench.cold([_within(variant, tried, bench.args.limit)],
                            section, 1, seen=seen)
    done += tried
    ended = sorted((run for run in tried if not run.stopped),
                   key=lambda run: run.seconds)
    final = [run.variant for run in ended[:finalists]]
    others = [v for v in others if not of(done, query, v.name)[0].stopped]
    if bench.args.repetitions > 1:
        done += bench.cold([*others, *(known[name] for name in final)],
                           section, bench.args.repetitions - 1, seen=seen,
                           first=1)
    best = min(final, key=lambda name: summary(of(done, query, name)).median)
    return done, best


def _within(variant, tried, most) -> Variant:
    """The variant, with a limit to its time after what has been tried.

    most: s, the limit that all have; 0: none.
    """
    best = min((run.seconds for run in tried if not run.stopped), default=0)
    limits = (most, best and max(GIVE_UP * best, GIVE_UP_LEAST_S))
    return stopped_after(min(filter(None, limits), default=0), variant)


def stopped_after(seconds, variant) -> Variant:
    """The variant with that limit to its time; 0: with none."""
    if not seconds:
        return variant
    return replace(variant, session={
        **variant.session, "statement_timeout": f"{round(1000 * seconds)}ms"})
