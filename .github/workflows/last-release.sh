#!/usr/bin/env bash
# Puts the program of the last release for TARGET and the release's record of it into DIRECTORY:
# last-release.sh TARGET DIRECTORY. Both must be attested by the release workflow for that tag; before
# they are, nothing is unpacked. Without such a release there is nothing to compare with, which is an
# error.
set -euo pipefail
target=$1 directory=$2
repository=${GITHUB_REPOSITORY:-boxproof/boxproof}

fail() {
    echo "::error title=last release::$*"
    exit 1
}

tag=$(gh release view --repo "$repository" --json tagName --jq .tagName)
archive=boxproof-$target-$tag.tgz record=reference-$target-ordinary.ndjson
mkdir -p "$directory"
fetched=$(mktemp -d "$directory/fetched.XXXXXX")
trap 'rm -rf "$fetched"' EXIT
gh release download "$tag" --repo "$repository" --dir "$fetched" --pattern "$archive" --pattern "$record"
for name in "$archive" "$record"; do
    [ -f "$fetched/$name" ] || fail "release $tag has no $name"
    gh attestation verify "$fetched/$name" --repo "$repository" --source-ref "refs/tags/$tag" \
        --signer-workflow "$repository/.github/workflows/release.yml" ||
        fail "$name carries no attestation of release $tag"
done
tar -xzf "$fetched/$archive" -C "$directory" --strip-components 1
mv "$fetched/$record" "$directory/reference-ordinary.ndjson"
