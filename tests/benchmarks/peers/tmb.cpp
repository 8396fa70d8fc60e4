// Cumulative logits with two crossed effects. Thresholds grow: a first one and the logs of the gaps.
#include <TMB.hpp>

template<class Type>
Type objective_function<Type>::operator() () {
  DATA_IVECTOR(level);
  DATA_IVECTOR(item);
  DATA_IVECTOR(rater);
  DATA_MATRIX(design);
  PARAMETER(first);
  PARAMETER_VECTOR(log_gap);
  PARAMETER_VECTOR(log_sd);
  PARAMETER_VECTOR(slope);
  PARAMETER_VECTOR(item_effect);
  PARAMETER_VECTOR(rater_effect);

  vector<Type> sd = exp(log_sd);
  vector<Type> threshold(log_gap.size() + 1);
  threshold(0) = first;
  for (int k = 0; k < log_gap.size(); k++) threshold(k + 1) = threshold(k) + exp(log_gap(k));
  vector<Type> eta = design * slope;

  Type loss = -dnorm(item_effect, Type(0), sd(0), true).sum();
  loss -= dnorm(rater_effect, Type(0), sd(1), true).sum();
  const int highest = threshold.size();
  for (int n = 0; n < level.size(); n++) {
    Type location = eta(n) + item_effect(item(n)) + rater_effect(rater(n));
    if (level(n) == 0) {
      loss += logspace_add(Type(0), location - threshold(0));
    } else if (level(n) == highest) {
      loss += logspace_add(Type(0), threshold(highest - 1) - location);
    } else {
      Type upper = threshold(level(n)) - location, lower = threshold(level(n) - 1) - location;
      // log(F(upper) - F(lower)) without a difference of nearly equal numbers.
      loss += logspace_add(Type(0), -upper) + logspace_add(Type(0), lower);
      loss -= log(Type(1) - exp(lower - upper));
    }
  }
  ADREPORT(threshold);
  ADREPORT(slope);
  ADREPORT(sd);
  return loss;
}
