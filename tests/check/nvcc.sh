#!/usr/bin/env bash
# The wrappers of nvcc and ptxas in build folder $1: first around compilers that only copy, then
# around NVIDIA's, where they are there.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
bankfold=$build/bankfold
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
work="$root/a folder" # paths with spaces everywhere
mkdir "$work"
log=$work/log
faults=0
unset BANKFOLD_HASH BANKFOLD_HASHES BANKFOLD_DYNAMIC_ROUNDED BANKFOLD_NVCC BANKFOLD_PTXAS BANKFOLD_CICC
export BANKFOLD_LOG=$log TMPDIR="$work/tmp" LC_ALL=C
export BANKFOLD_HASH=fixed # most of this is about rewriting; what auto does has parts of its own
mkdir "$TMPDIR"

complain() {
  echo "$*"
  faults=$((faults + 1))
}

# ends STATUS COMMAND...: runs it; its output goes to $work.
ends() {
  local wanted=$1 status
  shift
  rm -f "$log"
  "$@" >"$work/out" 2>"$work/err"
  status=$?
  [ $status = "$wanted" ] || complain "$*: status $status, not $wanted: $(cat "$work/err")"
}

# says FILE TEXT: the file of the last command has it. says_not: it has not.
says() { grep -q -e "$2" "$1" || complain "'$2' is not in $(basename "$1"): $(head -c 2000 "$1")"; }
says_not() { ! grep -q -e "$2" "$1" || complain "'$2' is in $(basename "$1")"; }
# equal FILE OTHER
equal() { cmp "$1" "$2" || complain "$(basename "$1") and $(basename "$2") differ"; }
# hashed FILE COUNT: so many kernels of the PTX in FILE have registers of the rewriter.
hashed() {
  local count
  count=$("$bankfold" ptx show "$1" |
    awk '/\.entry/ { is_new = 1 } /%bf/ { count += is_new; is_new = 0 } END { print count + 0 }')
  [ "$count" = "$2" ] || complain "$(basename "$1"): $count kernels are hashed, not $2"
}

# ---- Compilers that copy ----

stub=$work/stub
mkdir -p "$stub/bin" "$stub/nvvm/bin"
# PTX stands for source, machine code and programs. NO in it is refused; STUB_STRICT refuses what is
# rewritten.
cat >"$stub/bin/ptxas" <<'END'
#!/usr/bin/env bash
input='' output=/dev/null verbose=''
[ "$1" = --version ] && echo 'stub version 1' && exit 0
while [ $# -gt 0 ]; do
  case $1 in
  -o) output=$2 && shift ;;
  -v) verbose=yes && echo "ptxas info: about $input" >&2 ;;
  -*) ;;
  *) input=$1 ;;
  esac
  shift
done
[ -n "${STUB_STRICT-}" ] && grep -q %bf_ "$input" && echo 'too strict' >&2 && exit 1
if [ -n "$verbose" ] && [ -n "${STUB_REGISTERS-}" ]; then
  awk -v hashed="$STUB_REGISTERS" '/\.entry/ { sub(/.*entry /, ""); sub(/\(.*/, ""); name = $0 }
    /^{/ { used = 32 } /%bf_/ { used = hashed }
    /^}/ && name { print "ptxas info : Compiling entry function '\''" name "'\'' for '\''sm_90'\''"
      print "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
      print "ptxas info : Used " used " registers, 4096 bytes smem"; name = "" }' "$input" >&2
fi
grep -q NO "$input" && echo "ptxas $input, line 7: error" >&2 && exit 255
cat "$input" >"$output"
END
cat >"$stub/nvvm/bin/cicc" <<'END'
#!/usr/bin/env bash
output=${*: -1} input=${*: -3:1}
[ -n "${STUB_SLEEP-}" ] && echo $$ >"$STUB_SLEEP" && exec sleep 20
cat "$input" >"$output"
END
# nvcc of one file, with a profile as NVIDIA's has it.
cat >"$stub/bin/nvcc" <<'END'
#!/usr/bin/env bash
here=$(dirname "$0")
profile=yes dry='' verbose='' output=a.out arguments=()
while [ $# -gt 0 ]; do
  case $1 in
  -noprof) profile='' ;;
  --dryrun) dry=yes ;;
  -v) verbose=yes ;;
  -o) output=$2 && shift ;;
  -dlto) arguments+=(-olto lto) ;;
  --version) echo 'stub nvcc' && exit 0 ;;
  *) input=$1 ;;
  esac
  shift
