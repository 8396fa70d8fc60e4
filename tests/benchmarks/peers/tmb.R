# TMB by hand: Rscript tmb.R DATA.csv OUT.json (other arguments are read and not used)
#
# The Laplace approximation of maximum likelihood with exact derivatives: estimates and standard
# errors, no draws and no priors. It is what glmmTMB does for its ordinal family.

here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
source(file.path(here, "common.R"))
given <- arguments()
suppressPackageStartupMessages(library(TMB))
imported <- clock()

# The library is kept by a digest of its code and of how it is compiled.
sources <- file.path(here, c("tmb.cpp", "tmb.R"))
digest <- substr(tools::md5sum(sources), 1, 8)
folder <- file.path(Sys.getenv("PEERS_COMPILED"), paste(digest, collapse = "-"))
compiled <- file.path(folder, "tmb")
if (!file.exists(dynlib(compiled))) {
  dir.create(folder, showWarnings = FALSE)
  file.copy(sources[1], folder)
  # As glmmTMB is compiled.
  compile(paste0(compiled, ".cpp"), "-O2 -w", framework = "TMBad", safebounds = FALSE)
}
dyn.load(dynlib(compiled))
ready <- clock()

ratings <- ratings_of(given$data)
groups <- intersect(populations, names(ratings))
varied <- Filter(function(name) nlevels(ratings[[name]]) > 1, groups)
design <- model.matrix(reformulate(c("1", varied)), ratings)[, -1, drop = FALSE]
levels <- nlevels(ratings$level)
codes <- lapply(ratings[c("level", "item", "rater")], function(x) as.integer(x) - 1L)
zeros <- function(name) numeric(nlevels(ratings[[name]]))
starts <- list(first = -1, log_gap = numeric(levels - 2), log_sd = c(0, 0),
               slope = numeric(ncol(design)), item_effect = zeros("item"), rater_effect = zeros("rater"))
loss <- MakeADFun(c(codes, list(design = design)), starts, random = c("item_effect", "rater_effect"),
                  DLL = "tmb", silent = TRUE)
best <- nlminb(loss$par, loss$fn, loss$gr, control = list(iter.max = 1000, eval.max = 1000))
report <- sdreport(loss)
fitted <- clock()

is_sd <- names(report$value) == "sd"
estimate <- setNames(report$value[!is_sd], c(rep("", levels - 1), colnames(design)))
pairs <- estimates_of(estimate, report$cov[!is_sd, !is_sd], levels, groups)
sds <- list(mean = report$value[is_sd], sd = report$sd[is_sd])
for (k in 1:2) pairs[[c("sd_item", "sd_rater")[k]]] <- list(mean = sds$mean[[k]], sd = sds$sd[[k]])
finished <- clock()

write_json(list(
  peer = "tmb",
  settings = settings_of(given, ratings)[-(1:4)],
  versions = versions_of("TMB"),
  converged = best$convergence == 0,
  ess_bulk_min = NULL, rhat_max = NULL, divergences = NULL,
  posterior = pairs,
  seconds = list(imports = imported, compile = ready - imported, sampling = fitted - ready,
                 summary = finished - fitted, process = finished),
  differs = list("maximum likelihood by Laplace's approximation: no priors, no draws",
                 "a reference level in gender and race, where they are")
), given$out)
