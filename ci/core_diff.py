"""Judge what core's regression and isolation suites print with anago forced on.

A regression test's output is cut into pieces, one for each line of SQL that
psql echoes.  A piece that differs from what core expects is

    plan    a plan with our nodes: accepted
    order   the same lines in another order, of a query without ORDER BY: accepted
    other   anything else: accepted only if core-accepted.txt names it

Of an isolation test a piece is what one step prints.  The list of accepted differences
has one paragraph for each:

    suite/test fingerprint              suite/test@mode *
        the reason, in a sentence           the reason, for all of a test

The fingerprint is printed with each difference that is not accepted.
"""

import argparse
import difflib
import hashlib
import re
import sys
from pathlib import Path

PLAN = re.compile(r"^\s*explain\b|explain\w*\s*\(|\bexecute .*explain|^step explain", re.I)
OURS = re.compile(r"Anago(Scan|Join|Ahead)")


def pieces(sql_lines, text):
    """Output of each line of SQL: a list as long as sql_lines."""
    out = [[] for _ in sql_lines] + [[]]
    current = -1
    for line in text.split("\n"):
        ahead = current + 1
        if ahead < len(sql_lines) and line == sql_lines[ahead]:
            current = ahead
        elif (ahead < len(sql_lines) and line.endswith(sql_lines[ahead])
              and sql_lines[current].startswith("\\echo -n")):
            current = ahead             # glued to what \\echo -n printed
        else:
            out[current].append(line)
    return out[:-1], current


def statement_at(sql_lines, number):
    """The statement that ends at a line, roughly: back to a ';' at a line's end."""
    first = number
    while first > 0 and not re.search(r";\s*(--.*)?$|^\\", sql_lines[first - 1]):
        first -= 1
    lines = [l for l in sql_lines[first:number + 1] if not l.startswith("--")]
    return "\n".join(lines)


def has_order(statement):
    return re.search(r"\border\s+by\b|\bfetch\b|\blimit\b", statement, re.I)


def masked(lines):
    """Without what differs from run to run: large numbers, and how each of
    several processes sorts, which goes by how many rows it comes by."""
    lines = [re.sub(r"\b\d{4,}\b", "N", line) for line in lines]
    return [re.sub(r"(Sort Method: )(quicksort|top-N heapsort)", r"\1any", line)
            for line in lines]


class Difference:
    """One piece that differs."""

    def __init__(self, test, statement, expected, actual):
        self.test = test
        self.statement = statement
        self.expected = expected
        self.actual = actual

    def kind(self):
        shows_plan = (PLAN.search(self.statement)
                      or any("QUERY PLAN" in l for l in self.expected))
        if shows_plan and any(OURS.search(l) for l in self.actual):
            return "plan"
        if self.only_order() and not has_order(self.statement):
            return "order"
        return "other"

    def only_order(self):
        return sorted(self.expected) == sorted(self.actual)

    def fingerprint(self):
        """Of the statement and what it printed; of the statement alone where
        only the order of rows differs, for that may change from run to run."""
        printed = ["(order)"] if self.only_order() else masked(self.actual)
        text = "\n".join([self.statement, "--", *printed])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def show(self):
        diff = difflib.unified_diff(self.expected, self.actual, "expected",
                                    "actual", lineterm="", n=2)
        lines = [*self.statement.split("\n"), *list(diff)[:60]]
        return "\n".join("  " + line[:160] for line in lines)


def sql_echo(sql_text):
    """Lines psql echoes, in order (blank lines only inside of quotes or COPY
    data; these cannot be told apart here, so they are never anchors)."""
    return [line for line in sql_text.split("\n") if line.strip()]


def compare_sql(test, sql_text, expected_text, actual_text):
    lines = sql_echo(sql_text)
    expected, reached = pieces(lines, expected_text)
    actual, actual_reached = pieces(lines, actual_text)
    found = []
    for number in range(len(lines)):
        if expected[number] != actual[number]:
            found.append(Difference(test, statement_at(lines, number),
                                    expected[number], actual[number]))
    if actual_reached < reached:
        found.append(Difference(test, lines[max(actual_reached, 0)],
                                ["(the whole test)"], ["(ended here)"]))
    return found