done
say() { [ -z "$dry$verbose" ] || echo "#\$ $1=${!1}" >&2; }
_SPACE_=' ' && say _SPACE_
if [ -n "$profile" ]; then
  TOP=$here/.. CICC_PATH=$here/../nvvm/bin PATH=$here:$PATH && say TOP && say CICC_PATH && say PATH
fi
[ -z "$dry" ] || exit 0
export PATH
ptx=$(mktemp)
trap 'rm -f "$ptx" "$ptx.cubin"' EXIT
if [[ $input == *.ptx ]]; then
  cat "$input" >"$ptx.cubin" && ptxas -arch=sm_90 "$input" -o "$output"
  exit
fi
"$CICC_PATH/cicc" --orig_src_file_name "$input" -arch compute_90 "${arguments[@]}" "$input" -o "$ptx" &&
  ptxas -arch=sm_90 "$ptx" -o "$ptx.cubin" && cat "$ptx.cubin" "$ptx" >"$output"
END
chmod +x "$stub/bin/"* "$stub/nvvm/bin/cicc"
path=$PATH
export PATH="$stub/bin:$path"

# nvcc PTX [OPTION...]: what the wrapped nvcc makes of a file must be twice OUT.
tile="$work/a tile.cu"
cp tests/data/ptx/tile.sm_90.ptx "$tile"
"$bankfold" rewrite --hash fixed --output "$work/fixed" "$tile" >/dev/null
twice() { cat "$1" "$1" >"$work/twice" && equal "$work/twice" "$2"; }

ends 0 "$bankfold" nvcc -o "$work/app" "$tile"
twice "$work/fixed" "$work/app"
says "$log" 'a tile.cu (compute_90): 2 of 3 kernels rewritten'
[ ! -s "$work/err" ] || complain "nvcc prints $(cat "$work/err")"
# The hashes: by option, by file with readable names, by the environment, by link.
printf 'transpose<16> xor:0,5,15 # a comment\n' >"$work/some hashes"
printf '_Z9transposeILi16EEvPfPKf xor:0,5,15\n* none\n' >"$work/all"
"$bankfold" rewrite --hash-file "$work/all" --output "$work/some" "$tile" >/dev/null
ends 0 "$bankfold" nvcc --hash-file "$work/some hashes" -o "$work/app" "$tile"
twice "$work/some" "$work/app"
ends 0 env -u BANKFOLD_HASH BANKFOLD_HASHES="$work/some hashes" "$build/bankfold-nvcc" -o "$work/app" "$tile"
twice "$work/some" "$work/app"
# What can be read once is handed on to all tools that nvcc starts.
ends 0 "$bankfold" nvcc --hash-file <(cat "$work/some hashes") -o "$work/app" "$tile"
twice "$work/some" "$work/app"
ends 0 env -u BANKFOLD_HASH BANKFOLD_HASHES=<(cat "$work/some hashes") "$build/bankfold-nvcc" -o "$work/app" "$tile"
twice "$work/some" "$work/app"
cp "$tile" "$work/once.ptx"
ends 0 "$bankfold" ptxas --hash-file <(cat "$work/some hashes") "$work/once.ptx" -o "$work/app"
equal "$work/some" "$work/app"
ends 2 "$bankfold" nvcc --hash-file <(cat "$work/some hashes" && yes '#' | head -c 200000) -o "$work/app" "$tile"
says "$work/err" 'more than 102400 bytes of hashes need a file that can be read more than once'
ends 0 env BANKFOLD_HASH=none "$build/bankfold-nvcc" -o "$work/app" "$tile"
twice "$tile" "$work/app"
says "$log" 'left alone: no hash'
ends 0 env BANKFOLD_HASH=none "$bankfold" nvcc --hash fixed -- -o "$work/app" "$tile"
twice "$work/fixed" "$work/app"
mkdir "$work/links"
ln -s "$bankfold" "$work/links/nvcc" && ln -s "$bankfold" "$work/links/ptxas"
ends 0 env PATH="$work/links:$PATH" nvcc -o "$work/app" "$tile"
twice "$work/fixed" "$work/app"
ends 0 env PATH="$work/links:$path" BANKFOLD_NVCC="$stub/bin/nvcc" nvcc -o "$work/app" "$tile"
twice "$work/fixed" "$work/app"
ends 2 env BANKFOLD_NVCC="$work/links/nvcc" "$bankfold" nvcc -o "$work/none" "$tile"
says "$work/err" 'is no nvcc that can be run'
# What is not for our tools goes to nvcc as it is.
ends 0 "$build/bankfold-nvcc" --version
says "$work/out" '^stub nvcc$'
ends 0 "$bankfold" nvcc -v -o "$work/app" "$tile"
says "$work/err" '^#\$ TOP='
[ "$(grep -c _SPACE_ "$work/err")" = 1 ] || complain 'nvcc -v prints a variable twice'
ends 0 "$bankfold" nvcc -dlto -o "$work/app" "$tile"
twice "$tile" "$work/app"
says "$log" 'left alone: link-time optimisation'
# PTX that nvcc is given.
cp "$tile" "$work/a tile.ptx"
ends 0 "$bankfold" nvcc -o "$work/app" "$work/a tile.ptx"
equal "$work/fixed" "$work/app"
equal "$tile" "$work/a tile.ptx"

