#!/usr/bin/env bash
# The man pages of build folder $1 are well-formed for the formatters that are here.
set -u
ran=''
faults=0
for page in "$1"/*.1; do
  if command -v mandoc >/dev/null; then
    ran=yes
    # Pages carry no date, so that builds are reproducible.
    mandoc -T lint -W warning "$page" | grep -v 'missing date' && faults=1
  fi
  if command -v groff >/dev/null; then
    ran=yes
    test -z "$(groff -man -Tascii -ww -z "$page" 2>&1 | tee /dev/stderr)" || faults=1
  elif command -v man >/dev/null; then
    ran=yes
    test -z "$(man --warnings -l "$page" 2>&1 >/dev/null | tee /dev/stderr)" || faults=1
  fi
done
[ -n "$ran" ] || { echo 'no man or mandoc' && exit 77; }
exit $faults
