#!/usr/bin/env bash
# Builds what a GPU machine needs, with cc and (for the CUDA tests) nvcc alone:
#   gpu/build.sh OUT
# OUT/choose, OUT/measure, OUT/simulate, OUT/results and OUT/weighted (the corpus with hashed addresses), OUT/truth (what the simulator is
# compared with; with nvcc its kernels as OUT/h200_SET.cubin), OUT/libbankfold-inject.so,
# OUT/loads and OUT/fatbins for what it costs, and a
# program for each tests/gpu/*.cu and gpu/*.cu, and from gpu/vote OUT/vote_bench and OUT/libbankfold-vote-cuda.so
# (for hist and hough --device gpu), where nvcc is found (in $PATH or the usual place; $NVCC names another, and none
# where it is empty). gpu/build.sh OUT vote-library makes that library alone.
# $CC, $CFLAGS (which come last), $JOBS as usual. zstd is linked where its header is there, and opened at run time
# where it is not. libsupc++.a is needed, which comes with g++, as nvcc does not work without.
set -eu
[ $# = 1 ] || [ "$# ${2-}" = '2 vote-library' ] || {
  echo "usage: gpu/build.sh OUT [vote-library]" >&2
  exit 2
}
mkdir -p "$1"
out=$(readlink -f "$1")
cd "$(dirname "$0")/.."
cc=${CC:-cc}
flags="-std=gnu11 -O2 -D_GNU_SOURCE -pthread -fPIC -Iinclude -Isrc -I."
jobs=${JOBS:-$(nproc)}

nvcc=${NVCC-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)}

