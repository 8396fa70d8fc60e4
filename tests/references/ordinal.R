# Reference fits by R's ordinal (clmm, clm) and MASS (polr).
#
#   python -m tests.references.make            # writes the ratings, then runs this script
#   Rscript ordinal.R FOLDER                   # reads FOLDER/*.csv, writes FOLDER/ordinal.json
suppressMessages(library(ordinal))
suppressMessages(library(MASS))
folder <- commandArgs(trailingOnly = TRUE)[1]

read <- function(name) {
  ratings <- read.csv(file.path(folder, paste0(name, ".csv")))
  ratings$level <- factor(ratings$level, ordered = TRUE)
  for (column in setdiff(names(ratings), "level")) ratings[[column]] <- factor(ratings[[column]])
  ratings
}
number <- function(values) paste(sprintf("%.9f", as.numeric(values)), collapse = ", ")
entry <- function(name, what, values) sprintf('  "%s %s": [%s]', name, what, number(values))
lines <- c()

mixed <- list(
  c("logit2", "level ~ 1 + (1 | item)", "logit"),
  c("logit5", "level ~ 1 + (1 | item) + (1 | rater)", "logit"),
  c("probit4", "level ~ 1 + (1 | item) + (1 | rater)", "probit"),
  c("logit11", "level ~ 1 + (1 | item) + (1 | rater) + (1 | place)", "logit")
)
for (each in mixed) {
  fit <- clmm(as.formula(each[2]), data = read(each[1]), link = each[3])
  lines <- c(lines, entry(each[1], "thresholds", fit$Theta))
  lines <- c(lines, entry(each[1], "threshold_se", sqrt(diag(vcov(fit)))[seq_along(fit$Theta)]))
  for (term in names(fit$ST)) {
    lines <- c(lines, entry(each[1], paste0("sd_", term), fit$ST[[term]][1, 1]))
  }
}
# clm: thresholds that differ by group (nominal), factors of scale by group; no varying effects.
fit <- clm(level ~ 1, nominal = ~ group, data = read("groups"))
lines <- c(lines, entry("groups", "nominal", fit$alpha), entry("groups", "nominal_loglik", logLik(fit)))
fit <- clm(level ~ group, scale = ~ group, data = read("sharpness"))
lines <- c(lines, entry("sharpness", "thresholds", fit$Theta))
lines <- c(lines, entry("sharpness", "beta", fit$beta), entry("sharpness", "log_scale", fit$zeta))
lines <- c(lines, entry("sharpness", "loglik", logLik(fit)))
fit <- polr(level ~ group, data = read("groups"), Hess = TRUE)
lines <- c(lines, entry("groups", "polr_thresholds", fit$zeta), entry("groups", "polr_beta", coef(fit)))
lines <- c(lines, entry("groups", "polr_se", sqrt(diag(vcov(fit)))))
# The maximum of the likelihood of common thresholds, by both programs and links.
for (link in c("logit", "probit")) {
  fit <- clm(level ~ group, data = read("groups"), link = link)
  lines <- c(lines, entry("groups", paste0("clm_", link), c(fit$alpha, fit$beta, logLik(fit))))
  fit <- polr(level ~ group, data = read("groups"), method = if (link == "logit") "logistic" else link,
              control = list(reltol = 1e-15))
  lines <- c(lines, entry("groups", paste0("polr_", link), c(fit$zeta, coef(fit), logLik(fit))))
}
version <- sprintf('  "versions": "R %s, ordinal %s, MASS %s"', getRversion(),
                   packageVersion("ordinal"), packageVersion("MASS"))
writeLines(c("{", paste(c(version, lines), collapse = ",\n"), "}"), file.path(folder, "ordinal.json"))
