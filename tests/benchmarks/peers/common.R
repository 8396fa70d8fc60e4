# What the R peers share: arguments, data, the quantities compared, the JSON they write.
# The same names and layout as common.py; DATA is a csv copy, since base R reads no parquet.

arguments <- function() {
  given <- commandArgs(trailingOnly = TRUE)
  flag <- function(name) as.integer(given[match(paste0("--", name), given) + 1])
  counts <- lapply(c(chains = "chains", tune = "tune", draws = "draws", seed = "seed"), flag)
  c(list(data = given[1], out = given[2]), counts)
}

ratings_of <- function(path) {
  table <- read.csv(path)
  ids <- lapply(table[c("item", "rater", "gender", "race")], factor)
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
  shift <- rowMeans(draws$gender) + rowMeans(draws$race)
  cut <- draws$thresholds
  at_mean <- lapply(seq_len(ncol(cut)), function(k) cut[, k] - shift)
  names(at_mean) <- sprintf("threshold_at_mean[%d]", seq_len(ncol(cut)) - 1)
  c(draws[c("sd_item", "sd_rater")], contrasts_of("threshold", cut),
    contrasts_of("gender", draws$gender), contrasts_of("race", draws$race), at_mean)
}

# Elapsed seconds since the R process began.
clock <- function() proc.time()[["elapsed"]]

write_json <- function(results, out) {
  text <- jsonlite::toJSON(results, auto_unbox = TRUE, digits = 10, pretty = 1, null = "null")
  writeLines(text, out)
}
