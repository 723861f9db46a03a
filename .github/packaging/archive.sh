#!/usr/bin/env bash
# Builds the program for TARGET by the profile `dist` and packs it as `cargo binstall` looks for it,
# with its checksum and its list of components: archive.sh TARGET DIRECTORY.
set -euo pipefail
target=$1
mkdir -p "$2"
directory=$(cd "$2" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
name=boxproof-$target-v$version

rustup target add "$target"
# The oldest macOS that is still served.
export MACOSX_DEPLOYMENT_TARGET=${MACOSX_DEPLOYMENT_TARGET:-14.0}
build=(cargo build)
case "$(uname -sm) $target" in
# Zig stands in for Apple's linker and headers: pip install ziglang cargo-zigbuild.
Linux*-apple-darwin) build=(cargo-zigbuild zigbuild) ;;
# The C of one crate needs no C library: Debian's gcc-aarch64-linux-gnu compiles it.
"Linux x86_64 aarch64-unknown-linux-musl")
    export CC_aarch64_unknown_linux_musl=aarch64-linux-gnu-gcc
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
    ;;
esac
# A program at a fixed address starts without relocations, which are a tenth of the CPU time for a
# trivial command.
case "$target" in
*-linux-musl) export RUSTFLAGS="${RUSTFLAGS-} -C relocation-model=static" ;;
esac
"${build[@]}" --profile dist --locked --package boxproof --target "$target"
python3 .github/packaging/binary.py "$target" "${CARGO_TARGET_DIR:-target}/$target/dist/boxproof"
staged=$(mktemp -d)
trap 'rm -rf "$staged"' EXIT
mkdir "$staged/$name"
cp "${CARGO_TARGET_DIR:-target}/$target/dist/boxproof" README.md LICENSE-APACHE LICENSE-MIT CHANGELOG.md "$staged/$name/"
size=$(wc -c <"$staged/$name/boxproof")
echo "$name/boxproof: $size bytes"
[ "$size" -le $((24 << 20)) ] || { echo "the program is larger than 24 MiB"; exit 1; }
cargo metadata --format-version 1 --locked --filter-platform "$target" |
    python3 .github/packaging/sbom.py >"$directory/$name.cdx.json"
tar -C "$staged" -czf "$directory/$name.tgz" "$name"
(cd "$directory" && if command -v sha256sum >/dev/null; then sha256sum "$name.tgz"; else shasum -a 256 "$name.tgz"; fi >"$name.tgz.sha256")
