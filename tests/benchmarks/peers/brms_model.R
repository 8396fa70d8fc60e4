# The model of the peers in brms' terms. A population is a group-level term whose sd is held at 1:
# Normal(0, 1) for every level, with no reference level and no centring.

columns_of <- function(ratings) setdiff(names(ratings), "level")

model_of <- function(ratings) {
  terms <- sprintf("(1 | %s)", columns_of(ratings))
  bf(reformulate(c("1", terms), "level"))
}

priors_of <- function(ratings) {
  prior <- function(name) {
    scale <- if (name %in% populations) "constant(1)" else "normal(0, 1.5)"
    set_prior(scale, class = "sd", group = name)
  }
  of_sds <- lapply(columns_of(ratings), prior)
  Reduce(`+`, of_sds, set_prior("normal(0, 5)", class = "Intercept"))
}
