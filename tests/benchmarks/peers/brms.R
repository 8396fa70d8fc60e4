# brms with rstan: Rscript brms.R DATA.csv OUT.json --chains 2 --tune 500 --draws 500 --seed 1
#
# gender and race are group-level terms whose sd is held at 1: Normal(0, 1) for every level, with no
# reference level and no centring, so this is the model of the other peers exactly.

here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
source(file.path(here, "common.R"))
given <- arguments()
suppressPackageStartupMessages(library(brms))
# Debian keeps the headers of BH outside the R package, where rstan does not look by itself.
if (!nzchar(rstan::rstan_options("boost_lib"))) rstan::rstan_options(boost_lib = "/usr/include")
imported <- clock()

ratings <- ratings_of(given$data)
source(file.path(here, "brms_model.R"))
model <- model_of(ratings)
priors <- priors_of(ratings)
empty <- brm(model, ratings, cumulative("logit"), priors, chains = 0)
compiled <- clock()

fit <- update(empty, recompile = FALSE, chains = given$chains, cores = given$chains,
              warmup = given$tune, iter = given$tune + given$draws, seed = given$seed, refresh = 0)
sampled <- clock()

# Draws as (draw, chain, variable).
draws <- posterior::as_draws_array(fit)
variables <- posterior::variables(draws)
named <- function(pattern) grep(pattern, variables, value = TRUE)
of_group <- function(name) named(sprintf("^r_%s\\[", name))
groups <- intersect(populations, names(ratings))
places <- c(list(thresholds = named("^b_Intercept\\["), sd_item = "sd_item__Intercept",
                 sd_rater = "sd_rater__Intercept"), sapply(groups, of_group, simplify = FALSE))

of_chain <- function(variable) posterior::extract_variable_matrix(draws, variable)
flat <- function(variable) as.vector(of_chain(variable))
columns <- lapply(places, function(names) sapply(names, flat))
back <- function(x) matrix(x, ncol = given$chains)
diagnosed <- function(x) list(ess_bulk = posterior::ess_bulk(x), rhat = posterior::rhat(x))
described <- function(x) c(list(mean = mean(x), sd = sd(x)), diagnosed(back(x)))

# The names of common.py: thresholds[0], gender[1], ...
from_zero <- function(name) {
  count <- length(places[[name]])
  if (count == 1 && startsWith(name, "sd_")) name else sprintf("%s[%d]", name, seq_len(count) - 1)
}
found <- lapply(unlist(places), function(name) diagnosed(of_chain(name)))
names(found) <- unlist(lapply(names(places), from_zero))
ess <- sort(sapply(found, `[[`, "ess_bulk"))
rhat <- sort(sapply(found, `[[`, "rhat"), decreasing = TRUE)

matrices <- columns
matrices[c("sd_item", "sd_rater")] <- lapply(columns[c("sd_item", "sd_rater")], as.vector)
described_all <- lapply(compared(matrices), described)
broken <- sum(subset(nuts_params(fit), Parameter == "divergent__")$Value)
finished <- clock()

write_json(list(
  peer = "brms",
  settings = settings_of(given, ratings),
  versions = versions_of(c("brms", "rstan", "posterior")),
  ess_bulk_min = ess[[1]],
  rhat_max = rhat[[1]],
  worst = list(ess_bulk = as.list(head(ess, 3)), rhat = as.list(head(rhat, 3))),
  posterior = described_all,
  seconds = list(imports = imported, compile = compiled - imported, sampling = sampled - compiled,
                 summary = finished - sampled, process = finished),
  divergences = broken,
  differs = list(),
  ess_per_second = list(sampling = ess[[1]] / (sampled - compiled), process = ess[[1]] / finished)
), given$out)
