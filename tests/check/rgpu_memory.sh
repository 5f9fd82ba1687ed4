#!/usr/bin/env bash
# Graphs of rgpu, mapper, pictures and extraction take every failed allocation for what it is:
# tests/check/rgpu/memory.c, with the sanitizers where the compiler has them.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  "${CC:-cc}" -std=gnu11 -g -O1 -D_GNU_SOURCE -Iinclude -Isrc "$@" \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc tests/check/rgpu/memory.c \
    src/rgpu/{graph,words,term,read_node,read,check,print,operate,setup}.c \
    src/rgpu/{sweep,placing,lanes,map,map_check,split,trade,draw,draw_graph,draw_map}.c \
    src/rgpu/{extract_loop,extract_value,extract_body,extract}.c \
    src/ptx/*.c src/base/*.c -lm -lzstd -lsupc++ -pthread -o "$work/memory"
}
compile -fsanitize=address,undefined 2>/dev/null || compile || exit 1
faults=0
for file in examples/rgpu/{conv,integral}.df tests/fuzz/corpus/rgpu/all.df; do
  "$work/memory" "$file" || faults=1
done
"$work/memory" kernels/scalar_product/scalar_product.ptx 101 || faults=1
exit $faults
