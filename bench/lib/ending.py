"""Ending well: a signal ends a script as Ctrl-C does, so that `finally` runs."""

import signal
import sys


def end_cleanly_on_signals():
    """SIGTERM and SIGHUP raise KeyboardInterrupt; nothing is left running."""
    def interrupt(*_):
        raise KeyboardInterrupt
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def main_of(name, main):
    """Run main(); a message and exit code 130 when it is interrupted."""
    end_cleanly_on_signals()
    try:
        main()
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        sys.exit(130)
