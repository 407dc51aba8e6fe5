"""Tables that have every kind of B-tree index, and their rows.

All rows come from SQL that depends on nothing but the row's number: two
clusters made by this module are the same, block by block.
"""

from dataclasses import dataclass

# Rows at size 1.  Together about 25 MB: more than shared buffers will hold.
ACCOUNTS = 12_000
ITEMS = 36_000
EVENTS = 48_000
WORDS = 6_000
SIDE = 300

GROUPS = 600            # accounts share one: 20 each
KINDS = 30              # items share one: 1,200 each, long posting lists
NAMES = 4_000           # tags of items and codes of accounts that are words


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    high: int               # values are about 0 .. high (text: of a number)
    pattern: str = ""       # of text, with one %d
    nullable: bool = False


@dataclass(frozen=True)
class TestTable:
    name: str
    ddl: str
    fill: str               # INSERT ... SELECT, with {low} and {high}
    rows: int
    columns: tuple
    key: tuple              # unique columns, for a total order
    indexed: tuple          # columns by which an index can be searched
    wide: str = "filler"    # a column that makes rows wide; "": none

    def column(self, name) -> Column:
        return next(c for c in self.columns if c.name == name)


def _h(salt) -> str:
    """SQL: a fixed pseudo-random non-negative integer of row number i."""
    return f"(hashint4(i + {salt}) & 2147483647)"


ACCOUNT = TestTable(
    "account", """
    create table account (id int primary key, grp int, val int,
        code text, note text, filler text);
    create index account_grp on account (grp);
    create index account_grp_val on account (grp, val desc nulls first);
    create index account_code on account (code);
    create index account_note on account (note) where note is not null;
    create index account_val_inc on account (val) include (id, grp)""",
    f"""insert into account
    select i, case when {_h(1)} % 20 > 0 then {_h(2)} % {GROUPS} end,
        case when {_h(3)} % 10 > 0 then {_h(4)} % 5000 end,
        'w' || lpad(({_h(5)} % {NAMES})::text, 5, '0'),
        case when {_h(6)} % 3 = 0 then 'note ' || {_h(7)} % 500 end,
        repeat(md5(i::text), 1 + {_h(8)} % 5)
    from generate_series({{low}}, {{high}}) i on conflict do nothing""",
    ACCOUNTS,
    (Column("id", "int", ACCOUNTS),
     Column("grp", "int", GROUPS, nullable=True),
     Column("val", "int", 5000, nullable=True),
     Column("code", "text", NAMES, "w%05d"),
     Column("note", "text", 500, "note %d", nullable=True)),
    ("id",), ("id", "grp", "val", "code", "note"))

ITEM = TestTable(
    "item", """
    create table item (iid bigint primary key, account_id int, kind smallint,
        qty int, tag text, filler text);
    create index item_account on item (account_id);
    create index item_kind_qty on item (kind, qty);
    create index item_tag on item (tag);
    create index item_inc on item (account_id desc, qty) include (kind);
    create index item_three on item (qty) where kind = 3;
    create index item_mod on item ((qty % 1000))""",
    f"""insert into item
    select i, case when {_h(11)} % 30 > 0
            then {_h(12)} % ({ACCOUNTS} * 11 / 10) end,
        {_h(13)} % {KINDS}, {_h(14)} % 20000,
        'w' || lpad(({_h(15)} % {NAMES})::text, 5, '0'),
        repeat(md5(i::text), 1 + {_h(16)} % 4)
    from generate_series({{low}}, {{high}}) i on conflict do nothing""",
    ITEMS,
    (Column("iid", "bigint", ITEMS),
     Column("account_id", "int", ACCOUNTS, nullable=True),
     Column("kind", "smallint", KINDS),
     Column("qty", "int", 20000),
     Column("tag", "text", NAMES, "w%05d")),
    ("iid",), ("iid", "account_id", "kind", "qty", "tag"))

