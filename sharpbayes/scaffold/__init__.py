"""A data file or a log to a commented study."""
