#!/usr/bin/env bash
# The committed PTX of benchmarks and reproductions is what nvcc makes of their sources, and ptxas accepts it.
# Skipped where there is no nvcc, or another version than the PTX was made with.
set -u
cd "$(dirname "$0")/../.." || exit 2
PATH=$PATH:/usr/local/cuda/bin
{ command -v nvcc >/dev/null && command -v ptxas >/dev/null; } || { echo 'no nvcc or no ptxas' && exit 77; }
version=$(nvcc --version | sed -n 's/.*, \(V[0-9.]*\)$/\1/p')
grep -q "$version" kernels/*/*.ptx || { echo "another nvcc than that of kernels/" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
kernels/make.sh "$work" || exit 1
for made in "$work"/*.ptx; do
  name=$(basename "$made" .ptx)
  cmp "$made" "$(ls kernels/"$name/$name".ptx reproduce/{,*/}"$name".ptx 2>/dev/null)" || faults=1
  ptxas -arch=sm_80 "$made" -o "$work/out.cubin" || faults=1
done
exit $faults
