"""Tables of a hundred partitions and more, with few rows in each, on either side of
a join."""

from differ.kind import Kind

RANGES, LISTS, HASHES = 120, 40, 32

# A Merge Append pins a page of each partition, stock's as ours: a join of two up to
# 240, in each of three sessions that may ask for it at once.
FEWEST_MB = 4

PER_RANGE = 30              # rows, and keys
ROWS = RANGES * PER_RANGE
KINDS = 20


class Partitions(Kind):
    NAME = "partitions"
    FEWEST_MB = FEWEST_MB

    @staticmethod
    def create(conn):
        conn.execute(f"""
            create table by_range (id int, k int, at int, pad text)
                partition by range (at);
            create table by_list (id int, k int, at int, pad text)
                partition by list (k);
            create table by_hash (id int, k int, at int, pad text)
                partition by hash (id);
            create table rest partition of by_list default;
            do $$ begin
                for i in 0 .. {RANGES - 1} loop
                    execute format('create table by_range_%s partition of
                        by_range for values from (%s) to (%s)', i,
                        i * {PER_RANGE}, (i + 1) * {PER_RANGE});
                end loop;
                for i in 0 .. {LISTS - 1} loop
                    execute format('create table by_list_%s partition of
                        by_list for values in (%s, %s)', i, i, 1000 + i);
                end loop;
                for i in 0 .. {HASHES - 1} loop
                    execute format('create table by_hash_%s partition of by_hash
                        for values with (modulus {HASHES}, remainder %s)', i, i);
                end loop;
            end $$;""")
        for name, k in (("range", KINDS), ("list", LISTS + 3), ("hash", KINDS)):
            conn.execute(f"""
                insert into by_{name} select i, i * 7 % {k}, i,
                    repeat('p', i % 90) from generate_series(0, {ROWS - 1}) i;
                create index on by_{name} (k);
                create index on by_{name} (id);
                create index on by_{name} (at, k)""")
        conn.execute("""
            create table one_table as select * from by_range;
            create index on one_table (k);
            create index on one_table (id);
            create index on one_table (at);
            create table few as select i * 37 % 100 as id, i as v
                from generate_series(1, 12) i;
            create view branches as select * from by_list
                union all select * from one_table
                union all select id, at, k, pad from by_hash""")

    def make(self) -> str:
        table = self.pick("by_range", "by_list", "by_hash")
        where = [self._condition("a")]
        if self.chance(0.4):
            where.append(self._condition("a"))
        from_, out = f"{table} a", "a.id, a.k, a.at"
        if self.chance(0.35):
            return self._inner_side(where[0])
        if self.chance(0.2):
            return self._star(where[0])
        if self.chance(0.35):
            other = self.pick("by_range", "by_list", "by_hash")
            on = self.pick("b.id = a.id", "b.at = a.id", "b.at = a.at + 1")
            low = self.rng.randrange(ROWS)
            where.append(f"a.at between {low} and {low + self.pick(0, 3, 20)}")
            from_ += f" {self.pick('', 'left ')}join {other} b on {on}"
            out += ", b.id, b.k, b.at"
        sql = f"select {out} from {from_}\n where " + "\n   and ".join(where)
        if " b on" not in from_ and self.chance(0.3):
            self.draft.ordered = True
            sql += f"\n order by a.{self.pick('at', 'k, a.id', 'id desc')}"
            if self.chance(0.6):
                sql += f" limit {self.pick(1, 10, 100)}"
        return sql

    def _inner_side(self, where) -> str:
        """A few rows, and several tables to be probed for each of them."""
        outer = self.pick("by_range", "by_list", "by_hash", "one_table")
        inner = self.pick("by_range", "by_list", "by_hash", "branches")
        on = self.pick("b.id = a.id", "b.at = a.id", "b.k = a.k", "b.at = a.at",
                       "b.at between a.at and a.at + 40",
                       "b.k = a.k and b.at > a.at",
                       "b.id = a.id and b.at = a.at and length(b.pad) > a.k",
                       "b.at in (a.at, a.id + 31, a.k)")
        join = self.pick("join", "join", "left join", "exists", "not exists")
        more = self.pick("", f" and a.id % 7 = {self.pick(0, 3)}")
        if "exists" in join:
            return (f"select a.id, a.k, a.at from {outer} a\n where {where}{more}"
                    f"\n   and {join} (select 1 from {inner} b where {on})")
        out = "a.id, a.k, b.id, b.k, b.at, b.pad"
        if inner != "branches" and self.chance(0.25):
            out += ", b::text"          # the whole row
        third = ""
        if self.chance(0.3):
            third = f"\n {self.pick('', 'left ')}join by_list c on c.k = b.k and c.id = b.id"
            out += ", c.at"
        sql = (f"select {out} from {outer} a\n {join} {inner} b on {on}{third}"
               f"\n where {where}{more}")
        if self.chance(0.2):
            sql = f"select count(*) from ({sql}\n limit {self.pick(1, 7, 50)}) x"
            sql = sql.replace(out, "a.id", 1)
        return sql

    def _star(self, where) -> str:
        """Keys of two tables, of which one is further out."""
        inner = self.pick("by_range", "by_list", "by_hash", "one_table")
        key = self.pick("f.id = d.id", "f.at = d.id + 3", "f.k = d.id")
        far = self.pick("f.k = a.k", "f.at >= a.at", "f.id < a.id + 300")
        self.draft.settings["join_collapse_limit"] = "1"
        return (f"select a.id, d.id, f.id, f.at from one_table a\n {self.pick('', 'left ')}"
                f"join (few d join {inner} f on {key}) on {far}\n where {where}"
                f" and a.id % 11 = 3")

    def _condition(self, alias) -> str:
        low = self.rng.randrange(ROWS)
        column = self.pick("k", "at", "id")
        number = low % (LISTS + 4) if column == "k" else low
        name, value = f"{alias}.{column}", self.value(number, "int")
        return self.pick(
            f"{name} = {value}", f"{name} = {value}",
            f"{name} between {value} and {number + self.pick(0, 5, 200)}",
            f"{name} in ({value}, {low % 50}, 1003, 7)",
            f"{name} > {value} and {alias}.at < {low + 90}")
