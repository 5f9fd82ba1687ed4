#!/usr/bin/env bash
# GFLOP per second of a core of matrix products on the emulator (bench/matrix.cu), on one thread; a JSON line for each.
#   bench/matrix.sh build [NAME...]
set -u
cd "$(dirname "$0")/.." || exit 2
build=$(readlink -f "$1")
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvcc -std=c++17 -O3 -cudart shared -gencode arch=compute_90a,code=compute_90a -o "$work/matrix" bench/matrix.cu || exit 1
"$build/bankfold" exec --quiet --threads 1 "$work/matrix" "${@:2}"
