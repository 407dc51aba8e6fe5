"""The device alone: reads/s and latency against reads in flight.

    bench/python bench/experiments/device.py
    bench/python bench/experiments/device.py --device network

fio reads 8 KiB blocks at random from a file, by io_uring: past the page cache,
and through a cold one.  An emulated device is compared with its model.  Nothing
is reported of one whose replies were late: not even after several attempts.

--scale and --port, which every experiment has, mean nothing here.
"""

import argparse
import statistics
from contextlib import contextmanager
from dataclasses import dataclass

from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from lib import machine, places, plots, presets, report, session
from lib.cluster import ClusterError
from lib.device import Device, emulated
from lib.emulated import LATE_MOST, DeviceError, lateness, lateness_of
from lib.ending import main_of
from lib.fio import BLOCK, Fio, FioResult, version

NAME = "device"
TITLE = "Reads per second against reads in flight"
QUESTION = ("How many random reads of 8 KiB does the device complete in a second "
            "with how many in flight, and how long does each take?")

DEPTHS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
DEPTH_MOST = 4096
MODES = ("direct", "cache")
SHOWN = {"direct": "direct", "cache": "page cache"}
ATTEMPTS = 3                # for one measurement, until no reply is late

# fio visits each block once in a run: its file must outlast the fastest one.
LOCAL_READS_PER_S = 150_000


@dataclass
class Bench:
    """What is measured, and where it goes."""
    args: object
    fio: Fio
    disk: object            # Emulated, or None
    results: report.Results


# --- measuring -------------------------------------------------------------

def measure_once(bench, mode, depth, repetition):
    """The result of fio; run again while replies were late."""
    for attempt in range(ATTEMPTS):
        if bench.disk:
            bench.disk.reset_counts()
        got = bench.fio.random_reads(depth, mode, bench.args.seconds)
        now = bench.disk.counts() if bench.disk else {}
        late = lateness_of(now) if now else 0
        marks = " ".join(filter(None, ["busy" * got.busy,
                                       "late" * (late > LATE_MOST)]))
        bench.results.add({
            "mode": mode, "depth": depth, "repetition": repetition,
            "attempt": attempt, "reads_per_s": got.reads_per_s,
            "latency_us": got.latency_us, "latency_p50_us": got.latency_p50_us,
            "latency_p99_us": got.latency_p99_us, "late": late,
            "marks": marks})
        report.say(f"device: {SHOWN[mode]}, {depth} in flight: "
                   f"{got.reads_per_s / 1e3:.1f}k reads/s {marks}")
        if late <= LATE_MOST:
            return got
    raise DeviceError(f"{bench.disk.preset.name}, {depth} in flight: "
                      f"{lateness(now)}: nothing is reported; is the machine "
                      "busy?")


def measure(bench):
    """{(mode, depth): [FioResult, ...]}, repetitions interleaved."""
    pairs = [(mode, depth) for depth in bench.args.depths
             for mode in bench.args.modes]
    done = {pair: [] for pair in pairs}
    for repetition in range(bench.args.repetitions):
        turn = repetition * len(pairs) // bench.args.repetitions
        for mode, depth in pairs[turn:] + pairs[:turn]:
            done[mode, depth].append(
                measure_once(bench, mode, depth, repetition))
    return done


# --- reporting -------------------------------------------------------------

def summary_of(results) -> dict:
    """Medians and the range; runs of a busy machine only if there is no other."""
    clean = [r for r in results if not r.busy] or results
    rates = [r.reads_per_s for r in clean]
    return {"reads_per_s": statistics.median(rates),
            "low": min(rates), "high": max(rates),
            **{name: statistics.median(getattr(r, name) for r in clean)
               for name in FioResult.__dataclass_fields__
               if name.startswith("latency")},
            "runs": len(clean), "busy": sum(r.busy for r in results)}


def summarize(bench, done) -> dict:
    """By depth: what each mode gave, and what the model says."""
    out = {}
    for depth in bench.args.depths:
        out[depth] = {mode: summary_of(done[mode, depth])
                      for mode in bench.args.modes}
        if bench.disk:
            rate, latency = bench.disk.preset.predicted(depth)
            out[depth]["model"] = {"reads_per_s": rate, "latency_us": latency}
    return out


def tables(bench, out):
    """Reads/s, then latencies."""
    modes = bench.args.modes
    columns = ["in flight", *(SHOWN[m] for m in modes)]
    rates, times = [], []
    for depth, found in out.items():
        row = [str(depth), *(_rate(found[m]) for m in modes)]
        if bench.disk:
            said = found["model"]["reads_per_s"]
            row += [f"{said:,.0f}",
                    f"{found[modes[0]]['reads_per_s'] / said:.2f}"]
        rates.append(row)
        row = [str(depth), *(_times(found[m]) for m in modes)]
        if bench.disk:
            row.append(f"{found['model']['latency_us']:,.0f}")
        times.append(row)
    more = ["model", f"{SHOWN[modes[0]]} / model"] if bench.disk else []
    bench.results.table("rates", "reads/s, median (range), * some runs on a busy "
                        "machine", columns + more, rates)
    bench.results.table("latencies", "latency in us: mean, median, 99%",
                        columns + more[:1], times)


