#!/usr/bin/env bash
# Programs whose shared arrays are of kinds that need more than subscripts changed: suggest of build folder $1 patches them
# without running, the patched source compiles, prints the same on the emulator and has fewer conflicts; and what would
# change results stays as it is. Skipped without nvcc or the CUDA runtime for exec.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(readlink -f "$1")
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo 'no nvcc' && exit 77; }
command -v patch >/dev/null || { echo 'no patch' && exit 77; }
[ -e "$build/runtime/libcudart.so.13" ] || { echo 'no runtime' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
faults=0

complain() {
  echo "$*"
  faults=$((faults + 1))
}

# measure PROGRAM: compiles PROGRAM.cu and runs it; PROGRAM.printed is what it prints, PROGRAM.json its conflicts.
measure() {
  nvcc -cudart shared -std=c++17 -arch=sm_90 "$1.cu" -o "$1" 2>"$1.errors" || complain "$1: nvcc fails: $(head -n 3 "$1.errors")"
  "$build/bankfold" exec --as-written --profile "$1.json" "./$1" >"$1.printed" 2>/dev/null || complain "$1: status $?"
}

# conflicts PROGRAM KERNEL: those of kernels with that in their names.
conflicts() {
  python3 -c 'import json, sys
kernels = json.load(open(sys.argv[1] + ".json"))["kernels"]
print(sum(kernel["conflicts"] for kernel in kernels if sys.argv[2] in kernel["mangled"]))' "$1" "$2"
}

# patched NAME WAY KERNELS REFUSED: patches NAME.cu; of kernels in KERNELS nearly all conflicts are gone, and those of REFUSED are not changed.
patched() {
  local name=$1 way=$2 kernels=$3 refused=$4 kernel
  "$build/bankfold" suggest "$name.cu" --nvcc-flag -std=c++17 --by "$way" --patch "$name.diff" >"$name.out" || complain "$name $way: status $?"
  cp "$name.cu" "new_$name.cu"
  patch -s -p0 "new_$name.cu" <"$name.diff" || complain "$name $way: patch fails"
  measure "$name"
  measure "new_$name"
  cmp <(grep -v '^$' "$name.printed" | head -n 1) <(grep -v '^$' "new_$name.printed" | head -n 1) || complain "$name $way: prints something else"
  for kernel in $kernels; do
    [ "$(($(conflicts "new_$name" "$kernel") * 10))" -lt "$(conflicts "$name" "$kernel")" ] ||
      complain "$name $way: $kernel has $(conflicts "new_$name" "$kernel") of $(conflicts "$name" "$kernel") conflicts"
  done
  for kernel in $refused; do
    [ "$(conflicts "new_$name" "$kernel")" = "$(conflicts "$name" "$kernel")" ] || complain "$name $way: $kernel is changed"
  done
}

cat >sum.h <<'END'
#include <cstdio>
#include <vector>
template <class T> T *filled(int n) {
  std::vector<T> host(n);
  T *device;
  for (int i = 0; i < n; i++)
    host[i] = (T)(i * 37 % 101 - 50);
  cudaMalloc(&device, n * sizeof(T));
  cudaMemcpy(device, host.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  return device;
}
template <class T> double sum(const T *device, int n) {
  std::vector<T> host(n);
  double sum = 0;
  cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++)
    sum += (double)host[i] * (i % 31 + 1);
  return sum;
}
END

# Elements that grow: a class with their type as its base takes its place. Not where their size is asked for, functions are given the array,
# others are declared with it, or a pointer walks through it.
cat >elements.cu <<'END'
#include "sum.h"
struct Body {
  float x, y, z, mass, vx, vy, vz, age;
};
template <class T> struct Cell {
  T low, high, left, right;
  __device__ T all() const { return low + high * 2 + left * 3 + right * 4; }
};
template <class T> struct Kinds {
  typedef Cell<T> cell;
};
__global__ void bodies(const float *in, float *out) {
  __shared__ Body tile[64];
  int t = threadIdx.x;
  Body own;
  own.x = in[t], own.y = in[t + 64], own.z = in[t + 128], own.mass = in[t + 192];
  own.vx = own.vy = own.vz = own.age = in[t] * 2;
  tile[t] = own;
  __syncthreads();
  const Body &other = tile[(t + 5) % 64];
  out[t] = other.x * 2 + other.mass + tile[63 - t].age;
}
template <class T> __global__ void cells(const T *in, T *out) {
  __shared__ typename Kinds<T>::cell cell[8][32];
  cell[threadIdx.y][threadIdx.x].low = in[threadIdx.y * 32 + threadIdx.x];
  cell[threadIdx.y][threadIdx.x].high = in[threadIdx.x];
  cell[threadIdx.y][threadIdx.x].left = cell[threadIdx.y][threadIdx.x].right = in[threadIdx.y];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = cell[7 - threadIdx.y][31 - threadIdx.x].all();
}
__global__ void measured(const float *in, float *out) {
  __shared__ Body gauged[64];
  gauged[threadIdx.x].x = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = gauged[63 - threadIdx.x].x + sizeof(gauged[0]);
}
__device__ float second(const Body *b) { return b[1].x; }
__global__ void lent(const float *in, float *out) {
  __shared__ Body loan[65];
  loan[threadIdx.x].x = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = loan[63 - threadIdx.x].x + second(loan);
}
__global__ void walked(const float *in, float *out) {
  __shared__ Body path[65];
  path[threadIdx.x].x = in[threadIdx.x];
  path[64].x = 1;
  __syncthreads();
  Body *at = &path[threadIdx.x];
  out[threadIdx.x] = path[63 - threadIdx.x].x + at[1].x;
}
__global__ void together(const float *in, float *out) {
  __shared__ Body one[64], two[64];
  one[threadIdx.x].x = in[threadIdx.x];
  two[threadIdx.x].y = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = one[63 - threadIdx.x].x + two[63 - threadIdx.x].y;
}
int main() {
  float *in = filled<float>(512), *out = filled<float>(64 * 5);
  double *wide = filled<double>(256), *more = filled<double>(256);
  bodies<<<1, 64>>>(in, out);
  measured<<<1, 64>>>(in, out + 64);
  lent<<<1, 64>>>(in, out + 128);
  walked<<<1, 64>>>(in, out + 192);
  together<<<1, 64>>>(in, out + 256);
  double total = sum(out, 64 * 5);
  cells<<<1, dim3(32, 8)>>>(in, out);
  cells<<<1, dim3(32, 8)>>>((const double *)wide, more);
  printf("%.9g %.9g %.9g\n", total, sum(out, 256), sum(more, 256));
}
END
patched elements padding 'bodies' 'measured lent walked together'
grep -q 'struct BF_TILE : Body' elements.diff || complain 'elements: no class'

# Arrays of two dimensions that functions are given: subscripts, or rows of all declarations and parameters, change together. Not where a
# function is also given a pointer into the middle, or walks through it, or takes its rows by reference.
cat >given.cu <<'END'
#include "sum.h"
constexpr int N = 32;
__device__ void fill(float (*tile)[N], const float *in) {
  for (int r = threadIdx.y; r < N; r += blockDim.y)
    tile[r][threadIdx.x] = in[r * N + threadIdx.x];
}
__device__ float dot(const float a[N][N], const float (&b)[N][32], int i, int j) {
  float sum = 0;
  for (int k = 0; k < N; k++)
    sum += a[i][k] * b[j][k];
  return sum;
}
__global__ void products(const float *in, float *out) {
  __shared__ float left[N][N], right[N][N];
  fill(left, in);
  fill(right, in + N * N);
  __syncthreads();
  for (int r = threadIdx.y; r < N; r += blockDim.y)
    out[r * N + threadIdx.x] = dot(left, right, r, threadIdx.x);
}
template <class T, int M> __device__ T turned(const T (*t)[M], int x, int y) { return t[x][y] + t[x][y ^ 1]; }
template <class T> __global__ void turn(const T *in, T *out) {
  __shared__ T tile[16][64];
  for (int r = threadIdx.y; r < 16; r += 4)
    tile[r][threadIdx.x] = in[r * 64 + threadIdx.x];
  __syncthreads();
  for (int r = threadIdx.y; r < 64; r += 4)
    out[r * 16 + threadIdx.x % 16] = turned<T, 64>(tile, threadIdx.x % 16, r);
}
__device__ float middle(float (*t)[N]) { return t[threadIdx.x % 8][1]; }
__global__ void part(const float *in, float *out) {
  __shared__ float tile[N][N];
  tile[threadIdx.x][threadIdx.y] = in[threadIdx.y * N + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * N + threadIdx.x] = tile[threadIdx.x][0] + middle(tile + 3);
}
__device__ float flat(const float (*t)[N]) { return (*t)[threadIdx.x * N + 1]; }
__global__ void walk(const float *in, float *out) {
  __shared__ float tile[N][N];
  tile[threadIdx.x][threadIdx.y] = in[threadIdx.y * N + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * N + threadIdx.x] = tile[threadIdx.x][0] + flat(tile);
}
template <int M> __device__ float whole(const float (&row)[M]) {
  float sum = M;
  for (int i = 0; i < M; i++)
    sum += row[i];
  return sum;
}
__device__ float rows(const float (*t)[N]) { return whole(t[threadIdx.x]); }
__global__ void bound(const float *in, float *out) {
  __shared__ float tile[N][N];
  tile[threadIdx.x][threadIdx.y] = in[threadIdx.y * N + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * N + threadIdx.x] = tile[threadIdx.x][0] + rows(tile);
}
int main() {
  float *in = filled<float>(2048), *out = filled<float>(1024);
  double *wide = filled<double>(1024), *more = filled<double>(1024);
  double total = 0;
  products<<<1, dim3(N, 8)>>>(in, out);
  total += sum(out, 1024);
  part<<<1, dim3(N, 16)>>>(in, out);
  total += sum(out, 512);
  walk<<<1, dim3(N, N)>>>(in, out);
  total += sum(out, 1024);
  bound<<<1, dim3(N, N)>>>(in, out);
  total += sum(out, 1024);
  turn<<<1, dim3(64, 4)>>>(in, out);
  turn<<<1, dim3(64, 4)>>>((const double *)wide, more);
  printf("%.9g %.9g %.9g\n", total, sum(out, 1024), sum(more, 1024));
}
END
for way in padding swizzle; do
  patched given $way 'products turn' 'part walk bound'
done
grep -q 'a\[i\]\[k ^ (i & 31)\]' given.diff || complain 'given: functions are not changed'

# Arrays in a struct. Not where that has other uses than its members in this kernel, or a function of its own.
cat >members.cu <<'END'
#include "sum.h"
template <class T, int M, int N> struct Tiles {
  T a[M][N];
  int count, more[3];
  T b[N][M];
};
template <class T, int M, int N> __global__ void product(const T *in, T *out) {
  __shared__ Tiles<T, M, N> s;
  for (int r = threadIdx.y; r < 32; r += 8) {
    s.a[r][threadIdx.x] = in[r * 32 + threadIdx.x];
    s.b[r][threadIdx.x] = in[r * 32 + threadIdx.x] + 1;
  }
  s.count = 3;
  s.more[threadIdx.x % 3] = threadIdx.x % 3;
  __syncthreads();
  for (int r = threadIdx.y; r < 32; r += 8) {
    T sum = s.count + s.more[2];
    for (int k = 0; k < 32; k++)
      sum += s.a[r][k] * s.b[threadIdx.x][k];
    out[r * 32 + threadIdx.x] = sum;
  }
}
struct Flat {
  float rows[32 * 32], total[32];
};
__global__ void flat(const float *in, float *out) {
  __shared__ Flat own;
  for (int r = 0; r < 32; r++)
    own.rows[r * 32 + threadIdx.x] = in[r * 32 + threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int r = 0; r < 32; r++)
    sum = sum * 0.5f + own.rows[threadIdx.x * 32 + r];
  own.total[threadIdx.x] = sum;
  __syncthreads();
  out[threadIdx.x] = own.total[31 - threadIdx.x];
}
struct Shown {
  float t[32][32];
};
__device__ float first(const Shown &s) { return s.t[threadIdx.x][1]; }
__global__ void shown(const float *in, float *out) {
  __shared__ Shown own;
  for (int r = 0; r < 32; r++)
    own.t[r][threadIdx.x] = in[r * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = own.t[threadIdx.x][0] + first(own);
}
struct Able {
  float t[32][32];
  __device__ float first() const { return t[threadIdx.x][1]; }
};
__global__ void able(const float *in, float *out) {
  __shared__ Able own;
  for (int r = 0; r < 32; r++)
    own.t[r][threadIdx.x] = in[r * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = own.t[threadIdx.x][0] + own.first();
}
struct Sized {
  float t[32][32];
};
__global__ void sized(const float *in, float *out) {
  __shared__ Sized own;
  for (int r = 0; r < 32; r++)
    own.t[r][threadIdx.x] = in[r * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = own.t[threadIdx.x][0] + sizeof(Sized);
}
template <int N, int M> struct Turned {
  float t[M][N];
};
template <int M, int N> __global__ void turned(const float *in, float *out) {
  __shared__ Turned<M, N> own;
  for (int r = 0; r < N; r++)
    own.t[r][threadIdx.x] = in[r * M + threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = own.t[threadIdx.x % N][0];
}
int main() {
  float *in = filled<float>(2048), *out = filled<float>(1024);
  double *wide = filled<double>(1024), *more = filled<double>(1024);
  double total = 0;
  flat<<<1, 32>>>(in, out);
  total += sum(out, 32);
  shown<<<1, 32>>>(in, out);
  total += sum(out, 32);
  able<<<1, 32>>>(in, out);
  total += sum(out, 32);
  sized<<<1, 32>>>(in, out);
  total += sum(out, 32);
  turned<32, 16><<<1, 32>>>(in, out);
  total += sum(out, 32);
  product<float, 32, 32><<<1, dim3(32, 8)>>>(in, out);
  product<double, 32, 32><<<1, dim3(32, 8)>>>(wide, more);
  printf("%.9g %.9g %.9g\n", total, sum(out, 1024), sum(more, 1024));
}
END
patched members swizzle 'flat productIf' 'shown able sized turned'
patched members padding 'product flat' 'shown able sized turned'

# Arrays whose type has their dimensions: an XOR, and no longer rows, which would be those of all that have the type.
cat >alias.cu <<'END'
#include "sum.h"
typedef float value;
typedef value tile[32][32];
using line = double[32 * 32];
__global__ void tiles(const value *in, value *out) {
  __shared__ tile upper, lower;
  for (int y = threadIdx.y; y < 32; y += 8) {
    upper[y][threadIdx.x] = in[y * 32 + threadIdx.x];
    lower[y][threadIdx.x] = in[y * 32 + (threadIdx.x ^ 1)];
  }
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 8)
    out[y * 32 + threadIdx.x] = upper[y][threadIdx.x] + lower[threadIdx.x][y] * 2;
}
__global__ void lines(const double *in, double *out) {
  __shared__ line all;
  __shared__ int n, counts[32];
  for (int r = 0; r < 32; r++)
    all[r * 32 + threadIdx.x] = in[r * 32 + threadIdx.x];
  counts[threadIdx.x] = threadIdx.x;
  n = 3;
  __syncthreads();
  double sum = n + counts[threadIdx.x ^ 1];
  for (int r = 0; r < 32; r++)
    sum = sum * 0.5 + all[threadIdx.x * 32 + r];
  out[threadIdx.x] = sum;
}
int main() {
  float *in = filled<float>(1024), *out = filled<float>(1024);
  double *wide = filled<double>(1024), *more = filled<double>(1024);
  tiles<<<1, dim3(32, 8)>>>(in, out);
  lines<<<1, 32>>>(wide, more);
  printf("%.9g %.9g\n", sum(out, 1024), sum(more, 32));
}
END
patched alias swizzle 'tiles lines' ''
[ $faults = 0 ]
