#!/usr/bin/env bash
# A fix does not hang on what else the machine does: by a clock that runs 600 times as fast as the processor time of the
# program of build folder $1, as where others have the processors, the fix of a tile is what it is otherwise.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/clock.c" <<'C'
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now) {
  long error = syscall(SYS_clock_gettime, id == CLOCK_MONOTONIC ? CLOCK_PROCESS_CPUTIME_ID : id, now);
  if (error == 0 && id == CLOCK_MONOTONIC) {
    long long fast = 600 * (now->tv_sec * 1000000000LL + now->tv_nsec);
    now->tv_sec = fast / 1000000000;
    now->tv_nsec = fast % 1000000000;
  }
  return (int)error;
}
C
"${CC:-cc}" -O1 -shared -fPIC "$work/clock.c" -o "$work/clock.so" || exit 1
fix() { "$1/bankfold" profile kernels/transpose/transpose.ptx --launch examples/transpose.launch | grep -A 1 '^ *fix '; }
fix "$1" >"$work/rested"
[ -s "$work/rested" ] || { echo 'no fix' && exit 1; }
LD_PRELOAD=$work/clock.so fix "$1" | diff "$work/rested" -
