# Reference fits of adjacent-category and continuation-ratio models by R's VGAM.
#
#   python -m tests.references.test_steps      # writes the ratings, then runs this script
#   Rscript steps.R FOLDER                     # reads FOLDER/steps.csv, writes FOLDER/steps.json
#
# acat: log P(j + 1) / P(j) = alpha_j + beta x; sratio: link P(j | j or above) = alpha_j + beta x.
# Debian: apt-get install r-base-core r-cran-vgam
suppressMessages(library(VGAM))
folder <- commandArgs(trailingOnly = TRUE)[1]
ratings <- read.csv(file.path(folder, "steps.csv"))
ratings$level <- factor(ratings$level, ordered = TRUE)
ratings$group <- factor(ratings$group)

families <- list(
  "adjacent logit" = function(p) acat(reverse = FALSE, parallel = p),
  "continuation logit" = function(p) sratio(reverse = FALSE, parallel = p),
  "continuation probit" = function(p) sratio(link = "probitlink", reverse = FALSE, parallel = p)
)
number <- function(values) paste(sprintf("%.7f", as.numeric(values)), collapse = ", ")
lines <- sprintf('  "versions": "R %s, VGAM %s"', getRversion(), packageVersion("VGAM"))
for (name in names(families)) for (parallel in c(TRUE, FALSE)) {
  fit <- vglm(level ~ group, families[[name]](parallel), data = ratings,
              control = vglm.control(epsilon = 1e-12, maxit = 100))
  key <- paste(name, if (parallel) "common" else "own")
  values <- c(coef(fit), logLik(fit))
  lines <- c(lines, sprintf('  "%s": [%s]', key, number(values)))
}
writeLines(c("{", paste(lines, collapse = ",\n"), "}"), file.path(folder, "steps.json"))
