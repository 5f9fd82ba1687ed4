#!/usr/bin/env bash
# All of docs/never_slower.md on a GPU, in three calls of less than ten minutes each with 16 cores:
#
#   bench/sitting.sh prepare PROGRAMS       builds the programs, which needs nvcc and no GPU
#   bench/sitting.sh 1 PROGRAMS OUT         bench/strangers, two rounds as they are, under run and run --learn
#   bench/sitting.sh 2 PROGRAMS OUT         the corpus and tests/programs, as they are and under run
#   bench/sitting.sh 3 PROGRAMS OUT [WHEEL] Triton's kernels and library; compute-sanitizer; programs of CUB in many rounds
#   bench/sitting.sh table OUT...           one set of tables from all of these
#
# PROGRAMS may have been prepared elsewhere: what is missing is built. OUT gets JSON files and tables, each written after every program, so that
# what was measured stays where a call is cut off, and status.txt, a line for each step: how it ended, and seconds. SITTING_SECONDS (560) is
# for a call; a step has what is left of it.
set -u
usage() {
  sed -n '2,13s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
[ $# -ge 2 ] || usage
call=$1 programs=$(readlink -m "$2")
cd "$(dirname "$0")/.." || exit
start=$SECONDS
status=0

# step NAME SECONDS COMMAND...: runs a command for at most so long, and for what is left.
step() {
  local name=$1 most=$2 from=$SECONDS left=$((${SITTING_SECONDS:-560} - SECONDS + start)) ended=0
  shift 2
  [ "$left" -lt "$most" ] && most=$left
  if [ "$most" -lt 10 ]; then
    echo "$name: no time left" | tee -a "$out/status.txt"
    status=1
    return
  fi
  SITTING_LEFT=$((most - 5)) timeout -k 5 "$most" "$@" >"$out/$name.txt" 2>&1 || ended=$?
  echo "$name: status $ended, $((SECONDS - from)) s" | tee -a "$out/status.txt"
  [ "$ended" = 0 ] || status=1
}

# measure NAME SECONDS OPTION...: a step of bench/never_slower.py, which begins no round that would end too late.
measure() {
  local name=$1 most=$2
  shift 2
  # shellcheck disable=SC2016
  step "$name" "$most" sh -c 'python3 bench/never_slower.py "$0" --seconds "$SITTING_LEFT" "$@"' "$build" --programs "$programs" \
    --output "$out/$name.json" "$@"
}

# The library, which programs are run with; gpu: and what the corpus needs.
build_library() {
  build=$programs/build
  mkdir -p "$build"
  touch "$programs"/* # they were built from these sources, whenever these were copied
  if [ "${1-}" = gpu ]; then
    step build 200 gpu/build.sh "$build"
  else
    step build 150 inject/build.sh "$build/libbankfold-inject.so"
  fi
}

case $call in
prepare)
  mkdir -p "$programs"
  exec python3 bench/never_slower.py . --programs "$programs" --sets strangers,tests --build
  ;;
table)
  tables=$PWD/bench/speed_table.py
  cd "$OLDPWD" && shift && find "$@" -name '*.json' ! -name cub.json -exec python3 "$tables" {} +
  exit
  ;;
1 | 2 | 3) [ $# -ge 3 ] || usage ;;
*) usage ;;
esac
mkdir -p "$3"
out=$(readlink -f "$3")
: >"$out/status.txt"
case $call in
1)
  build_library
  measure strangers 500 --modes plain,run,learn --rounds 2
  step learnt 20 python3 bench/learnt_table.py "$out/strangers.json"
  ;;
2)
  build_library gpu
  measure corpus 420 --sets corpus --modes plain,run --rounds 1
  measure tests 120 --sets tests --modes plain,run --rounds 1
  ;;
3)
  build_library
  step triton 240 python3 bench/triton_python.py ${4:+--wheel "$4"} --output "$out/triton.json" triton library
  measure sanitize 200 --sanitize --sets strangers --modes plain,run
  measure cub 240 --modes plain,run,learn --rounds 30 strangers/cub_device_sort strangers/cub_device_scan \
    strangers/cub_device_histogram
  ;;
esac
exit $status
