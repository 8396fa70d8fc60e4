"""Results to tables, lines of progress and documents."""
