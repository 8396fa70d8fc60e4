"""The model as PyMC variables: its definition."""