def steps(text):
    """What an isolation test printed, cut before each of its steps."""
    cut = [[]]
    for line in text.split("\n"):
        if line.startswith(("step ", "starting permutation: ")):
            cut.append([])
        cut[-1].append(line)
    return cut


def step_statement(lines):
    """The statement of a step: what comes before the names of columns."""
    ends = [n for n, line in enumerate(lines) if re.fullmatch(r"-[-+]*", line)]
    return "\n".join(lines[:max(ends[0] - 1, 1)] if ends else lines)


def compare_steps(test, _, expected_text, actual_text):
    before, after = steps(expected_text), steps(actual_text)
    if [step[:1] for step in before] == [step[:1] for step in after]:
        return [Difference(test, step_statement(expected), expected, actual)
                for expected, actual in zip(before, after) if expected != actual]
    # other steps, or in another order
    before, after = sum(before, []), sum(after, [])
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [Difference(test, "(steps)", before[i1:i2], after[j1:j2])
            for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"]


def tests_run(output):
    """Names in the order in which the suite reported them, with its verdict."""
    text = (output / "output.log").read_text(errors="replace")
    return re.findall(r"^(ok|not ok)\s+\d+\s+[-+]\s+(\S+)", text, re.M)


def differences(args, test):
    """Differences from the nearest of the expected files."""
    result = args.output / "results" / f"{test}.out"
    if not result.exists():
        return [Difference(test, "", ["(a result)"], ["(no result file)"])]
    if args.suite == "regress":
        source = args.input / "sql" / f"{test}.sql"
        compare, sql = compare_sql, source.read_text(errors="replace")
    else:
        compare, sql = compare_steps, ""
    actual = result.read_text(errors="replace")
    expected = [args.input / "expected" / f"{test}.out",
                *sorted((args.input / "expected").glob(f"{test}_[0-9].out"))]
    if args.also:
        expected.append(args.also / f"{test}.out")
    return min((compare(test, sql, path.read_text(errors="replace"), actual)
                for path in expected if path.exists()), key=len)


def read_accepted(path):
    if not path.exists():
        return set()
    return {tuple(line.split()[:2]) for line in path.read_text().splitlines()
            if line and not line.startswith(("#", " ", "\t"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--suite", required=True)
    parser.add_argument("--mode", required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--accepted", type=Path, required=True)
    parser.add_argument("--also", type=Path,
                        help="results that are as good as those expected")
    args = parser.parse_args()
    accepted = read_accepted(args.accepted)
    counts = {"plan": 0, "order": 0, "named": 0}
    failed = 0
    ran = tests_run(args.output)
    for verdict, test in ran:
        bad = []
        for difference in (differences(args, test) if verdict != "ok" else ()):
            kind = difference.kind()
            name = f"{args.suite}/{test}"
            if accepted & {(name, difference.fingerprint()),
                           (f"{name}@{args.mode}", "*")}:
                kind = "named"
            if kind == "other":
                bad.append(difference)
            else:
                counts[kind] += 1
        print(f"{'not ok' if bad else 'ok'} {args.suite} {args.mode} {test}")
        shown = set()
        for difference in bad:
            if difference.fingerprint() not in shown:
                shown.add(difference.fingerprint())
                print(f"# {args.suite}/{test} {difference.fingerprint()}")
                print(difference.show())
        failed += bool(bad)
    if not ran:
        print(f"not ok {args.suite} {args.mode} did not run: see "
              f"{args.output / 'output.log'}")
        failed += 1
    print(f"{args.suite} {args.mode}: {len(ran)} tests, {failed} failures; "
          f"accepted: {counts['plan']} plans, {counts['order']} orders, "
          f"{counts['named']} named differences", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
