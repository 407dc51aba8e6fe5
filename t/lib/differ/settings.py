"""Random settings of a session and of a server, from a seed."""

# What the planner may be told, each with its chance, so that all kinds of
# plans come up around anago's.
PLANNER_OFF = {"enable_hashjoin": 0.6, "enable_mergejoin": 0.6,
               "enable_seqscan": 0.7, "enable_bitmapscan": 0.5,
               "enable_indexonlyscan": 0.15, "enable_memoize": 0.5,
               "enable_material": 0.3, "enable_sort": 0.2,
               "enable_hashagg": 0.2, "enable_incremental_sort": 0.2}

# Implementations of parts of a pipeline, most often the usual ones.
OPERATORS = ("", "", "", "range=right_links", "heap_visit=by_row",
             "range=right_links, heap_visit=by_row")

# Rows after which a join by index turns into a hash join; 0: when that pays.
TURN_AFTER = (0, 0, 1, 7, 100)

BUFFERS_MB = (1, 2, 4, 8)

INFLIGHT = (1, 2, 3, 4, 7, 16, 64, 256, 1024, 16384)


def planner(rng) -> dict:
    """Settings of the planner; the same for both sides of a comparison."""
    made = {name: "off" for name, chance in PLANNER_OFF.items()
            if rng.random() < chance}
    made["plan_cache_mode"] = rng.choice(
        ["auto", "force_generic_plan", "force_custom_plan"])
    made["work_mem"] = rng.choice(["64kB", "4MB"])
    made["random_page_cost"] = rng.choice([1, 4])
    made["max_parallel_workers_per_gather"] = rng.choice([0, 0, 0, 2])
    return made


def parallel(rng, workers) -> dict:
    """Settings of the planner that allow plans with up to `workers` workers.

    Queries are small, so starting a worker must cost nothing, and often not
    even what a merge of their rows takes.  0 workers: no settings.
    """
    if workers == 0:
        return {}
    merge = {"cpu_operator_cost": 0, "cpu_tuple_cost": 10} if rng.random() < 0.5 else {}
    return {"max_parallel_workers_per_gather": workers,
            **merge,
            "parallel_setup_cost": 0,
            "parallel_tuple_cost": 0,
            "min_parallel_table_scan_size": 0,
            "min_parallel_index_scan_size": 0,
            "enable_parallel_hash": rng.choice(["on", "off"]),
            "enable_parallel_append": rng.choice(["on", "off"]),
            "parallel_leader_participation":
                rng.choices(["on", "off"], [3, 1])[0]}


def anago(rng, methods, modes, method=None) -> dict:
    """Settings of anago; `methods` and `modes` are what this build has."""
    made = {"anago.enable": "on",
            "anago.debug_force": "on" if rng.random() < 0.9 else "off",
            "anago.mode": rng.choices(
                modes, [5 if mode == "ooo" else 1 for mode in modes])[0],
            "anago.io_method": method or rng.choice(methods),
            "anago.max_inflight_reads": rng.choice(INFLIGHT),
            "anago.debug_turn_after": rng.choice(TURN_AFTER),
            "anago.operators": rng.choice(OPERATORS)}
    if made["anago.io_method"] == "sim":
        made.update(simulator(rng))
    return made


def simulator(rng, faults=False) -> dict:
    """Order, delays and faults of simulated reads."""
    return {"anago.sim_seed": rng.randint(1, 2**31 - 1),
            "anago.sim_delay": rng.choice([0, 1, 3, 20]),
            "anago.sim_hit_rate": rng.choice([0, 0, 0.5, 0.9, 1]),
            "anago.sim_hint_fault_rate": rng.choice([0, 0, 0.01, 0.3, 1]),
            "anago.sim_fault_rate":
                rng.choice([0.0005, 0.003, 0.02, 0.2]) if faults else 0}


def worker_slots(n) -> dict:
    """Workers of all queries together; with few, some of them get none."""
    return {"max_worker_processes": n, "max_parallel_workers": n}


def buffers_mb(rng, fewest) -> int:
    """How many a server has; not less than so many."""
    return rng.choice([mb for mb in BUFFERS_MB if mb >= fewest])


def server(rng, major, buffers_mb) -> dict:
    """A server that must really read: its buffers hold a part of the data."""
    made = {"shared_buffers": f"{buffers_mb}MB",
            "fsync": "off", "max_connections": 30,
            "session_preload_libraries": "anago",
            "log_min_messages": "warning",
            "stats_fetch_consistency": "none",
            **worker_slots(rng.choice([3, 24]))}
    if major >= 18:
        made["io_method"] = rng.choice(["worker", "io_uring", "sync"])
    return made
