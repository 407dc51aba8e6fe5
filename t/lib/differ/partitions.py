"""Tables of a hundred partitions and more, with few rows in each."""

from differ.kind import Kind

RANGES, LISTS, HASHES = 120, 40, 32
PER_RANGE = 30              # rows, and keys
ROWS = RANGES * PER_RANGE
KINDS = 20


class Partitions(Kind):
    NAME = "partitions"

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

    def make(self) -> str:
        table = self.pick("by_range", "by_list", "by_hash")
        where = [self._condition("a")]
        if self.chance(0.4):
            where.append(self._condition("a"))
        from_, out = f"{table} a", "a.id, a.k, a.at"
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
