# What the R peers share: arguments, data, the quantities compared, the JSON they write.
# The same names and layout as common.py; DATA is a csv copy, since base R reads no parquet.

arguments <- function() {
  given <- commandArgs(trailingOnly = TRUE)
  flag <- function(name) as.integer(given[match(paste0("--", name), given) + 1])
  counts <- lapply(c(chains = "chains", tune = "tune", draws = "draws", seed = "seed"), flag)
  c(list(data = given[1], out = given[2]), counts)
}

# Columns of raters' populations: ratings have both or none.
populations <- c("gender", "race")

ratings_of <- function(path) {
  table <- read.csv(path)
  ids <- lapply(table[intersect(c("item", "rater", populations), names(table))], factor)
  data.frame(ids, level = ordered(table$level))
}

settings_of <- function(given, ratings) {
  sizes <- lapply(ratings, nlevels)
  c(given[c("chains", "tune", "draws", "seed")], list(ratings = nrow(ratings)), sizes)
}

versions_of <- function(packages) {
  found <- lapply(setNames(packages, packages), function(name) as.character(packageVersion(name)))
  c(list(R = as.character(getRversion())), found)
}

# Columns of a matrix as differences to its first column, named from 0 as in common.py.
contrasts_of <- function(name, x) {
  if (ncol(x) < 2) return(list())
  later <- seq_len(ncol(x))[-1]
  names <- sprintf("%s[%d]-%s[0]", name, later - 1, name)
  setNames(lapply(later, function(k) x[, k] - x[, 1]), names)
}

# Quantities that mean the same under every coding of the groups; see compared() in common.py.
compared <- function(draws) {
  groups <- draws[intersect(populations, names(draws))]
  shift <- Reduce(`+`, lapply(groups, rowMeans), 0)
  cut <- draws$thresholds
  at_mean <- lapply(seq_len(ncol(cut)), function(k) cut[, k] - shift)
  names(at_mean) <- sprintf("threshold_at_mean[%d]", seq_len(ncol(cut)) - 1)
  differences <- unlist(unname(Map(contrasts_of, names(groups), groups)), recursive = FALSE)
  c(draws[c("sd_item", "sd_rater")], contrasts_of("threshold", cut), differences, at_mean)
}

# Compared quantities of maximum likelihood. Thresholds come first in the estimates, then effects
# by the names of model.matrix, as differences to a first level. The quantities are linear in them,
# so that their covariance is exact from the columns.
estimates_of <- function(estimate, covariance, levels, groups) {
  row_of <- function(x) matrix(unname(x), nrow = 1)
  effects <- function(x, name) row_of(c(0, x[grep(paste0("^", name), names(x))]))
  quantities <- function(x) {
    later <- x[-seq_len(levels - 1)]
    of_groups <- sapply(groups, function(name) effects(later, name), simplify = FALSE)
    draws <- c(list(sd_item = 0, sd_rater = 0, thresholds = row_of(x[seq_len(levels - 1)])), of_groups)
    unlist(compared(draws))
  }
  slopes <- sapply(seq_along(estimate), function(k) quantities(replace(estimate * 0, k, 1)))
  errors <- sqrt(diag(slopes %*% covariance %*% t(slopes)))
  Map(function(mean, sd) list(mean = mean, sd = sd), quantities(estimate), errors)
}

# Elapsed seconds since the R process began.
clock <- function() proc.time()[["elapsed"]]

write_json <- function(results, out) {
  text <- jsonlite::toJSON(results, auto_unbox = TRUE, digits = 10, pretty = 1, null = "null")
  writeLines(text, out)
}
