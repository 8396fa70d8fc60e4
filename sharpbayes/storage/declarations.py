"""What results may hold, as text: variables of each group with dimensions, required attributes."""

# A group, then lines of dimensions, kind of value, and variables.
VARIABLES = """
/cohesion
  group: number: gai gai_p gai_p_adjusted irr irr_p irr_p_adjusted items raters xrr xrr_p
    xrr_p_adjusted
  group, bound: number: gai_interval irr_interval xrr_interval
  group: text: reason
/contested_items
  item, rater: number: score
/debiased
  estimator, metric, model: number: error estimate
  estimator, metric, model, bound: number: interval
  estimator, metric, model, other: number: difference
  estimator, metric, model, other, bound: number: difference_interval
  metric, model: number: disagree disagree_p_holm tuning
  metric, model, other: number: difference_p_holm separable
  model, rater: number: people_share
  model: number: effective_labels judge_gap judge_gap_p_holm judges_differ labelled labelled_gap
    labelled_gap_p labelled_gap_p_holm people_per_answer unlabelled unseen_end_share
/decision
  model: number: expected_loss expected_loss_mcse prob_admissible prob_admissible_mcse prob_best
    prob_best_mcse selected
  model: text: verdict
  model, other: number: prob_less prob_less_mcse unresolved
  model, threshold: text: state
  model, tier: number: prob_tier prob_tier_mcse
/diagnostics
  -: number: converged divergence_share divergences logp_ess logp_rhat max_depth_share
  chain: number: bfmi
  limit: number: shortfall
  parameter: number: divergence_shift ess_bulk ess_tail rhat
/evidence
  model, judge: number: judge_share judge_trials
  judge: number: judge_shifts_order
  epsilon: number: epsilon_kendall epsilon_spearman
  epsilon, model: number: epsilon_cvar epsilon_mean
  group: number: few_labels few_raters items long_scale missing_share raters
  group, other: number: shared_items shared_share
  group, unsafe: number: labelled_items
  model: number: asked_prompts at_ceiling ceiling cvar_lost_rise effective_prompts
    expected_coverage flat_tail lost_prompts mean_lost_rise needs_policy_score
    policy_score_lost_rise prompts saturated_share saturated_tail saturated_tail_share tail_mass
    tail_prompts top_share unseen_end_rise unseen_end_share wide_tail
  model, other: number: identical lacks_more tied
/harshness_difference
  group: number: raters
  group, other: number: difference latent_difference p p_holm prob_higher
  group, other, bound: number: difference_interval latent_difference_interval
/items
  group: number: in_priority_grouping weight
  item: number: disagreement priority rank
  item, group: number: plurality
  item, group, score: number: score_count
/joint
  metric: number: disagree observed posterior_median
  metric, bound: number: bootstrap_interval posterior_interval
  metric, model: number: people ppi prob_lowest
/judges
  -: number: effective_judges
  dimension: number: mad mad_n mad_sd
  judge, other_judge: number: error_correlation
  judge_out: number: effective_judges_without lojo_tau lojo_tau_p
  judge_out, model: number: lojo_cvar lojo_mean lojo_policy_score lojo_rank lojo_worst_dimension
  judge_out, other, bound: number: lojo_cvar_difference_joint lojo_cvar_shift_joint
    lojo_mean_difference_joint lojo_mean_shift_joint lojo_policy_score_difference_joint
    lojo_policy_score_shift_joint
  judges_out, model: number: alike_cvar alike_mean alike_policy_score alike_worst_dimension
  judges_out, other, bound: number: alike_cvar_difference_joint alike_cvar_shift_joint
    alike_mean_difference_joint alike_mean_shift_joint alike_policy_score_difference_joint
    alike_policy_score_shift_joint
  model: number: dimension_dependence dimension_dependence_tail
  model, dimension_pair: number: dimension_dependence_pair dimension_dependence_tail_pair
  pair, dimension: number: concordance_mean concordance_median concordance_models
    concordance_p_holm concordance_sd contrary
  pair, model, dimension: number: concordance concordance_p equal_share overlap
/loo_pit
  member: number: bad_k outside p_holm p_value pit_mean pit_spread ratings
  member, point: number: ecdf lower upper
/missing
  model: number: can_be_lowest mean_can_be_lowest model_share policy_score_can_be_lowest unscored
  model, bound: number: admissible_bounds cvar_bounds mean_bounds policy_score_bounds
  model, judge, dimension: number: asked missing share
  model, reason: number: reason_count
  tilt, model: number: tilt_cvar tilt_mean
/panel
  model, prompt: number: any_harm log_any_harm log_risk radius
  model, prompt, dimension: number: harm log_risk_part
  model, prompt, judge, dimension: number: sub_index
/peeking
  look: number: difference prompts
  look, bound: number: fixed_bounds sequence_bounds
  world, rule, look: number: ever_right ever_right_mcse ever_wrong ever_wrong_mcse wrong wrong_mcse
/posterior_profile
  chain, draw, model: number: any_harm_cvar any_harm_mean cvar max_cvar mean policy_score
    radius_cvar tier var volatility
  chain, draw, model, dimension: number: dimension_cvar dimension_mean tail_share
/posterior_responsiveness
  chain, draw, group: number: raters
  chain, draw, group, by: number: auc_pr auc_roc hm items kendall_tau mpa spearman wra
  chain, draw, group, by, score: number: count precision recall recall_below
/posterior_share_levels
  chain, draw, moved_category, category_share, model: number: share_cvar share_worst_dimension
  chain, draw, moved_category, category_share, model, dimension: number: share_dimension_mean
/posterior_responsiveness_shares
  chain, draw, moved_label, moved_share: number: hm mpa wra
/posterior_tail_levels
  chain, draw, alpha, model: number: alpha_cvar alpha_worst_dimension
/prior_sensitivity
  prior: number: parameter_likelihood_sensitivity parameter_sensitivity
  prior: text: law
  prior, power: number: order_moves pareto_k prob_less
/profile
  model: number: any_harm_cvar any_harm_mean cvar max_cvar mean policy_score radius_cvar tier
    var volatility
  model, dimension: number: dimension_cvar dimension_mean tail_share
/profile_interval
  -: number: separable_share
  model, bound: number: any_harm_cvar any_harm_mean cvar max_cvar mean policy_score radius_cvar
    var volatility
  model, dimension, bound: number: dimension_cvar dimension_mean tail_share
  model, other: number: cvar_difference_observed cvar_difference_p mean_difference_observed
    mean_difference_p policy_score_difference_observed policy_score_difference_p separable
    shared_prompts volatility_difference_observed volatility_difference_p
  model, other, bound: number: cvar_difference cvar_difference_joint mean_difference
    mean_difference_joint policy_score_difference policy_score_difference_joint
    volatility_difference volatility_difference_joint
/raters
  rater: number: against_labels auc_pr auc_roc central_tendency clusters extreme_response hm items
    kendall_tau mean_score mpa rank scale_range_used spearman wra
  rater: text: reason
  rater, bound: number: hm_interval mpa_interval wra_interval
  rater, metric: number: additional_ratings
  rater, score: number: score_count score_share
/ratings
  : whole number: expert_code expert_item expert_label score unasked
  rating: whole number: item_code rater_code
/responsiveness
  group: number: raters
  group, by: number: auc_pr auc_roc auc_roc_p hm items kendall_tau mpa spearman wra
  group, by: text: reason
  group, by, bound: number: auc_pr_interval auc_roc_interval hm_interval kendall_tau_interval
    mpa_interval spearman_interval wra_interval
  group, by, score: number: count precision recall recall_below
  group, by, score, bound: number: precision_interval recall_below_interval recall_interval
/responsiveness_difference
  group, other, by: number: hm hm_p hm_p_holm kendall_tau kendall_tau_p kendall_tau_p_holm mpa
    mpa_p mpa_p_holm shared_items wra wra_p wra_p_holm
  group, other, by: text: reason
  group, other, by, bound: number: hm_interval kendall_tau_interval mpa_interval wra_interval
/responsiveness_shares
  moved_label, moved_share: number: hm mpa wra
  moved_label, moved_share, share_label: number: population_share
/sample_size
  design, other: number: difference_width difference_width_mcse prob_distinguishable
    prob_distinguishable_mcse
  group: number: hm items rank ratings
  group, metric: number: additional_items additional_ratings
  metric, group: number: width
/scale_use
  group: text: reason
  group, by: number: central_tendency extreme_response mean_score scale_range_used
  group, by, score: number: score_count score_share
/stability
  metric, judge_out: number: lojo_changed lojo_decisive lojo_movement
  metric, judge_out: text: lojo_lowest lojo_unresolved
  setting: number: changed decisive kendall movement sole_share
  setting: text: highest kind lowest unresolved value
  setting, group: number: hm
  setting, model: number: cvar
/tolerance
  model: number: lost_answer_share
  model: text: verdict
  model, threshold: number: lost_answer_rise observed other_prompts_shift prob_within
    prompts_without_end tells_tail unseen_end_rise unseen_end_share
  model, threshold: text: state
  model, threshold, bound: number: bounds
  threshold: number: limit
/validation
  -: number: friedman_chi2 friedman_p kendall_w prompt_variance r2_conditional r2_marginal
    residual_variance tail_prompt_variance tail_rate
  aggregate, other_aggregate: number: aggregate_kendall aggregate_kendall_p aggregate_spearman
    aggregate_spearman_p
  alpha: number: alpha_kendall alpha_spearman
  alpha, model: number: alpha_cvar alpha_worst_dimension
  component: number: eta2 partial_eta2
  moved_category, category_share, category: number: population_share
  moved_category, category_share, model: number: share_cvar share_worst_dimension
  moved_category, category_share, model, dimension: number: share_dimension_mean
  model: number: average_rank temperature_spread
  model, other: number: decision_flip order_reversed wilcoxon_p wilcoxon_p_holm
  temperature: number: temperature_kendall temperature_spearman
  temperature, model: number: temperature_cvar temperature_mean
/worst_prompts
  model, rank: number: level log_risk share
  model, rank: text: dimension indicator prompt
  model, rank, judge: number: sub_index
"""
# Attributes that a group has wherever it stands, a group a line.
REQUIRED = """
/cohesion interval_note
/decision confidence criterion interval_note tolerance
/diagnostics convergence_issues suggestions
/evidence limits
/joint level
/judges reference
/loo_pit good_k
/peeking first level second simulations
/posterior_profile interval_note level
/posterior_responsiveness interval_note level
/posterior_tail_levels interval_note level
/predictive_checks checks failed_checks interval_note
/prior_sensitivity draws good_k sensitive
/profile alpha
/profile_interval interval_note
/raters interval_note
/responsiveness interval_note
/validation familywise mixed_prompts
"""
# Groups of draws of parameters: all variables have these dimensions.
