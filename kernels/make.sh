#!/usr/bin/env bash
# Compiles kernels/X/X.cu to OUTPUT-FOLDER/X.ptx: kernels/make.sh OUTPUT-FOLDER [X...]
# kernels/make.sh --here [X...] writes kernels/X/X.ptx, the files that are committed.
# Without X all folders. Needs nvcc. Line information names sources from the project's root, and
# headers of the compiler from its folder, so that the result is the same everywhere.
set -eu
out=$1
shift
[ "$out" = --here ] || out=$(readlink -f "$out")
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/local/cuda/bin
[ $# -gt 0 ] || set -- kernels/*/
for name in "$@"; do
  name=$(basename "$name")
  target=$out/$name.ptx
  [ "$out" = --here ] && target=kernels/$name/$name.ptx
  nvcc -std=c++17 -arch=compute_80 -lineinfo -ptx "kernels/$name/$name.cu" -o "$target.tmp.ptx"
  sed -E '/^[[:space:]]*\.file/ {
      s|"[^"]*/kernels/|"kernels/|
      s|"/[^"]*/include/|"cuda/include/|
    }' "$target.tmp.ptx" >"$target"
  rm "$target.tmp.ptx"
done
