"""What the scripts of bench/ and the long tests of t/ share.

    account.py   the non-root account that servers run as
    app.py       an application's tables and queries
    answers.py   the reference answers of the TPC-H queries
    ch.py        CH-benCHmark: tables, transactions, queries, consistency
    clients.py   clients of CH-benCHmark, and who watches them
    cluster.py   a private PostgreSQL cluster: create, start, stop, make cold
    copies.py    copies of a cluster, one as the other's standby; on some CPUs
    device.py    the block device under a path, and what it read
    done.py      runs that are done, so that an experiment goes on
    emulated/    a device with the latencies of another: up, down, its check
    ending.py    a signal ends a script as Ctrl-C does
    fio.py       the device alone: fio's random reads
    htap.py      a simulated machine of 96 cores, and HTAL that balances it
    load.py      loading TPC-H: steps, jobs, what is done
    machine.py   what was measured where: machine, versions, commit; busy or not
    page.py      all results on one HTML page
    perf.py      which of our functions the CPU is spent in
    pgbench.py   pgbench with anago not loaded, off, on
    places.py    where clusters are
    plots.py     PNG and SVG
    progress.py  progress with an estimate of the time left
    queries.py   queries A-D, Q1-Q22, and the plans stock is held to
    report.py    CSV, JSON, tables on the terminal
    runs.py      timed runs: interleaved, cold or cached, rows compared
    sampler.py   CPU and reads while a query runs
    session.py   what every experiment does around its measuring
    skew.py      query C's customers with skewed orders
    stock.py     stock tuned by hand: the settings
    tpch.py      tables and indexes of TPC-H, as data
    variants.py  the ways to run a query that are compared
"""
