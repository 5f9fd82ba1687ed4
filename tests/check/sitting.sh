#!/usr/bin/env bash
# bench/sitting.sh as far as it can be tried without a GPU: its tables of a recorded measurement, and calls whose time is up.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar xzf bench/results/2026-11-18-h200-whole.tar.gz -C "$work" strangers.json
(cd "$work" && "$OLDPWD/bench/sitting.sh" table .) >"$work/tables" || true # a program of then is slower
grep -q '1\.593 (38) | 1\.242 (33) | 1\.419 (71)' "$work/tables"
for call in 1 2 3; do
  if SITTING_SECONDS=1 bench/sitting.sh "$call" "$work/programs" "$work/out$call" >/dev/null; then
    echo "call $call ends well without having measured"
    exit 1
  fi
  grep -qx 'build: no time left' "$work/out$call/status.txt"
done
status=0
bench/sitting.sh 4 "$work" "$work" 2>"$work/usage" || status=$?
[ $status = 2 ] && grep -q 'sitting.sh prepare' "$work/usage"
