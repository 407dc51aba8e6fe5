"""Progress of a long piece of work, with an estimate of the time left.

On a terminal a bar; elsewhere (a log, CI) one line every LINE_EVERY_S.
"""

import sys
import threading
import time

from rich.progress import (BarColumn, Progress, TextColumn,
                           TimeElapsedColumn)

LINE_EVERY_S = 15.0


class Work:
    """Weighted work done by several threads.

    Weights are in any unit that is proportional to time.  `done` is what is
    finished, `under_way` what each running step has done of its own weight.
    """

    def __init__(self, title, total):
        self.title = title
        self.total = max(total, 1e-9)
        self._done = 0.0
        self._under_way = {}
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._last_line = self._start
        self._bar = None
        if sys.stderr.isatty():
            from rich.console import Console
            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(),
                TextColumn("{task.percentage:3.0f}%"), TimeElapsedColumn(),
                TextColumn("{task.fields[left]}"), console=Console(stderr=True))
            self._task = self._bar.add_task(title, total=self.total, left="")

    def __enter__(self):
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_):
        if self._bar:
            self._bar.stop()

    def step(self, name, weight, fraction):
        """A running step has done `fraction` (0..1) of its weight."""
        with self._lock:
            before = self._under_way.get(name, 0.0)
            self._under_way[name] = max(before, weight * min(fraction, 1.0))
        self._show()

    def finish(self, name, weight):
        """A step is done, entirely."""
        with self._lock:
            self._under_way.pop(name, None)
            self._done += weight
        self._show()

    def elapsed_s(self) -> float:
        return time.monotonic() - self._start

    def _show(self):
        with self._lock:
            done = self._done + sum(self._under_way.values())
            names = ", ".join(self._under_way)
        left = self._left(done)
        if self._bar:
            self._bar.update(self._task, completed=done, left=left,
                             description=f"{self.title}: {names}")
        elif time.monotonic() - self._last_line > LINE_EVERY_S:
            self._last_line = time.monotonic()
            print(f"{self.title}: {100 * done / self.total:3.0f}%, "
                  f"{self.elapsed_s():.0f} s, {left} ({names})",
                  file=sys.stderr, flush=True)

    def _left(self, done) -> str:
        if done <= 0 or self.elapsed_s() < 3:
            return ""
        return f"{self.elapsed_s() * (self.total - done) / done:.0f} s left"
