"""Runs that are done, kept beside the results, so that an interrupted experiment goes on.

    <results>/<name>.runs.part      a line of JSON for what they were taken with, and
                                    one for each run

Kept runs count only for the same commit, server and options, as results do.
"""

import json

from lib import machine, report, session


class Done:
    """Runs by their key, a list of what can be JSON."""

    def __init__(self, results, args, again=False):
        self.path = results.path(".runs.part")
        self.of = report.plain([session.options_of(args), results.header["commit"],
                                results.header["postgresql"]])
        self.runs = []
        if not again and machine.is_commit(results.header["commit"]):
            self._read()
        self._write()

    def _read(self):
        """A line that was cut off ends what there is."""
        lines = []
        try:
            for line in self.path.read_text().splitlines():
                lines.append(json.loads(line))
        except (OSError, ValueError):
            pass
        if lines[:1] == [self.of]:
            self.runs = lines[1:]

    def _write(self):
        self.path.write_text("".join(json.dumps(line) + "\n"
                                     for line in [self.of, *self.runs]))

    def __len__(self):
        return len(self.runs)

    def get(self, *key):
        """What a run gave; None: it is not done."""
        return next((run[1] for run in self.runs if run[0] == list(key)), None)

    def add(self, key, run):
        self.runs.append(report.plain([list(key), run]))
        with open(self.path, "a") as file:
            file.write(json.dumps(self.runs[-1]) + "\n")

    def remove(self):
        self.path.unlink(missing_ok=True)
