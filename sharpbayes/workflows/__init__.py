"""One file a command; what they share beside it."""
