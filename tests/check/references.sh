#!/usr/bin/env bash
# Texture and surface references, which nvcc compiles up to CUDA 11: build folder $1 runs programs that bind memory to
# them by the runtime of CUDA 11, with what nvcc's code does written by hand, and by the driver. Skipped without
# fatbinary of the toolkit.
set -u
build=$(readlink -f "$1")
cd "$(dirname "$0")/references" || exit 2
command -v fatbinary >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v fatbinary >/dev/null || { echo 'no fatbinary' && exit 77; }
[ -e "$build/runtime/libcudart.so.11.0" ] || { echo "no $build/runtime/libcudart.so.11.0" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
cc=${CC:-cc}

complain() {
  echo "$*"
  cat "$work/out" "$work/err"
  faults=$((faults + 1))
}

cp kernels.ptx runtime.c driver.c "$work" && cd "$work" || exit 2
fatbinary --create=kernels.fatbin -64 --image3=kind=ptx,sm=52,file=kernels.ptx || exit 2
"$cc" runtime.c -L"$build/runtime" -l:libcudart.so.11.0 -Wl,-rpath,"$build/runtime" -o runtime || exit 2
"$cc" driver.c -L"$build/runtime" -l:libcuda.so.1 -Wl,-rpath,"$build/runtime" -o driver || exit 2

"$build/bankfold" exec ./runtime >out 2>err || complain 'the runtime: another status'
printf '%s\n' '200 214, offset 0' '2 14' '204 213' 1 | diff - out || complain 'the runtime: another output'
grep -q 'nothing is bound to the texture' err || complain 'the runtime: does not say what is missing'
"$build/bankfold" exec ./driver >out 2>err || complain 'the driver: another status'
printf '%s\n' '200 214' '2 14' '1 1' 1 | diff - out || complain 'the driver: another output'
echo "2 programs, $faults faults"
[ $faults = 0 ]
