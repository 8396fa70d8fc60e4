#!/usr/bin/env bash
# Results of every shipped study and of six real ones, to be compared with those of another version:
#   FIT_KEY=model SCHEMA=1 renamed.sh OLD   in a checkout of commit fe6693c, the last one with the old names
#   renamed.sh NEW                 in a checkout of today; then python -m tests.references.renamed OLD NEW
# It takes about 15 minutes of two cores.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
key=${FIT_KEY:-fit}
command() { uv run sharpbayes "$@" --quiet; }
real=tests/studies

command measure quickstart --out "$folder/measure_quickstart.nc"
command measure quickstart_crowd --out "$folder/measure_quickstart_crowd.nc"
command fit quickstart --out "$folder/fit_quickstart.nc"
command fit quickstart --set "panel.$key=judge_severity" --out "$folder/fit_quickstart_judge_severity.nc"
command fit quickstart_crowd --out "$folder/fit_quickstart_crowd.nc"
command fit quickstart_crowd --set "crowd.$key=rater_thresholds" \
  --out "$folder/fit_quickstart_crowd_rater_thresholds.nc"
command fit quickstart_crowd --set "crowd.$key=crowd_and_experts" --out "$folder/fit_quickstart_crowd_experts.nc"
command weigh "$folder/fit_quickstart.nc" --weights sharp --weights precautionary --out "$folder/weigh_quickstart.nc"
command weigh "$folder/fit_quickstart_crowd.nc" --weights population_us --out "$folder/weigh_quickstart_crowd.nc"
command compare "$folder/fit_quickstart.nc" "$folder/fit_quickstart_judge_severity.nc" \
  --out "$folder/compare_quickstart.nc"
command compare "$folder/fit_quickstart_crowd.nc" "$folder/fit_quickstart_crowd_rater_thresholds.nc" \
  --out "$folder/compare_quickstart_crowd.nc"
for study in convabuse nibbler xstest_judges; do
  command measure "$real/$study.toml" --out "$folder/measure_$study.nc"
done
for study in pluriharms dices350 xstest_people; do
  command fit "$real/$study.toml" --out "$folder/fit_$study.nc"
done
command fit "$real/dices350.toml" --set "crowd.$key=crowd_and_labels" --out "$folder/fit_dices350_labels.nc"
command compare "$folder/fit_dices350.nc" "$folder/fit_dices350_labels.nc" --out "$folder/compare_dices350.nc"
cat >"$folder/refusal.toml" <<END
schema = "sharpbayes/weights/${SCHEMA:-2}"
title = "Refusal alone"
rationale = "One dimension."
[tail]
alpha = 0.9
[policy]
refusal = 1.0
END
command weigh "$folder/fit_xstest_people.nc" --weights "$folder/refusal.toml" --out "$folder/weigh_xstest_people.nc"
for study in quickstart quickstart_crowd "$real/dices350.toml" "$real/pluriharms.toml"; do
  name=$(basename "$study" .toml)
  command calibrate "$study" --simulations 20 --out "$folder/calibrate_$name.nc"
done
command calibrate "$real/xstest_people.toml" --set sampler.draws=1000 --simulations 20 \
  --out "$folder/calibrate_xstest_people.nc"
