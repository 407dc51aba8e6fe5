"""Rows in order through several tables: what becomes of an order on its way.

The first table is that of inorder.py and has an order, those behind it add rows,
drop some, or extend them by NULLs; two are partitioned.  Partitions are few, as
stock's scans keep a page of each, and a server may have no more than 128 buffers.
Rows come in a total order: what is left open by the first table's columns is sorted
by those of the last.
"""

from differ.inorder import HIGH, ORDERS, ROWS, order_by
from differ.kind import Kind

# Inner sides: table, and conditions by which an index of it is probed.
INNER = (("inorder_ref", ("{i}.ref = t.id", "{i}.id = t.id", "{i}.ref = t.a",
                          "{i}.id in (t.a, t.b, t.id)", "{i}.ref = t.a and {i}.v = t.b")),
         ("inorder", ("{i}.id = t.a", "{i}.a = t.b and {i}.id < t.id",
                      "{i}.id between t.b and t.b + 2")),
         ("chain_range", ("{i}.id = t.a", "{i}.at = t.id", "{i}.at = t.a and {i}.k = t.b",
                       "{i}.at between t.b and t.b + 3")),
         ("chain_hash", ("{i}.id = t.id", "{i}.k = t.b and {i}.id = t.a",
                         "{i}.at = t.id", "{i}.id in (t.a, t.b)")))


