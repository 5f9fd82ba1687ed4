#!/usr/bin/env bash
# Prints stand_ins/NAME.def: the functions that the toolkit's library NAME (cublas, cufft, curand) exports.
#   tools/stand_in_names.sh cublas [/usr/local/cuda/lib64/libcublas.so] >stand_ins/cublas.def
set -eu
library=${2-/usr/local/cuda/lib64/lib$1.so}
[ -e "$library" ] || {
  echo "stand_in_names.sh: no $library" >&2
  exit 2
}
echo "/* Functions that lib$1 exports; made by tools/stand_in_names.sh. */"
nm -D --defined-only "$library" | awk '$2 == "T" { print $3 }' | sed 's/@.*//' | grep "^$1" | LC_ALL=C sort -u |
  sed 's/.*/X(&)/'
