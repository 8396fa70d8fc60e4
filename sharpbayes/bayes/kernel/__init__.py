"""Density and gradient in machine code, verified against the graph."""
