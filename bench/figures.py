"""Tables and plots in README.md and docs/, from the files of bench/results.

    bench/python bench/figures.py              fill them in
    python3 bench/figures.py --check           do they agree with the files?

A block of a page belongs to a results file and a table of it, by its key, or to a
plot, by the end of its name:

    <!-- figures: against_stock-sf10-local seconds -->
    ... written by this script ...
    <!-- end of figures -->

Columns may be chosen: `seconds: query | anago, one process`.  Under each stands what
it was measured with.  A block whose file is not there yet says so.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PAGES = ("README.md", "docs/benchmarks.md", "docs/htap.md")

BLOCK = re.compile(
    r"(<!-- figures: (?P<file>\S+) (?P<what>[^:>]*?)(?:: (?P<columns>[^>]*?))? -->\n)"
    r".*?(<!-- end of figures -->)", re.S)


def header_line(document, table) -> str:
    """What the figures were measured with, in one line."""
    parts = []
    if "scale" in document:
        parts.append(f"scale {document['scale']:g}")
    parts.append(document.get("storage", "local"))
    if "limit" in document:
        parts[-1] += f" ({document['limit']})"
    if "postgresql" in document:
        parts.append(document["postgresql"].replace("postgres (PostgreSQL)",
                                                    "PostgreSQL"))
    parts += [f"{document['cores']} cores ({document['cpu']})",
              f"{document['memory_gib']} GiB", f"kernel {document['kernel']}",
              document.get("file_system", ""), _rounds(document, table),
              document.get("incomplete", ""),
              f"commit {document['commit']}",
              document["date"].split()[0]]
    return "*" + ", ".join(filter(None, parts)) + "*"


# Tables that are not of as many runs as the option --repetitions says.
OTHER_ROUNDS = {"cached", "pgbench", "memory", "select", "tpcb", "planning"}


def _rounds(document, table) -> str:
    """How many runs a table's medians are of."""
    options = document.get("options", {})
    number = options.get("rounds", options.get("repetitions"))
    if not number or table["key"] in OTHER_ROUNDS:
        return ""
    return f"{number} rounds" if number > 1 else "1 round"


def markdown(table, wanted) -> str:
    columns = table["columns"]
    chosen = [columns.index(c.strip()) for c in wanted.split("|")] if wanted \
        else range(len(columns))
    lines = [[columns[n] for n in chosen], ["---"] * len(chosen)]
    lines += [[row[n] for n in chosen] for row in table["rows"]]
    return "\n".join("| " + " | ".join(_cell(c) for c in line) + " |"
                     for line in lines)


def _cell(text) -> str:
    """A star of a marked run is no emphasis, a bar no border."""
    return text.replace("|", "\\|").replace("*", "\\*").rstrip()


def block(match, page) -> str:
    """The block as it should be."""
    name, what = match["file"], match["what"].strip()
    path = RESULTS / (name + ".json")
    document = json.loads(path.read_text()) if path.exists() else {}
    if "tables" not in document:
        return f"Not measured yet: `bench/results/{name}.json`."
    if what == "plot" or what.startswith("plot "):
        image = name + what.removeprefix("plot").strip() + ".svg"
        if not (RESULTS / image).exists():
            raise SystemExit(f"{page}: there is no plot {image}")
        up = "../" * page.count("/")
        return f"![{document.get('title', name)}]({up}bench/results/{image})"
    for table in document["tables"]:
        if table["key"] == what:
            try:
                return "\n\n".join([markdown(table, match["columns"]),
                                    header_line(document, table)])
            except ValueError as err:
                raise SystemExit(f"{page}: {name} {what}: {err}")
    raise SystemExit(f"{page}: {path.name} has no table {what!r}")


def filled(page) -> tuple:
    """(text of a page as it is, as it should be)."""
    text = (ROOT / page).read_text()
    return text, BLOCK.sub(lambda m: m[1] + block(m, page) + "\n" + m[5], text)


def main():
    check = "--check" in sys.argv[1:]
    wrong = []
    for page in PAGES:
        text, wanted = filled(page)
        if text == wanted:
            continue
        if check:
            wrong.append(page)
        else:
            (ROOT / page).write_text(wanted)
            print(f"{page}: filled in")
    if wrong:
        sys.exit(f"figures differ from bench/results in {', '.join(wrong)}: run "
                 "bench/python bench/figures.py")


if __name__ == "__main__":
    main()
