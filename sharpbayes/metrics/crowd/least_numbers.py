"""From which numbers of raters and labels on a crowd carries statements about its groups."""

# With ten raters a group intervals hold the truth in 93% and more of simulated crowds, with four in
# 90% where a quarter of the raters contradicts the others (docs/benchmarks/coverage_crowd.md).
FEW_RATERS = 10
# Of labels that have nothing to do with scores the interval of AUC-ROC lies below chance in 13% of
# studies with one unsafe item, 20% with two and 5% with five (docs/adr/0107-limits-of-a-crowd.md).
FEW_LABELS = 5
