#!/usr/bin/env bash
# Reading and patching a source takes every failed allocation for what it is: tests/check/suggest/memory.c,
# with the sanitizers where the compiler has them.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  "${CC:-cc}" -std=gnu11 -g -D_GNU_SOURCE -Iinclude -Isrc "$@" \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc tests/check/suggest/memory.c \
    src/source/{source,arrays,value,index_map,index_text,patch,diff}.c src/gf2/*.c \
    src/hash/{hash,parse,convert,cost}.c src/base/{arena,text,diagnostic}.c -lm -o "$work/memory"
}
compile -fsanitize=address,undefined 2>/dev/null || compile || exit 1
faults=0
for file in tests/data/suggest/*.cu; do
  "$work/memory" "$file" || faults=1
done
exit $faults