# ptxas: input stays, names in messages are those given, and what is rewritten is not rewritten again.
ends 0 "$bankfold" ptxas -arch=sm_90 "$work/a tile.ptx" -v -o "$work/cubin"
equal "$work/fixed" "$work/cubin"
equal "$tile" "$work/a tile.ptx"
says "$work/err" '^ptxas info: about .*/a folder/a tile.ptx$'
cp "$work/fixed" "$work/fixed.ptx"
ends 0 "$build/bankfold-ptxas" -arch=sm_90 "$work/fixed.ptx" -o "$work/cubin"
equal "$work/fixed" "$work/cubin"
says "$log" 'left alone: it was rewritten before'
says "$work/err" 'warning: compiled as it is: .*fixed.ptx: it was rewritten before'
cp "$work/fixed" "$work/fixed.cu"
for source in fixed.ptx fixed.cu; do
  ends 0 "$bankfold" nvcc -o "$work/app" "$work/$source"
  says "$work/err" "warning: compiled as it is: .*$source.*: it was rewritten before"
  [ "$(grep -c 'rewritten before' "$work/err")" = 1 ] || complain "nvcc says more than once: $(cat "$work/err")"
done
ends 0 "$bankfold" nvcc -o "$work/app" "$tile" # what it rewrites itself is no surprise
says_not "$work/err" 'rewritten before'
ends 0 "$build/bankfold-ptxas" --version
says "$work/out" '^stub version 1$'
# A file for output that holds PTX is none for input.
cp "$tile" "$work/old"
ends 0 "$bankfold" ptxas "$work/fixed.ptx" -o "$work/old"
equal "$work/fixed" "$work/old"
ends 0 env PATH="$path" CUDA_HOME="$stub" BANKFOLD_PTXAS="$stub/bin/ptxas" "$bankfold" ptxas \
  "$work/a tile.ptx" -o "$work/cubin"
equal "$work/fixed" "$work/cubin"

# Without a hash, or with auto, each kernel gets what is predicted to win, or stays.
"$bankfold" rewrite --output "$work/auto" "$tile" >/dev/null
! cmp -s "$tile" "$work/auto" || complain 'auto does nothing'
ends 0 env -u BANKFOLD_HASH "$bankfold" nvcc -o "$work/app" "$tile"
twice "$work/auto" "$work/app"
says "$log" 'a tile.cu (compute_90): 1 of 3 kernels rewritten'
says "$log" '_Z9transposeILi32EEvPfPKf: .*: rewritten, it would take [0-9]*% of the time, with an error of'
says "$log" '_Z9transposeILi16EEvPfPKf: left alone: '
ends 0 env BANKFOLD_HASH=auto "$build/bankfold-nvcc" -o "$work/app" "$tile"
twice "$work/auto" "$work/app"
ends 0 env BANKFOLD_HASH=none "$bankfold" ptxas --hash auto "$work/a tile.ptx" -o "$work/cubin"
equal "$work/auto" "$work/cubin"
# What a file names stays as it says; the rest is chosen.
printf '_Z9transposeILi16EEvPfPKf fixed\n' >"$work/one"
ends 0 "$bankfold" ptxas --hash auto --hash-file "$work/one" "$work/a tile.ptx" -o "$work/cubin"
hashed "$work/cubin" 2
says "$log" '_Z9transposeILi16EEvPfPKf: fixed$'
# A kernel that could not be launched as before when it is hashed, or loses its occupancy, stays.
for registers in 32:auto:1 64:auto:0 72:auto:0 72:fixed:0 48:fixed:2 255:auto:0; do
  IFS=: read -r count hash left <<<"$registers"
  ends 0 env STUB_REGISTERS="$count" "$bankfold" ptxas --hash "$hash" "$work/a tile.ptx" -o "$work/cubin"
  hashed "$work/cubin" "$left"
