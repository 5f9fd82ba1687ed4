#!/usr/bin/env bash
# Compiles the .cu files of this folder, and those of bench, to PTX: tests/data/emu/make.sh OUTPUT-FOLDER
# Debug data holds the folder, so it is always the same one.
set -eu
out=$(readlink -f "$1")
cd "$(dirname "$0")"
PATH=$PATH:/usr/local/cuda/bin
work=${TMPDIR:-/tmp}/bankfold-emu
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
cp ./*.cu ../../../bench/emu.cu ../../../bench/weak.cu "$work"
cd "$work"
for source in *.cu; do
  nvcc -std=c++17 -arch=compute_80 -lineinfo -ptx "$source" -o "$out/${source%.cu}.ptx"
  sed -i 's|^\(.*\.file.*\)"/tmp/bankfold-emu/|\1"|; s|"/usr/.*/include/|"include/|' "$out/${source%.cu}.ptx"
done
