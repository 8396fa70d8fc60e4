"""Where tasks run: threads, processes, a cluster."""
