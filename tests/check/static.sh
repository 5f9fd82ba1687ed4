#!/usr/bin/env bash
# `ninja bankfold-static` makes one executable that needs no library. $1 is a build folder in which that was done.
set -u
program=$1/bankfold-static
# ldd fails, and says so, for what is not dynamic.
if ldd "$program" >/dev/null 2>&1; then
  ldd "$program"
  exit 1
fi
"$program" machines >/dev/null && echo 'ld 4 ffffffff stride:32' | "$program" check - >/dev/null &&
  printf 'P2 1 1 1\n1' | "$program" hist - >/dev/null
