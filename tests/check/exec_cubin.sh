#!/usr/bin/env bash
# exec --cubin auto of build folder $1: a program has the cycles that sim --cubin auto gives its PTX, as it is, rewritten, and
# linked of two parts; where ptxas refuses, those of the estimate, and it is said. Skipped without nvcc.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo 'no nvcc' && exit 77; }
[ -e "$build/runtime/libcudart.so.13" ] || { echo "no $build/runtime/libcudart.so.13" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=tests/data/programs/transpose
faults=0

complain() {
  echo "$*"
  faults=$((faults + 1))
}

# executed OPTION... -- PROGRAM: the cycles of its two kernels, and what else is said of them.
executed() {
  "$build/bankfold" exec --gpu h200 "$@" 2>"$work/said" >/dev/null || complain "exec $* fails: $(cat "$work/said")"
  sed -nE 's/^( +[^ ]+){4} +([0-9]+) +[0-9.]+ us +.*(plain|padded).*$/\3 \2/p' "$work/said" | sort
}

# simulated FILE OPTION...: the same, of PTX.
simulated() {
  "$build/bankfold" sim "$1" --launch "$work/launch" --gpu h200 "${@:2}" >"$work/table" || complain "sim $* fails"
  sed -nE 's/^ +([0-9]+) .*(plain|padded)PKf.*$/\2 \1/p' "$work/table" | sort
}

# same WHAT A B
same() {
  if [ -z "$2" ] || [ "$2" != "$3" ]; then complain "$1: '$2' and '$3'"; fi
}

"$build/bankfold" ptx extract $program --output "$work/plain.ptx" || exit 1
cat >"$work/launch" <<'END'
buffer in f32 4096 random 0 1
buffer out f32 4096 zero
launch _Z5plainPKfPf grid 2 2 block 32 32 with in out
launch _Z6paddedPKfPf grid 2 2 block 32 32 with in out
END
estimated=$(executed $program)
same 'an estimate' "$estimated" "$(simulated "$work/plain.ptx")"
made=$(executed --cubin auto $program)
same 'machine code' "$made" "$(simulated "$work/plain.ptx" --cubin auto)"
grep -q 'by the machine code' "$work/said" || complain 'the table does not say that machine code decided'
[ "$made" != "$estimated" ] || complain 'machine code decides nothing'

echo '_Z5plainPKfPf fixed' >"$work/hashes"
"$build/bankfold" rewrite "$work/plain.ptx" --hash-file "$work/hashes" --output "$work/rewritten.ptx" >/dev/null || exit 1
same 'a rewritten module' "$(executed --cubin auto --rewrite "$work/hashes" $program)" "$(simulated "$work/rewritten.ptx" --cubin auto)"

BANKFOLD_PTXAS=/bin/false executed --cubin auto $program >"$work/refused"
same 'a module that ptxas refuses' "$(cat "$work/refused")" "$estimated"
grep -q 'cycles are estimated from the PTX: ptxas refuses' "$work/said" || complain 'it is not said that ptxas refuses'

# The same kernels, in a program that is linked of two parts.
sed 's/^int main() {/int part_main() {/' tests/programs/transpose.cu >"$work/kernels.cu"
echo 'int part_main(); int main() { return part_main(); }' >"$work/main.cu"
nvcc -arch=sm_90 -rdc=true -I tests/programs -o "$work/linked" "$work/kernels.cu" "$work/main.cu" || exit 1
same 'a linked program' "$(executed --cubin auto "$work/linked")" "$made"
! grep -q estimated "$work/said" || complain 'a linked program is estimated'

echo "machine code of programs: $faults faults"
[ $faults = 0 ]
