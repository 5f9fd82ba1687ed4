# shellcheck shell=bash
# compile PROGRAM OUT FLAGS...: a test program with room vote, for the processor of $CC. Sourced in the
# project's folder.
compile() {
  local program=$1 out=$2 isa isas flags objects=()
  shift 2
  local common=(-std=gnu11 -g -O1 -D_GNU_SOURCE -Iinclude -Isrc -ffp-contract=off "$@")
  case $("${CC:-cc}" -dumpmachine) in
  x86_64*) isas='plain sse4 avx2 avx512' ;;
  aarch64*) isas='plain neon' ;;
  *) isas=plain ;;
  esac
  for isa in $isas; do
    flags=()
    [ $isa = sse4 ] && flags=(-msse4.2 -mpopcnt)
    [ $isa = avx2 ] && flags=(-mavx2 -mbmi -mbmi2)
    [ $isa = avx512 ] && flags=(-mavx512f -mavx512bw -mavx512dq -mavx512vl -mbmi -mbmi2)
    [ $isa = neon ] && flags=(-O3 -fno-trapping-math -fno-math-errno)
    "${CC:-cc}" "${common[@]}" "${flags[@]}" -DBF_VOTE_ISA=$isa -c src/vote/kernel.c \
      -o "$out.$isa.o" || return 1
    objects+=("$out.$isa.o")
  done
  "${CC:-cc}" "${common[@]}" "$program" \
    src/vote/{image,bins,kernels,plan,count,histogram,hough,hough_count,peaks,edges,lines,reference}.c \
    src/base/{diagnostic,options,thread}.c "${objects[@]}" -o "$out" -lm -pthread
}
