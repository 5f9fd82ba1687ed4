#!/usr/bin/env bash
# bankfold tune of build folder $1, with a driver that has a clock and no GPU: what is faster beyond
# noise is taken and nothing else, and programs that behave otherwise with a hash lose that hash.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
parts=$build/tests/inject
[ -e "$parts/tuned" ] || { echo "no $parts/tuned" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/temporary"
export LD_LIBRARY_PATH=$parts TMPDIR=$work/temporary STUB_TIMES=$work/table STUB_RUNS=$work/runs \
  STUB_LOG=$work/calls NO_COLOR=1 LC_ALL=C
tile=tests/data/ptx/tile.sm_90.ptx
small=_Z9transposeILi16EEvPfPKf
large=_Z9transposeILi32EEvPfPKf
faults=0

complain() {
  echo "$*"
  faults=$((faults + 1))
}

# table LINE...: what launches take: KERNEL TEXT NS NOISE. 124 is in the PTX of fixed, 112 in that of
# cute:3,4,3, bf_term in that of every hash.
table() { printf '%s\n' "$@" >"$work/table"; }

# tune STATUS OPTION... -- STEP...: tunes the test program; what it prints goes to $work.
tune() {
  local status expected=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  shift
  rm -f "$work/runs" "$work/calls" "$work/hashes"
  "$build/bankfold" tune --output "$work/hashes" "${options[@]}" "$parts/tuned" $tile "$@" \
    >"$work/out" 2>"$work/err" </dev/null
  status=$?
  [ $status = "$expected" ] || complain "$*: status $status: $(cat "$work/err")"
  [ -z "$(ls -A "$work/temporary")" ] || complain "$*: leaves files behind"
  [ $status = 0 ] || [ ! -e "$work/hashes" ] || complain "$*: hashes in spite of an error"
  ! grep -h FAULT "$work/calls" 2>/dev/null || complain "$*: the driver complains"
}

# chosen KERNEL HASH: the file says so.
chosen() { grep -qxF -- "$1 $2" "$work/hashes" || complain "not $1 $2: $(cat "$work/hashes" "$work/out")"; }
# says TEXT, warns TEXT: on standard output, on standard error.
says() { grep -qF -- "$1" "$work/out" || complain "the table does not say '$1': $(cat "$work/out")"; }
warns() { grep -qF -- "$1" "$work/err" || complain "no '$1' on standard error: $(cat "$work/err")"; }
# ran TIMES: that many runs of the program.
ran() { says "$1 runs"; }

# Every kernel its own: one hash is best for one, another for another; a third is slower with all.
table "$large 124 1000 1" "$large 112 600 1" "$large bf_term 1500 1" "$large * 2000 1" \
  "$small 124 700 0" "$small bf_term 900 0" "$small * 1000 0" "rotate bf_term 600 0" "rotate * 500 0"
tune 0 -- "$large*20" "$small*20" 'rotate*20'
chosen "$large" cute:3,4,3
chosen "$small" fixed
chosen rotate none
says 'transpose<32>: cute:3,4,3'
says 'rotate: left alone: cute:3,4,3 takes 120.0% of the time'
[ ! -s "$work/err" ] || complain "standard error: $(cat "$work/err")"
says '        20      1.00 us       700 ns     1.43x      8  transpose<16>: fixed'
# The file is one that run takes.
BANKFOLD_CACHE="$work/cache" "$build/bankfold" run --hash-file "$work/hashes" --log "$work/log" "$parts/tuned" $tile >/dev/null
grep -q "$large: cute:3,4,3" "$work/log" || complain 'run does not take the file'
grep -q 'rotate: left alone' "$work/log" || complain 'run does not take none from the file'
# A pipe, which can be read once, is as good as the file: also for what the program starts with all files closed.
rm -rf "$work/cache" "$work/log"
BANKFOLD_CACHE="$work/cache" "$build/bankfold" run --hash-file <(cat "$work/hashes") --log "$work/log" \
  python3 -c 'import subprocess, sys; subprocess.run(sys.argv[1:], check=True)' "$parts/tuned" $tile >/dev/null
grep -q "$large: cute:3,4,3" "$work/log" || complain 'run does not take a pipe'
BANKFOLD_CACHE="$work/cache" "$build/bankfold" run --hash-file "$work/hashes" --log "$work/log" "$parts/tuned" $tile >/dev/null
[ "$(find "$work/cache" -type f | wc -l)" = 1 ] || complain 'a pipe and a file with the same hashes have other keys'

# Ties: the first of equal candidates; less than a hundredth is no gain; noise is no gain.
table "$large bf_term 1000 0" "$large * 2000 0" "$small bf_term 995 0" "$small * 1000 0" \
  'rotate bf_term 960 10' 'rotate * 1000 10'
tune 0 -- "$large*5" "$small*5" 'rotate*5'
chosen "$large" fixed
chosen "$small" none
chosen rotate none
says 'takes 99.5% of the time, with noise of 0.0%'

# What is faster by much more than noise is taken all the same.
table "$large bf_term 500 10" "$large * 1000 10"
tune 0 --hash fixed -- "$large*5"
chosen "$large" fixed

# First launches do not count where there are more: here they take longer than all others. Where
# there is one, all have it.
table "$large 124 900000 0" "$large bf_term 1100000 0" "$large * 1000000 0"
tune 0 -- "$large*3"
chosen "$large" fixed
says '1.000 ms    900.00 us     1.11x'
tune 0 -- "$large*1"
says '2.000 ms     1.900 ms     1.05x'

# A kernel with several grids: what counts is the sum.
table "$large 124 900 0" "$large bf_term 2000 0" "$large * 1000 0"
tune 0 -- "$large*9" "$large*3+100"
chosen "$large" fixed
says '        12     25.75 us     23.18 us     1.11x'

# A kernel that is slower with every hash, and candidates that are given up early for it: one round
# of nine runs, and the program as it is twice more.
table "$large bf_term 3000 0" "$large * 1000 0"
tune 0 -- "$large*5"
chosen "$large" none
ran 12
# A candidate that no kernel can use is given up too: 16 bytes at a time need 16 bytes together.
table 'rotate bf_term 300 0' 'rotate * 500 0'
tune 0 --hash fixed --hash cute:3,4,3 --repeats 2 -- 'rotate*5'
chosen rotate cute:3,4,3
ran 10
tune 0 --hash fixed -- 'rotate*5'
chosen rotate none
says 'rotate: left alone: line 134: '

# Candidates from a file, each kernel with its own; the file is not one for kernels it does not name.
table "$large 112 100 0" "$large bf_term 500 0" "$large * 1000 0" "$small bf_term 500 0" "$small * 1000 0"
printf '%s cute:3,4,3\n' "$large" >"$work/candidates"
tune 0 --hash-file "$work/candidates" --hash fixed -- "$large*5" "$small*5"
chosen "$large" cute:3,4,3
chosen "$small" fixed

tune 0 --hash-file <(cat "$work/candidates") --hash fixed -- "$large*5" "$small*5"
chosen "$large" cute:3,4,3

# A candidate may have hashes for single arrays; so has what is chosen then.
tile_array=_ZZ9transposeILi32EEvPfPKfE4tile
printf '%s[%s] cute:3,4,3\n' "$large" $tile_array >"$work/candidates"
tune 0 --hash-file "$work/candidates" --hash fixed -- "$large*5"
chosen "$large" none
chosen "${large}[$tile_array]" cute:3,4,3
BANKFOLD_CACHE="$work/cache" "$build/bankfold" run --hash-file "$work/hashes" --log "$work/log" "$parts/tuned" \
  $tile >/dev/null
grep -q "$large: .*=cute:3,4,3" "$work/log" || complain 'run does not take hashes of arrays'

# What is chosen is measured again: a kernel that is not faster then, or a run that differs then.
table "$large bf_term 500 0" "$large * 1000 0" "$small bf_term 500 0" "$small * 1000 0"
printf '%s\n' "$large bf_term 999 0" "$small bf_term 600 0" >"$work/later"
tune 0 --hash fixed -- "?table:$work/later" "$large*5" "$small*5"
chosen "$large" none
chosen "$small" fixed
says '1.00 us       600 ns     1.67x      1  transpose<16>: fixed'
says 'transpose<32>: left alone: fixed was faster, but not again when that was to be confirmed'
tune 0 --hash fixed -- "$large*5" '?print:wrong'
chosen "$large" none
warns 'the program prints something else; it is not used'

# Runs that launch other sizes are compared by those that they have in common; kernels that a run
# does not launch are not compared.
table "$large bf_term 500 0" "$large * 1000 0" "$small bf_term 500 0" "$small * 1000 0"
tune 0 --hash fixed -- "$large*5" "fixed?$large*7+50" "none?$large*7+60" "none?$small*5" 'none?rotate*4'
chosen "$large" fixed
chosen "$small" none
says '1.00 us       500 ns     2.00x      1  transpose<32>: fixed'
says 'transpose<16>: left alone: no candidate can be used for it'

# Threads with their own streams, kernels in graphs, children: all are seen, and disturb nothing.
table "$large bf_term 500 1" "$large * 1000 1"
tune 0 --hash fixed -- "$large*10@8" "capture:$large" "fork:$large*4"
chosen "$large" fixed
says '        85' # the launch into the graph is not timed, that beside it is
tune 0 --hash fixed -- "$large*40" _exit:0
chosen "$large" fixed

# Programs that behave otherwise with a hash lose it, with a warning; the next best is taken.
table "$large 124 500 0" "$large 112 700 0" "$large * 1000 0"
for step in print:wrong exit:3 abort _exit:1; do
  tune 0 --hash fixed --hash cute:3,4,3 -- "$large*5" "fixed?$step"
  chosen "$large" cute:3,4,3
  warns 'with fixed the program'
done
warns 'has exit status 1, not 0'
tune 0 --hash fixed --hash cute:3,4,3 -- "$large*5" 'fixed?abort'
warns 'is ended by signal 6'
tune 0 --hash fixed --hash cute:3,4,3 --timeout 1 -- "$large*5" 'fixed?hang'
chosen "$large" cute:3,4,3
warns 'does not end within 1 s'
tune 0 --hash fixed --ignore-output -- "$large*5" 'fixed?print:wrong' 'none?print:right'
chosen "$large" fixed
# Programs with a status of their own, and with input.
tune 0 --hash fixed -- "$large*5" exit:7
chosen "$large" fixed
printf 'some input\n' >"$work/input"
tune 0 --hash fixed --input "$work/input" -- "$large*5" input
chosen "$large" fixed
tune 2 --input "$work/missing" -- "$large*5"

# No kernels, programs that fail or never print the same, no GPU, no driver.
tune 2 -- print:nothing
warns 'launches no kernel that can be timed (exit status 0)'
tune 2 -- "$large*5" abort
warns 'is ended by signal 6'
tune 2 --timeout 0.5 -- "$large*5" hang
warns 'does not end within 0 s'
tune 2 -- "$large*5" process
warns 'run again as it is, the program prints something else: runs cannot be compared (--ignore-output'
tune 0 --ignore-output --hash fixed -- "$large*5" process
chosen "$large" fixed
STUB_ARCH='' tune 2 -- "$large*5"
warns 'no NVIDIA GPU that its driver can use'
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
  LD_LIBRARY_PATH='' tune 2 -- "$large*5"
  warns 'no driver for NVIDIA GPUs (libcuda.so.1)'
fi

# Ctrl-C: the program is ended, and nothing is left behind. Jobs of scripts ignore it, so that the
# signal is sent by a shell that does not.
timeout --foreground --signal INT 1 "$build/bankfold" tune --output "$work/hashes" \
  "$parts/tuned" $tile "$large*5" 'fixed?hang' >"$work/out" 2>"$work/err" </dev/null
[ $? = 124 ] || complain 'Ctrl-C does not end it'
warns 'interrupted'
[ -z "$(ls -A "$work/temporary")" ] || complain 'Ctrl-C leaves files behind'

echo "$faults faults"
[ $faults = 0 ]
