#!/usr/bin/env bash
# Builds the program by the profile `dist` and packs it as `cargo binstall` looks for it, with its
# checksum and its list of components: archive.sh DIRECTORY [TARGET…], by default for every target that
# this host can link. Linux links all four; it needs rustup, the host's C compiler, and Python with pip,
# by which Zig comes into `zig` below the target directory.
set -euo pipefail
mkdir -p "$1"
directory=$(cd "$1" && pwd)
shift
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
mkdir -p "${CARGO_TARGET_DIR:-target}"
built=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
zig=$built/zig
# The oldest macOS that is still served.
export MACOSX_DEPLOYMENT_TARGET=${MACOSX_DEPLOYMENT_TARGET:-14.0}
staged=$(mktemp -d)
trap 'rm -rf "$staged"' EXIT

# Installs Zig, which stands in for the C compilers of Linux and for Apple's linker and headers.
install_zig() {
    local tools=.github/packaging/requirements.txt
    ! cmp -s "$tools" "$zig/requirements.txt" || return 0
    python3 -m venv --clear "$zig"
    "$zig/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$tools"
    cp "$tools" "$zig/requirements.txt"
}

# Writes a C compiler for the Linux of TARGET, and prints its path. Build scripts name targets as Rust
# does, which Zig does not know.
linux_compiler() {
    local path=$zig/bin/cc-$1
    cat >"$path" <<EOF
#!/bin/sh
for word; do
    shift
    case \$word in --target=*) ;; *) set -- "\$@" "\$word" ;; esac
done
exec "$zig/bin/python" -m ziglang cc -target ${1/-unknown-/-} "\$@"
EOF
    chmod +x "$path"
    echo "$path"
}

# The standard library brings musl and `rust-lld` links it; Zig compiles the C of the crate `ring`. A
# program at a fixed address starts without relocations, which are a tenth of the CPU time for a trivial
# command; equal functions are there once.
build_linux() {
    local target=$1 name=${1//-/_} compiler
    install_zig
    compiler=$(linux_compiler "$target")
    # A panic aborts (the profile says so), and nothing else reads unwind tables: 2 MB of the program.
    env "CC_$name=$compiler" "CARGO_TARGET_${name^^}_LINKER=rust-lld" \
        RUSTFLAGS="${RUSTFLAGS-} -C relocation-model=static -C link-arg=--icf=all" \
        cargo rustc --profile dist --locked --package boxproof --bin boxproof --target "$target" -- \
        -C link-arg=--no-eh-frame-hdr -C "link-arg=$PWD/.github/packaging/no-unwind-tables.ld"
}

build_macos() {
    local build=(cargo build)
    if [ "$(uname -s)" = Linux ]; then
        install_zig
        PATH=$zig/bin:$PATH
        build=(cargo-zigbuild zigbuild)
    fi
    "${build[@]}" --profile dist --locked --package boxproof --target "$1"
}

pack() {
    local target=$1 name=boxproof-$1-v$version program=$built/$1/dist/boxproof size
    python3 .github/packaging/binary.py "$target" "$program"
    size=$(wc -c <"$program")
    echo "$name/boxproof: $size bytes"
    [[ $target != *-musl || $size -le 15000000 ]] || { echo "the program is larger than 15 MB"; exit 1; }
    [ "$size" -le $((24 << 20)) ] || { echo "the program is larger than 24 MiB"; exit 1; }
    mkdir "$staged/$name"
    cp "$program" README.md LICENSE-APACHE LICENSE-MIT CHANGELOG.md "$staged/$name/"
    cargo metadata --format-version 1 --locked --filter-platform "$target" |
        python3 .github/packaging/sbom.py >"$directory/$name.cdx.json"
    tar -C "$staged" -czf "$directory/$name.tgz" "$name"
    (cd "$directory" && if command -v sha256sum >/dev/null; then sha256sum "$name.tgz"; else shasum -a 256 "$name.tgz"; fi >"$name.tgz.sha256")
}

if [ $# = 0 ]; then
    set -- aarch64-apple-darwin x86_64-apple-darwin
    [ "$(uname -s)" != Linux ] || set -- x86_64-unknown-linux-musl aarch64-unknown-linux-musl "$@"
fi
for target; do
    rustup target add "$target"
    case "$target" in
    *-linux-musl) build_linux "$target" ;;
    *-apple-darwin) build_macos "$target" ;;
    *) echo "$target: no target of releases" && exit 2 ;;
    esac
    pack "$target"
done
