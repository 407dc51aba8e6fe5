"""Ending well: a signal ends a script as Ctrl-C does, so that `finally` runs."""

import signal
import sys


def end_cleanly_on_signals():
    """The first signal raises KeyboardInterrupt; nothing is left running.

    Later ones are ignored: they would interrupt the tidying up.
    """
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def interrupt(*_):
        for number in ending:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt
    for number in ending:
        signal.signal(number, interrupt)


def main_of(name, main):
    """Run main(); a message and exit code 130 when it is interrupted."""
    end_cleanly_on_signals()
    try:
        main()
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        sys.exit(130)
