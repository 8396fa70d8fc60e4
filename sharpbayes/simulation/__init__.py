"""Ratings with known truth."""