class Chains(Kind):
    NAME = "chains"
    EXECUTE = {"plain": 6, "prepared": 3, "cursor": 1, "part": 3}

    @staticmethod
    def create(conn):
        """Beside the tables of inorder.py."""
        conn.execute(f"""
            create table chain_range (id int, k int, at int) partition by range (at);
            create table chain_range_0 partition of chain_range default;
            create table chain_range_1 (at int, gone int, id int, k int);
            alter table chain_range_1 drop column gone;
            alter table chain_range attach partition chain_range_1
                for values from (10) to (200);
            create table chain_range_2 partition of chain_range
                for values from (200) to ({ROWS});
            create table chain_hash (id int, k int, at int) partition by hash (id);
            do $$ begin
                for i in 0 .. 3 loop
                    execute format('create table chain_hash_%s partition of chain_hash
                        for values with (modulus 4, remainder %s)', i, i);
                end loop;
            end $$;""")
        for name in ("chain_range", "chain_hash"):
            conn.execute(f"""
                insert into {name} select i, i * 7 % {HIGH['b']}, i * 3 % {ROWS}
                    from generate_series(0, {ROWS - 1}) i;
                create index on {name} (id);
                create index on {name} (k, id);
                create index on {name} (at, k)""")

    def make(self) -> str:
        self.draft.ordered = True
        if self.draft.execute == "part":
            self.draft.steps = [f"{self.pick('fetch', 'fetch', 'move')} "
                                f"{self.pick(1, 3, 40, 'all')}"
                                for _ in range(self.rng.randint(1, 4))]
        self.draft.settings = {
            name: self.pick("on", "off", "off")
            for name in ("enable_sort", "enable_hashjoin", "enable_mergejoin",
                         "enable_hashagg", "enable_material", "enable_memoize")}
        if self.chance(0.3):
            self.draft.settings["join_collapse_limit"] = "1"
        shape = self.pick(self._chain, self._chain, self._chain, self._groups,
                          self._merge, self._again, self._scalar, self._pages,
                          self._branches)
        return shape()

    # --- a table that has an order, and others behind it ------------------

    def _chain(self) -> str:
        order = self._order()
        from_, where, out = "inorder t", [self._some()], ["t.id", "t.a", "t.b"]
        ties = []
        for number in range(self.rng.randint(1, 3)):
            name = f"i{number}"
            table, conditions = self.rng.choice(INNER)
            on = self.rng.choice(conditions).format(i=name)
            if self.chance(0.3):
                on += f" and {name}.id % {self.pick(2, 7)} < {self.pick(1, 5)}"
            draw = self.rng.random()
            if draw < 0.3:
                where.append(f"{self.pick('', 'not ')}exists "
                             f"(select from {table} {name} where {on})")
                continue
            from_ += f"\n  {self.pick('', 'left ')}join {table} {name} on {on}"
            out.append(f"{name}.id")
            ties.append(f"{name}.id")
        if not ties or self.chance(0.5):
            out, ties = out[:3], []
        return (f"select {', '.join(out)} from {from_}\n where {' and '.join(where)}"
                f"\n order by {', '.join([order, *ties])}{self._limit()}")

    def _groups(self) -> str:
        """Groups, or the first row of each, of what comes in order."""
        table, conditions = self.rng.choice(INNER)
        on = self.rng.choice(conditions).format(i="i")
        from_ = (f"inorder t {self.pick('', 'left ')}join {table} i on {on}\n"
                 f" where {self._some()}")
        if self.chance(0.5):
            return (f"select t.b, t.a, count(*), max(i.id) from {from_}\n group by t.b, "
                    f"t.a order by t.b {self.pick('', 'desc')}, t.a{self._limit()}")
        return (f"select distinct on (t.a) t.a, t.id, i.id from {from_}\n"
                f" order by t.a, t.id, i.id{self._limit()}")

    def _merge(self) -> str:
        """Both sides of a merge join are pipelines, or one is."""
        self.draft.settings.update(enable_mergejoin="on", enable_hashjoin="off",
                                   enable_nestloop=self.pick("on", "off"))
        column = self.pick("a", "id")
        sides = [f"(select t.{column} as k, t.id from inorder t join inorder_ref r "
                 f"on r.ref = t.id where {self._some()} offset 0)"
                 if self.chance(0.4) else
                 f"(select t.{column} as k, t.id from inorder t where {self._some()})"
                 for _ in "xy"]
        return (f"select x.k, y.k as l, x.id, y.id as j from {sides[0]} x\n"
                f" {self.pick('', 'left ', 'full ')}join {sides[1]} y on y.k = x.k\n"
                f" order by 1, 2, 3, 4{self._limit()}")

    # --- pipelines that are run again and again ----------------------------

    def _again(self) -> str:
        """Below LATERAL, with a limit and other values each time."""
        turned = self.pick("", " desc")
        join = self.pick("", " join inorder_ref r on r.ref = t.id",
                         " left join chain_hash r on r.id = t.a")
        key = self.pick("t.b = g.v % 12", "t.a between g.v and g.v + 20",
                        "t.b in (g.v % 5, g.v % 7, null)", "(t.b, t.a) > (g.v % 9, g.v)",
                        "t.a = any (array[g.v, g.v * 2, g.v % 3])",
                        f"t.id > {ROWS} - g.v")
        tie = ", r.id" + turned if join else ""
        return (f"select g.v, l.* from (select v * 13 % 301 as v from "
                f"generate_series(1, {self.pick(3, 15, 60)}) v) g {self.pick('', 'left ')}"
                f"join lateral (select t.b, t.a, t.id{', r.id as r' if join else ''} "
                f"from inorder t{join} where {key}\n order by t.b{turned}, t.a{turned}, "
                f"t.id{turned}{tie} limit {self.pick('1', '3', 'g.v % 6', '200')}) l on true\n"
                f" order by g.v, l.b, l.a, l.id" + (", l.r" if join else ""))

    def _scalar(self) -> str:
        """In subqueries of the select list, and as a condition."""
        inner = (f"select {self.pick('x.id', 'x.a', 'x.b * 1000 + x.id')} from inorder x "
                 f"where x.a {self.pick('=', '>', '<')} t.a and x.id % 3 = t.id % 3\n"
                 f" order by x.a {self.pick('', 'desc')}, x.id limit 1")
        return (f"select t.id, ({inner}) from inorder t where {self._some()} and "
                f"t.id % 40 = {self.rng.randint(0, 39)}\n order by t.id{self._limit()}")

    # --- others ------------------------------------------------------------

    def _pages(self) -> str:
        """The page behind a row, as an application turns pages."""
        turned, sign = self.pick(("", ">"), (" desc", "<"))
        b, a = self.rng.randint(0, HIGH["b"]), self.rng.randint(0, HIGH["a"])
        return (f"select t.b, t.a, t.id, t.c from inorder t where (t.b, t.a, t.id) {sign} "
                f"({self.value(b, 'int')}, {self.value(a, 'int')}, {self.rng.randint(0, ROWS)})"
                f"\n order by t.b{turned}, t.a{turned}, t.id{turned} limit {self.pick(5, 40, 700)}")

    def _branches(self) -> str:
        """MergeAppend of pipelines: partitions, and branches of a UNION ALL."""
        low = self.rng.randrange(ROWS)
        high = low + self.pick(5, 100, 300)
        if self.chance(0.5):
            from_ = "chain_range p"
        else:
            from_ = ("(select id, k, at from chain_hash union all select id, a, b from "
                     "inorder union all select id, v, ref from inorder_ref) p")
        return (f"select p.id, p.k, p.at from {from_} where p.id between {low} and {high}\n"
                f" order by p.id {self.pick('', 'desc')}, p.k, p.at{self._limit()}")

    # --- parts ---------------------------------------------------------------

    def _order(self) -> str:
        return order_by(self.rng.choice(ORDERS), "t.", self.chance(0.5))

    def _some(self) -> str:
        """A condition that leaves some hundred rows at most."""
        a, b = self.rng.randint(0, HIGH["a"]), self.rng.randint(0, HIGH["b"])
        low = self.rng.randint(1, ROWS)
        return self.pick(
            f"t.a between {self.value(a, 'int')} and {a + self.pick(0, 3, 12)}",
            f"t.b = {self.value(b, 'int')} and t.a < {self.value(a, 'int')}",
            f"t.b in ({b}, {self.value(b // 2, 'int')}, null) and t.a in ({a}, {a + 1}, 7)",
            f"t.id between {self.value(low, 'int')} and {low + self.pick(3, 70, 300)}",
            f"(t.b, t.a) > ({HIGH['b'] - 2}, {self.value(a, 'int')})",
            f"t.a = any (array[{a}, {b}, {a // 2}])",
            f"(t.a = {a} or t.b is null and t.id < {low // 4})",
            f"t.a is null and t.id > {low}",
            f"lower(t.c) between '{b:x}' and '{b:x}3'")

    def _limit(self) -> str:
        made = ""
        if self.chance(0.5):
            made += f" limit {self.rng.choice([1, 2, 7, 50, 400])}"
        if self.chance(0.2):
            made += f" offset {self.rng.choice([1, 10, 100])}"
        return made
