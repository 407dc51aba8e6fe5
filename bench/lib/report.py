"""Results: a CSV file of every run, a JSON file of what they sum up to,
tables on the terminal.

    results/<name>.csv     one line for each run; <name>.csv.part while it grows
    results/<name>.json    header (machine, versions, settings, commit),
                           tables, plots, notes, summary
    results/<name>.png     and .svg, by plots.py

The JSON file is written last, and only when all of an experiment is done: where
it is, the experiment is finished.  page.py and figures.py read nothing else.
"""

import csv
import json
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent.parent / "results"

console = Console(width=None if sys.stdout.isatty() else 140)


class Results:
    """The files of one experiment."""

    def __init__(self, name, header, folder=RESULTS):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.header = header
        self.tables = []
        self.plots = []
        self.notes = []
        self.require_reportable = lambda: None      # raises if they are not
        self.last_note = None       # says something that is known at the end
        self._file = None
        self._writer = None

    def path(self, suffix) -> Path:
        """<folder>/<name><suffix>; names may have dots."""
        return self.folder / (self.name + suffix)

    def add(self, record: dict):
        """Append one line to the CSV file; the first names the columns."""
        if self._writer is None:
            self._file = open(self.path(".csv.part"), "w", newline="")
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

    def note(self, text):
        """Something the reader of the figures must know."""
        if text not in self.notes:
            self.notes.append(text)
            say(text)

    def table(self, key, title, columns, rows):
        """Print a table and keep it under `key`."""
        self.require_reportable()
        rows = [[str(cell) for cell in row] for row in rows]
        self.tables.append({"key": key, "title": title, "columns": columns,
                            "rows": rows})
        table(title, columns, rows)

    def finish(self, summary: dict):
        """The CSV file gets its name, and the JSON file is written."""
        self.require_reportable()
        if self.last_note:
            self.note(self.last_note())
        if self._file:
            self._file.close()
            os.replace(self.path(".csv.part"), self.path(".csv"))
        part = self.path(".json.part")
        part.write_text(json.dumps(
            {**self.header, "tables": self.tables, "plots": self.plots,
             "notes": self.notes, "summary": summary}, indent=1,
            default=str) + "\n")
        os.replace(part, self.path(".json"))

    def say_header(self):
        shown = {key: value for key, value in self.header.items()
                 if key not in ("settings", "title", "question", "options")}
        console.print(" · ".join(f"{key} {value}" for key, value
                                 in shown.items()),
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


def read(path) -> dict:
    """A JSON file of results; {} where there is none that can be read."""
    try:
        return json.loads(Path(path).read_text())
    except (OSError, ValueError):
        return {}


def plain(value):
    """A value as it comes back from a JSON file."""
    return json.loads(json.dumps(value, default=str))
