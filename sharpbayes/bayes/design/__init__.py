"""Terms of a model and ratings of a study as index arrays; what ratings identify."""
