#!/usr/bin/env bash
# Reading and patching a source, and reviewing a module with it, takes every failed allocation for what it is:
# tests/check/suggest/memory.c, with the sanitizers where the compiler has them. suggest_memory.sh BUILD
set -u
build=$(readlink -f "$1")
cd "$(dirname "$0")/../.." || exit 2
[ -e "$build/libbankfold.a" ] || { echo "no $build/libbankfold.a" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  "${CC:-cc}" -std=gnu11 -g -D_GNU_SOURCE -Iinclude -Isrc "$@" \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc tests/check/suggest/memory.c src/source/*.c src/ptx/site.c \
    src/base/*.c "$build/libbankfold.a" -lm -lzstd -lsupc++ -pthread -o "$work/memory"
}
compile -fsanitize=address,undefined 2>"$work/log" || compile 2>"$work/log" ||
  { cat "$work/log"; exit 1; }
faults=0
for file in tests/data/suggest/*.cu; do
  "$work/memory" "$file" || faults=1
done
cat >"$work/trace" <<'END'
ld 4 ffffffff stride:32 @transpose:tiles.cu:13
st 4 ffffffff stride:1 @transpose:tiles.cu:10
END
"$work/memory" tests/data/suggest/tiles.cu tests/data/suggest/tiles.ptx "$work/trace" || faults=1
exit $faults
