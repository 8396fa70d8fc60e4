"""What a fit of so many ratings keeps of them, and the memory that it takes."""

# Ratings times draws for which replicated ratings and log-likelihoods are kept; more of them are
# computed from the draws where they are needed.
MAX_KEPT = 25_000_000
# Ratings that are labelled in every group of ArviZ. Labels of one take some 100 bytes of memory.
MAX_LABELLED = 1_000_000
# Draws of the prior, which shows what the model expects before any rating; no number follows.
MAX_PRIOR_DRAWS = 200
# Ratings that all draws of a fit replicate at most, unless fewer draws than these would do it.
MAX_REPLICATED, MIN_DRAWS = 1_000_000_000, 100
# Bytes of a replicated rating, and of its log-likelihood.
RATING_BYTES, LOG_LIKELIHOOD_BYTES = 1, 4
# Replicated ratings that one thread measures at once, and what each takes meanwhile.
BLOCK_RATINGS, BLOCK_BYTES = 20_000_000, 40
# Bytes of the program, of each rating with its indices, and of each draw of a parameter: what the
# sampler holds, labelled draws, and those that are checked (docs/benchmarks/large.md).
PROGRAM_BYTES, INDEX_BYTES, DRAW_BYTES = 450_000_000, 110, 5 * 8
# Bytes of a worker without ratings, and of each rating of its parts (docs/benchmarks/large.md).
WORKER_BYTES, PART_BYTES = 340_000_000, 126


def keeps_ratings(ratings: int, draws: int) -> bool:
    """Return whether ratings that so many draws replicate are kept, and their log-likelihood.

    >>> keeps_ratings(50_000, 500), keeps_ratings(200_000, 500), keeps_ratings(200_000, 100)
    (True, False, True)
    """
    return ratings * draws <= MAX_KEPT


def count_predictive_draws(ratings: int, draws: int) -> int:
    """Return the number of draws that replicate ratings, of those that are asked for.

    >>> [count_predictive_draws(n, 500) for n in (2_000_000, 5_000_000, 100_000_000)]
    [500, 200, 100]
    >>> count_predictive_draws(100_000_000, 50)
    50
    """
    return min(draws, max(MIN_DRAWS, MAX_REPLICATED // max(ratings, 1)))


def count_prior_draws(ratings: int, draws: int) -> int:
    """Return the number of draws of the prior that ratings are replicated for.

    >>> count_prior_draws(4_000, 500), count_prior_draws(1_000_000, 500)
    (200, 25)
    """
    return max(1, min(draws, MAX_PRIOR_DRAWS, MAX_KEPT // max(ratings, 1)))


def expected_memory(ratings: int, *, draws: int, predicted: int, cores: int) -> int:
    """Return about how many bytes of memory a fit takes at its peak.

    ``draws`` counts draws of all parameters, ``predicted`` those that ratings are replicated for.

    >>> expected_memory(10_000_000, draws=52_000 * 500, predicted=0, cores=2) / 1e9
    2.59
    """
    at_once = min(cores * BLOCK_RATINGS, ratings * predicted) * BLOCK_BYTES
    kept_bytes = ratings * INDEX_BYTES + draws * DRAW_BYTES + replicate_bytes(ratings, predicted)
    return PROGRAM_BYTES + kept_bytes + at_once


def worker_memory(ratings: int, *, parts: int) -> int:
    """Return about how many bytes of memory a worker takes that has one of so many parts.

    >>> [worker_memory(10_000_000, parts=n) / 1e6 for n in (2, 4)]
    [970.0, 655.0]
    """
    return WORKER_BYTES + -(-ratings // parts) * PART_BYTES


def replicate_bytes(ratings: int, draws: int) -> int:
    """Return the bytes of memory of what is kept of replicated ratings.

    >>> replicate_bytes(4_000, 500), replicate_bytes(200_000, 500), replicate_bytes(4_000, 0)
    (10800000, 25000000, 0)
    """
    if draws == 0:
        return 0
    of_posterior = draws * (RATING_BYTES + LOG_LIKELIHOOD_BYTES)
    kept = of_posterior if keeps_ratings(ratings, draws) else 0
    return ratings * (kept + count_prior_draws(ratings, draws) * RATING_BYTES)
