"""Differential testing: the same query with anago and without, same rows.

    tables.py     tables that have every kind of B-tree index, and their rows
    randomq.py    random queries over them, from a seed
    settings.py   random settings of a session and of a server, from a seed
    compare.py    run a query both ways, compare, and say how to see it again
    writers.py    what changes the tables meanwhile
"""
