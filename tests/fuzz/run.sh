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

# fuzz NAME: leaves its output in $work/NAME.log and its status in $work/NAME.status.
fuzz() {
  local name=$1 seeds=tests/fuzz/corpus/${1#fuzz_}
  [ "$name" = fuzz_machine ] && seeds=machines
  mkdir -p "$work/$name"
  "$build/tests/$name" -runs="$runs" -max_total_time=3 -seed=1 -max_len=4096 -timeout=10 \
    -artifact_prefix="$work/" "$work/$name" "$seeds" >"$work/$name.log" 2>&1
  echo $? >"$work/$name.status"
}

# One for each core.
cores=$(nproc)
names=$(basename -s .c tests/fuzz/fuzz_*.c)
for name in $names; do
  while [ "$(jobs -rp | wc -l)" -ge "$cores" ]; do wait -n; done
  fuzz "$name" &
done
wait
for name in $names; do
  if [ "$(cat "$work/$name.status")" = 0 ]; then
    passed=$((passed + 1))
    echo "$name: $(grep -o 'Done [0-9]* runs.*' "$work/$name.log")"
  else
    failed=$((failed + 1))
    echo "FAILED $name"
    tail -n 40 "$work/$name.log"
  fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
