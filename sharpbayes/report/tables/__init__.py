"""Tables: declarations, formats and renderers."""
