# Writes the draws of the univariate normal example of priorsense (R/sysdata.rda) as a table.
# Rscript tests/references/priorsense.R sysdata.rda normal.csv
files <- commandArgs(trailingOnly = TRUE)
load(files[1])
draws <- draws_univariate_normal
names <- dimnames(draws)$variable
table <- data.frame(chain = rep(1:4, each = 1000), draw = rep(1:1000, 4))
for (name in c("mu", "sigma", "lprior")) table[[name]] <- as.vector(draws[, , name])
likelihood <- apply(draws[, , grep("^log_lik", names)], c(1, 2), sum)
table$log_lik <- as.vector(likelihood)
write.csv(table, files[2], row.names = FALSE)
