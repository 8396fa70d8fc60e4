// A cumulative model with crossed terms, written from docs/models.md and nothing else.
data {
  int<lower=1> N;
  int<lower=2> K;
  int<lower=0, upper=1> probit;
  int<lower=0> T;                          // terms with an sd of their own
  int<lower=1> levels[T];
  int<lower=1> term[N, T];                 // level of each term
  int<lower=0> F;                          // levels of a term with a fixed sd of 1, 0 for none
  int<lower=1> fixed[N];
  int<lower=0> S;                          // groups with thresholds of their own, 0 for none
  int<lower=1> set_of[N];
  int<lower=0> D;                          // groups with discrimination of their own, 0 for none
  int<lower=1> factor_of[N];
  int<lower=1, upper=K> level[N];
}
transformed data {
  int start[T + 1];
  int pivot = (K - 2) / 2 + 1;             // the middle threshold, the lower of two
  matrix[D, max(D - 1, 0)] basis = rep_matrix(0, D, max(D - 1, 0));
  start[1] = 0;
  for (t in 1:T) start[t + 1] = start[t] + levels[t];
  // Orthonormal columns that add up to 0 (Helmert).
  for (j in 1:(D - 1)) {
    for (i in 1:j) basis[i, j] = 1 / sqrt(j * (j + 1.0));
    basis[j + 1, j] = -j / sqrt(j * (j + 1.0));
  }
}
parameters {
  ordered[K - 1] threshold;
  vector<lower=0>[T] sd_term;
  vector[start[T + 1]] effect;
  vector[F] population;
  real<lower=0> sd_gap[S > 0];
  matrix[S, S > 0 ? K - 2 : 0] unit_gap;
  real<lower=0> sd_factor[D > 0];
  vector[D > 0 ? D - 1 : 0] unit_factor;
}
transformed parameters {
  matrix[S, S > 0 ? K - 2 : 0] gap;
  vector[K - 1] own[S > 0 ? S : 1];
  vector[D > 0 ? D : 1] factor = rep_vector(1, D > 0 ? D : 1);
  if (D > 0) factor = exp(basis * unit_factor * sd_factor[1]);
  own[1] = threshold;
  if (S > 0) {
    gap = unit_gap * sd_gap[1];
    for (s in 1:S) {
      own[s][pivot] = threshold[pivot];
      for (k in (pivot + 1):(K - 1))
        own[s][k] = own[s][k - 1] + (threshold[k] - threshold[k - 1]) * exp(gap[s, k - 1]);
      for (back in 1:(pivot - 1)) {
        int k = pivot - back;
        own[s][k] = own[s][k + 1] - (threshold[k + 1] - threshold[k]) * exp(gap[s, k]);
      }
    }
  }
}
model {
  threshold ~ normal(0, 5);
  sd_term ~ normal(0, 1.5);
  for (t in 1:T) segment(effect, start[t] + 1, levels[t]) ~ normal(0, sd_term[t]);
  population ~ normal(0, 1);
  sd_gap ~ normal(0, 0.5);
  to_vector(unit_gap) ~ normal(0, 1);
  sd_factor ~ normal(0, 0.5);
  unit_factor ~ normal(0, 1);
  for (n in 1:N) {
    int s = S > 0 ? set_of[n] : 1;
    real a = factor[D > 0 ? factor_of[n] : 1];
    real eta = F > 0 ? population[fixed[n]] : 0;
    for (t in 1:T) eta += effect[start[t] + term[n, t]];
    if (probit) target += ordered_probit_lpmf(level[n] | a * eta, a * own[s]);
    else target += ordered_logistic_lpmf(level[n] | a * eta, a * own[s]);
  }
}
