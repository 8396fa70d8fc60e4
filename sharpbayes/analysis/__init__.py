"""Observed ratings to groups of results."""
