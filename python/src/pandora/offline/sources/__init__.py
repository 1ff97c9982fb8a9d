"""What cascades are fitted to: a table whose qualities are known, one with labels in part, or a log of decisions."""
