#!/usr/bin/env bash
# Histograms and Hough transforms of gpu/vote, built by nvcc and run by exec of build folder $1: they
# are what the CPU's library says in random cases, layouts have the conflicts that they must, and the
# tuner keeps what it finds; hist and hough --device gpu are what they are on the CPU. Headers are C. Skipped without nvcc.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || exit 77
[ -e "$build/runtime/libcudart.so.13" ] && [ -e "$build/libbankfold.a" ] || exit 77
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

printf '%s\n' gpu/vote/*.cu | xargs -P 2 -I FILE nvcc -std=c++17 -arch=sm_90 -cudart shared -lineinfo -O3 \
  -Xcompiler -fPIC -DBF_NO_CUB -Iinclude -Werror all-warnings -odir "$work" -c FILE || exit 1
nvcc -arch=sm_90 -cudart shared -o "$work/vote_bench" "$work"/*.o "$build/libbankfold.a" -lm -ldl -lzstd \
  -Xcompiler -pthread || exit 1
exec_() { "$build/bankfold" exec "$@"; }

# The program with --device gpu: the GPU is the emulator.
# shellcheck source=tests/check/vote/same_votes.sh
source tests/check/vote/same_votes.sh
mkdir "$work/programs"
mv "$work"/{bench,check,tables}.o "$work/programs"
nvcc -shared -arch=sm_90 -cudart shared -o "$work/libbankfold-vote-cuda.so" "$work"/*.o -Xlinker --no-undefined || exit 1
export BANKFOLD_VOTE_CUDA=$work/libbankfold-vote-cuda.so
same_votes "$build/bankfold" exec --quiet "$build/bankfold"

exec_ --quiet "$work/vote_bench" --check 600 || complain 'random cases differ'
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

for round in 1 2; do
  exec_ --quiet "$work/vote_bench" --tune "$work/new/vote.tuned" >"$work/said" || complain "tuning failed: $(cat "$work/said")"
  [ "$(grep -cv '^#' "$work/new/vote.tuned")" = 3 ] || complain "round $round: the file has not three lines"
done
grep -c '^before 0,' "$work/said" | grep -qx 3 || complain 'what was tuned is not found again'
[ "$(find "$work/new" -type f | wc -l)" = 1 ] || complain 'temporary files are left'

# The tables of published work, from a few configurations of small images.
exec_ --quiet "$work/vote_bench" --tables "$work/tables.csv" 32 >"$work/tables" || complain 'tables are wrong'
for table in 3.3 3.4 3.5 3.6 3.7 4.1 4.2; do
  grep -q "^Table $table:" "$work/tables" || complain "Table $table is not printed"
  [ $table = 3.7 ] || grep -q "^$table,.*,right$" "$work/tables.csv" || complain "Table $table has no rows"
done
grep -q ',wrong$' "$work/tables.csv" && complain 'a row of a table is wrong'

"$build/bankfold" exec --quiet "$work/vote_bench" --nonsense 2>/dev/null
[ $? = 2 ] || complain 'a wrong option is accepted'

printf '%s\n' \
  'problem,data,size,bins,method,parameters,median_us,gb_per_s,ratio,against,result,copy_us,wavefront_us' \
  '8 bits,natural,64x64,256,CUB,DeviceHistogram,10.00,1.0,1.00,CUB,right,4.00,' \
  '8 bits,natural,64x64,256,packed,x,5.00,2.0,2.00,CUB,right,4.00,3.00' >"$work/one.csv"
python3 gpu/vote/results.py "$work/one.csv" | grep '| 2.00 |' >/dev/null || complain 'results.py makes no table'
sed 's/right/wrong/' "$work/one.csv" >"$work/two.csv"
python3 gpu/vote/results.py "$work/two.csv" >/dev/null 2>&1 && complain 'results.py accepts wrong results'
exit $((faults > 0))
