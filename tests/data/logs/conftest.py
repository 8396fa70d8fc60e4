"""The scripts here run in environments of other programs, not in this one."""

collect_ignore_glob = ["make_*.py"]
