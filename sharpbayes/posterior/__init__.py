"""Metrics of replicated ratings, and what follows from them under weights."""
