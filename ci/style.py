"""Checks of style over the checkout; prints "ok" and "not ok" lines.

    python3 ci/style.py CHECKOUT

layers      a folder of src/ includes only folders below it
circles     within a folder, files do not include each other in a circle
versions    PG_VERSION_NUM stands in src/compat*.h and nowhere else
length      no source file is longer than MAX_LINES
functions   no function is longer than MAX_FUNCTION; prints the longest and the median
whitespace  C is indented by tabs; no blanks at line ends; files end with a newline
unfinished  no notes of work left to do
headers     each header has an include guard of its name; each file says what it is
properties  what EXPLAIN prints in structured formats is in docs/monitoring.md
places      no host of a package registry, no path of one machine
figures     those in README.md and docs/ are those of bench/results
"""

import fnmatch
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

MAX_LINES = 600
MAX_FUNCTION = 110

# What each folder of src/ may include, besides itself and src/*.h.
# Of the executor, plan/ knows the description of a pipeline alone, and survey/
# what needs nothing of it: questions about one B-tree page, and whether a block
# is in shared buffers.
LAYERS = {
    "node": {"pipeline", "ops", "sched", "page", "io", "shared", "stats", "device",
             "resource"},
    "plan": {"survey", "shared", "stats", "device"},
    "device": {"io", "stats"},
    "survey": set(),
    "ops": {"pipeline", "sched", "page", "io", "shared", "stats"},
    "pipeline": {"sched", "page", "io", "resource", "shared", "stats"},
    "sched": {"page", "io", "shared"},
    "page": {"io", "shared", "resource"},
    "resource": {"shared"},
    "io": set(),
    "shared": set(),
    "stats": {"shared"},
}
CONTRACTS = {("plan", "pipeline/desc.h"), ("survey", "ops/btree/btpage.h"),
             ("survey", "page/touch.h")}

OWN_TEXT = {".c", ".h", ".sql", ".sh", ".py", ".pl", ".md", ".txt", ".json",
            ".spec", ".control", ""}
SKIPPED = {".git", ".venv", "results", "tmp_check", "expected",
           "__pycache__"}


def ours(root):
    """What git has or would take; without git, all that is not to be ignored."""
    if shutil.which("git"):
        done = subprocess.run(["git", "-C", root, "ls-files", "-co",
                               "--exclude-standard"], capture_output=True,
                              text=True, check=False)
        if done.returncode == 0 and done.stdout:
            return [root / line for line in done.stdout.splitlines()]
    ignored = (root / ".gitignore").read_text().split()
    return [path for path in root.rglob("*")
            if not any(fits(path.relative_to(root), one) for one in ignored)]


def fits(path, pattern):
    """Does a line of .gitignore name it, or a folder that it is in?"""
    if "/" in pattern.strip("/"):
        return path.is_relative_to(pattern.strip("/"))
    if pattern.startswith("/"):
        return path.parts[0] == pattern.strip("/")
    return any(fnmatch.fnmatch(part, pattern.strip("/")) for part in path.parts)


def files(root, *suffixes, under="."):
    for path in sorted(ours(root)):
        if (path.is_file() and path.suffix in suffixes
                and path.is_relative_to(root / under)
                and not SKIPPED & set(path.relative_to(root).parts)):
            yield path


def layers(root):
    for path in files(root, ".c", ".h", under="src"):
        parts = path.relative_to(root / "src").parts
        if len(parts) < 2:
            continue
        allowed = LAYERS.get(parts[0])
        if allowed is None:
            yield f"{path}: folder {parts[0]} has no place in the layers"
            continue
        for included in re.findall(r'^#include "([a-z]+)/([^"]+)"',
                                   path.read_text(), re.M):
            folder = included[0]
            if (folder in LAYERS and folder != parts[0]
                    and folder not in allowed
                    and (parts[0], "/".join(included)) not in CONTRACTS):
                yield f"{path}: {parts[0]}/ must not include {folder}/"


def included_in_folder(root):
    """folder: {file: files of that folder that it includes}; x.c and x.h are
    one file, x."""
    graph = {}
    for path in files(root, ".c", ".h", under="src"):
        parts = path.relative_to(root / "src").parts
        if len(parts) > 1:
            folder = "/".join(parts[:-1])
            names = re.findall(rf'^#include "{folder}/(\w+)\.h"',
                               path.read_text(), re.M)
            graph.setdefault(folder, {}).setdefault(path.stem, set()).update(
                set(names) - {path.stem})
    return graph


def reached(edges, start):
    """What is included from a file, by however many others."""
    found, ahead = set(), [start]
    while ahead:
        for name in edges.get(ahead.pop(), ()):
            if name not in found:
                found.add(name)
                ahead.append(name)
    return found


def circles(root):
    for folder, edges in included_in_folder(root).items():
        circle = sorted(name for name in edges if name in reached(edges, name))
        if circle:
            yield f"src/{folder}: in a circle: {', '.join(circle)}"


