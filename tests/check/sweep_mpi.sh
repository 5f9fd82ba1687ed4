#!/usr/bin/env bash
# Sweeps of the program in build folder $1 under mpirun, with ranks that are killed: the others go on
# where mpirun lets them, and otherwise the same command finishes the sweep. Skipped where there is
# no mpirun of Open MPI.
set -u
mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo 'no mpirun of Open MPI' && exit 77; }
program=$(readlink -f "$1")/bankfold
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
mpirun=(mpirun --oversubscribe)
[ "$(id -u)" != 0 ] || mpirun+=(--allow-run-as-root)
faults=0

complain() {
  echo "$*"
  cat log
  faults=$((faults + 1))
}

sweep=("$program" sim --benchmark transpose32 --gpu "$root/examples/small.gpu" --output r.csv
  --sweep 'hash=none|fixed;scheduler=lrr|gto;sms=1|2;dram_channels=1..8*2;dram_banks=4|8')

# compare WHAT: r.csv must be the file of a sweep that nothing disturbs.
compare() {
  cmp r.csv all.csv >>log || complain "$1: not the results of a sweep that nothing disturbs"
  rm -f r.csv
}

# results: lines in r.csv.
results() { if [ -e r.csv ]; then wc -l <r.csv; else echo 0; fi; }

# kill_rank RANK OPTION...: starts the sweep under mpirun with these options and kills one rank once
# there are results. What came of it is in $status.
kill_rank() {
  local rank=$1
  shift
  rm -f pid.*
  # shellcheck disable=SC2016 # the ranks expand it
  "${mpirun[@]}" -n 4 "$@" sh -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$@"' rank "${sweep[@]}" \
    --workers 1 >log 2>&1 &
  local started=$!
  while [ "$(results)" -lt 12 ] && kill -0 $started 2>/dev/null; do
    sleep 0.01
  done
  kill -9 "$(cat "pid.$rank")" || complain "rank $rank has ended too early to be killed"
  wait $started
  status=$?
}

"${sweep[@]}" --workers 1 >log 2>&1 || complain 'a sweep fails'
mv r.csv all.csv

# Nobody is killed: rank 0 tells how far all are, and what there is in the end.
"${mpirun[@]}" -n 4 "${sweep[@]}" >out 2>log || complain "status $? under mpirun"
[ "$(cat out)" = 'r.csv: 64 points' ] || complain "printed: $(cat out)"
grep -q '^bankfold: [0-9]* of 64 points$' log || complain 'no progress'
compare 'four ranks'

# One rank, and as many as there are points.
for ranks in 1 64; do
  "${mpirun[@]}" -n $ranks "${sweep[@]}" --workers 1 >out 2>log || complain "status $? of $ranks ranks"
  compare "$ranks ranks"
done

# The others go on, also without rank 0.
for rank in 2 0; do
  kill_rank $rank --enable-recovery
  compare "rank $rank was killed"
done

# Without --enable-recovery mpirun ends all ranks. What they have finished is there.
kill_rank 1
[ $status != 0 ] || complain 'mpirun does not tell that a rank was killed'
left=$(results)
[ "$left" -ge 12 ] || complain "only $left lines are left"
"${mpirun[@]}" -n 4 "${sweep[@]}" >>log 2>&1 || complain "status $? of the second run"
compare 'a second run'

# Ranks of several hosts need a file that they share.
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=1 "${sweep[@]}" >out 2>log
case $(stat -f -c %T .) in
ext2/ext3 | xfs | btrfs | tmpfs | overlayfs)
  grep -q 'warning: rank 0 has r.csv on a local disk' log || complain 'no warning of a local file'
  ;;
esac
[ $faults = 0 ]
