#!/usr/bin/env bash
# What exec --detect races costs: CPU time, also the system's, of the kernels of bench/races.cu with and without it, on one
# thread, the least of three runs each; a JSON line for each kernel.
#   bench/races.sh build [KERNEL...]
set -u
cd "$(dirname "$0")/.." || exit 2
build=$(readlink -f "$1")
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvcc -cudart shared -gencode arch=compute_90,code=compute_90 -o "$work/races" bench/races.cu || exit 1
TIMEFORMAT='%U %S'

kernels=("${@:2}")
[ ${#kernels[@]} -gt 0 ] || kernels=(copy product sum histogram rows_double rows_float4 rows_byte stencil structs columns
  gather scatter transpose bitonic bytes)

# least KERNEL OPTION...: seconds.
least() {
  for _ in 1 2 3; do
    { time "$build/bankfold" exec --every-launch --quiet --threads 1 "${@:2}" "$work/races" "$1" >/dev/null 2>&1; } 2>&1
  done | awk '{ print $1 + $2 }' | sort -n | head -n 1
}

for kernel in "${kernels[@]}"; do
  plain=$(least $kernel)
  checked=$(least $kernel --detect races)
  awk -v kernel=$kernel -v plain="$plain" -v checked="$checked" 'BEGIN {
    printf "{\"bench\": \"races\", \"kernel\": \"%s\", \"seconds\": %s, \"checked_seconds\": %s, \"times\": %.1f}\n",
      kernel, plain, checked, checked / plain }'
done
