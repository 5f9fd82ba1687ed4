#!/usr/bin/env bash
# The rewriter takes every failed allocation for what it is: tests/check/rewrite/memory.c, with the
# sanitizers where the compiler has them.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  "${CC:-cc}" -std=gnu11 -g -D_GNU_SOURCE -Iinclude -Isrc "$@" \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc tests/check/rewrite/memory.c \
    src/ptx/*.c \
    src/{rewrite,verify}/*.c src/gf2/*.c src/hash/*.c \
    src/base/*.c -lm -lzstd -lsupc++ -pthread -o "$work/memory"
}
compile -fsanitize=address,undefined 2>/dev/null || compile || exit 1
faults=0
for file in tests/data/ptx/{hand,clang.sm_75,debug.full,tensor.sm_90}.ptx tests/fuzz/corpus/rewrite/*.ptx; do
  "$work/memory" "$file" || faults=1
done
exit $faults
