"""What anago costs where it has nothing to do: pgbench.

    bench/python bench/experiments/cost.py --scale 1

    select    `pgbench -S -M prepared`, one client, everything in shared buffers
    tpcb      pgbench's own transactions, like TPC-B, without waiting for commits

What planning costs is measured by planning.py.
"""

from lib import pgbench, session
from lib.ending import main_of

NAME = "cost"
TITLE = "The cost of being there"
QUESTION = "What do short transactions cost more when anago is switched on?"
SECTIONS = ("select", "tpcb")

SCRIPTS = {"select": ("-S",), "tpcb": ("-b", "tpcb-like")}
TITLES = {"select": "pgbench -S -M prepared, one client",
          "tpcb": "pgbench, TPC-B-like, -M prepared, one client"}


def transactions(bench, section):
    rows, out = pgbench.report(pgbench.rounds(
        bench, section, SCRIPTS[section], bench.args.rounds))
    bench.results.table(section, TITLES[section], pgbench.COLUMNS, rows)
    return out


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
