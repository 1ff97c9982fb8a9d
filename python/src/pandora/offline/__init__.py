"""What a table or a log of outcomes says before anything runs: fits of cascades, and what they promise.

A table goes through five steps, each a module of its own::

    sources    a table, a table with labels in part, or a log, as a fit on some of its rows sees it
    policies   one module for each kind of cascade: how it is fitted, and what it does with a prompt
    crossfit   every candidate, fitted on all rows, without each fold and without each pair of folds
    choose     which candidate is deployed, and the same choice without each fold
    fit        what is promised of it

Intervals come from `estimate`; nothing else in the package makes one.
"""
