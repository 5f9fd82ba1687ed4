#!/usr/bin/env bash
# Programs of bench/strangers, built by nvcc and run by exec of build folder $1 at their smallest size, find their results
# right, and print the same with their kernels rewritten, by a hash that keeps 4 bytes together and by one that keeps 16.
# Skipped without nvcc. Further arguments name the programs, or are `all`; without, a few are run that differ most.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
shift
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo 'no nvcc' && exit 77; }
[ -e "$build/runtime/libcudart.so.13" ] || { echo "no $build/runtime/libcudart.so.13" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0

complain() {
  echo "$*"
  faults=$((faults + 1))
}

# run PROGRAM NAME OPTION...: what it prints goes to $work/NAME; it must end with status 0, and pass.
run() {
  local program=$1 name=$2
  shift 2
  timeout 300 "$build/bankfold" exec --quiet "$@" "$work/$program" >"$work/$name" 2>"$work/err" ||
    complain "$program $*: status $?: $(cat "$work/$name" "$work/err")"
  [ "$(tail -n 1 "$work/$name")" = pass ] || complain "$program $*: does not pass"
}

echo '* fixed' >"$work/fixed.hashes"
echo '* cute:3,4,3' >"$work/cute.hashes"
[ $# -gt 0 ] || set -- asserting cg_async full_blocks graphs particles scan_blelloch sorts
[ "$*" != all ] || for file in bench/strangers/*.cu; do set -- "$@" "$(basename "$file" .cu)"; done
[ "$1" != all ] || shift
for program; do
  nvcc -O3 -std=c++17 -arch=sm_90 -cudart shared -o "$work/$program" "bench/strangers/$program.cu" 2>"$work/nvcc" || {
    complain "$program: nvcc fails: $(cat "$work/nvcc")"
    continue
  }
  run "$program" plain
  for hash in fixed cute; do
    run "$program" rewritten --rewrite "$work/$hash.hashes"
    cmp "$work/plain" "$work/rewritten" || complain "$program: another output with $hash"
  done
done
echo "$# programs, $faults faults"
[ $faults = 0 ]
