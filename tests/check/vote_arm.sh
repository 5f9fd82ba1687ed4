#!/usr/bin/env bash
# Room vote on a 64-bit Arm processor, by gcc's cross compiler and QEMU: every kernel, NEON's among
# them, gives what the references give (check_vote.c with fewer cases), with threads too. Skipped
# without Debian's gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user.
set -u
cd "$(dirname "$0")/../.." || exit 2
export CC=aarch64-linux-gnu-gcc
{ command -v $CC >/dev/null && command -v qemu-aarch64 >/dev/null; } || { echo "no $CC or no qemu-aarch64" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'int main(void) { return 0; }' | $CC -static -xc - -o "$work/empty" 2>/dev/null || { echo "$CC does not link" && exit 77; }
# shellcheck source=tests/check/vote/compile.sh
source tests/check/vote/compile.sh
compile tests/check/check_vote.c "$work/check" -Wall -Wextra -Werror -static || exit 1
# Additions and shifts of several numbers at once: there is vector code, and only where it should be.
vectors() { aarch64-linux-gnu-objdump -d "$work/check.$1.o" | grep -cE '\b(add|sub|shl|ushr|fmul|fadd)\s+v[0-9]+\.(16b|8h|4s|2d)'; }
[ "$(vectors neon)" -gt 20 ] || {
  echo "the kernel for NEON has $(vectors neon) vector instructions"
  exit 1
}
[ "$(vectors plain)" = 0 ] || {
  echo 'the plain kernel has vector code'
  exit 1
}
qemu-aarch64 "$work/check" few || exit 1
compile tests/check/vote/threads.c "$work/threads" -static || exit 1
qemu-aarch64 "$work/threads"
