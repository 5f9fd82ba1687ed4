#!/usr/bin/env bash
# The functions of the public header take every failed allocation for what it is: tests/check/api/memory.c, with the
# library of build folder $1 and the sanitizers where the compiler has them.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
[ -e "$build/libbankfold.a" ] || { echo "no $build/libbankfold.a" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  "${CC:-cc}" -std=gnu11 -g -D_GNU_SOURCE -Iinclude -Isrc "$@" \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc tests/check/api/memory.c "$build/libbankfold.a" \
    -lm -lzstd -lsupc++ -pthread -o "$work/memory"
}
compile -fsanitize=address,undefined 2>/dev/null || compile || exit 1
"$work/memory" tests/data/workloads/nw17.trace tests/data/analyze/patterns.ptx reduce tests/data/fatbin/lineinfo.fatbin