EVENT = TestTable(
    "event", """
    create table event (account_id int, seq int, item_id bigint, what text,
        at timestamp, filler text, primary key (account_id, seq));
    create index event_item on event (item_id desc nulls last);
    create index event_what on event (what, seq);
    create index event_at on event (at nulls first)""",
    f"""insert into event
    select {_h(21)} % {ACCOUNTS}, i % 50,
        case when {_h(22)} % 15 > 0 then {_h(23)} % {ITEMS} end,
        'what ' || {_h(24)} % 300,
        case when {_h(25)} % 12 > 0
            then timestamp '2020-01-01' + {_h(26)} % 1000 * interval '1 h' end,
        repeat(md5(i::text), {_h(27)} % 4)
    from generate_series({{low}}, {{high}}) i on conflict do nothing""",
    EVENTS,
    (Column("account_id", "int", ACCOUNTS), Column("seq", "int", 50),
     Column("item_id", "bigint", ITEMS, nullable=True),
     Column("what", "text", 300, "what %d"),
     Column("at", "timestamp", 1000, nullable=True)),
    ("account_id", "seq"), ("account_id", "item_id", "what", "at"))

WORD = TestTable(
    "word", """
    create table word (name text primary key, k int, big bigint, filler text);
    create index word_k on word (k nulls first);
    create index word_big on word (big desc)""",
    f"""insert into word
    select 'w' || lpad(i::text, 5, '0'),
        case when {_h(31)} % 9 > 0 then {_h(32)} % {GROUPS} end,
        case when {_h(33)} % 9 > 0 then {_h(34)} % {ITEMS} end,
        repeat('x', {_h(35)} % 300)
    from generate_series({{low}}, {{high}}) i on conflict do nothing""",
    WORDS,
    (Column("name", "text", WORDS, "w%05d"),
     Column("k", "int", GROUPS, nullable=True),
     Column("big", "bigint", ITEMS, nullable=True)),
    ("name",), ("name", "k", "big"))

SIDE_TABLE = TestTable(
    "side", """
    create table side (id int primary key, v int);
    create index side_v on side (v)""",
    f"""insert into side select i, {_h(41)} % {KINDS}
    from generate_series({{low}}, {{high}}) i on conflict do nothing""",
    SIDE,
    (Column("id", "int", SIDE), Column("v", "int", KINDS)),
    ("id",), ("id", "v"), wide="")

TABLES = (ACCOUNT, ITEM, EVENT, WORD, SIDE_TABLE)
BY_NAME = {table.name: table for table in TABLES}
FIRST = (5, 6, 6, 3, 1)     # how often a query begins with which


@dataclass(frozen=True)
class Edge:
    """A join: for each row of `left`, about `matches` rows of `right`."""
    left: str
    left_column: str
    right: str
    right_column: str
    matches: float


def both(left, right, right_per_left, left_per_right):
    (lt, lc), (rt, rc) = left.split("."), right.split(".")
    return (Edge(lt, lc, rt, rc, right_per_left),
            Edge(rt, rc, lt, lc, left_per_right))


EDGES = (
    *both("account.id", "item.account_id", 3, 1),
    *both("account.id", "event.account_id", 4, 1),
    *both("item.iid", "event.item_id", 1.3, 1),
    *both("item.account_id", "event.account_id", 4, 3),
    *both("account.grp", "word.k", 9, 20),
    *both("word.big", "item.iid", 1, 0.2),         # bigint = bigint
    *both("word.big", "account.id", 0.3, 0.2),     # bigint = int
    *both("item.kind", "side.v", 10, 1200),        # smallint = int
    *both("side.id", "account.id", 1, 0.03),
    *both("item.tag", "word.name", 1, 9),
    *both("account.code", "word.name", 1, 3),
    *both("account.grp", "account.grp", 20, 20),   # itself
)


def create(conn):
    """Tables, indexes, rows, some dead rows, statistics."""
    for table in TABLES:
        conn.execute(table.ddl)
        conn.execute(table.fill.format(low=1, high=table.rows))
    conn.execute("delete from item where iid % 17 = 0")
    conn.execute("update account set val = val + 1 where id % 13 = 0")
    conn.execute("update event set filler = '' where seq % 11 = 0")
    conn.execute("delete from event where account_id between 3000 and 3300")
    conn.execute("vacuum analyze")
    conn.execute("delete from word where k between 100 and 120")
    conn.execute("update item set filler = '' where iid % 29 = 0")
    conn.execute("checkpoint")