done
says "$log" 'left alone: it would need 255 registers, not 32: too many for blocks of 1024 threads'

# Dynamic shared memory of any size.
triton=tests/data/nvcc/triton.ptx
ends 0 "$bankfold" ptxas -lineinfo -v --gpu-name=sm_90a $triton -o "$work/hashed.ptx"
hashed "$work/hashed.ptx" 1
for loc in '1 9 20' '1 11 31' '1 13 4'; do says "$work/hashed.ptx" "\.loc.*$loc"; done
launch=tests/data/nvcc/triton.launch
[ "$("$bankfold" profile $triton --launch $launch | awk '/transpose_tile$/ { print $1 }')" = 1984 ] ||
  complain 'triton.ptx has other conflicts'
[ "$("$bankfold" profile "$work/hashed.ptx" --launch $launch | awk '/transpose_tile$/ { print $1 }')" = 0 ] ||
  complain 'triton.ptx has conflicts when it is hashed'

# Failures are those of the compiler: its words, its status.
{ cat "$tile" && echo '.global .u32 NO;'; } >"$work/no.cu"
cp "$work/no.cu" "$work/no.ptx"
ends 255 "$bankfold" ptxas "$work/no.ptx" -o "$work/none"
[ "$(cat "$work/err")" = "ptxas $work/no.ptx, line 7: error" ] || complain "ptxas says $(cat "$work/err")"
ends 255 "$bankfold" nvcc -o "$work/none" "$work/no.cu"
[ "$(grep -c . "$work/err")" = 1 ] || complain "nvcc says $(cat "$work/err")"
ends 1 "$bankfold" ptxas "$work/nosuchfile.ptx" -o "$work/none" # as cat has it
# Failures of ours are not: what is rewritten is refused, or PTX is not understood, or hashes are bad.
ends 0 env STUB_STRICT=1 "$bankfold" nvcc -o "$work/app" "$tile"
twice "$tile" "$work/app"
says "$work/err" 'warning: compiled as it is: .*ptxas does not take the rewritten PTX: too strict'
says "$log" 'compiled as it is'
ends 0 env STUB_STRICT=1 "$bankfold" ptxas "$work/a tile.ptx" -o "$work/cubin"
equal "$tile" "$work/cubin"
says "$work/err" 'warning: compiled as it is: .*a tile.ptx: ptxas does not compile it rewritten'
sed 's/bar\.sync/future.sync/' "$tile" >"$work/future.cu"
cp "$work/future.cu" "$work/future.ptx"
ends 0 "$bankfold" nvcc -o "$work/app" "$work/future.cu"
twice "$work/future.cu" "$work/app"
says "$work/err" 'warning: compiled as it is: .*future.cu (compute_90):[0-9]*: '
ends 0 "$bankfold" ptxas "$work/future.ptx" -o "$work/cubin"
equal "$work/future.cu" "$work/cubin"
says "$work/err" 'warning: compiled as it is: .*future.ptx:[0-9]*: '
for hash in nonsense mod:31; do
  ends 0 env BANKFOLD_HASH=$hash "$build/bankfold-nvcc" -o "$work/app" "$tile"
  twice "$tile" "$work/app"
  says "$work/err" 'warning: compiled as it is: '
  ends 0 env BANKFOLD_HASH=$hash "$build/bankfold-ptxas" "$work/a tile.ptx" -o "$work/cubin"
  equal "$tile" "$work/cubin"
done
ends 0 env BANKFOLD_HASHES="$work/nosuchfile" "$build/bankfold-nvcc" -o "$work/app" "$tile"
twice "$tile" "$work/app"
ends 0 env BANKFOLD_LOG="$work/nosuchfolder/log" "$bankfold" nvcc -o "$work/app" "$tile"
twice "$work/fixed" "$work/app"
# Options that are wrong are our user's fault.
rm -f "$work/none"
ends 2 "$bankfold" nvcc --hash nonsense -o "$work/none" "$tile"
ends 2 "$bankfold" ptxas --hash-file "$work/nosuchfile" "$work/a tile.ptx" -o "$work/none"
[ ! -e "$work/none" ] || complain 'something was compiled'

