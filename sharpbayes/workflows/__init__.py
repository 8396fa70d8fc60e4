"""One file a command; the one room that joins the deterministic and the Bayesian half."""
