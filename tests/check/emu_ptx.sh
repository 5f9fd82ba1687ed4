#!/usr/bin/env bash
# The PTX in tests/data/emu and bench is what nvcc makes of the sources beside it. Skipped without
# nvcc, and where its version is another one.
set -u
cd "$(dirname "$0")/../.." || exit 2
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo 'no nvcc' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tests/data/emu/make.sh "$work" || exit 1
version() { sed -n 's/^\/\/ Cuda compilation tools, //p' "$1"; }
[ "$(version "$work/core.ptx")" = "$(version tests/data/emu/core.ptx)" ] || { echo "another nvcc than that of tests/data/emu" && exit 77; }
faults=0
for file in tests/data/emu/*.ptx bench/emu.ptx bench/weak.ptx; do
  cmp "$file" "$work/$(basename "$file")" || faults=1
done
exit $faults
