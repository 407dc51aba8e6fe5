"""What changes the tables while others read them.

Each writer is a thread with a connection and a seed, and does small
transactions of every kind that moves rows, pages and visibility.
"""

import random
import threading

import psycopg

from differ import bounds, inorder, skips, tables, writes

# Rows of a bulk insert: some dozens of leaf pages, split as they fill.
BULK_ROWS = 4_000

# Row numbers above those of tables.create(), for rows that come and go.
EXTRA = 3

SQL_SETTINGS = "set statement_timeout = '30s'; set lock_timeout = '200ms'"


class _Changer(threading.Thread):
    """Does `_once` on a connection of its own, until told to stop."""

    PAUSES = ()         # seconds between two changes, one of them by chance

    def __init__(self, connect, seed, stop):
        super().__init__(daemon=True)
        self.rng = random.Random(seed)
        self.connect = connect
        self.stop = stop
        self.done = 0
        self.failure = None

    def run(self):
        try:
            with self.connect() as conn:
                conn.execute(SQL_SETTINGS)
                while not self.stop.is_set():
                    self._once(conn)
                    self.stop.wait(self.rng.choice(self.PAUSES))
        except psycopg.Error as err:
            if not self.stop.is_set():
                self.failure = err

    def _once(self, conn):
        raise NotImplementedError


class Writer(_Changer):
    """Random small transactions."""

    PAUSES = (0, 0, 0.005, 0.05)

    def _once(self, conn):
        action = self.rng.choices(
            [self._insert, self._update_hot, self._update_key, self._delete_few,
             self._bulk_insert, self._delete_range, self._lock_rows,
             self._truncate_side, self._change_bounds,
             self._change_skips, self._change_inorder],
            [6, 6, 6, 4, 1, 1, 1, 0.3, 4, 2, 3])[0]
        try:
            with conn.transaction():
                action(conn)
                if self.rng.random() < 0.2:
                    with conn.transaction():        # a subtransaction
                        self._update_hot(conn)
                        if self.rng.random() < 0.5:
                            raise psycopg.Rollback
                if self.rng.random() < 0.1:
                    raise psycopg.Rollback          # dead rows of an abort
            self.done += 1
        except (psycopg.errors.DeadlockDetected,
                psycopg.errors.LockNotAvailable,
                psycopg.errors.QueryCanceled,
                psycopg.errors.UniqueViolation):
            pass                                    # writers collide

    # --- kinds of change --------------------------------------------------

    def _table(self):
        return self.rng.choice(tables.TABLES[:4])

    def _span(self, table, size):
        """A condition for about `size` neighbouring rows."""
        column = table.column(table.key[0])
        low = self.rng.randrange(int(column.high * 1.2))
        width = max(1, int(size * column.high / table.rows))
        if column.type == "text":
            return (f"{column.name} between '{column.pattern % low}' and "
                    f"'{column.pattern % (low + width)}'")
        return f"{column.name} between {low} and {low + width}"

    def _insert(self, conn):
        """Rows that were there once (deleted ones), or new ones."""
        table = self._table()
        low = self.rng.randint(1, EXTRA * table.rows)
        conn.execute(table.fill.format(
            low=low, high=low + self.rng.choice([0, 3, 40])))

    def _update_hot(self, conn):
        table = self._table()
        conn.execute(f"update {table.name} set filler = repeat('u', "
                     f"{self.rng.randint(0, 60)}) where "
                     + self._span(table, self.rng.choice([1, 5, 100])))

    def _update_key(self, conn):
        """Changes an indexed column: new index entries for the same row."""
        table, change = self.rng.choice([
            (tables.ACCOUNT, "grp = nullif((coalesce(grp, 1) * 7) % 600, 13)"),
            (tables.ACCOUNT, "val = (coalesce(val, 0) + 101) % 5000"),
            (tables.ITEM, "kind = (kind + 1) % 30"),
            (tables.ITEM, "account_id = nullif((coalesce(account_id, 5) + 77)"
             " % 13000, 99)"),
            (tables.ITEM, "iid = iid + 1000003"),
            (tables.ITEM, "iid = iid - 1000003"),
            (tables.EVENT, "item_id = (coalesce(item_id, 3) * 3) % 36000"),
            (tables.EVENT, "at = at + interval '1 h'"),
            (tables.WORD, "k = nullif((coalesce(k, 0) + 1) % 600, 7)"),
            (tables.WORD, "big = nullif((coalesce(big, 5) * 5) % 36000, 1)")])
        span = self._span(table, self.rng.choice([1, 5, 60]))
        if "- 1000003" in change:
            span = f"iid > 1000003 and iid % 5 = {self.rng.randrange(5)}"
        conn.execute(f"update {table.name} set {change} where {span}")

    def _delete_few(self, conn):
        table = self._table()
        conn.execute(f"delete from {table.name} where "
                     + self._span(table, self.rng.choice([1, 5, 50])))

    def _bulk_insert(self, conn):
        """Fills up and splits pages all over the indexes."""
        table = self._table()
        low = self.rng.randint(1, EXTRA * table.rows)
        conn.execute(table.fill.format(low=low, high=low + BULK_ROWS))

    def _delete_range(self, conn):
        """Empties whole leaf pages, which VACUUM then deletes."""
        table = self._table()
        conn.execute(f"delete from {table.name} where "
                     + self._span(table, table.rows // 8))

    def _lock_rows(self, conn):
        """Row locks, from several transactions at once: multixacts."""
        table = self._table()
        how = self.rng.choice(["share", "key share", "no key update"])
        conn.execute(f"select 1 from {table.name} where "
                     f"{self._span(table, 20)} for {how}")

    def _truncate_side(self, conn):
        conn.execute("truncate side")
        conn.execute(tables.SIDE_TABLE.fill.format(
            low=1, high=self.rng.randint(1, tables.SIDE)))

    def _change_bounds(self, conn):
        conn.execute(bounds.change(self.rng))

    def _change_skips(self, conn):
        conn.execute(skips.change(self.rng))

    def _change_inorder(self, conn):
        conn.execute(inorder.change(self.rng))


class Vacuumer(_Changer):
    """VACUUM in all its forms, ANALYZE, CHECKPOINT."""

    PAUSES = (0, 0.02, 0.2)

    def _once(self, conn):
        table = self.rng.choice([*(t.name for t in tables.TABLES), "bounds",
                                 "skips", "skips_deep", "inorder", *writes.TABLES[:3]])
        statement = self.rng.choices(
            [f"vacuum {table}", f"vacuum (index_cleanup on) {table}",
             f"vacuum (freeze) {table}", f"analyze {table}", "checkpoint",
             f"vacuum (truncate off, index_cleanup off) {table}"],
            [8, 8, 2, 2, 0.5, 1])[0]
        try:
            conn.execute(statement)
            self.done += 1
        except (psycopg.errors.LockNotAvailable,
                psycopg.errors.QueryCanceled,
                psycopg.errors.DeadlockDetected):
            pass
