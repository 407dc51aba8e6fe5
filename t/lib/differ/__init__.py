"""Differential testing: the same query with anago and without, same rows.

    tables.py       tables that have every kind of B-tree index, and their rows
    randomq.py      random queries over them, from a seed
    tpch.py         the same over the tables of TPC-H, for bench/
    kinds.py        kinds of queries that look at one thing closely, each with
                    tables of its own; kind.py is what they share:
      alltypes.py     every type that has a B-tree, every cross-type operator
      bounds.py       redundant and contradictory conditions, IN lists
      chains.py       an order on its way through several tables
      collations.py   collations, nondeterministic ones among them; patterns
      disjunctions.py OR over several indexes
      effects.py      functions that count their calls, below LIMIT
      looks.py        nested loops whose outer rows lead to pages: LATERAL, row locks
      partitions.py   partitions by the hundred
      skips.py        conditions behind a column without an equality
      stops.py        LIMIT without an order, cursors closed early, EXISTS
      wide.py         big values, hundreds of columns, columns dropped and added
      writes.py       rows that are changed or locked, tables compared afterwards
      zones.py        timestamps around the hours when clocks jump
    query.py        a query, and what must hold of it
    settings.py     random settings of a session and of a server, from a seed
    compare.py      run a query both ways, compare, and say how to see it again
    memory.py       the peak of a backend's memory
    tally.py        what a run amounted to
    writers.py      what changes the tables of tables.py meanwhile
    place.py        the throw-away cluster
"""
