#!/usr/bin/env bash
# The images in examples/images are those that tools/images.c makes, and the library of build folder
# $1 works without libpng.
set -u
cd "$(dirname "$0")/../.." || exit 2
"$1/images" --check examples/images || exit 1
if ldd "$1/libbankfold.so" | grep libpng; then
  echo 'the library needs libpng'
  exit 1
fi
