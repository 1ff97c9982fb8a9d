"""Figures and reports, of numbers that the program writes. Nothing here needs the compiled module.

`study` says which figures there are, `document` what a report says, `tables` makes LaTeX and HTML of tables; `style`
says how things look, `drawing` draws figures by matplotlib, `render` makes all of a report's folder, as a script too.
"""
