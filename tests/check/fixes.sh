#!/usr/bin/env bash
# Fix lines of exec of build folder $1 for the 24 kernels of tests/check/fixes.cu: their numbers are those of the table; what they
# promise is counted with the hash, and with the longer rows that they name in the program; the row that is named is one of the
# array. Skipped without nvcc.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo 'no nvcc' && exit 77; }
[ -e "$build/runtime/libcudart.so.13" ] || { echo "no $build/runtime/libcudart.so.13" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0 fixes=0 rows=0
nvcc -cudart shared -lineinfo -arch=sm_90 -o "$work/fixes" tests/check/fixes.cu || exit 1
promises=tests/programs/promises.py

complain() {
  echo "$*"
  faults=$((faults + 1))
}

# profile NAME OPTION... -- ARGUMENT...: a profile of the program.
profile() { "$build/bankfold" exec --profile "$work/$1.json" "${@:2}" >"$work/$1.out" 2>"$work/err" || complain "$(cat "$work/err")"; }

# Rows as the program has them: NAME=LENGTH for each RUN(NAME, width, height, LENGTH).
mapfile -t lengths < <(sed -nE 's/.*RUN\(([a-z_]+), [0-9]+, [0-9]+, ([0-9]+)\).*/\1=\2/p' tests/check/fixes.cu)
[ ${#lengths[@]} -ge 20 ] || complain "only ${#lengths[@]} kernels"
for half in first second; do
  profile plain "$work/fixes" $half
  $promises hashes "$work/plain.json" >"$work/hashes"
  profile hashed --hash-file "$work/hashes" "$work/fixes" $half
  $promises compare "$work/plain.json" "$work/hashed.json" || complain 'a hash does not do what the fix says'
  mapfile -t longer < <($promises rows "$work/plain.json")
  profile longer "$work/fixes" $half "${longer[@]}"
  diff "$work/plain.out" "$work/longer.out" >/dev/null || complain 'other results with longer rows'
  $promises compare_rows "$work/plain.json" "$work/longer.json" "${lengths[@]}" || complain 'a row does not do what the fix says'
  fixes=$((fixes + $(wc -l <"$work/hashes"))) rows=$((rows + ${#longer[@]}))
done
[ $fixes -ge 20 ] || complain "fixes for $fixes kernels only"
[ $rows -ge 15 ] || complain "rows for $rows kernels only"
echo "${#lengths[@]} kernels, $fixes fixes, $rows by longer rows, $faults faults"
[ $faults = 0 ]
