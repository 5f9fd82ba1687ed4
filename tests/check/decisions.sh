#!/usr/bin/env bash
# What `run` decides for launches that were measured on an H200 is what it decided there (bench/decisions.py), in programs of
# build folder $1 whose kernels it rewrites. Skipped without nvcc and ptxas.
set -eu
build=$(readlink -f "$1")
cd "$(dirname "$0")/../.."
PATH=$PATH:/usr/local/cuda/bin
if ! command -v nvcc >/dev/null || [ ! -x /usr/local/cuda/bin/ptxas ]; then
  echo "skipped: no nvcc or ptxas"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar xzf bench/results/2026-11-18-h200-whole.tar.gz -C "$work" strangers.json
python3 bench/decisions.py "$build" --programs "$work/programs" --recorded "$work/strangers.json" \
  strangers/{alignments,butterflies,cg_scan,cg_tiles,convolve,elimination,scan_blelloch,stencils,streams,transposes} >"$work/said"
cat "$work/said"
grep -qx '30 launches as before, 0 otherwise, 0 of another size' "$work/said"

# Another library is told: one that decides otherwise for the same launches.
sed 's/bits:0,1,2^7,3^8,4^5^9/xor:0,5,31/' "$work/strangers.json" >"$work/other.json"
if python3 bench/decisions.py "$build" --programs "$work/programs" --recorded "$work/other.json" strangers/butterflies >"$work/said"; then
  echo "a decision that differs is not told"
  exit 1
fi
grep -q 'fourier.*: xor:0,5,31 -> bits:0,1,2^7,3^8,4^5^9' "$work/said"
