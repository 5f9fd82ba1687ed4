# shellcheck shell=bash
# compile PROGRAM OUT FLAGS...: a test program with room vote. Sourced in the project's folder.
compile() {
  local program=$1 out=$2 isa flags objects=()
  shift 2
  local common=(-std=gnu11 -g -O1 -D_GNU_SOURCE -Iinclude -Isrc -ffp-contract=off "$@")
  for isa in plain sse4 avx2 avx512; do
    flags=()
    [ $isa = sse4 ] && flags=(-msse4.2 -mpopcnt)
    [ $isa = avx2 ] && flags=(-mavx2 -mbmi -mbmi2)
    [ $isa = avx512 ] && flags=(-mavx512f -mavx512bw -mavx512dq -mavx512vl -mbmi -mbmi2)
    [ $isa != plain ] && [ "$(uname -m)" != x86_64 ] && continue
    "${CC:-cc}" "${common[@]}" "${flags[@]}" -DBF_VOTE_ISA=$isa -c src/vote/kernel.c \
      -o "$out.$isa.o" || return 1
    objects+=("$out.$isa.o")
  done
  "${CC:-cc}" "${common[@]}" "$program" \
    src/vote/{image,bins,kernels,plan,count,histogram,hough,hough_count,peaks,edges,lines,reference}.c \
    src/base/{diagnostic,thread}.c "${objects[@]}" -o "$out" -lm -pthread
}
