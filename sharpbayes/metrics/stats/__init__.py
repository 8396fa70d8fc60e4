"""Resampling, multiplicity and populations."""
