#!/usr/bin/env bash
# Runs every fuzzer of a build folder a bounded number of times: tests/fuzz/run.sh BUILD [RUNS]
# fuzz_NAME starts from the files in tests/fuzz/corpus/NAME, fuzz_machine from machines; they are not
# changed.
set -u
build=$(readlink -f "$1")
runs=${2:-200000}
cd "$(dirname "$0")/../.." || exit 2
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for source in tests/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c)
  mkdir -p "$work/$name"
  seeds=tests/fuzz/corpus/${name#fuzz_}
  [ "$name" = fuzz_machine ] && seeds=machines
  if "$build/tests/$name" -runs="$runs" -max_total_time=40 -seed=1 -max_len=4096 -timeout=10 \
    -artifact_prefix="$work/" "$work/$name" "$seeds" >"$work/log" 2>&1; then
    passed=$((passed + 1))
    echo "$name: $(grep -o 'Done [0-9]* runs.*' "$work/log")"
  else
    failed=$((failed + 1))
    echo "FAILED $name"
    tail -n 40 "$work/log"
  fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
