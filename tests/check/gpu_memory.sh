#!/usr/bin/env bash
# GPU and machine files: every failed allocation is taken for what it is: tests/check/gpu/memory.c, with
# the sanitizers where the compiler has them. $1 is the build folder.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  "${CC:-cc}" -std=gnu11 -g -D_GNU_SOURCE -Iinclude -Isrc "$@" \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc tests/check/gpu/memory.c \
    "$build"/embedded_{machines,gpus}.c src/sim/{gpu,gpu_file}.c \
    src/memory/{lines,machine,machine_file}.c src/access/op.c src/gf2/gf2.c src/hash/{hash,parse,convert,cost}.c \
    src/base/{arena,text,diagnostic,file,guess,options,temporary}.c -lzstd -lm -o "$work/memory"
}
compile -fsanitize=address,undefined 2>/dev/null || compile || exit 1
"$work/memory"
