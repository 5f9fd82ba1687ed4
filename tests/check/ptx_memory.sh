#!/usr/bin/env bash
# Rooms ptx and analyze take every failed allocation for what it is: tests/check/ptx/memory.c, with the
# sanitizers where the compiler has them.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  "${CC:-cc}" -std=gnu11 -g -D_GNU_SOURCE -Iinclude -Isrc "$@" \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc tests/check/ptx/memory.c \
    src/ptx/{ops,decimal,index,lexer,names,parse,parse_expression,parse_operand,parse_declaration,parse_body,print,flow,demangle,access_kind,site,tile}.c \
    src/analyze/{operate,expression,evaluate,formula,loops,layout,operand,execute,touch,walk,kinds,sites,spread,assume}.c \
    src/access/op.c src/base/{arena,table,text,diagnostic}.c -lm -lsupc++ -o "$work/memory"
}
compile -fsanitize=address,undefined 2>/dev/null || compile || exit 1
faults=0
for file in ptx/hand ptx/calls.sm_90 ptx/debug.lineinfo analyze/patterns; do
  "$work/memory" "tests/data/$file.ptx" || faults=1
done
exit $faults
