#!/usr/bin/env bash
# What ptxas makes of shared accesses, against the model in build folder $1: the counts written in
# tests/data/merge are those of ptxas, and for every kernel of kernels/ and tests/data/ptx, assembled
# without unrolling of loops, the model counts the same loads and stores of each width. Differences
# that are known stand below with their reasons; one that is gone is a fault too. Skipped where there
# is no ptxas.
set -u
build=$(readlink -f "$1")
cd "$(dirname "$0")/../.." || exit 2
PATH=$PATH:/usr/local/cuda/bin
command -v ptxas >/dev/null || { echo 'no ptxas' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0

# Kernels that differ: file/kernel, then why.
known() {
  case $1 in
  # 32-bit floating-point and 16-bit atomics on shared memory are loops of a load and a
  # compare-and-swap; the loads belong to the atomics.
  histogram/weighted_major | histogram/weighted_binmajor | histogram/weighted_padded) ;;
  numbers.sm_90/half_and_brain) ;;
  # Loops that ptxas unrolls itself, and merges across iterations.
  apart/loop_4_const | apart/loop_16_const | apart/loop_n) ;;
  # Loads of u16 that are extended with the other sign are merged all the same.
  apart/b16_h_used_as_s32) ;;
  # The same load on both short sides of a branch becomes one.
  apart/if_ld0_else_ld0_small) ;;
  # The reciprocal of a constant needs no routine.
  apart/rcp_rn_f32_f30_0f40400000) ;;
  *) return 1 ;;
  esac
}

# assemble PTX: names and counts of its kernels, as ptxas makes them.
assemble() {
  ptxas -w -arch=sm_90 "$1" -o "$work/cubin" && tests/check/merge/sass_shared.py "$work/cubin"
}

# compare NAME PTX MODEL: lines "kernel counts" of both; functions that ptxas has inlined count for
# nothing.
compare() {
  local kernel counts line
  while read -r kernel counts; do
    line=$(grep -m1 "^$kernel\( \|$\)" "$3") || line="$kernel nothing"
    if [ "$line" != "$kernel${counts:+ $counts}" ]; then
      known "$1/$kernel" && continue
      echo "$1: ptxas: $kernel $counts; model: $line"
      faults=1
    elif known "$1/$kernel"; then
      echo "$1: $kernel is listed as different and is not"
      faults=1
    fi
  done <"$2"
}

for file in tests/data/merge/*.txt; do
  name=$(basename "$file" .txt)
  "$build/tests/check_merge" --ptx "$file" >"$work/a.ptx" || faults=1
  "$build/tests/check_merge" --expected "$file" | sort >"$work/expected"
  "$build/tests/check_merge" "$work/a.ptx" >"$work/model" || faults=1
  assemble "$work/a.ptx" | sort >"$work/found"
  diff "$work/expected" "$work/found" || {
    echo "$file: ptxas makes something else of it"
    faults=1
  }
  compare "$name" "$work/found" "$work/model"
done

for file in kernels/*/*.ptx tests/data/ptx/*.sm_90.ptx; do
  [ -e "$file" ] || continue
  awk '{ print } /^\$L__BB[0-9_]*:/ { print ".pragma \"nounroll\";" }' "$file" >"$work/a.ptx"
  "$build/tests/check_merge" "$work/a.ptx" >"$work/model" || faults=1
  assemble "$work/a.ptx" >"$work/found" || faults=1
  compare "$(basename "$file" .ptx)" "$work/found" "$work/model"
done

# Hashes that keep merged accesses whole do not keep ptxas from merging them.
while read -r file kernel hash; do
  "$build/bankfold" rewrite "kernels/$file/$file.ptx" --hash "$hash" --kernel "$kernel" \
    --output "$work/hashed.ptx" >/dev/null || faults=1
  plain=$(assemble "kernels/$file/$file.ptx" | grep "^$kernel ")
  hashed=$(assemble "$work/hashed.ptx" | grep "^$kernel ")
  if [ -z "$plain" ] || [ "$plain" != "$hashed" ]; then
    echo "$kernel: plain $plain; with $hash $hashed"
    faults=1
  fi
done <<'END'
fft fft512 xor:0,3,28
dct8x8 dct8x8 xor:0,3,28
END
exit $faults
