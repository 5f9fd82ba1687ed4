// Compiled by clang, whose PTX differs in layout and choice of instructions; needs no CUDA headers.
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
__constant__ int factors[4] = {1, 2, 3, 4};
__device__ float scratch[128];
extern __shared__ int dynamic[];
__device__ __attribute__((noinline)) int twice(int a, float *b) { return a * 2 + (int)b[1]; }
__device__ int deep(int n) { return n < 2 ? n : deep(n - 1) * n; }
extern "C" __global__ void tiles(float *out, const float *in, int n) {
  __shared__ float tile[16][17];
  int x = __nvvm_read_ptx_sreg_tid_x(), y = __nvvm_read_ptx_sreg_tid_y();
  tile[y][x] = in[y * n + x];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < n; k++)
    sum += tile[x][k & 15] * factors[k & 3];
  dynamic[x] = twice(n, scratch) + deep(x);
  __syncthreads();
  switch (dynamic[y]) {
  case 0: sum += 1; break;
  case 1: sum *= 3; break;
  case 2: sum = __nvvm_sqrt_rn_f(sum); break;
  case 3: sum -= in[3]; break;
  case 4: sum /= 7; break;
  case 5: out[1] = 4; break;
  }
  __nvvm_atom_add_gen_i((int *)out + 5, (int)sum);
  out[y * n + x] = sum;
}
