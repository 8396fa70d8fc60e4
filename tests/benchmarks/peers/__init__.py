"""Other programs fitting the same ordinal model to the same ratings, each in its own environment.

    uv run python -m tests.benchmarks.peers DATA.parquet --cache DIR --out DIR

The model of every peer, for a rating of item i by rater j of gender g and race h:

    P(level <= k) = logistic(threshold_k - eta),  eta = item_i + rater_j + gender_g + race_h
    item ~ Normal(0, sd_item), rater ~ Normal(0, sd_rater), both sds ~ HalfNormal(1.5)
    gender, race ~ Normal(0, 1) for every level (none is a reference level)
    thresholds: independent Normal(0, 5), restricted to growing order

With ``--populations none`` the columns gender and race are left out, and so are their terms.
"""
