#!/usr/bin/env bash
# Prints runtime/names.def: the names that the toolkit's libcudart exports.
#   tools/cudart_names.sh [/usr/local/cuda/lib64/libcudart.so.13] >runtime/names.def
set -eu
library=${1-/usr/local/cuda/lib64/libcudart.so.13}
[ -e "$library" ] || {
  echo "cudart_names.sh: no $library" >&2
  exit 2
}
echo '/* Names that libcudart exports; made by tools/cudart_names.sh. */'
nm -D --defined-only "$library" | awk '{ print $3 }' | sed 's/@.*//' | grep -E '^(__)?cuda' |
  LC_ALL=C sort -u | sed 's/.*/X(&)/'
