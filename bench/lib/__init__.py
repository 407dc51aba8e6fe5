"""What the scripts of bench/ and the long tests of t/ share.

    account.py   the non-root account that servers run as
    cluster.py   a private PostgreSQL cluster: create, start, stop, make cold
    device.py    the block device under a path, and what it read
    ending.py    a signal ends a script as Ctrl-C does
    fio.py       the device alone: fio's random reads
    machine.py   what was measured where: machine, versions, commit; busy or not
    load.py      loading TPC-H: steps, jobs, what is done
    places.py    where clusters are
    progress.py  progress with an estimate of the time left
    queries.py   queries A-D and the plans stock is held to
    report.py    CSV, JSON, tables on the terminal
    plots.py     PNG and SVG
    runs.py      timed runs: interleaved, cold or cached, rows compared
    session.py   what every experiment does around its measuring
    tpch.py      tables and indexes of TPC-H, as data
    differ/      differential testing, for t/
"""
