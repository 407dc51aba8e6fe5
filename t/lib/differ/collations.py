"""Text in several collations, nondeterministic ones among them, patterns.

Where the server was built without ICU only the C collation is there.
"""

import random

from differ.kind import Kind, quoted

ROWS = 4_000
FIXED_SEED = 7

WORDS = ("a", "A", "á", "Á", "ab", "aB", "Ab", "äb", "straße", "strasse",
         "STRASSE", "Straße", "côte", "coté", "cote", "Cote", "", " ", "-", "co-op",
         "coop", "ﬁn", "fin", "z", "Z", "ß", "ss", "日本", "日本語", "e\u0301", "é")

# Level 2 ignores case, level 1 accents too.
NONDETERMINISTIC = {"differ_nocase": "und-u-ks-level2",
                    "differ_noaccent": "und-u-ks-level1"}

COLUMNS = {"c": '"C"', "e": '"en-US-x-icu"', "n": "differ_nocase",
           "o": "differ_noaccent", "p": '"C"'}


def _has_icu(conn) -> bool:
    return conn.execute("select exists (select 1 from pg_collation where "
                        "collname = 'en-US-x-icu')").fetchone()[0]


class Collations(Kind):
    NAME = "collations"

    def __init__(self, conn):
        self.columns = COLUMNS if _has_icu(conn) else {"c": '"C"', "p": '"C"'}

    @staticmethod
    def create(conn):
        icu = _has_icu(conn)
        if icu:
            for name, locale in NONDETERMINISTIC.items():
                conn.execute(f"create collation {name} (provider = icu, "
                             f"locale = '{locale}', deterministic = false)")
        conn.execute("create table phrase (id int primary key, " + ", ".join(
            f"{column} text" + (f" collate {collation}" if icu else "")
            for column, collation in COLUMNS.items()) + ")")
        rng = random.Random(FIXED_SEED)
        rows = [f"({number}, " + ", ".join(
            quoted(_phrase(rng)) if rng.random() > 0.05 else "null"
            for _ in COLUMNS) + ")" for number in range(ROWS)]
        conn.execute("insert into phrase values " + ", ".join(rows))
        for number, column in enumerate(COLUMNS):
            class_ = " text_pattern_ops" if column == "p" else ""
            conn.execute(f"create index on phrase ({column}{class_}"
                         f"{' desc' * (number % 2)})")
        conn.execute("create index on phrase (n, e, id)")
        conn.execute("create index on phrase (e collate \"C\", n)")

    def make(self) -> str:
        where = [self._condition("t")]
        if self.chance(0.4):
            where.append(self._condition("t"))
        from_, out = "phrase t", "t.id, t.c, t.e, t.n, t.o, t.p"
        if self.chance(0.35):
            column = self.rng.choice(list(self.columns))
            other = self.rng.choice(list(self.columns))
            low = self.rng.randrange(ROWS)
            from_ = (f"phrase s {self.pick('', 'left ')}join phrase t on "
                     f"t.{column} = s.{other} collate {self.columns[column]}")
            where = [f"s.id between {low} and {low + self.rng.randint(1, 8)}",
                     *where[:self.rng.randint(0, 1)]]
            out += ", s.id"
        return f"select {out} from {from_}\n where " + "\n   and ".join(where)

    def _condition(self, alias) -> str:
        column = self.rng.choice(list(self.columns))
        name = f"{alias}.{column}"
        draw = self.rng.random()
        if draw < 0.2:
            return f"{name} like {quoted(_phrase(self.rng)[:4])} || '%'"
        if draw < 0.3:
            return f"{name} like '{self.pick('a', 'co', 'str', 'Str')}%'"
        if draw < 0.45:
            values = [quoted(_phrase(self.rng))
                      for _ in range(self.rng.randint(0, 12))] + ["null"] * (
                          self.chance(0.2))
            return f"{name} = any (array[{', '.join(values)}]::text[])"
        if draw < 0.55:
            low, high = self._text(), self._text()
            return f"{name} >= {low} and {name} < {high}"
        if draw < 0.6:
            return f"{name} is {self.pick('', 'not ')}null"
        if draw < 0.7 and "n" in self.columns:
            return (f"({alias}.n, {alias}.e) {self.pick('<', '>=')} "
                    f"({self._text()}, {self._text()})")
        if draw < 0.8:
            return f"{alias}.p {self.pick('~<~', '~>=~', '~>~')} {self._text()}"
        if draw < 0.87:
            return f'{alias}.e collate "C" {self.pick("=", ">", "<")} {self._text()}'
        return f"{name} {self.pick('=', '=', '=', '<', '>=')} {self._text()}"

    def _text(self) -> str:
        return self.value(quoted(_phrase(self.rng)), "text")


def _phrase(rng) -> str:
    word = rng.choice(WORDS)
    return word + rng.choice(WORDS) if rng.random() < 0.7 else word
