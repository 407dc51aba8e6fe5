"""One HTML page of all results in a folder, with nothing outside of it.

    bench/python -m lib.page bench/results

Plots are put into the page as data, so that the file can be sent around alone.
"""

import base64
import html
import json
import sys
from pathlib import Path

from lib.report import read

NAME = "index.html"

# The order on the page; what is not named here comes last.
ORDER = ("device", "over_time", "against_stock", "tpch", "app", "selectivity",
         "cost", "scaling", "workers", "one_process",
         "htap", "htap_simulation")

# What the head says once for all; where results differ, each says it itself.
MACHINE = ("postgresql", "cpu", "cores", "memory_gib", "kernel", "commit")
EACH = ("scale", "storage", "limit", "device", "file_system", "date", *MACHINE)

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff;
       max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { margin-top: 3rem; border-top: 1px solid #ccc;
     padding-top: 1rem; } h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
table { border-collapse: collapse; font-size: 13px; display: block;
        overflow-x: auto; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #ddd;
         vertical-align: top; font-variant-numeric: tabular-nums; }
th { text-align: right; border-bottom: 2px solid #999; }
th:first-child, td:first-child { text-align: left; }
td.long { text-align: left; max-width: 26rem; overflow-wrap: anywhere;
          font-size: 12px; }
img { max-width: 100%; } .meta { color: #666; font-size: 13px; }
.note { background: #fff7e0; padding: .3rem .7rem; margin: .3rem 0;
        font-size: 13px; }
pre { font-size: 12px; overflow-x: auto; background: #f5f5f5; padding: .7rem; }
"""


def results_of(folder):
    """[(name, document)] of the folder, in the page's order."""
    found = []
    for path in sorted(Path(folder).glob("*.json")):
        document = read(path)
        if "experiment" in document:
            found.append((path.stem, document))
    place = {name: number for number, name in enumerate(ORDER)}
    return sorted(found, key=lambda f: (
        place.get(f[1]["experiment"], len(ORDER)), f[1].get("scale", 0), f[0]))


def write(folder) -> Path:
    """Write <folder>/index.html from what is there; return its path."""
    folder = Path(folder)
    found = results_of(folder)
    parts = [_head(found)]
    parts += [_section(folder, name, document) for name, document in found]
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / NAME
    target.write_text(
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        f"<title>anago: benchmarks</title><style>{STYLE}</style></head>\n<body>"
        + "\n".join(parts) + "\n</body></html>\n")
    return target


def _text(value) -> str:
    return html.escape(str(value))


def _same(found):
    """Facts that all results agree on."""
    facts = {}
    for key in MACHINE:
        values = {str(document.get(key)) for _, document in found}
        if len(values) == 1:
            facts[key] = values.pop()
    return facts


def _head(found) -> str:
    facts = " · ".join(f"{_text(k)} {_text(v)}" for k, v in _same(found).items())
    items = "".join(f"<li><a href='#{_text(name)}'>{_text(_title(document))}</a>"
                    f" <span class='meta'>{_text(_where(document))}</span></li>"
                    for name, document in found)
    return (f"<h1>anago: benchmarks</h1><p class='meta'>{facts}</p>"
            "<p>Times are medians with their range over interleaved rounds; cold "
            "means that neither shared buffers nor the kernel's cache held "
            "anything, checked by counting what the device read. A <b>*</b> means "
            "that some of the runs are marked: the machine was busy with something "
            "else, or the run was not what it should be; the CSV files say which "
            f"and why.</p><ol>{items}</ol>")


def _title(document) -> str:
    return document.get("title") or document["experiment"]


def _where(document) -> str:
    scale = [f"scale {document['scale']:g}"] if "scale" in document else []
    return ", ".join([*scale, document.get("storage", "local")])


def _section(folder, name, document) -> str:
    meta = " · ".join(f"{_text(key)} {_text(document[key])}" for key in EACH
                      if key in document)
    parts = [f"<h2 id='{_text(name)}'>{_text(_title(document))} <span class='meta'>"
             f"{_text(_where(document))}</span></h2>",
             f"<p>{_text(document.get('question', ''))}</p>",
             f"<p class='meta'>{meta}</p>"]
    parts += [f"<p class='note'>{_text(note)}</p>"
              for note in document.get("notes", [])]
    parts += [_plot(folder / (plot + ".svg")) for plot in
              document.get("plots", [])]
    parts += [_table(table) for table in document.get("tables", [])]
    settings = {"options": document.get("options", {}),
                "settings": document.get("settings", {})}
    parts.append("<details><summary>options and settings</summary><pre>"
                 + _text(json.dumps(settings, indent=1)) + "</pre></details>")
    parts.append(f"<p class='meta'>every run: {_text(name)}.csv</p>")
    return "\n".join(parts)


def _plot(path) -> str:
    if not path.exists():
        return ""
    data = base64.b64encode(path.read_bytes()).decode()
    return (f"<p><img alt='{_text(path.stem)}' "
            f"src='data:image/svg+xml;base64,{data}'></p>")


def _table(table) -> str:
    head = "".join(f"<th>{_text(c)}</th>" for c in table["columns"])
    rows = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>"
                   for row in table["rows"])
    return (f"<h3>{_text(table['title'])}</h3><table><thead><tr>{head}</tr>"
            f"</thead><tbody>{rows}</tbody></table>")


def _cell(cell) -> str:
    return f"<td{' class=long' if len(cell) > 45 else ''}>{_text(cell)}</td>"


if __name__ == "__main__":
    print(write(sys.argv[1]))
