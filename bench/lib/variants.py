"""The ways to run a query that experiments compare, besides stock.py's."""

from lib import queries, session
from lib.runs import Variant


def options_of_anago(parser):
    parser.add_argument("--io-method", default="auto", help="anago.io_method")
    parser.add_argument("--inflight", type=int,
                        help="anago.max_inflight_reads")


def anago_session(args) -> dict:
    """anago on, with what the command line says of it."""
    made = {**queries.ANAGO_ON, "anago.io_method": args.io_method}
    if args.inflight:
        made["anago.max_inflight_reads"] = args.inflight
    return made


def anago(args, query, name="anago", workers=0, server=None, sql=None, **more):
    """anago where its cost wins, on the plan of index scans.

    Not debug_force: that takes any join order.  But where nothing overlaps the
    planner keeps stock's plan; for comparison it must be forced to the same
    steps.
    """
    plan = {**queries.INDEX_PLAN}
    if more.get("anago.mode", "ooo") != "ooo" or args.io_method == "sync":
        more = {**more, "anago.debug_force": "on"}
    if workers:
        plan.update(queries.parallel(workers))
    return Variant(name, sql or queries.text(query),
                   {**plan, **anago_session(args), **more},
                   {**session.ANAGO_SERVER, **(server or {})}, query, workers)


def anago_natural(args, query, sql=None, name="anago, natural plan", **more):
    """anago may be chosen, and nothing is forbidden to the planner."""
    return Variant(name, sql or queries.text(query),
                   {**queries.ONE_PROCESS, **anago_session(args), **more},
                   session.ANAGO_SERVER, query, free=True)


def stock_same_plan(query, name="stock", sql=None, **more):
    """The plan of index scans in stock's executor, anago not loaded."""
    return Variant(name, sql or queries.text(query),
                   {**queries.INDEX_PLAN, **more}, {}, query)


def stock_defaults(query, name="stock, defaults", sql=None, **more):
    """As it comes."""
    return Variant(name, sql or queries.text(query), {**more}, {}, query)


def workers_name(workers) -> str:
    """anago with so many workers beside the leader, in tables."""
    if not workers:
        return "anago, one process"
    return f"anago, {workers} worker" + "s" * (workers > 1)
