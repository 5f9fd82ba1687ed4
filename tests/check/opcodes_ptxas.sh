#!/usr/bin/env bash
# ptxas accepts every kernel that check_emu of build folder $1 compares the emulator on. Skipped where
# there is no ptxas.
set -u
build=$(readlink -f "$1")
cd "$(dirname "$0")/../.." || exit 2
PATH=$PATH:/usr/local/cuda/bin
command -v ptxas >/dev/null || { echo 'no ptxas' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/tests/check_emu" --write "$work" || exit 1
faults=0
for file in "$work"/*.ptx; do
  ptxas -w -arch=sm_90 "$file" -o "$work/out.cubin" || faults=1
done
exit $faults
