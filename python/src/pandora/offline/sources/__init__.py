"""Sources of fits: a table whose qualities are known, one with some labels, or a log of decisions."""