# Several at once, with one log.
rm -f "$log"
for i in 1 2 3 4 5 6; do "$bankfold" nvcc -o "$work/app.$i" "$tile" & done
wait
for i in 1 2 3 4 5 6; do twice "$work/fixed" "$work/app.$i"; done
[ "$(grep -c '^bankfold\[[0-9]*\]: ' "$log")" = 24 ] || complain 'lines of the log are mixed'
[ "$(grep -c . "$log")" = 24 ] || complain 'the log has other lines'

# Killed in the middle of it, the tool that was run ends too and nothing is left.
before=$(ls "$work" "$TMPDIR")
BANKFOLD_CICC=$stub/nvvm/bin/cicc STUB_SLEEP=$TMPDIR/asleep "$build/nvcc/cicc" -arch compute_90 "$tile" \
  -o "$TMPDIR/ptx" &
wrapper=$!
while [ ! -s "$TMPDIR/asleep" ]; do sleep 0.05; done
tool=$(cat "$TMPDIR/asleep")
kill -TERM $wrapper
wait $wrapper 2>/dev/null
runs() { ps -o stat= -p "$tool" | grep -qv Z; }
for _ in 1 2 3 4 5 6 7 8 9 10; do ! runs || sleep 0.1; done
! runs || complain 'the tool goes on'
rm -f "$TMPDIR/asleep"
[ "$before" = "$(ls "$work" "$TMPDIR")" ] || complain "left behind: $(ls "$work" "$TMPDIR")"

export PATH=$path
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
if ! command -v nvcc >/dev/null; then
  echo "$faults faults; no nvcc"
  [ $faults = 0 ]
  exit
fi

# ---- NVIDIA's ----

