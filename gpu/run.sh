#!/usr/bin/env bash
# Everything that is measured on a GPU for docs/results.md, from one script:
#   gpu/run.sh OUT RESULTS-FOLDER
# OUT is what gpu/build.sh made; it is made here where it is missing. Writes times.csv,
# wavefronts.csv and launches_h200.csv (with Nsight Compute), weighted.csv, votes.csv and vote_tables.csv (histograms and Hough transforms), overhead.txt,
# loads.csv and sanitizer.txt.
set -u
out=$1
results=$2
here=$(dirname "$0")
[ -x "$out/measure" ] || "$here/build.sh" "$out" || exit 1
command -v nvidia-smi >/dev/null || {
  echo "gpu/run.sh: no NVIDIA GPU" >&2
  exit 77
}
mkdir -p "$results"
library=$(readlink -f "$out")/libbankfold-inject.so
status=0

{
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  cache=$(mktemp -d)
  export BANKFOLD_HASH=fixed
  for round in 1 2 3; do
    echo "without the library: $("$out/overhead")"
    echo "with the library, cold cache: $(BANKFOLD_CACHE=$(mktemp -d) CUDA_CACHE_DISABLE=1 LD_PRELOAD=$library "$out/overhead")"
    BANKFOLD_CACHE=$cache LD_PRELOAD=$library "$out/overhead" >/dev/null
    echo "with the library, warm cache: $(BANKFOLD_CACHE=$cache LD_PRELOAD=$library "$out/overhead")"
  done
  rm -rf "$cache"
} >"$results/overhead.txt" 2>&1 || status=1

# Loading: the driver has a cache of its own, which starts empty and is filled by the round before.
{
  export CUDA_CACHE_PATH BANKFOLD_CACHE
  for round in 1 2 3; do
    CUDA_CACHE_PATH=$(mktemp -d) BANKFOLD_CACHE=$(mktemp -d)
    "$out/loads" 'without the library' "$out"/fatbins/*
    CUDA_FORCE_PTX_JIT=1 "$out/loads" 'PTX, empty caches' "$out"/fatbins/*
    CUDA_FORCE_PTX_JIT=1 "$out/loads" 'PTX, filled caches' "$out"/fatbins/*
    LD_PRELOAD=$library "$out/loads" 'with the library, empty caches' "$out"/fatbins/*
    LD_PRELOAD=$library "$out/loads" 'with the library, filled caches' "$out"/fatbins/*
    rm -rf "$CUDA_CACHE_PATH" "$BANKFOLD_CACHE"
  done
  unset BANKFOLD_HASH CUDA_CACHE_PATH BANKFOLD_CACHE
} >"$results/loads.csv" || status=1

"$out/weighted" >"$results/weighted.csv" || status=1
"$out/measure" "$here/corpus.scales" "$here/corpus.hashes" >"$results/times.csv" || status=1
if [ -x "$out/vote_bench" ]; then
  "$out/vote_bench" --check 3000 >&2 || status=1
  "$out/vote_bench" "$results/votes.csv" >"$results/votes.txt" || status=1
  "$out/vote_bench" --tables "$results/vote_tables.csv" >"$results/vote_tables.txt" || status=1
fi
if command -v ncu >/dev/null; then
  python3 "$here/wavefronts.py" "$out" "$here/corpus.scales" "$here/corpus.hashes" >"$results/wavefronts.csv" || status=1
  python3 "$here/truth.py" "$out" "$here/../tests/data/h200/launches.csv" "$out/h200_train.cubin" "$out/h200_test.cubin" \
    >"$results/launches_h200.csv" || status=1
fi
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck; do
    echo "== $tool"
    compute-sanitizer --tool $tool "$out/measure" "$here/corpus.scales" "$here/corpus.hashes" --once 2>&1 |
      grep -v '^[a-z0-9-]*,' | tail -20
  done >"$results/sanitizer.txt" 2>&1
fi
exit $status
