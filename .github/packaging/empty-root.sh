#!/usr/bin/env bash
# Runs the quick set by PROGRAM in a root without a library: empty-root.sh PROGRAM. The root holds the
# program, busybox as its shell and tools, /proc, the usual devices, and empty directories. Needs root
# and Debian's busybox-static.
set -euo pipefail
program=$(realpath "$1")
root=$(mktemp -d "$(dirname "$program")/root.XXXXXX")
trap 'rm -rf "$root"' EXIT
mkdir "$root"/{bin,dev,etc,old,proc,tmp,work}
cp "$program" "$root/boxproof"
cp "$(command -v busybox)" "$root/bin/busybox"
for tool in $(busybox --list | grep -vx busybox); do ln -sf busybox "$root/bin/$tool"; done
# A mount namespace of its own, so that nothing stays mounted.
unshare --mount --pid --fork sh -euc '
    mount --bind "$1" "$1"
    mount -t proc proc "$1/proc"
    for device in null zero full random urandom tty; do
        touch "$1/dev/$device"
        mount --bind "/dev/$device" "$1/dev/$device"
    done
    mkdir "$1/dev/pts"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
    ln -s pts/ptmx "$1/dev/ptmx"
    ln -s /proc/self/fd "$1/dev/fd"
    mkdir "$1/dev/shm"
    cd "$1"
    pivot_root . old
    exec env -i PATH=/bin HOME=/work /bin/sh -euc "umount -l /old; exec /boxproof run --set quick --failures brief"
' sh "$root"