program=$work/two.cu
cat >"$program" <<'END'
#include <stdio.h>
__device__ float other(float value);
__global__ void turn(float *out, const float *in) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = 2 * tile[threadIdx.x][threadIdx.y];
}
#ifdef APART
__global__ void through(float *out) {
  __shared__ float part[32];
  part[threadIdx.x] = other(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = part[31 - threadIdx.x];
}
#endif
#ifdef ASKS
__global__ void asks(float *out) {
  __shared__ float part[40];
  unsigned bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  part[threadIdx.x] = bytes;
  __syncthreads();
  out[threadIdx.x] = part[31 - threadIdx.x];
}
#endif
int main(void) {
  float in[1024], out[1024], *a, *b;
  int wrong = 0;
  for (int i = 0; i < 1024; i++)
    in[i] = i;
  cudaMalloc(&a, sizeof in);
  cudaMalloc(&b, sizeof out);
  cudaMemcpy(a, in, sizeof in, cudaMemcpyHostToDevice);
  turn<<<1, dim3(32, 32)>>>(b, a);
  cudaMemcpy(out, b, sizeof out, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 1024; i++)
    wrong += out[i] != 2 * in[i % 32 * 32 + i / 32];
#ifdef APART
  through<<<1, 32>>>(b);
  cudaMemcpy(out, b, sizeof out, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; i++)
    wrong += out[i] != 31 - i + 1;
#endif
#ifdef ASKS
  asks<<<1, 32, 100>>>(b);
  cudaMemcpy(out, b, sizeof out, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; i++)
    wrong += out[i] != 100;
#endif
  printf("%d wrong\n", wrong);
  return 0;
}
END
echo '__device__ float other(float value) { return value + 1; }' >"$work/other.cu"
cd "$work" || exit 2
TMPDIR=$root/tmp # nvcc --threads takes no spaces here
mkdir "$TMPDIR"

# conflicts PROGRAM: of its kernel turn. The program must print that nothing is wrong.
conflicts() {
  "$bankfold" exec "$1" >"$work/out" 2>"$work/err" || complain "$1 fails: $(cat "$work/err")"
  grep -qx '0 wrong' "$work/out" || complain "$1: other results"
  awk '$NF == "turn" && NF == 6 { print $1 }' "$work/err"
}
# logic CUBIN: instructions LOP3 in it. The opcode is in the low 12 bits of 16 bytes: x12 with the
# kind of operands in x.
logic() {
  local offset size
  read -r offset size < <(readelf -SW "$1" 2>/dev/null | sed 's/^ *\[ *[0-9]*\] *//' |
    awk '$1 == ".text._Z4turnPfPKf" { print $4, $5 }')
  od -An -v -w16 -tx2 -j $((16#$offset)) -N $((16#$size)) "$1" |
    awk '{ count += substr($1, 2) ~ /^[28a]12$/ } END { print count + 0 }'
}

# Ways to build, each by nvcc and by the wrapper: results are the same, conflicts are gone.
has_runtime=''
[ -e "$build/runtime/libcudart.so.13" ] && has_runtime=yes
while read -r name flags; do
  read -ra words <<<"$flags"
  ends 0 nvcc -cudart shared "${words[@]}" -o "plain.$name" two.cu
  ends 0 "$bankfold" nvcc -cudart shared "${words[@]}" -o "hashed.$name" two.cu
  [ ! -s err ] || complain "$name: prints $(cat err)"
  says log '_Z4turnPfPKf: fixed'
  hashed "hashed.$name" 1
  hashed "plain.$name" 0
  [ -n "$has_runtime" ] || continue
  before=$(conflicts "./plain.$name")
  after=$(conflicts "./hashed.$name")
  [ "$before.$after" = 992.0 ] || complain "$name: conflicts $before and $after, not 992 and 0"
done <<'END'
simple -arch=sm_90
lineinfo -O3 -lineinfo -gencode arch=compute_90,code=[sm_90,compute_90]
debug -G -arch=sm_80
many --threads 2 -gencode arch=compute_80,code=[sm_80,sm_86] -gencode arch=compute_90,code=[sm_90,compute_90]
ptx -gencode arch=compute_75,code=compute_75
END
# Device code in several files; what is called across them keeps its kernel as it was.
for step in nvcc "$build/bankfold-nvcc"; do
  name=$(basename "$step")
  ends 0 "$step" -DAPART -rdc=true -arch=sm_90 -c two.cu -o "$name.o"
  [ "$step" = nvcc ] || says log 'through.*: left alone: line [0-9]*: a call of _Z5otherf'
  ends 0 "$step" -rdc=true -arch=sm_90 -c other.cu
  ends 0 "$step" -cudart shared -arch=sm_90 "$name.o" other.o -o "apart.$name"
done
hashed apart.bankfold-nvcc 1
# A program that was rewritten before runs as it is, and exec says so.
if [ -n "$has_runtime" ]; then
  echo '* xor:0,5,15' >again.hashes
  for name in plain hashed; do
    ends 0 "$bankfold" exec --rewrite again.hashes "./$name.simple"
    grep -qx '0 wrong' out || complain "$name.simple, rewritten by exec: other results"
    [ $name = hashed ] || says_not err 'rewritten before'
  done
  says err 'bankfold: a module was rewritten before, and runs as it is'
  [ "$(awk '$NF == "turn" && NF == 6 { print $1 }' err)" = 0 ] || complain 'exec: it does not run as it is'
  # A kernel that must be left alone spoils nothing.
  ends 0 nvcc -cudart shared -arch=sm_90 -DASKS -o asks two.cu
  echo '* fixed' >asks.hashes
  ends 0 "$bankfold" exec --rewrite asks.hashes ./asks
  grep -qx '0 wrong' out || complain 'asks, rewritten by exec: other results'
  [ "$(awk '$NF == "turn" && NF == 6 { print $1 }' err)" = 0 ] || complain "asks: turn is not rewritten: $(cat err)"
fi
printf 'buffer in f32 1024 index\nbuffer out f32 1024 zero\nlaunch _Z4turnPfPKf grid 1 block 32 32 with out in\n' \
  >turn.launch
for name in nvcc:992 bankfold-nvcc:0; do
  "$bankfold" profile "${name%:*}.o" --launch turn.launch >out
  says out "^ *${name#*:}  .*turn\$"
done
# Other things that nvcc makes: PTX, machine code, fat binaries; kept files; an option file.
echo '-arch=sm_90' >options
for form in ptx cubin fatbin; do
  ends 0 nvcc -$form -optf options two.cu -o plain.$form
  ends 0 "$bankfold" nvcc -$form -optf options two.cu -o hashed.$form
  [ $form = cubin ] || hashed hashed.$form 1
done
[ "$(logic hashed.cubin)" -gt "$(logic plain.cubin)" ] || complain 'the machine code has no hash'
ends 0 "$bankfold" ptxas --hash none -arch=sm_90 plain.ptx -o none.cubin
ends 0 "$bankfold" ptxas -arch=sm_90 plain.ptx -o some.cubin
[ "$(logic none.cubin)" = "$(logic plain.cubin)" ] || complain 'machine code without a hash differs'
[ "$(logic some.cubin)" = "$(logic hashed.cubin)" ] || complain 'nvcc and ptxas make different code'
NVCC_APPEND_FLAGS='-lineinfo -DMORE="1"' ends 0 "$bankfold" nvcc -ptx -arch=sm_90 two.cu -o - # from the environment
says out '\.loc'
says out '%bf_'
"$bankfold" nvcc -arch=sm_90 -ptx -x cu - -o - <two.cu >out
says out '%bf_'
ln -s target.ptx link.ptx # a file elsewhere is not replaced
ends 0 "$bankfold" nvcc -arch=sm_90 -ptx two.cu -o link.ptx
hashed target.ptx 0
says err 'warning: compiled as it is: link.ptx: is no file that can be replaced'
mkdir kept
ends 0 "$bankfold" nvcc -keep -keep-dir kept -arch=sm_90 -c two.cu -o kept.o
hashed kept/two.ptx 1
ends 0 "$bankfold" nvcc -dlto -rdc=true -arch=sm_90 -c two.cu -o lto.o
says log 'left alone: link-time optimisation'
ends 0 "$bankfold" ptxas -lineinfo -v --gpu-name=sm_90a "$OLDPWD/$triton" -o triton.cubin
says log 'transpose_tile: fixed'
says err "Compiling entry function 'transpose_tile'"
# auto: the tile that is turned has a hash, and what has no conflicts none.
cat >auto.cu <<'END'
__global__ void __launch_bounds__(1024) turn(float *out, const float *in) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void straight(float *out, const float *in) {
  __shared__ float line[256];
  line[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = line[255 - threadIdx.x];
}
END
ends 0 env -u BANKFOLD_HASH "$bankfold" nvcc -fatbin -arch=sm_90 auto.cu -o auto.fatbin
hashed auto.fatbin 1
says log 'turn.*: rewritten, it would take'
says log 'straight.*: left alone: no conflicts are known'
# What cannot be compiled: nvcc's words and status, but for the names of its temporary files.
echo '__global__ void bad(int *p) { *p = missing; }' >bad.cu
echo '__global__ void bad(int *p) { asm("future.u32 %0, 1;" : "=r"(*p)); }' >worse.cu
echo '__global__ void bad(int *p) { __shared__ int a[20000]; *p = a[*p]; }' >large.cu
for source in bad worse large; do
  nvcc -arch=sm_90 -c $source.cu 2>plain.err
  ends $? "$bankfold" nvcc -arch=sm_90 -c $source.cu
  sed 's/tmpxft_[0-9a-f_-]*//g' err >hashed.err && sed -i 's/tmpxft_[0-9a-f_-]*//g' plain.err
  diff plain.err hashed.err || complain "$source.cu: other messages"
  [ -s plain.err ] || complain "$source.cu: no messages"
done
[ -z "$(ls "$TMPDIR")" ] || complain "left behind: $(ls "$TMPDIR")"
cd "$OLDPWD" || exit 2

# Programs with all kinds of kernels give the results that they give without.
if [ -n "$has_runtime" ]; then
  BANKFOLD_LOG='' NVCC=$build/bankfold-nvcc tests/check/programs.sh "$build" transpose separate several \
    templates sorting function_pointers dynamic_shared >"$work/out" 2>&1 ||
    complain "programs: $(cat "$work/out")"
fi

# A project of CMake.
if command -v cmake make >/dev/null; then
  mkdir "$root/project"
  cp "$program" "$root/project"
  cat >"$root/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.18)
project(two LANGUAGES CXX CUDA)
add_executable(two two.cu)
set_target_properties(two PROPERTIES CUDA_ARCHITECTURES 90 CUDA_RUNTIME_LIBRARY Shared)
END
  ends 0 cmake -S "$root/project" -B "$root/project/build" -DCMAKE_CUDA_COMPILER="$build/bankfold-nvcc" \
    -DCMAKE_CUDA_ARCHITECTURES=90
  ends 0 cmake --build "$root/project/build"
  hashed "$root/project/build/two" 1
fi
echo "$faults faults"
[ $faults = 0 ]
