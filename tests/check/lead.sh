#!/usr/bin/env bash
# Calls of a CUDA runtime that is inside a program or library are led to Bankfold's (lead/): tests build folder $1 with
# C programs that stand for those of nvcc, at fixed addresses and not, in the program, in libraries that it needs and in
# those that it opens; and libraries of machine code are said. programs.sh does the same with nvcc.
set -u
build=$(readlink -f "$1")
cd "$(dirname "$0")/lead" || exit 2
[ -e "$build/runtime/libbankfold-lead.so" ] || { echo "no $build/runtime/libbankfold-lead.so" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
cc=${CC:-cc}

complain() {
  echo "$*"
  cat "$work/out" "$work/err"
  faults=$((faults + 1))
}

# run WHAT WANTED PROGRAM...: standard output of exec must be WANTED.
run() {
  "$build/bankfold" exec "${@:3}" >"$work/out" 2>"$work/err"
  [ "$(cat "$work/out")" = "$2" ] || complain "$1: not '$2'"
}

# says PATTERN COUNT: so many lines of standard error match.
says() { [ "$(grep -Ec "$1" "$work/err")" = "$2" ] || complain "not $2 lines like '$1'"; }

for version in 11 12 13; do
  for kind in -no-pie '-pie -fPIE'; do
    # shellcheck disable=SC2086 # flags are words
    "$cc" -O0 -falign-functions=16 $kind -DVERSION=$version -fno-toplevel-reorder inside.c program.c -o "$work/program" || exit 2
    [ "$("$work/program")" = '0 0 0 5 42' ] || complain "the program of CUDA $version is not what it should be"
    run "CUDA $version $kind" "0 $version $version 801 42" "$work/program"
    says 'cudaCallOfTheFuture is not supported' 1
    says 'is not supported' 1
  done
done
"$cc" -O0 -falign-functions=16 -shared -fPIC -DVERSION=12 -fno-toplevel-reorder inside.c -o "$work/libinside.so"
"$cc" program.c -L"$work" -linside -Wl,-rpath,"$work" -o "$work/needs"
run 'a library that is needed' '0 12 12 801 42' "$work/needs"
"$cc" -Wno-strict-prototypes -DOPENED program.c -ldl -o "$work/opens"
run 'a library that is opened' '0 12 12 801 42' "$work/opens" "$work/libinside.so"
run 'by way of a shell' '0 12 12 801 42' sh -c "$work/opens $work/libinside.so"

# A program with sanitizers is told of no leak that it has not.
if "$cc" -O0 -falign-functions=16 -fsanitize=address -DVERSION=13 -fno-toplevel-reorder inside.c program.c -o "$work/sanitized" 2>/dev/null; then
  run 'with the address sanitizer' '0 13 13 801 42' "$work/sanitized"
  says LeakSanitizer 0
fi

# Stripped: refused, or said where it is a library or comes by way of another program.
strip -o "$work/stripped" "$work/program"
run 'a stripped program' '' "$work/stripped"
says 'is stripped.*do not strip it' 1
strip -o "$work/libstripped.so" "$work/libinside.so"
run 'a stripped library' '0 0 0 5 42' "$work/opens" "$work/libstripped.so"
says 'libstripped.so is stripped.*do not strip it' 1
# A program of the driver's interface has device code and no runtime, stripped or not.
"$cc" -s -O0 driver.c -o "$work/driver"
run 'a stripped program without a runtime' none "$work/driver"
"$cc" -O0 driver.c -o "$work/driver"
run 'a program without a runtime' none "$work/driver"
"$cc" -static -O0 -DVERSION=13 inside.c program.c -o "$work/static" 2>/dev/null && {
  run 'a program linked with -static' '' "$work/static"
  says 'linked with -static' 1
}
# Where a function has no room for a jump, nothing is run.
"$cc" -O0 -fno-align-functions -DVERSION=12 -fno-toplevel-reorder inside.c program.c -o "$work/narrow"
run 'a function without room' '' "$work/narrow"
says 'the calls of cudaThreadSynchronize cannot be led' 1

# Libraries of machine code: one line each, and the status of the library.
"$cc" -shared -fPIC -O0 library.c -Wl,-soname,libcublas.so.13 -o "$work/libcublas.so.13"
"$cc" user.c -L"$work" -l:libcublas.so.13 -Wl,-rpath,"$work" -o "$work/user"
run 'libraries of machine code' $'1 7 101\n1 7 101' "$work/user"
says '^bankfold: (cuBLAS|cuFFT|cuRAND): its kernels are machine code' 3
says 'exec --stand-ins' 2
# cuRAND has generators for the CPU beside those for the device.
"$cc" -DHOST_GENERATOR -shared -fPIC -O0 library.c -Wl,-soname,libcublas.so.13 -o "$work/libcublas.so.13"
run 'a generator for the CPU' $'1 7 33\n1 7 33' "$work/user"
"$cc" -shared -fPIC -O0 library.c -Wl,-soname,libcublas.so.13 -o "$work/libcublas.so.13"
# Without exec they are what they were.
[ "$("$work/user")" = $'0 0 0\n0 0 0' ] || complain 'the library is not what it should be'
[ $faults = 0 ]
