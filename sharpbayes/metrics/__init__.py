"""Pure functions of labelled arrays; no spec, no file, no PyMC."""
