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
groups <- Filter(function(name) nlevels(ratings[[name]]) > 1, intersect(populations, names(ratings)))
model <- reformulate(c(groups, "(1 | item)", "(1 | rater)"), "level")
fit <- clmm(model, ratings, link = "logit", Hess = TRUE)
fitted <- clock()

# clmm's coefficients add to the location as ours do.
estimate <- c(fit$alpha, fit$beta)
covariance <- vcov(fit)[seq_along(estimate), seq_along(estimate)]
pairs <- estimates_of(estimate, covariance, nlevels(ratings$level), intersect(populations, names(ratings)))
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
                 "a reference level in gender and race, where they are")
), given$out)
