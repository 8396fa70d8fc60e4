"""Tables of results: declarations and one renderer."""
