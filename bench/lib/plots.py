"""One look for all plots; each is written as PNG and SVG."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first)
import matplotlib.ticker  # noqa: E402

# Anago is always the same colour, and so is stock.
COLOURS = {"ooo": "#d1495b", "serial": "#8d96a3", "static": "#edae49",
           "stock": "#00798c", "fio": "#30638e",
           "anago": "#d1495b", "anago, best": "#a4243b",
           "anago, one process": "#d1495b", "anago, 1 worker": "#a4243b",
           "anago, 2 workers": "#6a0f22", "anago serial": "#8d96a3",
           "page cache": "#d1495b", "direct": "#edae49",
           "stock, defaults": "#9cc5c9", "stock, best tuned": "#00798c",
           "stock, same plan": "#4f9da6"}

plt.rcParams.update({
    "figure.figsize": (7.0, 4.2), "figure.dpi": 120, "font.size": 10,
    "axes.grid": True, "grid.alpha": 0.3, "axes.spines.top": False,
    "axes.spines.right": False, "legend.frameon": False,
    "svg.hashsalt": "anago",
})


FOOTER = ("postgresql", "cpu", "cores", "memory_gib", "device", "commit")


def save(figure, results, suffix=""):
    """Write PNG and SVG beside the results, with a footer that says where."""
    results.require_reportable()
    facts = results.header
    figure.text(0.01, 0.005, " · ".join(f"{key} {facts[key]}" for key in FOOTER
                                        if key in facts),
                fontsize=5.5, color="#666666")
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    for kind in (".png", ".svg"):
        figure.savefig(results.path(suffix + kind),
                       metadata={"Date": None} if kind == ".svg" else None)
    results.plots.append(results.name + suffix)
    plt.close(figure)


def log_seconds(axis, subs=(1, 2, 5)):
    """A logarithmic axis with plain numbers, at these multiples of ten's powers."""
    axis.set_major_locator(matplotlib.ticker.LogLocator(subs=subs))
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(
        lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(matplotlib.ticker.NullFormatter())


def grouped_bars(axes, groups, series, log=False):
    """Bars: groups on the x axis, one bar for each (name, values, ranges).

    `ranges` is a list of (low, high) for whiskers, or None.
    """
    width = 0.8 / len(series)
    for number, (name, values, ranges) in enumerate(series):
        xs = [g + (number - (len(series) - 1) / 2) * width
              for g in range(len(groups))]
        whiskers = None
        if ranges:
            whiskers = [[v - low for v, (low, _) in zip(values, ranges)],
                        [high - v for v, (_, high) in zip(values, ranges)]]
        axes.bar(xs, values, width * 0.92, label=name, yerr=whiskers,
                 color=COLOURS.get(name), capsize=2, ecolor="#444444")
    axes.set_xticks(range(len(groups)), groups)
    if log:
        axes.set_yscale("log")
        log_seconds(axes.yaxis)
        axes.set_ylim(top=4 * axes.get_ylim()[1])       # for the legend
    axes.legend(loc="upper right", ncols=2, fontsize=8)
