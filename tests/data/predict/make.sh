#!/usr/bin/env bash
# Compiles known.cu and beyond.cu to PTX: tests/data/predict/make.sh OUTPUT-FOLDER. Needs nvcc.
set -eu
out=$(readlink -f "$1")
cd "$(dirname "$0")"
PATH=$PATH:/usr/local/cuda/bin
for name in known beyond; do
  nvcc -std=c++17 -arch=sm_90 -ptx "$name.cu" -o "$out/$name.ptx"
done
