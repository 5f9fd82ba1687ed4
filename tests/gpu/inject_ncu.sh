#!/usr/bin/env bash
# Whether the injection library gets into a program under Nsight Compute, and how: for each way to give
# the program the library, the load wavefronts of its first launch and what the library's log says. Needs
# a GPU, cc, nvcc and ncu, and nothing else that is built.
#
#   tests/gpu/inject_ncu.sh [FOLDER]     FOLDER keeps what is built and printed (a temporary one)
set -u
cd "$(dirname "$0")/../.." || exit 2
work=${1:-$(mktemp -d)}
mkdir -p "$work" && work=$(readlink -f "$work")
[ $# -gt 0 ] || trap 'rm -rf "$work"' EXIT
for tool in cc nvcc ncu; do
  command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done

library=$work/libbankfold-inject.so
sed -n '/^    cc /,/^$/p' docs/inject.md | sed "s|-o libbankfold-inject.so|-o $library|" >"$work/build.sh"
bash "$work/build.sh" || exit 1
nvcc -arch="${ARCH:-native}" -O2 -o "$work/app" tests/gpu/inject.cu || exit 1
export BANKFOLD_HASH=fixed BANKFOLD_CACHE=$work/cache BANKFOLD_LOG=$work/log

counter=smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
profile=(ncu --target-processes all --launch-count 1 --metrics "$counter" --csv)

# try NAME COMMAND...: runs the command, prints the counter and the log.
try() {
  local name=$1
  shift
  echo "== $name"
  rm -f "$work/log"
  "$@" >"$work/out" 2>&1
  echo "status $?"
  grep -h "$counter\|transpose \|==ERROR==\|==WARNING==" "$work/out"
  sed 's/^/log: /' "$work/log" 2>/dev/null || echo 'no log: the library was not loaded'
}

echo "== the environment of a program under ncu"
env LD_PRELOAD="$library" ncu --target-processes all env 2>&1 |
  grep -E '^(LD_|CUDA_|NV|NSIGHT|BANKFOLD_|QUADD)' | tee "$work/environment"
rm -f "$work/log"

echo "== what the libraries that ncu loads before programs put in the place of libc's and the driver's functions"
sed -n 's/^LD_PRELOAD=//p' "$work/environment" | tr ': ' '\n' | while read -r loaded; do
  [ -e "$loaded" ] || continue
  echo "$loaded: $(nm -D --defined-only "$loaded" 2>/dev/null |
    sed -n 's/.* [TWi] \(dl[a-z]*sym\|dlm*open\|exec[a-z]*\|posix_spawnp*\|cu[A-Z].*\)$/\1/p' | sort | tr '\n' ' ')"
done

try 'no library, no ncu' "$work/app"
try 'library, no ncu' env LD_PRELOAD="$library" "$work/app"
try 'no library' env -u LD_PRELOAD "${profile[@]}" "$work/app"
try 'library for ncu and what it starts' env LD_PRELOAD="$library" "${profile[@]}" "$work/app"
try 'library for the program, before those of ncu' \
  "${profile[@]}" sh -c "LD_PRELOAD=$library\${LD_PRELOAD:+:\$LD_PRELOAD} exec $work/app"
try 'library for the program, behind those of ncu' \
  "${profile[@]}" sh -c "LD_PRELOAD=\${LD_PRELOAD:+\$LD_PRELOAD:}$library exec $work/app"
try 'library for the program, alone' "${profile[@]}" env LD_PRELOAD="$library" "$work/app"
try 'library as the injection of the driver' \
  env CUDA_INJECTION64_PATH="$library" "$work/app"
if command -v bankfold >/dev/null; then
  try 'ncu bankfold run' "${profile[@]}" bankfold run --log "$work/log" "$work/app"
  try 'bankfold run ncu' bankfold run --log "$work/log" "${profile[@]}" "$work/app"
fi

echo "== which libraries the program has under ncu"
env LD_PRELOAD="$library" "${profile[@]}" sh -c "LD_DEBUG=libs LD_DEBUG_OUTPUT=$work/libs exec $work/app" \
  >/dev/null 2>&1
cat "$work"/libs.* 2>/dev/null | sed -n 's/.*calling init: //p' | sort -u
