"""Computes from a table or a log of outcomes, before anything runs: fits of cascades, and what they promise.

A table goes through five steps, each in a module of its own::

    sources    a table, a table with some labels, or a log, in the form in which a fit on some of its rows uses it
    policies   one module for each kind of cascade: how it is fitted, and what it does with a prompt
    crossfit   every candidate, fitted on all rows, without each fold and without each pair of folds
    choose     which candidate is deployed, and the same choice without each fold
    fit        the promise for the chosen candidate

Intervals come from `estimate`; nothing else in the package makes one.
"""
