#!/usr/bin/env bash
# Room vote takes every failed allocation for what it is: tests/check/vote/memory.c, with the sanitizers
# where the compiler has them.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/check/vote/compile.sh
source tests/check/vote/compile.sh
wrap=-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
compile tests/check/vote/memory.c "$work/memory" $wrap -fsanitize=address,undefined 2>/dev/null ||
  compile tests/check/vote/memory.c "$work/memory" $wrap || exit 1
"$work/memory"
