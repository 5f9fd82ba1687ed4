#!/usr/bin/env bash
# The shared library of build folder $1 shows the functions of the public header and nothing else, all under the
# version of its soname, and tests/data/symbols.txt lists them: what disappears there breaks programs, and then the
# number of the ABI in meson.build must grow.
set -u
cd "$(dirname "$0")/../.." || exit 2
{ library=$(readlink -f "$1/libbankfold.so") && [ -e "$library" ]; } || { echo "no $1/libbankfold.so" && exit 77; }
faults=0
# same WHAT A B: complains about lines that only one of the two has.
same() {
  diff -u "$2" "$3" && return
  echo "$1"
  faults=$((faults + 1))
}
soname=$(readelf -d "$library" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')
[ "$soname" = "libbankfold.so.${soname##*.}" ] || {
  echo "soname $soname"
  faults=$((faults + 1))
}
same "what the library shows is not what tests/data/symbols.txt lists" tests/data/symbols.txt \
  <(nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort)
same "what bankfold.h declares is not what tests/data/symbols.txt lists" tests/data/symbols.txt \
  <(sed -n 's/^BF_API [^(]*[ *]\(bf_[a-z0-9_]*\)(.*/\1/p' include/bankfold.h |
    sed "s/\$/@@BANKFOLD_${soname##*.}/" | LC_ALL=C sort)
exit $((faults != 0))
