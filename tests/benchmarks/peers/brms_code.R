# What brms gives Stan: Rscript brms_code.R DATA.csv FOLDER
#
# It writes model.stan, with sums of the likelihood over threads, data.json, and terms.json with the
# number of the term of each column.

here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
source(file.path(here, "common.R"))
source(file.path(here, "brms_model.R"))
given <- commandArgs(trailingOnly = TRUE)
suppressPackageStartupMessages(library(brms))
ratings <- ratings_of(given[1])
place <- function(name) file.path(given[2], name)

parts <- list(model_of(ratings), ratings, cumulative("logit"), priors_of(ratings))
threads <- list(threads = threading(2))
cat(do.call(make_stancode, c(parts, threads, backend = "cmdstanr")), file = place("model.stan"))
numbers <- unclass(do.call(make_standata, c(parts, threads)))
numbers$X <- NULL
write <- function(x, name) jsonlite::write_json(x, place(name), auto_unbox = TRUE, digits = NA)
write(lapply(numbers, as.vector), "data.json")

of_term <- function(number) as.vector(numbers[[paste0("J_", number)]])
numbers_of_terms <- seq_along(columns_of(ratings))
is_of <- function(name) function(number) identical(as.integer(ratings[[name]]), as.integer(of_term(number)))
terms <- sapply(columns_of(ratings), function(name) Find(is_of(name), numbers_of_terms))
write(c(as.list(terms), brms = as.character(packageVersion("brms"))), "terms.json")