def _rate(found) -> str:
    spread = (f" ({found['low']:,.0f}-{found['high']:,.0f})"
              if found["runs"] > 1 else "")
    return f"{found['reads_per_s']:,.0f}{spread}" + "*" * bool(found["busy"])


def _times(found) -> str:
    return " ".join(f"{found[name]:,.0f}" for name in
                    ("latency_us", "latency_p50_us", "latency_p99_us"))


def plot(bench, out):
    """Reads/s on the left, latency on the right."""
    figure, (left, right) = plots.plt.subplots(1, 2, figsize=(9.0, 4.2))
    depths = list(out)
    for axes, what, scale, unit in ((left, "reads_per_s", 1, ""),
                                    (right, "latency_us", 1e-6, "s")):
        for mode in bench.args.modes:
            axes.plot(depths, [out[d][mode][what] * scale for d in depths],
                      "o-", markersize=3.5, label=SHOWN[mode],
                      color=plots.COLOURS.get(SHOWN[mode]))
        if bench.disk:
            axes.plot(depths, [out[d]["model"][what] * scale for d in depths],
                      "--", linewidth=1, color="#444444", label="model")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(depths, depths)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(EngFormatter(unit))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("reads in flight")
        axes.legend()
    left.set_ylabel("reads/s")
    right.set_ylabel("mean latency")
    left.set_title(f"8 KiB random reads, {bench.args.device}")
    plots.save(figure, bench.results)


# --- around it -------------------------------------------------------------

def file_bytes(args) -> int:
    """Blocks for one run at the device's best."""
    rate = LOCAL_READS_PER_S
    if args.device != places.LOCAL:
        rate = presets.preset(args.device).most_reads_per_s or rate
    return int(rate * args.seconds * BLOCK * 1.1) >> 20 << 20


@contextmanager
def device_of(args):
    """Yield (folder, Emulated or None)."""
    if args.device == places.LOCAL:
        args.dir.mkdir(parents=True, exist_ok=True)
        yield args.dir, None
        return
    # What other experiments have left there is theirs.
    with emulated(args.device, args.dir, 0, more=file_bytes(args),
                  keep=True) as disk:
        for line in disk.checked:
            report.say(f"device: self-check: {line}")
        yield disk.directory, disk


def results_of(args, name, folder, disk):
    device = Device(folder)
    header = {"experiment": NAME, "title": TITLE, "question": QUESTION,
              "storage": args.device, **machine.describe(device=device),
              "fio": version(), "options": session.options_of(args)}
    if disk:
        header.update(limit=disk.limit, settings={"self_check": disk.checked})
    return report.Results(name, header, args.results)


def run(args):
    name = f"{NAME}-{args.label}"
    if not args.again and session.is_finished(args.results, name,
                                              session.options_of(args)):
        report.say(f"{NAME}: {args.results / name}.json has it already; "
                   "--again takes it anew")
        return
    with device_of(args) as (folder, disk):
        fio = Fio(folder, file_bytes(args))
        try:
            fio.lay_out()
            bench = Bench(args, fio, disk, results_of(args, name, folder, disk))
            bench.results.say_header()
            out = summarize(bench, measure(bench))
        finally:
            fio.remove()
        tables(bench, out)
        plot(bench, out)
        bench.results.finish(out)


def depth_of(text) -> int:
    """A number of reads in flight, from the command line."""
    if not text.isdigit() or not 1 <= int(text) <= DEPTH_MOST:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number from 1 to {DEPTH_MOST}")
    return int(text)


def main():
    parser = session.parser(__doc__, repetitions=3)
    parser.add_argument("--depths", type=depth_of, nargs="+", default=DEPTHS,
                        help=f"reads in flight, 1 to {DEPTH_MOST}")
    parser.add_argument("--modes", nargs="+", choices=MODES,
                        default=list(MODES))
    parser.add_argument("--seconds", type=int, default=3,
                        help="of each measurement")
    parser.add_argument("--short", action="store_true",
                        help="every second depth, one second, once")
    args = parser.parse_args()
    if args.short:
        args.depths, args.seconds, args.repetitions = args.depths[::2], 1, 1
    args.label = getattr(args, "label", args.device)
    machine.patience_s = args.patience
    try:
        run(args)
    except (ClusterError, OSError) as err:
        raise SystemExit(f"{NAME}: {err}") from None


if __name__ == "__main__":
    main_of(NAME, main)
