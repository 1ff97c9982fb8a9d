"""Fits of cascades to tables and logs of outcomes, on numpy; what they fit is served by the program."""
