#!/usr/bin/env bash
# Races that exec --detect races finds, with the lines and threads of both sides, and ways to order threads in which it
# finds none: the cases of tests/check/races/cases.cu, run by exec of build folder $1. Skipped without nvcc.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo 'no nvcc' && exit 77; }
[ -e "$build/runtime/libcudart.so.13" ] || { echo "no $build/runtime/libcudart.so.13" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
source=tests/check/races/cases.cu
nvcc -cudart shared -std=c++17 -lineinfo -gencode arch=compute_90,code=compute_90 -o "$work/cases" $source || exit 1

complain() {
  echo "$*"
  cat "$work/err"
  faults=$((faults + 1))
}

# run CASE OPTION...: its standard error.
run() { "$build/bankfold" exec --detect races "${@:2}" "$work/cases" "$1" >"$work/out" 2>"$work/err"; }

# line CASE WORD: the number of the line that is marked so.
line() { grep -n "// $1 $2\$" $source | cut -d: -f1; }

# finds CASE OTHER OWN THREADS: a message with both lines and what it says of both threads, for one and several workers.
finds() {
  local workers
  for workers in 1 3; do
    run "$1" --threads $workers
    grep -Eq "^bankfold: race: .*$4.* at [^ ]*cases.cu:$2, and .*, [^ ]*cases.cu:$3(, inlined at [^ ]*)?, block \([0-9],0,0\), thread \([0-9]+,0,0\)$" "$work/err" ||
      complain "$1: no message with lines $2 and $3"
    [ "$(cat "$work/out")" = cudaErrorLaunchFailure ] || complain "$1: the program sees $(cat "$work/out")"
  done
}

# either CASE FIRST SECOND THREADS: the same where either side may come first.
either() {
  run "$1"
  grep -Eq "^bankfold: race: .*$4.* at [^ ]*cases.cu:($2|$3), and .*, [^ ]*cases.cu:($2|$3)(, inlined at [^ ]*)?, block" "$work/err" ||
    complain "$1: no message with lines $2 and $3"
}

none() {
  local threads
  for threads in 1 4; do
    run "$1" --threads $threads
    if grep -q 'race:' "$work/err" || [ "$(cat "$work/out")" != cudaSuccess ]; then
      complain "$1: a race, or an error, with $threads threads"
    fi
  done
}

finds warp_race "$(line warp_race writes)" "$(line warp_race reads)" 'block \(0,0,0\), thread \(31,0,0\) wrote it'
either block_race "$(line block_race writes)" "$(line block_race reads)" 'block \(0,0,0\), thread \([0-9]+,0,0\) (wrote|read) it'
either read_first "$(line read_first reads)" "$(line read_first writes)" 'thread \([0-9]+,0,0\) (wrote|read) it'
either grid_race "$(line grid_race writes)" "$(line grid_race reads)" 'block \([0-9],0,0\), thread \(0,0,0\) (wrote|read) it'
either cluster_race "$(line cluster_race writes)" "$(line cluster_race reads)" 'block \([0-9],0,0\), thread \(0,0,0\) (wrote|read) it'
finds other_values "$(line other_values writes)" "$(line other_values writes)" 'thread \(0,0,0\) wrote it'
finds copy_race "$(line copy_race copies)" "$(line copy_race reads)" 'thread \([0-9]+,0,0\) copies asynchronously to it'
either copy_alone "$(line copy_alone copies)" "$(line copy_alone reads)" 'thread \([0-9]+,0,0\) (wrote|read) it'
for case in streams_race legacy_race; do
  finds $case "$(line streams_race adds)" "$(line streams_race adds)" \
    'block \(0,0,0\), thread \(0,0,0\) of kernel add, launched before in another stream, wrote it'
done
far='block \([01],0,0\), thread \(0,0,0\) (wrote|read) it'
for case in far_store far_load far_turn; do
  either ${case}_race "$(line ${case}_race writes)" "$(line ${case}_race reads)" "$far"
done
either far_atomic_race "$(line far_atomic_race adds)" "$(line far_atomic_race reads)" "$far"
run far_early_race
grep -Eq "^bankfold: race: write .*block \([01],0,0\), whose memory this is, may not have begun: .*cases.cu:$(line far_early_race writes), " "$work/err" ||
  complain 'far_early_race: not told'
for reader in 0 1; do
  run far_late_${reader}_race
  grep -Eq "^bankfold: (race: .*may end before: |out of bounds: .*of the cluster has ended).*cases.cu:$(line far_late reads), " "$work/err" ||
    complain "far_late_${reader}_race: not told"
done
finds send_race "$(line send sends)" "$(line send reads)" 'thread \([0-9]+,0,0\) of the cluster stores asynchronously to it'
either send_over_race "$(line send_over_race sends)" "$(line send_over_race reads)" 'thread \([0-9]+,0,0\) (wrote it|read it|of the cluster stores)'
finds early_race "$(line early writes)" "$(line early reads)" \
  'block \(0,0,0\), thread \([0-9]+,0,0\) of kernel lets_go, which this one may run beside until griddepcontrol.wait, wrote it'
# The two run beside each other.
run beside_race
grep -Eq "^bankfold: race: read .* of kernel tells<false>, launched before in another stream, wrote it at [^ ]*cases.cu:$(line beside writes), .*cases.cu:$(line beside reads)(,|$)" "$work/err" ||
  complain 'beside_race: no message with both lines'
run wmma_race
grep -q 'race: write .* wrote it .*cases.cu:' "$work/err" || complain 'wmma_race: no race'
run tickets_race
grep -q 'race: ' "$work/err" || complain 'tickets_race: no race'
for case in warp_fine block_fine tickets_fine grid_fine same_value wmma_same beside_fine many_fine atomics bytes copy_fine flags_fine streams_fine programmatic_fine \
  early_between early_kept early_waits cluster_fine arrival_fine bulk_fine far_fine far_arrival_fine send_fine; do
  none $case
done
# A race that is tolerated is said, and the program goes on.
run warp_race --keep-going
if ! grep -q 'race: ' "$work/err" || [ "$(cat "$work/out")" != cudaSuccess ]; then
  complain 'warp_race --keep-going: not said, or ended'
fi
# Its accesses are done, unlike those that are out of bounds.
if grep 'race: ' "$work/err" | grep -Eq 'is dropped|it reads 0'; then
  complain 'warp_race --keep-going: an access is called dropped that was done'
fi
# Memory for which there is no room is said, once, and not looked at; the program does not notice.
none large_fine
grep -q 'not looked at' "$work/err" && complain 'large_fine: something is left out'
(ulimit -v 8000000 && run large_fine)
if [ "$(grep -c 'races: .*not looked at' "$work/err")" != 1 ] || [ "$(cat "$work/out")" != cudaSuccess ]; then
  complain 'large_fine with little memory: not said, or an error'
fi
echo "races: $faults faults"
[ $faults = 0 ]
