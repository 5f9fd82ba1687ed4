#!/usr/bin/env bash
# Compiles the .cu files of this folder to PTX: tests/data/ptx/make.sh OUTPUT-FOLDER
# Needs nvcc; clang.cu is compiled where clang is. hand.ptx and hopper.ptx are written by hand.
set -eu
out=$(readlink -f "$1")
cd "$(dirname "$0")"
PATH=$PATH:/usr/local/cuda/bin
for source in *.cu; do
  [ "$source" = clang.cu ] && continue
  for arch in sm_75 sm_90; do
    nvcc -std=c++17 -arch=$arch -ptx "$source" -o "$out/${source%.cu}.$arch.ptx"
  done
done
if command -v clang >/dev/null; then
  clang -x cuda --cuda-device-only --cuda-gpu-arch=sm_75 -O2 -S -nocudalib -nocudainc \
    -Wno-unknown-cuda-version clang.cu -o "$out/clang.sm_75.ptx"
fi

# Debug data holds the folder: always the same one.
work=${TMPDIR:-/tmp}/bankfold-ptx
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
cp debug.cu "$work"
cd "$work"
nvcc -arch=sm_90 -ptx -lineinfo debug.cu -o "$out/debug.lineinfo.ptx"
nvcc -arch=sm_75 -ptx -G debug.cu -o "$out/debug.full.ptx"
