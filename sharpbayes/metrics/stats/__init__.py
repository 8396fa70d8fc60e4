"""Resampling, intervals, corrections of p values and target populations."""
