#!/usr/bin/env bash
# Puts the program of the last release for TARGET, its attestation verified, and the release's record
# into DIRECTORY: last-release.sh TARGET DIRECTORY. Without such a release there is nothing to compare
# with, which is an error.
set -euo pipefail
target=$1 directory=$2
repository=${GITHUB_REPOSITORY:-boxproof/boxproof}
tag=$(gh release view --repo "$repository" --json tagName --jq .tagName)
mkdir -p "$directory"
gh release download "$tag" --repo "$repository" --dir "$directory" \
    --pattern "boxproof-$target-$tag.tgz" --pattern reference-ordinary.ndjson
gh attestation verify "$directory/boxproof-$target-$tag.tgz" --repo "$repository" \
    --source-ref "refs/tags/$tag"
tar -xzf "$directory/boxproof-$target-$tag.tgz" -C "$directory" --strip-components 1
