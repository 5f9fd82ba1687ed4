#!/usr/bin/env bash
# The injection library without a build system: inject/build.sh OUTPUT [FLAG...]
# A C compiler ($CC), libc and libsupc++.a, which comes with g++, are enough. zstd is opened when an image is packed
# with it; -DBF_BUILD_ZSTD -l:libzstd.a builds it in.
set -eu
[ $# -ge 1 ] || {
  echo "usage: inject/build.sh OUTPUT [FLAG...]" >&2
  exit 2
}
output=$(readlink -f "$1")
shift
cd "$(dirname "$0")/.."
cc=${CC:-cc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-O2 -std=gnu11 -D_GNU_SOURCE -DBF_API= -DBF_NO_SIMD -fPIC -fvisibility=hidden -ffunction-sections -pthread
  -Iinclude -Isrc -Iinject)
[[ " $* " == *' -DBF_BUILD_ZSTD '* ]] || flags+=(-DBF_OPEN_ZSTD)
$cc -O1 -o "$work/embed" tools/embed.c
"$work/embed" machines "$work/embedded_machines.c" machines/*.machine
rooms=(base ptx gf2 hash access memory search rewrite verify analyze)
predicting=(choose forecast judge padding plans predict propose traced try work)
sources=(inject/*.c "$work/embedded_machines.c")
for room in "${rooms[@]}"; do
  for file in "src/$room"/*.c; do [[ $file == *_avx* || $file == *_gfni.c ]] || sources+=("$file"); done
done
for name in "${predicting[@]}"; do sources+=("src/tune/$name.c"); done
sources+=(src/emu/pressure.c src/exchange/{learnt,settings,times}.c)
for file in "${sources[@]}"; do echo "$file"; done |
  FLAGS="${flags[*]} $*" CC=$cc WORK=$work xargs -P "$(nproc)" -I FILE sh -c \
    '$CC $FLAGS -c "$1" -o "$WORK/$(echo "$1" | tr / _).o"' sh FILE
$cc -shared -o "$output" "$work"/*.o "$@" -lsupc++ -lm -ldl -pthread \
  -Wl,--build-id=sha1 -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-z,nodelete -Wl,--no-undefined
