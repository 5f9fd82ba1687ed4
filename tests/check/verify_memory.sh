#!/usr/bin/env bash
# The verifier takes every failed allocation for what it is: tests/check/verify/memory.c, with the
# sanitizers where the compiler has them.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  "${CC:-cc}" -std=gnu11 -g -D_GNU_SOURCE -Iinclude -Isrc "$@" \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc tests/check/verify/memory.c \
    src/ptx/{ops,decimal,index,lexer,names,parse,parse_expression,parse_operand,parse_declaration,parse_body,print,flow,dominate,tile}.c \
    src/verify/*.c src/gf2/*.c src/hash/{hash,parse,convert,cost}.c \
    src/base/{arena,table,text,diagnostic,guess}.c -lm -o "$work/memory"
}
compile -fsanitize=address,undefined 2>/dev/null || compile || exit 1
faults=0
judge() { "$work/memory" "tests/data/verify/$1.txt" "${@:2}" || faults=1; }
judge narrow narrow=fixed
judge wide wide=cute:3,4,3
judge loops loops=fixed
judge linear linear=cute:3,4,3
judge arrays arrays=fixed arrays/second=cute:3,4,3 arrays/plain=none
judge clones one=fixed two=cute:3,4,3 plain=none
judge rows rows=none rows/a=pad:32+1
exit $faults
