"""Geometry, chains and convergence."""
