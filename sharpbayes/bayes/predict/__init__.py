"""Replication, new levels of a term, leave-one-out comparison and calibration."""
