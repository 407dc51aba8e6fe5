"""What a run of comparisons amounted to, and whether that was a test."""

from collections import Counter

# Parts of the queries (and of those planned with workers) in which anago must
# have been at work; with fewer the run would say little.
ANAGO_SHARE_AT_LEAST = 0.5
WORKERS_SHARE_AT_LEAST = 0.25

# The same for each kind of query (kinds.py), from so many queries on.
KIND_AT_LEAST = 20
ANAGO_SHARE_OF_KIND = 0.3

# What has side effects may be left to stock.
MAY_BE_STOCK = "effects"


class Tally:
    """What a run of comparisons amounted to."""

    def __init__(self):
        self.counts = Counter()
        self.kinds = Counter()
        self.kinds_with_anago = Counter()
        self.differences = []

    def add(self, other):
        self.counts += other.counts
        self.kinds += other.kinds
        self.kinds_with_anago += other.kinds_with_anago
        self.differences += other.differences

    def compared(self, query, stock, anago_plan, may_share, shared):
        """One query was run both ways, stock's outcome being this."""
        self.counts["compared"] += 1
        self.counts["allowed workers"] += may_share
        self.counts["stock errors"] += stock.error is not None
        self.counts["with rows"] += bool(stock.rows)
        self.counts["anago's"] += query.kind != MAY_BE_STOCK
        self.counts["anago plans"] += anago_plan and query.kind != MAY_BE_STOCK
        self.counts["in workers"] += shared
        self.kinds[query.kind] += 1
        self.kinds_with_anago[query.kind] += anago_plan

    def summary(self) -> str:
        compared = self.counts["compared"]
        return (f"{compared} queries compared, "
                f"{len(self.differences)} differences "
                f"({self.counts['anago plans']} with an anago plan, "
                f"{self.counts['in workers']} of these with workers, "
                f"{self.counts['with rows']} gave rows, "
                f"{self.counts['stock errors']} failed in stock, "
                f"{self.counts['skipped']} were too slow, "
                f"{self.counts['injected errors']} injected errors seen)")

    def by_kind(self) -> str:
        """How many of each kind, and with an anago plan."""
        return ", ".join(f"{kind} {count} ({self.kinds_with_anago[kind]})"
                         for kind, count in sorted(self.kinds.items()))

    def too_little(self) -> str:
        """Why this was no test of anago; "" if it was one."""
        if not self.counts["compared"]:
            return "nothing was compared: that is no test"
        for what, of, least in (
                ("anago plans", "anago's", ANAGO_SHARE_AT_LEAST),
                ("in workers", "allowed workers", WORKERS_SHARE_AT_LEAST)):
            share = self.counts[what] / max(self.counts[of], 1)
            if share < least and self.counts[of]:
                return (f"only {share:.0%} of the queries that were {of} "
                        f"had {what}: that is no test")
        for kind, count in self.kinds.items():
            share = self.kinds_with_anago[kind] / count
            if (count >= KIND_AT_LEAST and share < ANAGO_SHARE_OF_KIND
                    and kind != MAY_BE_STOCK):
                return (f"only {share:.0%} of the queries of kind {kind} had "
                        "anago plans: that is no test")
        return ""
