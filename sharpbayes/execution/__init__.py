"""Where tasks run: threads, processes, a cluster; where finished parts are kept."""
