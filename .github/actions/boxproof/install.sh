#!/usr/bin/env bash
# Gets the program that the action runs, and names it in the output `program`: the archive of a
# release, verified before anything of it is executed; a build of this tree only where there is no
# such archive. What does not verify is an error and never a reason to build.
set -euo pipefail

fail() {
    echo "::error title=boxproof::$*"
    exit 2
}

tree=$(cd "$GITHUB_ACTION_PATH/../../.." && pwd)
own=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$tree/Cargo.toml" | head -n 1)
directory=$(mktemp -d "$RUNNER_TEMP/boxproof-program.XXXXXX")

use() {
    local said
    said=$("$1" --version) || fail "$1 does not start"
    echo "$said: $1"
    echo "program=$1" >>"$GITHUB_OUTPUT"
    exit 0
}

build() {
    command -v cargo >/dev/null || fail "cargo is not installed, and there is no archive: $1"
    cargo build --release --locked --manifest-path "$tree/Cargo.toml" --target-dir "$directory" ||
        fail "the build failed"
    use "$directory/release/boxproof"
}

target() {
    case "$(uname -s)-$(uname -m)" in
        Linux-x86_64) echo x86_64-unknown-linux-musl ;;
        Linux-aarch64) echo aarch64-unknown-linux-musl ;;
        Darwin-arm64) echo aarch64-apple-darwin ;;
        Darwin-x86_64) echo x86_64-apple-darwin ;;
        *) uname -sm ;;
    esac
}

sha256() {
    if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

verify() {
    local file=$1 pinned=$2 found
    found=$(sha256 "$file")
    if [ -n "$pinned" ]; then
        [ "$found" = "$pinned" ] || fail "the archive is not the pinned one: its SHA-256 is $found"
        return
    fi
    command -v gh >/dev/null ||
        fail "gh is not installed, so that nothing vouches for the archive: pin it by version: $version@sha256:$found"
    gh attestation verify "$file" --repo boxproof/boxproof --source-ref "refs/tags/v$version" \
        --signer-workflow boxproof/boxproof/.github/workflows/release.yml ||
        fail "the archive carries no attestation of release v$version"
}

# shellcheck disable=SC2153 # an input of the action
case $VERSION in
    source) build "version: source asks for a build" ;;
    */*)
        [ -x "$VERSION" ] || fail "version: $VERSION is no program"
        use "$(cd "$(dirname "$VERSION")" && pwd)/$(basename "$VERSION")"
        ;;
esac

pinned=
version=${VERSION:-$own}
case $version in
    *@sha256:*)
        pinned=${version#*@sha256:} version=${version%%@*}
        [[ $pinned =~ ^[0-9a-f]{64}$ ]] || fail "version: write X.Y.Z@sha256: and 64 digits of a-f and 0-9"
        ;;
esac
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
    fail "version: write X.Y.Z, X.Y.Z@sha256:DIGEST, source, or the path of a program"

name=boxproof-$(target)-v$version
url=${BOXPROOF_RELEASES:-https://github.com/boxproof/boxproof/releases/download}/v$version/$name.tgz
if ! curl --fail --silent --show-error --location --retry 3 --proto '=https,file' \
    --output "$directory/archive.tgz" "$url"; then
    [ "$version" = "$own" ] || fail "$url cannot be had, and this tree is $own"
    [ -z "$pinned" ] || fail "$url cannot be had, and a build would not be what is pinned"
    echo "::warning title=boxproof::$url cannot be had: boxproof is built, which takes minutes"
    build "$url cannot be had"
fi
verify "$directory/archive.tgz" "$pinned"
tar -xzOf "$directory/archive.tgz" "$name/boxproof" >"$directory/boxproof" || fail "the archive has no $name/boxproof"
chmod 0755 "$directory/boxproof"
[ "$("$directory/boxproof" --version)" = "boxproof $version" ] || fail "the archive holds another version"
use "$directory/boxproof"
