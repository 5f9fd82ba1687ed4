#!/usr/bin/env bash
# Programs that use the toolkit's own headers, each built by plain nvcc (with the CUDA runtime inside, and PTX only, which
# takes less time) and run by exec of build folder $1; they check their results themselves. Prints a line for each; with
# --table the list of docs/exec.md, with --update it is put there. Further arguments name the programs; all are without.
# Skipped without nvcc.
#   tests/headers/run.sh build [--table | --update] [NAME...]
set -u
build=$(readlink -f "$1")
shift
cd "$(dirname "$0")" || exit 2
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo 'no nvcc' && exit 77; }
[ -e "$build/runtime/libbankfold-lead.so" ] || { echo "no $build/runtime/libbankfold-lead.so" && exit 77; }
table=''
update=''
if [ "${1-}" = --table ] || [ "${1-}" = --update ]; then
  table=yes
  [ "$1" = --table ] || update=yes
  shift
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# result PROGRAM: what became of it, in words, in the file PROGRAM.result.
result() {
  local status
  if ! nvcc -std=c++17 -gencode arch=compute_90,code=compute_90 -o "$work/$1" "$1.cu" >"$work/$1.nvcc" 2>&1; then
    echo "does not build: $(grep -m 1 error "$work/$1.nvcc")"
    return
  fi
  timeout 300 "$build/bankfold" exec "$work/$1" >"$work/$1.out" 2>"$work/$1.err"
  status=$?
  if [ $status = 0 ] && [ "$(tail -n 1 "$work/$1.out")" = right ]; then
    echo runs
  elif grep -q '^bankfold: ' "$work/$1.err"; then
    sed -n 's/^bankfold: //p' "$work/$1.err" | head -n 1
  else
    echo "status $status: $(head -n 1 "$work/$1.out")"
  fi
  rm -f "$work/$1"
}

[ $# -gt 0 ] || for file in *.cu; do set -- "$@" "${file%.cu}"; done
# Two at a time: compiling takes most of the time.
jobs=0
for program; do
  result "$program" >"$work/$program.result" &
  jobs=$((jobs + 1))
  [ $((jobs % 2)) = 0 ] && wait
done
wait
faults=0
[ -n "$update" ] && exec 3>&1 >"$work/table"
[ -n "$table" ] && printf '| program | headers | under exec |\n|---|---|---|\n'
for program; do
  words=$(cat "$work/$program.result")
  [ "$words" = runs ] || faults=$((faults + 1))
  if [ -n "$table" ]; then
    printf '| %s | %s | %s |\n' "$program" "$(sed -n 's,^// headers: ,,p' "$program.cu")" "$words"
  else
    echo "$program: $words"
  fi
done
if [ -n "$update" ]; then
  page=../../docs/exec.md
  exec >&3
  awk -v table="$work/table" '/^<!-- tests\/headers\/run.sh/ { print; while ((getline line < table) > 0) print line; skip = 1; next }
    /^<!-- end/ { skip = 0 } !skip' "$page" >"$work/page" && cp "$work/page" "$page"
fi
[ -n "$table" ] || echo "$# programs, $faults faults"
[ $faults = 0 ]
