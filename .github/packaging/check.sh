#!/usr/bin/env bash
# Tries what a directory holds for this machine: check.sh DIRECTORY. The wheel and the npm packages are
# installed from their files, without a registry, and run `boxproof doctor`; the program runs the
# quick set in a root that has nothing but a shell and /proc.
set -euo pipefail
directory=$(realpath "$1")
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
target=$(uname -m)-unknown-linux-musl
archive=$(realpath "$directory/boxproof-$target"-v*.tgz)
# Not below /tmp, which sandboxes replace.
work=$(mktemp -d "$directory/check.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "== the archive"
(cd "$directory" && sha256sum -c "$(basename "$archive").sha256")
tar -xzf "$archive" -C "$work" --strip-components 1
python3 "$here/binary.py" "$target" "$work/boxproof"

echo "== the wheel"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps \
    "$directory"/boxproof-*-py3-none-manylinux*"_$(uname -m)".whl
cmp "$work/boxproof" "$work/venv/bin/boxproof"
"$work/venv/bin/boxproof" doctor | head -n 3

echo "== the npm packages"
mkdir "$work/npm"
npm install --prefix "$work/npm" --offline --no-audit --no-fund --loglevel error \
    "$directory/npm-boxproof-linux-$(node -p process.arch)"-*.tgz "$directory"/npm-boxproof-[0-9]*.tgz
"$work/npm/node_modules/.bin/boxproof" doctor | head -n 3
code=0
"$work/npm/node_modules/.bin/boxproof" no-such-verb 2>"$work/told" || code=$?
[ "$code" = 2 ] || { cat "$work/told"; echo "an error became exit code $code"; exit 1; }

echo "== the quick set in an empty root"
"$here/empty-root.sh" "$work/boxproof"
