"""Write queries/tpch/answers-sf1.json from the reference answers of TPC-H.

    bench/python bench/reference_answers.py DBGEN/answers

DBGEN/answers is what TPC publishes with dbgen: q1.out to q22.out, the answers at
scale 1 with the validation parameters.  They are not part of this checkout; digests
of them are, so that the bench can compare.
"""

import json
import sys
from pathlib import Path

from lib import answers, queries


def rows_of(path):
    """The rows of a file of answers: fields between bars, padded by blanks."""
    lines = path.read_text().splitlines()
    return [[field.strip() for field in line.rstrip().rstrip("|").split("|")]
            for line in lines[1:] if line.strip()]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    answers.FILE.write_text(json.dumps(
        {"source": "digests of the answers published with TPC-H's dbgen",
         "answers": {name: answers.digest(
             rows_of(folder / f"{name.lower()}.out"))
             for name in queries.TPCH}}, indent=1) + "\n")


if __name__ == "__main__":
    main()
