#!/usr/bin/env bash
# Half a warp at an instruction whose mask names all of it: exec of build folder $1, also with --gpu, finds a deadlock where an
# H200 hung, and none where it did not; there results are equal. Skipped without nvcc.
cd "$(dirname "$0")/../.." || exit 2
[ -e "$1/runtime/libcudart.so.13" ] || { echo "no $1/runtime/libcudart.so.13" && exit 77; }
tests/gpu/split_warps.py "$(readlink -f "$1")" --exec || exit
exec tests/gpu/split_warps.py "$(readlink -f "$1")" --sim
