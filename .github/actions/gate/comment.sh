#!/usr/bin/env bash
# Writes the answer as a comment on the pull request, in place of that of the run before. It is
# found by its mark: the last comment of this account may be that of another workflow.
set -euo pipefail

mark="$(head -n 1 "$MARKDOWN")"
own=".comments[] | select(.viewerDidAuthor and (.body | startswith(\"$mark\"))) | .url"
url="$(gh pr view "$PULL_REQUEST" --repo "$REPOSITORY" --json comments --jq "$own" | tail -n 1)"
if [ -n "$url" ]; then
  gh api --method PATCH "repos/$REPOSITORY/issues/comments/${url##*-}" -F "body=@$MARKDOWN" --silent
else
  gh pr comment "$PULL_REQUEST" --repo "$REPOSITORY" --body-file "$MARKDOWN"
fi
