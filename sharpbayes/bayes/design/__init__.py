"""Terms of a model and ratings of a study as labelled index arrays."""
