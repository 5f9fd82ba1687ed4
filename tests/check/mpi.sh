#!/usr/bin/env bash
# A CUDA program of two MPI processes under exec of build folder $1, started by mpirun and with mpirun inside. Skipped
# without nvcc or Open MPI.
set -u
build=$(readlink -f "$1")
cd "$(dirname "$0")" || exit 2
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo 'no nvcc' && exit 77; }
mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo 'no mpirun of Open MPI' && exit 77; }
# Debian's package of mpirun has mpicxx, but not what it includes.
echo '#include <mpi.h>' | mpicxx -fsyntax-only -xc++ /dev/stdin >/dev/null 2>&1 || { echo 'no mpicxx, or no mpi.h (Debian: libopenmpi-dev)' && exit 77; }
[ -e "$build/runtime/libbankfold-lead.so" ] || { echo "no $build/runtime/libbankfold-lead.so" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpirun=(mpirun --oversubscribe -n 2)
[ "$(id -u)" != 0 ] || mpirun+=(--allow-run-as-root)
faults=0
nvcc -arch=sm_90 -ccbin mpicxx mpi.cu -o "$work/mpi" || exit 2

# try PATTERN TABLES COMMAND...: the program is right, and standard error has so many tables with a line like PATTERN.
try() {
  local pattern=$1 tables=$2
  shift 2
  if [ "$(timeout 100 "$@" 2>"$work/err")" != '2 processes: 4192' ] || [ "$(grep -cE "$pattern" "$work/err")" != "$tables" ]; then
    echo "$* fails:"
    cat "$work/err"
    faults=1
  fi
}
# Each process has a table of its own, or all have one.
try '^ +0 +1 .* numbers$' 2 "${mpirun[@]}" "$build/bankfold" exec "$work/mpi"
try '^ +0 +2 .* numbers$' 1 "$build/bankfold" exec "${mpirun[@]}" "$work/mpi"
exit $faults
