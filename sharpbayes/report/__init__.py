"""Results to tables, figures, text and one HTML page; reads results alone."""
