#!/usr/bin/env bash
# Room vote stays inside its memory in random cases: check_vote.c with fewer of them under the sanitizers
# of addresses and undefined behaviour.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/check/vote/compile.sh
source tests/check/vote/compile.sh
if ! compile tests/check/check_vote.c "$work/check" -fsanitize=address,undefined \
  -fno-sanitize-recover=undefined 2>"$work/errors"; then
  echo 'no sanitizers here'
  exit 77
fi
"$work/check" few
