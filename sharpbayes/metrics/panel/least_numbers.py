"""From which numbers of prompts on a panel carries statements about its models."""

# With fewer prompts no interval of a mean is worth reading.
MIN_PROMPTS = 20
# With fewer prompts in the tail CVaR is not compared.
MIN_TAIL = 5
# By how much a number of prompts may miss a whole one.
ROUNDING = 1e-9