# Objects of files of gpu/vote; and the library that programs without CUDA load.
vote_programs='gpu/vote/bench.cu gpu/vote/check.cu gpu/vote/tables.cu'
vote_library=$(ls gpu/vote/*.cu | grep -vxF -e "$(echo "$vote_programs" | tr ' ' '\n')")
compile_votes() {
  mkdir -p "$out/objects-vote"
  printf '%s\n' "$@" | xargs -P "$jobs" -I FILE sh -c '
    object='"$out"'/objects-vote/$(basename "$1").o
    '"$nvcc"' -std=c++17 -arch=sm_90 -O3 -lineinfo -Xcompiler -fPIC -Iinclude -c "$1" -o "$object"' sh FILE
}
build_vote_library() {
  compile_votes $vote_library
  "$nvcc" -shared -arch=sm_90 -o "$out/libbankfold-vote-cuda.so" -Xlinker --no-undefined \
    $(for file in $vote_library; do echo "$out/objects-vote/$(basename "$file").o"; done)
}
if [ $# = 2 ]; then
  [ -n "$nvcc" ] || {
    echo "gpu/build.sh: no nvcc" >&2
    exit 2
  }
  build_vote_library
  exit
fi

zstd=-lzstd
if ! echo '#include <zstd.h>' | $cc -E - >/dev/null 2>&1; then
  flags="$flags -DBF_OPEN_ZSTD"
  zstd=
elif [ -e "$($cc -print-file-name=libzstd.a)" ]; then
  zstd=-l:libzstd.a
fi

# Sources become objects in a folder of their own; those of an instruction set get its flags.
compile() {
  local folder=$1 own=$2
  shift 2
  mkdir -p "$out/objects/$folder"
  printf '%s\n' "$@" | xargs -P "$jobs" -I FILE sh -c '
    object='"$out/objects/$folder"'/$(echo "$1" | tr / _).o
    [ "$object" -nt "$1" ] || '"$cc $flags $own ${CFLAGS-}"' -c "$1" -o "$object"' sh FILE
}

# Files the build embeds: machines, GPUs, PTX of the benchmarks.
$cc -O1 -o "$out/embed" tools/embed.c
"$out/embed" machines "$out/embedded_machines.c" machines/*.machine
"$out/embed" gpus "$out/embedded_gpus.c" machines/*.gpu
"$out/embed" ncu "$out/embedded_ncu.c" tools/ncu/*.py
"$out/embed" kernels "$out/embedded_kernels.c" kernels/*/*.ptx

operations=$(ls src/emu/run_*.c)
sets=$(ls src/*/*_avx*.c src/*/*_gfni.c)
sums=$(ls src/vote/{reference,hough_count,edges}.c)
rest=$(ls src/*/*.c | grep -vE "^src/(image|imaging)/" | grep -vxF -e "$operations" -e "$sets" -e src/vote/kernel.c -e "$sums")
emu="-O3 -fwrapv -fno-strict-aliasing -ffp-contract=off -fno-math-errno -fno-trapping-math -Wno-psabi"
vote="-O3 -ffp-contract=off -fno-trapping-math -fno-math-errno"
compile library "" $rest "$out"/embedded_*.c
compile emu-plain "$emu -DBF_EMU_ISA=plain" $operations
[ "$(uname -m)" != aarch64 ] || compile vote-neon "$vote -DBF_VOTE_ISA=neon" src/vote/kernel.c
compile vote-plain "$vote -DBF_VOTE_ISA=plain" src/vote/kernel.c
compile vote-sums "$vote" $sums
if [ "$(uname -m)" = x86_64 ]; then
  avx2="-mavx2 -mfma -mbmi -mbmi2 -mf16c -mlzcnt -mpopcnt"
  avx512="-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mavx512vpopcntdq -mfma -mbmi -mbmi2 -mf16c -mlzcnt -mpopcnt"
  compile avx2 "-mavx2 -mbmi2" $(ls src/*/*_avx2.c)
  compile avx512 "$avx512" $(ls src/*/*_avx512.c)
  compile gfni "$avx512 -mgfni -mavx512vbmi -mavx512vbmi2" $(ls src/*/*_gfni.c)
  compile emu-avx2 "$emu $avx2 -DBF_EMU_ISA=avx2" $operations
  compile vote-sse4 "$vote -msse4.2 -mpopcnt -DBF_VOTE_ISA=sse4" src/vote/kernel.c
  compile vote-avx2 "$vote -mavx2 -mbmi -mbmi2 -DBF_VOTE_ISA=avx2" src/vote/kernel.c
  compile vote-avx512 "$vote -mavx512f -mavx512bw -mavx512dq -mavx512vl -mbmi -mbmi2 -mprefer-vector-width=512 \
    -DBF_VOTE_ISA=avx512" src/vote/kernel.c
  compile emu-avx512 "$emu $avx512 -mprefer-vector-width=512 -DBF_EMU_ISA=avx512" $operations
fi
compile corpus "" $(ls kernels/*/*.c kernels/*.c)
for program in choose loads measure pairs results simulate truth weighted; do
  $cc $flags ${CFLAGS-} -o "$out/$program" gpu/$program.c gpu/scales.c gpu/simulated.c gpu/ways.c "$out"/objects/*/*.o $zstd -lsupc++ -lm -ldl
done

# The library for LD_PRELOAD.
inject/build.sh "$out/libbankfold-inject.so" ${CFLAGS-} $([ -z "$zstd" ] || echo "-DBF_BUILD_ZSTD $zstd")

if [ -z "$nvcc" ]; then
  echo "gpu/build.sh: no nvcc: CUDA programs are not built" >&2
  exit 0
fi
for source in tests/gpu/*.cu gpu/*.cu; do
  [ -e "$source" ] || continue
  "$nvcc" -arch=sm_90 -O2 -lineinfo -o "$out/$(basename "$source" .cu)" "$source"
done

# The benchmarks as fat binaries, which OUT/loads loads.
mkdir -p "$out/fatbins"
printf '%s\n' kernels/*/*.ptx | xargs -P "$jobs" -I FILE sh -c '
  '"$nvcc"' -fatbin -gencode "arch=compute_90,code=[sm_90,compute_90]" "$1" -o '"$out"'/fatbins/$(basename "$1" .ptx).fatbin' sh FILE

for set in train more wide test; do
  "$nvcc" -arch=sm_90 -cubin reproduce/h200/h200_$set.ptx -o "$out/h200_$set.cubin"
done

# Histograms and Hough transforms on the GPU, beside CUB's and the CPU's.
build_vote_library
compile_votes $vote_programs
"$nvcc" -arch=sm_90 -o "$out/vote_bench" "$out"/objects-vote/*.o "$out"/objects/*/*.o \
  -Xlinker "${zstd:--lm}" -lsupc++ -lm -ldl -Xcompiler -pthread
