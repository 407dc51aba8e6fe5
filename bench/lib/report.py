"""Results: a CSV file of every run, a JSON file of what they sum up to,
tables on the terminal.

    results/<name>.csv     one line for each run, written as it comes
    results/<name>.json    header (machine, versions, settings, commit),
                           summary
    results/<name>.png     and .svg, by plots.py
"""

import csv
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent.parent / "results"

console = Console(width=None if sys.stdout.isatty() else 120)


class Results:
    """The files of one experiment."""

    def __init__(self, name, header):
        RESULTS.mkdir(exist_ok=True)
        self.name = name
        self.header = header
        self._file = None
        self._writer = None

    def path(self, suffix) -> Path:
        """results/<name><suffix>; names may have dots."""
        return RESULTS / (self.name + suffix)

    def add(self, record: dict):
        """Append one line to the CSV file; the first names the columns."""
        if self._writer is None:
            self._file = open(self.path(".csv"), "w", newline="")
            self._writer = csv.DictWriter(self._file, list(record))
            self._writer.writeheader()
        self._writer.writerow({key: _short(value)
                               for key, value in record.items()})
        self._file.flush()

    def note_variants(self, section, variants):
        """Put the settings of each variant into the header."""
        noted = self.header.setdefault("settings", {}).setdefault(section, {})
        for variant in variants:
            noted[variant.name] = {"server": variant.server,
                                   "session": variant.session}

    def finish(self, summary: dict):
        """Write the JSON file."""
        if self._file:
            self._file.close()
        self.path(".json").write_text(
            json.dumps({**self.header, "summary": summary}, indent=1,
                       default=str) + "\n")

    def say_header(self):
        console.print(" · ".join(f"{key} {value}" for key, value
                                 in self.header.items() if key != "settings"),
                      style="dim", highlight=False)


def _short(value):
    return f"{value:.6g}" if isinstance(value, float) else value


def table(title, columns, rows):
    """Print a table; first column left, the others right."""
    drawn = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        drawn.add_column(column, justify="left" if number == 0 else "right")
    for row in rows:
        drawn.add_row(*map(str, row))
    console.print(drawn)


def say(text):
    """A line of progress, on standard error."""
    print(text, file=sys.stderr, flush=True)
