"""Figures of results: declarations and one renderer."""
