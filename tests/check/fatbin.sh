#!/usr/bin/env bash
# The program of build folder $1 reads what nvcc writes: the files of tests/data/fatbin made anew hold
# the same PTX, and a larger program's PTX is the same however it is compressed. Skipped without the
# nvcc that made them.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
if ! nvcc --version 2>/dev/null | grep -q 'release 13\.0'; then
  echo 'no nvcc 13.0'
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0

# all_ptx FILE FOLDER: every PTX image of FILE.
all_ptx() { "$build/bankfold" ptx extract "$1" --all --output "$2/" >/dev/null 2>&1; }

tests/data/fatbin/make.sh "$work" || exit 1
mkdir "$work/made" "$work/kept"
for made in "$work"/*.*; do
  name=$(basename "$made")
  all_ptx "$made" "$work/made/$name"
  all_ptx "tests/data/fatbin/$name" "$work/kept/$name"
done
# Text that nvcc writes to a file starts with the versions of its parts.
diff -r -I '^//' "$work/made" "$work/kept" || faults=1
[ "$(find "$work/made" -type f | wc -l)" = 16 ] || {
  echo 'not all images were found'
  faults=1
}

for mode in none speed balance size; do
  nvcc -arch=sm_90 --fatbin -compress-mode=$mode tests/gpu/counters.cu -o "$work/$mode.fatbin" &&
    "$build/bankfold" ptx show "$work/$mode.fatbin" >"$work/$mode.text" || faults=1
  cmp "$work/none.text" "$work/$mode.text" || faults=1
done
# ptxas accepts it, where it is installed.
if command -v ptxas >/dev/null; then
  ptxas -arch=sm_90 "$work/none.text" -o "$work/none.cubin" || faults=1
fi
exit $faults
