#!/usr/bin/env bash
# Compiles kernels/X/X.cu to OUTPUT-FOLDER/X.ptx: kernels/make.sh OUTPUT-FOLDER [X...]
# kernels/make.sh --here [X...] writes kernels/X/X.ptx, the files that are committed.
# Without X all folders. Needs nvcc. Line information names sources from the project's root, and
# headers of the compiler from its folder. nvcc makes names from the folder it works in too: that is
# always the same one, so that the result is the same everywhere.
set -eu
out=$1
shift
[ "$out" = --here ] || out=$(readlink -f "$out")
cd "$(dirname "$0")/.."
root=$PWD
PATH=$PATH:/usr/local/cuda/bin
[ $# -gt 0 ] || set -- kernels/*/

work=/tmp/bankfold-kernels
mkdir -p "$work"
exec 9<"$work"
flock 9 # one at a time
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
cp -r kernels "$work"
cd "$work"
for name in "$@"; do
  name=$(basename "$name")
  target=$out/$name.ptx
  [ "$out" = --here ] && target=$root/kernels/$name/$name.ptx
  nvcc -std=c++17 -arch=compute_80 -lineinfo -ptx "kernels/$name/$name.cu" -o made.ptx
  sed -E '/^[[:space:]]*\.file/ {
      s|"[^"]*/kernels/|"kernels/|
      s|"/[^"]*/include/|"cuda/include/|
    }' made.ptx >"$target"
done
