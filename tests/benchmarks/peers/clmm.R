# ordinal::clmm: Rscript clmm.R DATA.csv OUT.json (other arguments are read and not used)
#
# The Laplace approximation of maximum likelihood: estimates and standard errors, no draws and no
# priors. gender and race have a reference level, which the compared quantities do not see.

here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
source(file.path(here, "common.R"))
given <- arguments()
suppressPackageStartupMessages(library(ordinal))
imported <- clock()

ratings <- ratings_of(given$data)
# A column with one level has no contrast, and clmm refuses it.
groups <- Filter(function(name) nlevels(ratings[[name]]) > 1, c("gender", "race"))
model <- reformulate(c(groups, "(1 | item)", "(1 | rater)"), "level")
fit <- clmm(model, ratings, link = "logit", Hess = TRUE)
fitted <- clock()

# Estimates in one row, so that compared() takes them as it takes draws. clmm's coefficients add to
# the location as ours do.
row_of <- function(x) matrix(unname(x), nrow = 1)
effects <- function(x, name) row_of(c(0, x[grep(paste0("^", name), names(x))]))
as_draws <- function(x) {
  cut <- row_of(x[seq_along(fit$alpha)])
  later <- x[-seq_along(fit$alpha)]
  list(sd_item = 0, sd_rater = 0, thresholds = cut,
       gender = effects(later, "gender"), race = effects(later, "race"))
}
estimate <- c(fit$alpha, fit$beta)
quantities <- function(x) unlist(compared(as_draws(x)))

# The compared quantities are linear in the estimates: their covariance is exact from the columns.
unit <- function(k) replace(estimate * 0, k, 1)
slopes <- sapply(seq_along(estimate), function(k) quantities(unit(k)))
covariance <- vcov(fit)[seq_along(estimate), seq_along(estimate)]
errors <- sqrt(diag(slopes %*% covariance %*% t(slopes)))
means <- quantities(estimate)
pairs <- Map(function(mean, sd) list(mean = mean, sd = sd), means, errors)
# clmm gives no standard error of a standard deviation.
for (name in c("item", "rater")) {
  pairs[[paste0("sd_", name)]] <- list(mean = attr(VarCorr(fit)[[name]], "stddev")[[1]], sd = NULL)
}
finished <- clock()

write_json(list(
  peer = "clmm",
  settings = settings_of(given, ratings)[-(1:4)],
  versions = versions_of("ordinal"),
  ess_bulk_min = NULL, rhat_max = NULL, divergences = NULL,
  posterior = pairs,
  seconds = list(imports = imported, compile = 0, sampling = fitted - imported,
                 summary = finished - fitted, process = finished),
  differs = list("maximum likelihood by Laplace's approximation: no priors, no draws",
                 "a reference level in gender and race")
), given$out)
