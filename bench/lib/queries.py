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

# Parallel plans wherever they are possible, as with stock's tuned settings.
def parallel(workers):
    return {"max_parallel_workers_per_gather": workers,
            "parallel_setup_cost": 0, "parallel_tuple_cost": 0,
            "min_parallel_table_scan_size": 0,
            "min_parallel_index_scan_size": 0}


ANAGO_ON = {"anago.enable": "on"}
ANAGO_OFF = {"anago.enable": "off"}


def text(name, scale=10) -> str:
    """SQL of a query of queries/, without comments.  H, I and K want the
    same share of the customers at any scale."""
    lines = (FOLDER / f"{name}.sql").read_text().splitlines()
    return "\n".join(l for l in lines if not l.startswith("--")).replace(
        "{scale}", f"{scale:g}")


TPCH = tuple(f"Q{number}" for number in range(1, 23))


def tpch(name, scale) -> str:
    """SQL of Q1 ... Q22, with the validation parameters."""
    return text(f"tpch/q{int(name[1:]):02}", scale)
