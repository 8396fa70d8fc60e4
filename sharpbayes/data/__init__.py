"""Files and column roles to labelled ratings; what cannot be placed is refused."""
