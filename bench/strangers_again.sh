#!/usr/bin/env bash
# bench/strangers under `run` and `run --learn` once more: bench/strangers_again.sh FOLDER [SECONDS [MODES]]
# Needs a GPU, nvcc, a C compiler and libsupc++.a; takes about six minutes with 16 cores. The library is built without a
# build system, programs beside it; FOLDER gets strangers.json and its tables, which are printed too. docs/never_slower.md says
# what they mean.
set -eu
[ $# -ge 1 ] || {
  echo "usage: bench/strangers_again.sh FOLDER [SECONDS [MODES]]" >&2
  exit 2
}
mkdir -p "$1"
out=$(readlink -f "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/build"
inject/build.sh "$work/build/libbankfold-inject.so"
status=0
python3 bench/never_slower.py "$work/build" --programs "$work/programs" --modes "${3:-plain,run,learn}" --rounds 2 \
  --seconds "${2:-300}" --output "$out/strangers.json" >"$out/tables.txt" || status=$?
python3 bench/learnt_table.py "$out/strangers.json"
exit $status
