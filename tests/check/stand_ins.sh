#!/usr/bin/env bash
# The stand-ins for NVIDIA's libraries in build folder $1 against sums written out (tests/check/stand_ins), under all of
# their names. programs.sh has a program that uses them by the toolkit's headers.
set -u
build=$(readlink -f "$1")
cd "$(dirname "$0")/stand_ins" || exit 2
libraries=$build/runtime/stand_ins
[ -e "$libraries/libcublas.so.13" ] || { echo "no $libraries/libcublas.so.13" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
faults=0
# try PROGRAM LIBRARY SAYS: standard error must hold a pattern.
try() {
  # Functions that are not there are called without their arguments.
  "$cc" -O1 "$1.c" -L"$libraries" "-l:$2" -lm -o "$work/$1" || exit 2
  LD_LIBRARY_PATH=$libraries "$work/$1" 2>"$work/err" || faults=1
  grep -q "$3" "$work/err" || {
    echo "$2 does not say '$3'"
    faults=1
  }
}
try blas libcublas.so.13 'cublasStrsm_v2 is not among the stand-ins'
try blas libcublas.so.12 'cublasStrsm_v2 is not among the stand-ins'
try blas libcublas.so.11 'cublasStrsm_v2 is not among the stand-ins'
try fft libcufft.so.10 'cufftXtExec is not among the stand-ins'
try fft libcufft.so.12 'cufftXtExec is not among the stand-ins'
try fft libcufft.so.11 'cufftXtExec is not among the stand-ins'
# cuRAND's numbers are NVIDIA's, also where its library is not at hand.
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
curand=$(nvcc=$(command -v nvcc) && find "$(dirname "$(dirname "$(readlink -f "$nvcc")")")/" -name libcurand.so.10 | head -n 1)
"$cc" -O1 random.c -ldl -o "$work/random" || exit 2
"$work/random" "$libraries/libcurand.so.10" ${curand:+"$curand"} || faults=1
# They are found where exec is told to put them, and not else.
# shellcheck disable=SC2016 # the program's variable
{
  "$build/bankfold" exec --stand-ins sh -c 'echo "$LD_LIBRARY_PATH"' | grep -q 'runtime:.*stand_ins' || faults=1
  "$build/bankfold" exec sh -c 'echo "$LD_LIBRARY_PATH"' | grep -q stand_ins && faults=1
}
exit $faults
