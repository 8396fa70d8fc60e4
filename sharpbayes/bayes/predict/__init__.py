"""Replication, new levels of a term, leave-one-out and calibration."""
