#!/usr/bin/env bash
# bankfold scan on whole projects, with the program of build folder $1: a folder with sources, headers and PTX,
# compile_commands.json of nvcc and of clang, a library, a wheel; results that are kept, and when they are not any more.
# Skipped where there is no nvcc.
set -u
program=$(readlink -f "$1")/bankfold
root=$(cd "$(dirname "$0")/../.." && pwd)
export PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo 'no nvcc' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
mkdir temporary && export TMPDIR=$work/temporary # so that what others leave behind is not ours
faults=0

complain() {
  echo "$*"
  head -n 40 out err 2>/dev/null
  faults=$((faults + 1))
}
# scan ARGUMENT...: runs it with a cache of its own; out and err hold what it said.
scan() { "$program" scan --cache "$work/kept" "$@" >out 2>err; }
# expect STATUS TEXT...: the last scan ended so and said these.
expect() {
  local status=$? wanted=$1
  shift
  [ "$status" = "$wanted" ] || complain "status $status, not $wanted"
  for text; do grep -qF -- "$text" out || complain "not said: $text"; done
}

mkdir -p project/kernels project/more
cat >project/kernels/turn.cuh <<'END'
template <int N> __global__ void turn(const float *in, float *out) {
  __shared__ float tile[N][N];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * N + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * N + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
END
cat >project/main.cu <<'END'
#include "kernels/turn.cuh"
void launch(const float *in, float *out) {
  turn<32><<<1, dim3(32, 32)>>>(in, out);
  turn<16><<<1, dim3(16, 16)>>>(in, out);
}
END
cat >project/more/sum.cu <<'END'
__global__ void __launch_bounds__(128) sum(float *values) {
  __shared__ float part[128];
  part[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[0] = part[127 - threadIdx.x];
}
END
cp "$root/tests/data/nvcc/triton.ptx" project/more/
echo 'this is no CUDA' >project/more/broken.cu
echo 'no device code' >project/more/libnone.so

# A folder: blocks from launches, from launch bounds, and as required; what does not compile is said.
scan project
expect 0 '4 files, 4 kernels with shared memory, 3 with conflicts' 'blocks of 32x32 (launch at main.cu:3)' \
  'blocks of 16x16 (launch at main.cu:4)' 'blocks of 128 (required)' 'project/kernels/turn.cuh:5: 992 conflicts' \
  'tile pad:32+1' 'Not looked at:' 'project/more/broken.cu: not compiled'
scan project --json
expect 0 '"name": "sum"' '"block_from": "launch bounds"' '"conflicts": 0'
cp out first

# What is known is not compiled again, by any number of threads, and answers are the same.
mkdir without
printf '#!/bin/sh\nexit 1\n' >without/nvcc
chmod +x without/nvcc
rm project/more/broken.cu
"$program" scan --cache kept project --json >first 2>err
BANKFOLD_NVCC=$work/without/nvcc scan project --json --threads 1
expect 0
cmp -s out first || complain 'what was kept is not what was found'
# A header that changes is seen; here the compiler is not found any more.
sleep 0.01
sed -i 's/tile\[N\]\[N\]/tile[N][N + 1]/' project/kernels/turn.cuh
scan project
expect 0 '2 with conflicts' 'turn<16>'
! grep -q 'turn<32>' out || complain 'a changed header is not seen'
# A cache that others may write to is not believed.
chmod 777 kept
sed -i 's/1056/1/' kept/*
chmod 777 kept/*
scan project/more/triton.ptx
expect 0 '992'

# As a build compiles it: flags of its own, in a folder of its own.
cat >commands.json <<END
[{"directory": "$work/project", "file": "main.cu", "command": "nvcc -I. -arch=sm_80 -DUNUSED=\"a b\" -c main.cu -o main.o"},
 {"directory": "$work/project", "arguments": ["nvcc", "-arch=sm_80", "-dc", "more/sum.cu", "-o", "sum.o"], "file": "more/sum.cu"},
 {"directory": "$work", "file": "host.cpp", "command": "c++ -c host.cpp"}]
END
scan commands.json --json
expect 0 '"files": 2' '"name": "turn<32>"' '"name": "sum"' '"block_from": "launch at '

# A folder that holds one: the same sources, and none of them twice; one that is broken is listed.
mkdir -p built && cp commands.json built/compile_commands.json
scan built
expect 0 '2 files, 3 kernels' 'turn<16>'
cp commands.json project/compile_commands.json
scan project
expect 0 '3 files, 4 kernels'
echo '[{"directory": 1}]' >built/compile_commands.json
scan built
expect 0 'Not looked at:' 'built/compile_commands.json: '
rm -r built project/compile_commands.json

# Libraries and wheels.
(cd project && nvcc -arch=sm_90 -lineinfo -Xcompiler -fPIC -shared -o libturn.so main.cu && nvcc -arch=sm_90 -lineinfo -lib -o libsum.a more/sum.cu)
scan project/libturn.so project/libsum.a
expect 0 'turn<16>' '2 files, 3 kernels'
if command -v python3 >/dev/null; then
  python3 -c 'import sys, zipfile
with zipfile.ZipFile("turn.whl", "w", zipfile.ZIP_DEFLATED) as z: z.write("project/libturn.so", "turn/libturn.so")'
  scan turn.whl
  expect 0 'turn.whl/turn/libturn.so'
fi

# Of PTX the sources that its lines name have the launches.
cat project/kernels/turn.cuh <(tail -n +2 project/main.cu) >own.cu
nvcc -arch=sm_90 -lineinfo -ptx "$work/own.cu" -o lines.ptx
scan lines.ptx
expect 0 '2 kernels with shared memory' 'lines.ptx, blocks of 16x16 (launch at own.cu:9)'

# Instructions that sm_90 has not; a mistake is told as it is.
mkdir -p newer
for name in wgmma tcgen05; do
  [ $name = wgmma ] && text='wgmma.fence.sync.aligned;' || text='tcgen05.fence::before_thread_sync;'
  echo "__global__ void newer(float *to) { __shared__ float tile[32][32]; tile[threadIdx.x][0] = 1; asm volatile(\"$text\"); __syncthreads();
    to[threadIdx.x] = tile[0][threadIdx.x]; }" >newer/$name.cu
done
scan newer/wgmma.cu --block 32x1x1
expect 0 '1 file, 1 kernel with shared memory, 1 with conflicts'
nvcc -arch=sm_100a --dryrun -ptx newer/tcgen05.cu >/dev/null 2>&1 && { scan newer && expect 0 '2 files, 1 kernel with shared memory'; }
echo '__global__ void wrong() { asm volatile("wgmma.fence.sync.aligned;"); y; }' >newer/wrong.cu
scan newer/wrong.cu
expect 2
grep -q 'identifier "y" is undefined' out err || complain 'the mistake of wrong.cu is not told'

# A file that is named must hold something; limits.
scan project/more/libnone.so
expect 2
scan project --max-conflicts 10 --sarif found.sarif
expect 1
python3 -m json.tool found.sarif >/dev/null || complain 'no JSON: found.sarif'
leftovers=$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'bankfold*' -newer first -user "$(id -un)" -empty 2>/dev/null | wc -l)
[ "$leftovers" = 0 ] || complain "$leftovers folders were left behind"
echo "$faults faults"
[ $faults = 0 ]
