#!/usr/bin/env bash
# Room vote with several threads under the thread sanitizer: tests/check/vote/threads.c.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/check/vote/compile.sh
source tests/check/vote/compile.sh
if ! compile tests/check/vote/threads.c "$work/threads" -fsanitize=thread 2>"$work/errors"; then
  echo 'no thread sanitizer here'
  exit 77
fi
"$work/threads"
