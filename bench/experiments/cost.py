"""What anago costs where it has nothing to do: pgbench.

    bench/python bench/experiments/cost.py --scale 1

    select    `pgbench -S -M prepared`, one client, everything in shared buffers
    tpcb      pgbench's own transactions, like TPC-B, without waiting for commits
    insert    10,000 rows into a table with two indexes and a foreign key
    update    10,000 rows found by a join, of which each gets entries in two indexes

What planning costs is measured by planning.py.
"""

from lib import pgbench, plots, session
from lib.ending import main_of

NAME = "cost"
TITLE = "The cost of being there"
QUESTION = ("What do short transactions, and bulk changes of cached tables, cost more when "
            "anago is switched on?")

# The table of bulk changes, and where each transaction finds it.
BULK = ("drop table if exists bulk",
        "create table bulk (aid int primary key, place int, bid int references "
        "pgbench_branches, note text) with (fillfactor = 50)",
        "create index on bulk (place)",
        "insert into bulk select aid, aid * 7919 % 10007, bid, filler "
        "from pgbench_accounts where aid <= 10000",
        "vacuum analyze bulk")
BULK_INSERT = """begin;
truncate bulk;
insert into bulk select aid, aid * 7919 % 10007, bid, filler from pgbench_accounts where aid <= 10000;
commit;
"""
BULK_UPDATE = """begin;
update bulk set place = place + 1 from pgbench_accounts a where a.aid = bulk.aid and a.aid <= 10000;
rollback;
vacuum bulk;
"""

BUILT_IN = {"select": ("-S",), "tpcb": ("-b", "tpcb-like")}
SCRIPTS = {"insert": BULK_INSERT, "update": BULK_UPDATE}
SECTIONS = (*BUILT_IN, *SCRIPTS)
TITLES = {"select": "pgbench -S -M prepared, one client",
          "tpcb": "pgbench, TPC-B-like, -M prepared, one client",
          "insert": "bulk INSERT, 10,000 rows, cached",
          "update": "bulk UPDATE by join, 10,000 rows, cached"}


def script_of(bench, section) -> tuple:
    """Arguments of pgbench; a script of our own goes into the cluster's folder."""
    if section in BUILT_IN:
        return BUILT_IN[section]
    path = bench.cluster.root / f"{section}.sql"
    path.write_text(SCRIPTS[section])
    path.chmod(0o644)
    return "-f", path


def transactions(bench, section):
    rows, out = pgbench.report(pgbench.rounds(
        bench, section, script_of(bench, section), bench.args.rounds,
        BULK if section in SCRIPTS else ()))
    plot(bench, section, out)
    bench.results.table(section, TITLES[section], pgbench.COLUMNS, rows)
    return out


def plot(bench, section, out):
    figure, axes = plots.plt.subplots()
    axes.bar(list(out), [one["cpu_us"] / 1000 for one in out.values()])
    axes.set_ylabel("CPU ms for each transaction")
    axes.set_title(f"{TITLES[section]}; anago")
    plots.save(figure, bench.results, "-" + section)


def main():
    parser = session.parser(__doc__)
    session.add_sections(parser, SECTIONS)
    parser.add_argument("--rounds", type=int, default=20,
                        help=f"rounds of pgbench, {pgbench.SECONDS} s for each "
                        "of three sides")
    args = parser.parse_args()
    wanted = session.sections_of(args, SECTIONS)
    with session.experiment(NAME, TITLE, QUESTION, args,
                            extra_bytes=pgbench.BYTES) as bench:
        bench.results.finish({section: transactions(bench, section)
                              for section in wanted})


if __name__ == "__main__":
    main_of(NAME, main)
