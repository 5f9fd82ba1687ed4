#!/usr/bin/env bash
# An image of 2^32 pixels passes through the program of build folder $1 in bounded memory, and the
# count that 32 bits cannot hold is right.
set -u
cd "$(dirname "$0")/../.." || exit 2
result=$({
  printf 'P5 65536 65536 255\n'
  head -c 4294967296 /dev/zero
} | (
  ulimit -v 400000 # kilobytes of address space, stacks of threads included
  "$1/bankfold" hist - --bins 1 --csv -
))
[ "$result" = $'low,high,grey\n0,256,4294967296' ] || {
  echo "$result"
  exit 1
}
