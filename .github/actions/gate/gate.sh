#!/usr/bin/env bash
# Measures the candidate and compares it with its reference. It ends with the status of the gate.
# With VERDICT_LATER=true a verdict ends with 0 and is an output alone, so that the action writes its
# comment before the job fails. With UNDECIDED=pass a release that is not decided passes.
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
[ "${VERDICT_LATER:-}" != true ] || exit 0
[ "$status" != 7 ] || [ "${UNDECIDED:-fail}" != pass ] || exit 0
exit "$status"
