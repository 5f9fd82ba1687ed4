#!/usr/bin/env bash
# The simulator of R-GPU takes every failed allocation for what it is: tests/check/rgpu/sim_memory.c,
# with the sanitizers where the compiler has them. rgpu_sim_memory.sh BUILD
set -u
build=$(readlink -f "$1")
cd "$(dirname "$0")/../.." || exit 2
[ -e "$build/libbankfold.a" ] || { echo "no $build/libbankfold.a" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  "${CC:-cc}" -std=gnu11 -g -O1 -D_GNU_SOURCE -Iinclude -Isrc "$@" \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc tests/check/rgpu/sim_memory.c \
    src/rgpu/{graph,words,term,read_node,read,check,print,operate,setup}.c src/rgpu/sim_*.c \
    src/sim/{cache,dram,flight,l1,l2}.c src/base/*.c "$build/libbankfold.a" \
    -lm -lzstd -lsupc++ -pthread -o "$work/memory"
}
compile -fsanitize=address,undefined 2>"$work/log" || compile 2>"$work/log" ||
  { cat "$work/log"; exit 1; }
"$work/memory"
