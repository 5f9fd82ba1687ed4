#!/usr/bin/env bash
# Patches that suggest of build folder $1 writes apply with patch and git, compile, leave the results of
# every kernel as they are on the emulator, and leave the conflicts that were predicted. What is committed of
# tests/data/suggest is what nvcc makes of it, where it is the same version. Skipped without nvcc.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo 'no nvcc' && exit 77; }
command -v patch >/dev/null || { echo 'no patch' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0

complain() {
  echo "$*"
  faults=$((faults + 1))
}

cp tests/data/suggest/* "$work"
cd "$work" || exit 2

# compare JSON: every patched array was checked, and has the conflicts and wavefronts that were predicted.
# ptxas may still drop an access, so that there are fewer.
compare() {
  python3 - "$1" "$2" <<'END'
import json, sys
report, kind = json.load(open(sys.argv[1])), sys.argv[2]
patched = [array for array in report["arrays"] if array["patched"]]
bad = [] if len(patched) >= 3 and report["checked"] and report["equal"] else ["too little was patched"]
for array in patched:
    found, = [one for one in array["suggestions"] if one["kind"] == kind]
    # Accesses wider than elements are nvcc's: it makes none where a macro has the subscripts, and more is left than predicted.
    is_wide = found["macro"] and array["name"] == "buffer"
    most = (array["conflicts"], array["wavefronts"]) if is_wide else (found["conflicts"], found["wavefronts"])
    if array["checked_conflicts"] > most[0] or array["checked_wavefronts"] > most[1]:
        bad.append("%s %s: predicted %s" % (array["kernel"], array["name"], found))
print(*bad, sep="\n", end="\n" if bad else "")
sys.exit(bool(bad))
END
}

# check NAME WAY: patches NAME.cu and looks at what became of it.
check() {
  local name=$1 way=$2
  "$build/bankfold" suggest "$name.cu" --launch "$name.launch" --by "$way" --patch "$way.diff" --check --json \
    >"$way.json" || complain "$name $way: status $?"
  compare "$way.json" "$way" || complain "$name $way: another result"
  mkdir -p patched git
  cp "$name.cu" patched && cp "$name.cu" git
  (cd patched && patch -s -p0 <"../$way.diff") || complain "$name $way: patch fails"
  (cd git && git init -q . && git apply -p0 "../$way.diff") || complain "$name $way: git apply fails"
  cmp "patched/$name.cu" "git/$name.cu" || complain "$name $way: patch and git differ"
  cmp -s "patched/$name.cu" "$name.cu" && complain "$name $way: nothing changed"
  rm -rf patched git
}

for name in tiles shapes; do
  for way in swizzle padding; do
    check "$name" "$way"
  done
done

# Arrays and pointers that are passed to the same functions, and instances with elements of several sizes, get one
# change that is right for all of them.
"$build/bankfold" suggest family.cu --launch family.launch --by swizzle --check --json >family.json || complain "family: status $?"
python3 - family.json <<'END' || complain 'family: another result'
import json, sys
report = json.load(open(sys.argv[1]))
patched = [array for array in report["arrays"] if array["patched"]]
good = [array for array in patched if 2 * array["checked_conflicts"] < array["conflicts"]]
sys.exit(not (report["equal"] and len(patched) == len(good) == 4))
END

# A pointer whose first elements nobody accesses may begin elsewhere than its accesses do: an XOR of the subscript is not
# what it would be then, which the patched source shows. One that begins where they do is changed (family.cu).
cat >adrift.cu <<'END'
extern "C" __global__ void __launch_bounds__(32) adrift(float *out, const float *in) {
  extern __shared__ float memory[];
  float *first = memory;
  float *second = first + 32;
  first[threadIdx.x] = in[threadIdx.x];
  for (int i = 0; i < 32; i++)
    second[16 + threadIdx.x * 32 + i] = in[i * 32 + threadIdx.x];
  __syncwarp();
  float sum = first[threadIdx.x ^ 1];
  for (int i = 0; i < 32; i++)
    sum = sum * 3 + second[16 + (threadIdx.x ^ 5) * 32 + i];
  out[threadIdx.x] = sum;
}
END
printf '%s\n' 'buffer in f32 1024 random 0 1' 'buffer out f32 32 zero' 'launch adrift grid 1 block 32 shared 4288 with out in' >adrift.launch
"$build/bankfold" suggest adrift.cu --launch adrift.launch --by swizzle --patch adrift.diff >adrift.out || complain "adrift: status $?"
grep -q 'no patch: where second begins is not seen' adrift.out || complain 'adrift: not said'
[ ! -e adrift.diff ] || complain 'adrift: patched'

# A source with CR LF at the ends of lines is patched line by line, too.
sed 's/$/\r/' tiles.cu >crlf.cu
"$build/bankfold" suggest crlf.cu --launch tiles.launch --patch crlf.diff --check >crlf.out || complain "crlf: status $?"
patch -s --binary -p0 <crlf.diff || complain 'crlf: patch fails'
grep -qv $'\r$' crlf.cu && complain 'crlf: a line lost its end'

# What a header hides is found by --check.
"$build/bankfold" suggest hidden.cu --launch hidden.launch --by swizzle --check >hidden.out
[ $? = 1 ] || complain 'hidden: not found'
grep -q 'results are different' hidden.out || complain 'hidden: not said'

# Rows grow under a pointer that stays in its row, as the patched source shows; not under one that leaves it.
cat >pointers.cu <<'END'
extern "C" __global__ void __launch_bounds__(32) inside(float *out) {
  __shared__ float rows[32][32];
  float *own = &rows[threadIdx.x][0];
  for (int i = 0; i < 32; i++)
    own[i] = out[i];
  __syncwarp();
  out[threadIdx.x] = rows[threadIdx.x ^ 1][0];
}
extern "C" __global__ void __launch_bounds__(32) across(float *out) {
  __shared__ float all[32][32];
  float *own = &all[0][0];
  own[threadIdx.x * 32] = out[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = all[threadIdx.x ^ 1][0];
}
__noinline__ __device__ float column(const float *from) {
  float sum = 0;
  for (int i = 0; i < 32; i++)
    sum += from[i * 32] * (i + 1);
  return sum;
}
extern "C" __global__ void __launch_bounds__(32) given(float *out) {
  __shared__ float lent[32][32];
  for (int i = 0; i < 32; i++)
    lent[threadIdx.x][i] = out[i];
  __syncwarp();
  out[threadIdx.x] = column(&lent[0][threadIdx.x]);
}
END
"$build/bankfold" suggest pointers.cu --patch pointers.diff >pointers.out || complain "pointers: status $?"
grep -q '^+.*rows\[32\]\[33\]' pointers.diff || complain 'pointers: rows do not grow'
grep -q '^+.*all' pointers.diff && complain 'pointers: a change that breaks a pointer'
grep -q '^+.*lent' pointers.diff && complain 'pointers: a change under a function that is not followed'

# Elements move to which pointers lead that are used for these alone, as by ldmatrix; not where a function walks from one to
# others, or one that is not followed may do so.
cat >lent.cu <<'END'
#include <cstdio>
__device__ void load(unsigned (&a)[4], const unsigned short *from) {
  unsigned at = __cvta_generic_to_shared(from);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(at));
}
__device__ float walk(const float *from) {
  float sum = 0;
  for (int i = 0; i < 9; i++)
    sum += from[i * 2];
  return sum;
}
__noinline__ __device__ float follow(const float *from) { return walk(from); }
__global__ void blocks(const unsigned short *in, unsigned *out) {
  __shared__ __align__(16) unsigned short tile[64 * 64];
  unsigned a[4];
  for (int i = threadIdx.x * 8; i < 64 * 64; i += 1024)
    *(uint4 *)&tile[i] = *(const uint4 *)&in[i];
  __syncthreads();
  for (int k = 0; k < 64; k += 16) {
    load(a, &tile[(threadIdx.x / 32 * 16 + threadIdx.x % 16) * 64 + k + threadIdx.x % 32 / 16 * 8]);
    for (int i = 0; i < 4; i++)
      out[(k / 16 * 4 + i) * 128 + threadIdx.x] = a[i];
  }
}
template <bool FOLLOWS> __global__ void rows(const unsigned short *in, float *out) {
  __shared__ float walked[32 * 32];
  for (int i = 0; i < 32; i++)
    walked[threadIdx.x * 32 + i] = in[i * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = FOLLOWS ? follow(&walked[threadIdx.x * 32]) : walk(&walked[threadIdx.x * 32]);
}
int main() {
  unsigned short h[4096], *in;
  unsigned u[2048], *out, sum = 0;
  float f[64], *more;
  for (int i = 0; i < 4096; i++)
    h[i] = i * 7;
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, sizeof u);
  cudaMalloc(&more, sizeof f);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  blocks<<<1, 128>>>(in, out);
  rows<false><<<1, 32>>>(in, more);
  rows<true><<<1, 32>>>(in, more + 32);
  cudaMemcpy(u, out, sizeof u, cudaMemcpyDeviceToHost);
  cudaMemcpy(f, more, sizeof f, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 2048; i++)
    sum = sum * 31 + u[i] + (unsigned)f[i % 64];
  printf("%u\n", sum);
}
END
"$build/bankfold" suggest lent.cu --patch lent.diff >lent.out || complain "lent: status $?"
[ "$(grep -c '^+.*&tile\[BF_TILE(' lent.diff)" = 2 ] || complain 'lent: elements do not move'
grep -q '^+.*walked' lent.diff && complain 'lent: a change that breaks a pointer'
cp lent.cu unlent.cu
patch -s -p0 <lent.diff || complain 'lent: patch fails'
if [ -e "$build/runtime/libcudart.so.13" ]; then
  for version in unlent lent; do
    nvcc -cudart shared -arch=sm_90 "$version.cu" -o "$version" || complain "$version: nvcc fails"
    "$build/bankfold" exec "./$version" 2>/dev/null >"$version.printed" || complain "$version: status $?"
  done
  cmp <(head -n 1 unlent.printed) <(head -n 1 lent.printed) || complain 'lent: prints something else'
fi

# Tiles of wmma that are loaded and stored with the length of the rows as their stride: it grows with the rows. A stride that
# does not say that length keeps its array as it is.
cat >wmma.cu <<'END'
#include <cstdio>
#include <mma.h>
using namespace nvcuda;
template <int N> __global__ void __launch_bounds__(32) product(const half *in, float *out) {
  __shared__ half a[16][N];
  __shared__ float c[16][64];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> y;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  for (int i = threadIdx.x; i < 16 * N; i += 32)
    a[i / N][i % N] = in[i];
  __syncwarp();
  wmma::fill_fragment(sum, 0);
  for (int k = 0; k < N; k += 16) {
    wmma::load_matrix_sync(x, &a[0][k], N);
    wmma::load_matrix_sync(y, &a[0][k], N);
    wmma::mma_sync(sum, x, y, sum);
  }
  wmma::store_matrix_sync(&c[0][0], sum, 64, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32)
    out[i] = c[i / 16][i % 16];
}
__global__ void __launch_bounds__(32) other(const half *in, float *out, int n) {
  __shared__ half b[16][64];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
  for (int i = threadIdx.x; i < 16 * 64; i += 32)
    b[i / 64][i % 64] = in[i];
  __syncwarp();
  wmma::load_matrix_sync(x, &b[0][0], 2 * 32 + n - n);
  wmma::load_matrix_sync(x, b[0] + 16, 32 + 32 * (n != 0));
  out[threadIdx.x] = __half2float(x.x[0]);
}
int main() {
  half h[1024], *in;
  float f[256], g[32], *out, *more, sum = 0;
  for (int i = 0; i < 1024; i++)
    h[i] = __float2half(i % 7 - 3);
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, sizeof f);
  cudaMalloc(&more, sizeof g);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  product<64><<<1, 32>>>(in, out);
  other<<<1, 32>>>(in, more, 1);
  cudaMemcpy(f, out, sizeof f, cudaMemcpyDeviceToHost);
  cudaMemcpy(g, more, sizeof g, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 256; i++)
    sum += f[i] * (i % 5 + 1) + g[i % 32];
  printf("%f\n", sum);
}
END
"$build/bankfold" suggest wmma.cu --patch wmma.diff >wmma.out || complain "wmma: status $?"
grep -q '^+.*half a\[16\]\[N + 8\]' wmma.diff || complain 'wmma: rows do not grow'
[ "$(grep -c '^+.*load_matrix_sync(.*N + 8)' wmma.diff)" = 2 ] || complain 'wmma: strides do not grow'
grep -q '^+.*b\[16\]' wmma.diff && complain 'wmma: a stride that is not known'
cp wmma.cu whole.cu
patch -s -p0 <wmma.diff || complain 'wmma: patch fails'
if [ -e "$build/runtime/libcudart.so.13" ]; then
  for version in whole wmma; do
    nvcc -cudart shared -arch=sm_90 "$version.cu" -o "$version" || complain "$version: nvcc fails"
    "$build/bankfold" exec "./$version" 2>/dev/null >"$version.printed" || complain "$version: status $?"
  done
  cmp <(head -n 1 whole.printed) <(head -n 1 wmma.printed) || complain 'wmma: prints something else'
fi

# A program, by what it prints and its exit status.
if [ -e "$build/runtime/libcudart.so.13" ]; then
  nvcc -cudart shared -arch=sm_90 -lineinfo program.cu -o program || complain 'program: nvcc fails'
  "$build/bankfold" suggest program.cu --run ./program --patch program.diff --check 64 >program.out ||
    complain "program: status $?"
  grep -q 'results are equal' program.out || complain 'program: not equal'
  grep -q '0 conflicts in the patched source' program.out || complain 'program: conflicts'
  grep -q '256 accesses' program.out || complain 'program: its argument was lost'
fi

# The committed PTX is that of the sources, up to names for debuggers at its end, which nvcc makes of paths.
code() {
  sed '/\.section[[:space:]]*\.debug_str/,$d' "$1"
}
mkdir made
"$OLDPWD/tests/data/suggest/make.sh" made || complain 'make.sh fails'
for name in tiles shapes; do
  if [ "$(grep 'release' made/$name.ptx)" = "$(grep 'release' $name.ptx)" ]; then
    code "made/$name.ptx" | cmp - <(code "$name.ptx") || complain "$name.ptx: nvcc makes another"
  fi
done
[ $faults = 0 ]
