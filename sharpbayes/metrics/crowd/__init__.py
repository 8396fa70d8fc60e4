"""Metrics of a crowd of raters (responsiveness)."""
