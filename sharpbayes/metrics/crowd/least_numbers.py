"""From which numbers of raters and labels on a crowd carries statements about its groups."""

from sharpbayes.errors import format_count

# With ten raters a group intervals hold the truth in 93% and more of simulated crowds, with four in
# 90% where a quarter of the raters contradicts the others (docs/benchmarks/coverage_crowd.md).
FEW_RATERS = 10
# Of labels that have nothing to do with scores the interval of AUC-ROC lies below chance in 13% of
# studies with one unsafe item, 20% with two and 5% with five (docs/adr/0107-limits-of-a-crowd.md).
FEW_LABELS = 5


def explain_few_raters(raters: int, min_raters: int) -> str:
    """Return why a group has too few raters; empty where it has enough."""
    if raters >= min_raters:
        return ""
    return f"{format_count(raters, 'rater')}, fewer than min_raters = {min_raters}"
