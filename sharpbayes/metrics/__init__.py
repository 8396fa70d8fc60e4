"""Deterministic numbers: pure functions of labelled arrays; no spec, no PyMC."""
