#!/usr/bin/env bash
# Runs the unit tests of a build folder and counts their cases: tests/unit/run.sh BUILD
# A program that ends without reporting all its cases counts as one failure more.
set -u
build=$(readlink -f "$1")
cd "$(dirname "$0")/../.." || exit 2
passed=0 failed=0 skipped=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One process per core, first those that take longest, then the largest sources; each leaves its output and its
# status.
slow='test_atomics test_search test_verify_mutants test_hash test_align test_inject'
export CMOCKA_MESSAGE_OUTPUT=TAP
# shellcheck disable=SC2016 # the inner shell expands these
{
  tr ' ' '\n' <<<"$slow"
  find tests/unit -name 'test_*.c' -printf '%s %f\n' | sort -rn | sed 's/.* //; s/\.c$//'
} | awk '!seen[$0]++' |
  xargs -P "$(nproc)" -I '{}' sh -c '"$1/tests/$3" >"$2/$3" 2>&1; echo $? >"$2/$3.status"' \
    sh "$build" "$work" '{}'

for source in tests/unit/test_*.c; do
  name=$(basename "$source" .c)
  log=$work/$name
  status=$(cat "$log.status")
  good=$(grep -c '^ok ' "$log")
  left_out=$(grep -c '^not ok .*# SKIP' "$log")
  bad=$(($(grep -c '^not ok ' "$log") - left_out))
  planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$log" | awk '{ sum += $1 } END { print sum + 0 }')
  if [ "$status" != 0 ] && [ $bad = 0 ] || [ $((good + bad + left_out)) != "$planned" ]; then
    bad=$((bad + 1))
  fi
  if [ $bad != 0 ]; then
    echo "FAILED $name (status $status)"
    grep -v '^ok ' "$log" | head -n 40
  fi
  sed -n "s/^skipped: /skipped $name: /p" "$log" | sort -u
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + left_out))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
