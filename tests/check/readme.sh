#!/usr/bin/env bash
# The recipes of the README work with the program of build folder $1, and its traces parse.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$root/examples" "$root/kernels" "$work"
cd "$work" || exit 2
PATH=$build:$PATH
faults=0
while read -r line; do
  bash -c "$line" >out 2>&1 || {
    echo "failed: $line"
    cat out
    faults=1
  }
done < <(sed -n 's/^    \(bankfold .*\)/\1/p' "$root/README.md")
sed -n 's/^    \(\(ld\|st\) .*\)/\1/p' "$root/README.md" | bankfold check - >out 2>&1 || {
  cat out
  faults=1
}
exit $faults
