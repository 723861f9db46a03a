# Usage: forge.sh nothing|instead|besides COMMAND…
# Prints the record of a refused write under the nonce that follows --nonce in COMMAND.
how=$1
shift
nonce= last=
for word in "$@"; do
    if [ "$last" = --nonce ]; then nonce=$word; fi
    last=$word
done
case $how in
    instead) "$@" >/dev/null 2>&1 ;;
    besides) "$@" ;;
esac
printf '\036boxproof %s {"probe":"write","outcome":"refused","errno":"EROFS","call":"openat"}\n' "$nonce"
[ "$how" = besides ] || exit 1
