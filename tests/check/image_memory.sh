#!/usr/bin/env bash
# Room image takes every failed allocation for what it is: tests/check/image/memory.c, with the
# sanitizers where the compiler has them.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  # shellcheck disable=SC2046 # flags are words
  "${CC:-cc}" -std=gnu11 -g -D_GNU_SOURCE -Iinclude -Isrc "$@" $(pkg-config --cflags libpng) \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc tests/check/image/memory.c src/image/*.c \
    src/base/{text,diagnostic,file,temporary}.c -lzstd $(pkg-config --libs libpng) -lm -o "$work/memory"
}
compile -fsanitize=address,undefined 2>/dev/null || compile || exit 1
"$work/memory" examples/images/*.p?m examples/images/*.png tests/fuzz/corpus/png/*
