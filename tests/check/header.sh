#!/usr/bin/env bash
# Each public header compiles alone, as strict C11 and as C++17, with every compiler that is here.
set -u
cd "$(dirname "$0")/../.." || exit 2
failed=0
compile() {
  command -v "$1" >/dev/null || return 0
  for header in bankfold.h bankfold_cuda.h; do
    echo "#include \"$header\"" | "$@" -Wall -Wextra -Werror -pedantic-errors -Iinclude \
      -fsyntax-only - || { echo "failed: $header, $*" && failed=1; }
  done
}
for compiler in gcc clang; do
  compile $compiler -std=c11 -x c
done
for compiler in g++ clang++; do
  compile $compiler -std=c++17 -x c++
done
exit $failed
