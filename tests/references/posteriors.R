# Posteriors by rstan of ordinal.stan: Rscript posteriors.R FOLDER OUT.csv CASE...
#
# Reads FOLDER/<case>.json and writes a line for each parameter into OUT.csv, replacing those of the
# case. Debian: apt-get install r-cran-rstan r-cran-posterior r-cran-jsonlite.
suppressMessages({library(rstan); library(posterior); library(jsonlite)})
here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
given <- commandArgs(trailingOnly = TRUE)
# Debian keeps the headers of BH outside the R package, where rstan does not look by itself.
if (!nzchar(rstan_options("boost_lib"))) rstan_options(boost_lib = "/usr/include")
stored <- file.path(given[1], "ordinal.rds")
if (!file.exists(stored)) saveRDS(stan_model(file.path(here, "ordinal.stan")), stored)
model <- readRDS(stored)
kept <- c("threshold", "sd_term", "population", "sd_gap", "gap", "sd_factor", "factor")
number <- function(x) signif(x, 7)
for (case in given[-(1:2)]) {
  data <- fromJSON(file.path(given[1], paste0(case, ".json")))
  chains <- data$chains; draws <- data$draws; data$chains <- data$draws <- NULL
  data$levels <- as.array(data$levels); data$term <- matrix(unlist(data$term), nrow = data$N)
  begun <- proc.time()[["elapsed"]]
  fit <- sampling(model, data, chains = chains, warmup = 800, iter = 800 + draws, refresh = 500,
                  seed = 20260121, pars = kept, control = list(adapt_delta = 0.9))
  draws_of <- as_draws_array(as.array(fit))
  found <- summarise_draws(draws_of, "mean", "sd", "mcse_mean", "mcse_sd", "ess_bulk", "rhat")
  found <- as.data.frame(found[found$variable != "lp__", ])
  found <- found[!is.na(found$sd) & found$sd > 0, ]
  broken <- sum(sapply(get_sampler_params(fit, inc_warmup = FALSE), function(x) sum(x[, "divergent__"])))
  found$variable <- gsub(",", " ", found$variable)
  found[-1] <- lapply(found[-1], function(x) number(as.numeric(x)))
  table <- data.frame(case = case, found, divergences = broken)
  if (file.exists(given[2])) {
    old <- read.csv(given[2], check.names = FALSE)
    table <- rbind(old[old$case != case, ], table)
  }
  write.csv(table, given[2], row.names = FALSE, quote = FALSE)
  cat(case, round(proc.time()[["elapsed"]] - begun), "s, divergences", broken, ", smallest ESS",
      min(found$ess_bulk), "\n")
}
