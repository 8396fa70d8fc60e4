"""Model files and ratings to posteriors; the only room that imports PyMC."""
