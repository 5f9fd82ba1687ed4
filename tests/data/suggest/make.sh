#!/usr/bin/env bash
# Compiles the .cu files of this folder to PTX with line information: tests/data/suggest/make.sh OUTPUT-FOLDER
# Line information names the sources without a folder, and headers of the compiler from its folder.
set -eu
out=$(readlink -f "$1")
cd "$(dirname "$0")"
PATH=$PATH:/usr/local/cuda/bin
for source in tiles.cu shapes.cu; do
  nvcc -arch=compute_90 -lineinfo -ptx "$source" -o "$out/${source%.cu}.ptx"
  sed -i -E '/^[[:space:]]*\.file/ {
      s|"/[^"]*/include/|"cuda/include/|
      s|"/[^"]*/|"|
    }' "$out/${source%.cu}.ptx"
done
