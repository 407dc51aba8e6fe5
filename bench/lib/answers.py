"""Are the rows of the 22 TPC-H queries at scale 1 the reference answers?

queries/tpch/answers-sf1.json has, for each query, the number of rows and a digest
of them, as reference_answers.py made them.  Rows are compared in their order,
without blanks at either end of a text, and with numbers rounded to cents, those
from 100,000 on to tens: the published sums were taken in binary floating point and
are up to 0.03 off, within the specification's tolerance.
"""

import hashlib
import json
import re
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

FILE = Path(__file__).parent.parent / "queries" / "tpch" / "answers-sf1.json"

NUMBER = re.compile(r"-?\d+(\.\d+)?")
CENT, TEN, LARGE = Decimal("0.01"), Decimal("1E1"), 100_000


def plain(value) -> str:
    """A value as text that does not depend on who computed it."""
    text = str(value).strip()
    if not NUMBER.fullmatch(text):
        return text
    number = Decimal(text)
    rounded = number.quantize(TEN if abs(number) >= LARGE else CENT,
                              ROUND_HALF_EVEN)
    return f"{abs(rounded) if rounded == 0 else rounded:f}"


def digest(rows) -> dict:
    """What the file keeps of rows; their order counts."""
    lines = ["|".join(map(plain, row)) for row in rows]
    return {"rows": len(lines), "digest": hashlib.sha256(
        "\n".join(lines).encode()).hexdigest()[:16]}


def expected() -> dict:
    return json.loads(FILE.read_text())["answers"]


def difference(query, rows) -> str:
    """What is wrong with these rows of a query: "" if nothing is."""
    got, wanted = digest(rows), expected()[query]
    if got == wanted:
        return ""
    first = "|".join(map(plain, rows[0])) if rows else "none"
    return (f"{query}: {got['rows']} rows with digest {got['digest']} instead of "
            f"{wanted['rows']} with {wanted['digest']}; the first: {first}")
