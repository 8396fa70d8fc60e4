"""Coordinates, chains and convergence."""
