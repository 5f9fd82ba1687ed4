#!/usr/bin/env bash
# Histograms and Hough transforms of gpu/vote, built by nvcc and run by exec of build folder $1: they
# are what the CPU's library says in random cases and beside the edges of bins, layouts have the
# conflicts that they must, and the tuner keeps what it finds for calls without a choice; hist and
# hough --device gpu are what they are on the CPU. Headers are C. docs/vote_gpu.md shows what was
# measured. Skipped without nvcc.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo 'no nvcc' && exit 77; }
{ [ -e "$build/runtime/libcudart.so.13" ] && [ -e "$build/libbankfold.a" ]; } || { echo "no libraries in $build" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
complain() {
  echo "$*"
  faults=$((faults + 1))
}

for header in gpu/vote/*.h; do
  ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only -xc "$header" ||
    complain "$header is not C"
done

# PTX alone, for it is what exec runs.
flags=(-gencode 'arch=compute_90,code=compute_90' -cudart shared)
printf '%s\n' gpu/vote/*.cu | xargs -P 2 -I FILE nvcc -std=c++17 "${flags[@]}" -lineinfo -O3 \
  -Xcompiler -fPIC -DBF_NO_CUB -Iinclude -Werror all-warnings -odir "$work" -c FILE || exit 1
libraries=("$build/libbankfold.a" -lm -ldl -lzstd -lsupc++ -Xcompiler -pthread)
nvcc "${flags[@]}" -o "$work/vote_bench" "$work"/*.o "${libraries[@]}" || exit 1
exec_() { "$build/bankfold" exec "$@"; }

# The program with --device gpu: the GPU is the emulator.
# shellcheck source=tests/check/vote/same_votes.sh
source tests/check/vote/same_votes.sh
mkdir "$work/programs"
mv "$work"/{bench,check,tables}.o "$work/programs"
nvcc -shared "${flags[@]}" -o "$work/libbankfold-vote-cuda.so" "$work"/*.o -Xlinker --no-undefined || exit 1
export BANKFOLD_VOTE_CUDA=$work/libbankfold-vote-cuda.so
same_votes "$build/bankfold" exec --quiet "$build/bankfold"
nvcc -Xcompiler -std=c11,-Wall,-Wextra,-Werror -Iinclude -Igpu/vote -c tests/check/vote/tuned.c \
  -o "$work/programs/tuned.o" || exit 1
nvcc "${flags[@]}" -o "$work/tuned" "$work"/programs/tuned.o "$work"/*.o "${libraries[@]}" || exit 1

exec_ --quiet "$work/vote_bench" --check 200 || complain 'random cases differ'
exec_ --quiet --machine pascal "$work/vote_bench" --check 60 ||
  complain 'random cases differ where shared memory is small'

# conflicts KIND METHOD LAYOUT COPIES THREADS: of all kernels together. Kinds, methods and layouts are
# numbers of gpu/vote/images.cuh and bankfold_vote_cuda.h.
conflicts() {
  exec_ --json "$work/vote_bench" --once "$@" 2>/dev/null |
    python3 -c 'import json, sys; print(sum(k["conflicts"] for k in json.load(sys.stdin)["kernels"]))'
}
constant=0 natural=1 random=2
packed=0 shared=3 halves=5 banks=6
bin_by_bin=0 copy_by_copy=1 padded=2 hashed=3
expect() {
  local wanted=$1 found
  shift
  found=$(conflicts "$@")
  [ "$found" = "$wanted" ] || complain "conflicts of $*: $found, not $wanted"
}
for kind in $constant $natural $random; do
  expect 0 "$kind" $packed $bin_by_bin 32 256
  expect 0 "$kind" $shared $bin_by_bin 32 256
done
# 16384 pixels are 512 atomics of 32 lanes. Copy by copy, a constant image has all lanes in one bank.
expect $((512 * 31)) $constant $shared $copy_by_copy 32 256
expect 0 $constant $shared $padded 32 256
expect 0 $constant $shared $hashed 32 256
[ "$(conflicts $natural $halves 0 1 64)" -gt "$(conflicts $natural $banks 0 1 64)" ] ||
  complain 'threads that share a bank have no more conflicts than those with their own'

exec_ --quiet "$work/vote_bench" --tune "$work/new/vote.tuned" >"$work/said" || complain "tuning failed: $(cat "$work/said")"
[ "$(grep -cv '^#' "$work/new/vote.tuned")" = 3 ] || complain 'the file has not three lines'
[ "$(find "$work/new" -type f | wc -l)" = 1 ] || complain 'temporary files are left'

# A process tunes, the next one takes what was saved: threads are set to a number that no default
# has. What the line cannot do, and what has no line, has the default.
export BANKFOLD_VOTE_TUNED=$work/new/vote.tuned
use() { exec_ --quiet "$work/tuned" use || complain "tuned use: $1"; }
exec_ --quiet "$work/tuned" tune || complain 'a C program cannot tune'
[ "$(grep -c '|0|0|256|12 ' "$BANKFOLD_VOTE_TUNED")" = 1 ] || complain 'the line was not replaced'
[ "$(grep -cv '^#' "$BANKFOLD_VOTE_TUNED")" = 3 ] || complain 'other lines are lost'
sed -i 's/|0|0|256|12 .*/|0|0|256|12 0 0 4 96 1 2 1.0/' "$BANKFOLD_VOTE_TUNED"
use saved >"$work/said"
grep -qx 'plain: error 0, method 0, copies 4, threads 96, blocks 1, loads 2' "$work/said" ||
  complain "what was tuned is not taken: $(cat "$work/said")"
grep -q '^masked: error 0, method 1,' "$work/said" || complain 'a mask is packed'
for line in '0 0 3 96 1 2' '0 0 4 96 1' '77 0 4 96 1 2' '3 0 4 96 1 2'; do
  sed -i "s/|0|0|256|12 .*/|0|0|256|12 $line/" "$BANKFOLD_VOTE_TUNED"
  use "line $line" | grep -q '^plain: error 0, method 0, copies 2, threads 256,' || complain "a bad line is taken: $line"
done
unset BANKFOLD_VOTE_TUNED

# The tables of published work, from a few configurations of small images.
exec_ --quiet "$work/vote_bench" --tables "$work/tables.csv" 32 >"$work/tables" || complain 'tables are wrong'
for table in 3.3 3.4 3.5 3.6 3.7 4.1 4.2; do
  grep -q "^Table $table:" "$work/tables" || complain "Table $table is not printed"
  [ $table = 3.7 ] || grep -q "^$table,.*,right$" "$work/tables.csv" || complain "Table $table has no rows"
done
grep -q ',wrong$' "$work/tables.csv" && complain 'a row of a table is wrong'

"$build/bankfold" exec --quiet "$work/vote_bench" --nonsense 2>/dev/null
[ $? = 2 ] || complain 'a wrong option is accepted'

# The page and the report show what the file of the measurement says; wrong results are refused.
csv=bench/results/2026-11-15-h200-votes.csv
for page in docs/vote_gpu.md bench/results/2026-11-15-h200-votes.md; do
  python3 gpu/vote/results.py --check $csv $page || complain "$page is not what $csv says"
done
awk -F, -v OFS=, '$5 == "default" && !done { $7 += 1; done = 1 } 1' $csv >"$work/one.csv"
python3 gpu/vote/results.py --check "$work/one.csv" docs/vote_gpu.md 2>/dev/null && complain 'a page with other times passes'
sed '2s/right/wrong/' $csv >"$work/two.csv"
python3 gpu/vote/results.py "$work/two.csv" >/dev/null 2>&1 && complain 'results.py accepts wrong results'
exit $((faults > 0))
