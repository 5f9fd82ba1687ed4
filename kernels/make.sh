#!/usr/bin/env bash
# Compiles kernels/X/X.cu, reproduce/X.cu and reproduce/FOLDER/X.cu to OUTPUT-FOLDER/X.ptx:
# kernels/make.sh OUTPUT-FOLDER [X...]
# kernels/make.sh --here [X...] writes X.ptx beside X.cu, the files that are committed.
# Without X all of them. Needs nvcc. Line information names sources from the project's root, and
# headers of the compiler from its folder. nvcc makes names from the folder it works in too: that is
# always the same one, so that the result is the same everywhere.
set -eu
out=$1
shift
[ "$out" = --here ] || out=$(readlink -f "$out")
cd "$(dirname "$0")/.."
root=$PWD
PATH=$PATH:/usr/local/cuda/bin
shopt -s nullglob

work=/tmp/bankfold-kernels
mkdir -p "$work"
exec 9<"$work"
flock 9 # one at a time
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
cp -r kernels reproduce include "$work"
mkdir "$work/gpu"
cp -r gpu/vote "$work/gpu"
cd "$work"
for source in kernels/*/*.cu reproduce/*.cu reproduce/*/*.cu; do
  name=$(basename "$source" .cu)
  case " $* " in
  '  ' | *" $name "*) ;;
  *) continue ;;
  esac
  target=$out/$name.ptx
  [ "$out" = --here ] && target=$root/${source%.cu}.ptx
  nvcc -std=c++17 -arch=compute_80 -Iinclude -lineinfo -ptx "$source" -o made.ptx
  sed -E '/^[[:space:]]*\.file/ {
      s|"[^"]*/(kernels\|reproduce\|gpu)/|"\1/|
      s|"/[^"]*/include/|"cuda/include/|
    }' made.ptx >"$target"
done
