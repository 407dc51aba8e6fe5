"""Which of our functions a backend spends its CPU in, by perf."""

import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

SOURCE = Path(__file__).parent.parent.parent / "src"

# A function's name stands at the beginning of a line, its brace alone below.
DEFINITION = re.compile(r"^(\w+)\([^;]*?\)\n\{", re.M)


def available() -> bool:
    return shutil.which("perf") is not None and subprocess.run(
        ["perf", "record", "-o", "/dev/null", "true"], capture_output=True,
        check=False).returncode == 0


def functions_of(folder) -> set:
    """Names of the functions that a folder of src/ defines.

    The compiler inlines across files, so that a small function's time may be
    that of a caller in another folder.
    """
    return {name for path in (SOURCE / folder).glob("*.[ch]")
            for name in DEFINITION.findall(path.read_text())}


def shares(pid, work) -> dict:
    """Run work() while perf watches a process; share of each symbol."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "perf.data"
        watcher = subprocess.Popen(
            ["perf", "record", "-q", "-F", "999", "-o", data, "-p", str(pid)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            threading.Event().wait(0.3)     # until it has attached
            work()
        finally:
            watcher.send_signal(2)
            watcher.wait(timeout=60)
        out = subprocess.run(
            ["perf", "report", "-i", data, "--stdio", "-q", "--sort", "symbol",
             "-g", "none"], capture_output=True, text=True, check=False).stdout
    found = {}
    for share, symbol in re.findall(r"^\s*([\d.]+)%\s+\[.\]\s+(\w+)", out, re.M):
        found[symbol] = found.get(symbol, 0.0) + float(share) / 100
    return found
