"""Files and column roles to labelled ratings; refuses what it cannot index."""
