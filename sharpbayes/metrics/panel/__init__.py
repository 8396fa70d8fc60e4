"""Metrics of a panel of judges (SHARP)."""
