#!/usr/bin/env bash
# Makes programs for tests where there is no nvcc, from tests/programs: make.sh FOLDER
# Line information holds the path of the source, so it is compiled in a place of fixed name.
set -eu
folder=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
place=/tmp/bankfold-programs
mkdir "$place" || exit
trap 'rm -rf "$place"' EXIT
cp "$here"/../../programs/{transpose.cu,hashes.cu,instances.cu,sampled.cu,check.h} "$here/../../../include/bankfold_cuda.h" "$place"
cd "$place"
for program in transpose hashes instances sampled; do
  nvcc -cudart shared -gencode=arch=compute_90,code=compute_90 -lineinfo -I. $program.cu \
    -Xlinker -s,--build-id=none -o "$folder/$program"
done