def versions(root):
    for path in files(root, ".c", ".h", under="src"):
        if not path.name.startswith("compat") and "PG_VERSION_NUM" in path.read_text():
            yield f"{path}: PG_VERSION_NUM belongs in src/compat*.h"


def length(root):
    for path in files(root, ".c", ".h", ".py", ".pl", ".sh"):
        lines = path.read_text().count("\n")
        if lines > MAX_LINES:
            yield f"{path}: {lines} lines"


def function_lengths(path):
    """(name, lines) of each function: '{' and '}' in the first column."""
    start, name, before = None, None, ""
    for number, line in enumerate(path.read_text().split("\n")):
        if line == "{":
            start = number
            match = re.search(r"(\w+)\(", before)
            name = match.group(1) if match else "?"
        elif line == "}" and start is not None:
            yield name, number - start - 1
            start = None
        if line and not line[0].isspace() and line not in "{}":
            before = line


def functions(root):
    every = [(lines, f"{path.name}:{name}")
             for path in files(root, ".c", under="src")
             for name, lines in function_lengths(path)]
    if not every:
        return
    every.sort(reverse=True)
    longest = ", ".join(f"{name} {lines}" for lines, name in every[:5])
    print(f"{len(every)} functions, median "
          f"{statistics.median(l for l, _ in every):.0f} lines; longest: "
          f"{longest}", file=sys.stderr)
    for lines, name in every:
        if lines > MAX_FUNCTION:
            yield f"{name}: {lines} lines"


def whitespace(root):
    for path in files(root, *OWN_TEXT):
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        if text and not text.endswith("\n"):
            yield f"{path}: no newline at the end"
        for number, line in enumerate(text.split("\n"), 1):
            if line != line.rstrip():
                yield f"{path}:{number}: blank at the end of the line"
            if path.suffix in (".c", ".h") and re.match(r"\t* {4,}\S", line):
                yield f"{path}:{number}: indented by blanks"


def unfinished(root):
    words = "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"])
    for path in files(root, *OWN_TEXT):
        for number, line in enumerate(path.read_text(errors="replace")
                                      .split("\n"), 1):
            if re.search(rf"\b({words})\b", line):
                yield f"{path}:{number}: {line.strip()}"


def headers(root):
    for path in files(root, ".c", ".h", under="src"):
        text = path.read_text()
        if not re.match(rf"/\*-+\n \*\n \* {re.escape(path.name)}\n", text):
            yield f"{path}: does not begin by saying what it is"
        guard = "ANAGO_" + path.stem.upper() + "_H"
        if path.suffix == ".h" and f"#ifndef {guard}" not in text:
            yield f"{path}: no include guard {guard}"


def places(root):
    hosts = "|".join(["deb" + r"\.debian\.org", "py" + r"pi\.org",
                      "apt" + r"\.postgresql\.org", r"snap" + "shot.debian"])
    paths = "|".join(["/wo" + r"rk/", "/op" + "t/pg", "/ro" + "ot/"])
    for path in files(root, *OWN_TEXT):
        for number, line in enumerate(path.read_text(errors="replace")
                                      .split("\n"), 1):
            if re.search(rf"({hosts})|(?<![\w$}}\"]){paths}", line):
                yield f"{path}:{number}: {line.strip()}"


def properties(root):
    """Names that EXPLAIN prints against the part on structured formats."""
    doc = (root / "docs/monitoring.md").read_text().partition("### JSON")[2]
    known = set(re.findall(r"`([^`]+)`", doc.partition("\n## ")[0]))
    printed = set()
    lists = (root / "src/counts.h").read_text()
    printed.update(re.findall(
        r'(?:\.property = |SHOWN\(|IN_STEP\(|REASON\()"([^"]+)"', lists))
    for path in files(root, ".c", under="src"):
        printed.update(re.findall(
            r'(?:ExplainProperty\w+|ExplainOpenGroup|anago_explain_expr)'
            r'\(\s*(?:&?(?:cxt\.)?ex,\s*)?"([^"]+)"', path.read_text()))
    if not printed or not known:
        yield "docs/monitoring.md: no properties found"
    for name in sorted(printed - known):
        yield f"docs/monitoring.md: says nothing of property {name}"


def figures(root):
    done = subprocess.run([sys.executable, root / "bench" / "figures.py",
                           "--check"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        yield (done.stdout + done.stderr).strip()


CHECKS = (layers, circles, versions, length, functions, whitespace, unfinished, headers,
          places, properties, figures)


def main():
    root = Path(sys.argv[1]).resolve()
    failed = False
    for check in CHECKS:
        found = [str(f).replace(f"{root}/", "") for f in check(root)]
        print(f"{'not ok' if found else 'ok'} style: {check.__name__}")
        for one in found[:20]:
            print(f"  {one}", file=sys.stderr)
        failed = failed or bool(found)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
