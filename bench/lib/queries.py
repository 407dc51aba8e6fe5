"""Queries A-D, and the settings under which they are compared.

Settings of a session, by name.  What is "stock" never has anago loaded when
caches are cold (each run starts its own server), and has `anago.enable = off`
where one warm server serves both sides.
"""

from pathlib import Path

FOLDER = Path(__file__).parent.parent / "queries"

NAMES = ("A", "B", "C", "D")

# One process, no JIT: what issue-by-issue ratios are taken with.
ONE_PROCESS = {"max_parallel_workers_per_gather": 0, "jit": "off"}

# The plan of index scans and nested loops that anago runs, in any executor.
INDEX_PLAN = {
    **ONE_PROCESS,
    "enable_seqscan": "off", "enable_bitmapscan": "off",
    "enable_hashjoin": "off", "enable_mergejoin": "off",
}

ANAGO_ON = {"anago.enable": "on"}
ANAGO_OFF = {"anago.enable": "off"}


def text(name) -> str:
    """SQL of a query of queries/, without comments."""
    lines = (FOLDER / f"{name}.sql").read_text().splitlines()
    return "\n".join(l for l in lines if not l.startswith("--"))


def tuned_by_hand(cores):
    """Stock settings that somebody patient would try, by name.

    Generous on purpose: every query is compared with the best of them.
    """
    more = 4 * cores
    parallel = {"max_parallel_workers_per_gather": more,
                "parallel_setup_cost": 0, "parallel_tuple_cost": 0,
                "min_parallel_table_scan_size": 0,
                "min_parallel_index_scan_size": 0}
    cheap_reads = {"random_page_cost": 1.1, "effective_cache_size": "16GB"}
    deep = {"effective_io_concurrency": 512, "work_mem": "256MB"}
    no_full_scans = {"enable_seqscan": "off", "enable_hashjoin": "off",
                     "enable_mergejoin": "off"}
    return {
        "defaults": {},
        "ssd": {**cheap_reads, **deep},
        "ssd, parallel": {**cheap_reads, **deep, **parallel},
        "bitmap, parallel": {**cheap_reads, **deep, **parallel,
                             "enable_indexscan": "off",
                             "enable_seqscan": "off"},
        "index joins": {**cheap_reads, **deep, **no_full_scans},
        "index joins, parallel": {**cheap_reads, **deep, **parallel,
                                  **no_full_scans,
                                  "enable_bitmapscan": "off"},
        "bitmap joins, parallel": {**cheap_reads, **deep, **parallel,
                                   **no_full_scans,
                                   "enable_indexscan": "off"},
    }


# Server settings that go with the tuned sessions (18: asynchronous reads by
# many workers beat io_uring for bitmap scans through the page cache here).
TUNED_SERVER = {
    "max_worker_processes": 32, "max_parallel_workers": 32,
    "io_method": "worker", "io_workers": 16, "io_max_concurrency": 256,
}


def known_server_settings(cluster) -> dict:
    """TUNED_SERVER without what this version does not have."""
    if cluster.major() >= 18:
        return TUNED_SERVER
    return {name: value for name, value in TUNED_SERVER.items()
            if not name.startswith("io_")}
