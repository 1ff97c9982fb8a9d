"""Figures and reports as pictures and pages. Nothing here needs the compiled module.

`style` says how things look, `drawing` draws figures by matplotlib, `render` makes a page and LaTeX of a report's
folder; it runs as a script too.
"""
