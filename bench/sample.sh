#!/usr/bin/env bash
# How much sooner exec --sample has the table of bench/sample.cu, and what it says: bench/sample.sh BUILD-FOLDER [SCALE]
# Seconds are of CPU time, so that other programs on the machine do not count. Needs nvcc.
set -eu
cd "$(dirname "$0")/.."
build=$(readlink -f "$1")
scale=${2:-1}
PATH=$PATH:/usr/local/cuda/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvcc -arch=sm_80 -lineinfo bench/sample.cu -o "$work/app"
TIMEFORMAT='%U %S'
for options in "" "--sample 10%" "--sample auto" "--sample 10% --skip-rest" "--sample auto --skip-rest"; do
  read -ra list <<<"$options"
  { time "$build/bankfold" exec --every-launch --json "${list[@]}" "$work/app" "$scale" >"$work/out" 2>/dev/null; } 2>"$work/time"
  printf '%-26s %6.2f s' "$options" "$(awk '{ print $1 + $2 }' "$work/time")"
  python3 - "$work/out" <<'END'
import json, sys
for kernel in json.load(open(sys.argv[1]))["kernels"]:
    sampled = kernel.get("sampled")
    bounds = f" ({sampled['conflicts_low']} to {sampled['conflicts_high']})" if sampled else ""
    print(f"  {kernel['name'].split('(')[0]} {kernel['conflicts']}{bounds}", end="")
print()
END
done
