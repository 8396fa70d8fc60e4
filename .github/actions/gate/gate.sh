#!/usr/bin/env bash
# Measures the candidate and compares it with its reference. The verdict becomes outputs of the
# step, so that the comment is written before the job fails; any other error fails here.
set -euo pipefail

folder="${RUNNER_TEMP:-$(mktemp -d)}/sharpbayes-gate"
mkdir -p "$folder"
results="$folder/candidate.results.nc"
options=()
[ -z "${WEIGHTS:-}" ] || options+=(--weights "$WEIGHTS")
[ -z "${MODEL:-}" ] || options+=(--model "$MODEL")
[ -z "${AGAINST_MODEL:-}" ] || options+=(--against-model "$AGAINST_MODEL")

python -m sharpbayes measure "$STUDY" --out "$results" --quiet
status=0
python -m sharpbayes gate "$results" --against "$AGAINST" "${options[@]}" --quiet \
  --markdown "$folder/gate.md" --junit "$folder/gate.xml" || status=$?
case "$status" in
  0) verdict="at least as safe" ;;
  6) verdict="not as safe" ;;
  7) verdict="not decided" ;;
  *) exit "$status" ;;
esac
cat "$folder/gate.md" >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
{
  echo "status=$status"
  echo "verdict=$verdict"
  echo "results=$results"
  echo "markdown=$folder/gate.md"
  echo "junit=$folder/gate.xml"
} >> "${GITHUB_OUTPUT:-/dev/stdout}"
