#!/usr/bin/env bash
# Programs of the driver's interface without nvcc, run by exec of build folder $1: one that loads libcuda.so.1 itself, and
# one that is linked with it, also where a path inside it leads elsewhere. Their launches are counted, traced, rewritten
# and simulated as those of the runtime are.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
[ -e "$build/runtime/libcuda.so.1" ] || { echo "no $build/runtime/libcuda.so.1" && exit 77; }
command -v cc >/dev/null || { echo 'no cc' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
complain() {
  echo "$*"
  faults=$((faults + 1))
}

# run WHAT PROGRAM OPTION...: the program must find its result right; what exec says is in $work/err.
run() {
  local what=$1 program=$2
  shift 2
  "$build/bankfold" exec "$@" "$work/$program" >"$work/out" 2>"$work/err" || complain "$what: status $?"
  [ "$(cat "$work/out")" = '0 wrong' ] || complain "$what: $(cat "$work/out" "$work/err")"
}

# says WHAT PATTERN
says() { grep -Eq "$2" "$work/err" || complain "$1: $(cat "$work/err")"; }

source=tests/check/driver/transpose.c
cc -std=gnu11 -w "$source" -o "$work/loading" -ldl || exit 1
cc -std=gnu11 -w -DLINKED "$source" -o "$work/linked" "$build/runtime/libcuda.so.1" || exit 1
mkdir "$work/elsewhere"
cc -shared -x c - -o "$work/elsewhere/libcuda.so.1" -Wl,-soname,libcuda.so.1 <<<'int cuInit() { return 100; }'
cc -std=gnu11 -w -DLINKED "$source" -o "$work/led" "$build/runtime/libcuda.so.1" \
  -Wl,-rpath,"$work/elsewhere",--disable-new-dtags || exit 1

for program in loading linked led; do
  run "$program" $program
  says "$program" '^ +992 +1 +64 +1056 +64  transpose$'
done
run trace loading --trace "$work/trace"
"$build/bankfold" check "$work/trace" | grep -q '1056' || complain 'no such trace'
run 'a simulated GPU' loading --gpu gtx580
says 'a simulated GPU' '^ +992 +1 +64 +1056 +[0-9]+ .* transpose$'
echo 'transpose fixed' >"$work/hashes"
run 'a rewritten kernel' loading --rewrite "$work/hashes"
says 'a rewritten kernel' '^ +0 +1 +64 +64 +64  transpose$'
run 'hashes for kernels' loading --save-hashes "$work/saved"
grep -q '^transpose [^n]' "$work/saved" || complain "no hash: $(cat "$work/saved")"

# What is not there says so, once.
cc -std=gnu11 -w -x c - -o "$work/missing" -x none "$build/runtime/libcuda.so.1" <<'END' || exit 1
int cuGraphicsUnregisterResource();
int main() { return cuGraphicsUnregisterResource(0) == 801 && cuGraphicsUnregisterResource(0) == 801 ? 0 : 1; }
END
"$build/bankfold" exec "$work/missing" 2>"$work/err" || complain 'a function that is not there does not fail'
[ "$(grep -c '^bankfold: cuGraphicsUnregisterResource is not supported$' "$work/err")" = 1 ] ||
  complain "not said once: $(cat "$work/err")"
echo "$faults faults"
[ $faults = 0 ]
