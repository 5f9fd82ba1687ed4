#!/usr/bin/env bash
# What build folder $1 prints for the PTX in tests/data/ptx, and for PTX that the compilers here make
# of the same sources, is accepted by ptxas. Skipped where there is no ptxas.
set -u
build=$(readlink -f "$1")
cd "$(dirname "$0")/../.." || exit 2
PATH=$PATH:/usr/local/cuda/bin
command -v ptxas >/dev/null || { echo 'no ptxas' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0

# assemble FILE...: printed by the library, then assembled for the target it names.
assemble() {
  local file arch
  mkdir -p "$work/printed"
  rm -f "$work/printed"/*
  "$build/tests/check_ptx" --write "$work/printed" "$@" || faults=1
  for file in "$work/printed"/*.ptx; do
    arch=$(sed -n 's/^\.target \(sm_[0-9a-z]*\).*/\1/p' "$file")
    ptxas -w -arch="$arch" "$file" -o "$work/out.cubin" || {
      echo "ptxas refuses what was printed for $(basename "$file")"
      faults=1
    }
  done
}

assemble tests/data/ptx/*.ptx
if command -v nvcc >/dev/null; then
  mkdir "$work/made"
  tests/data/ptx/make.sh "$work/made" || faults=1
  assemble "$work/made"/*.ptx
fi
exit $faults
