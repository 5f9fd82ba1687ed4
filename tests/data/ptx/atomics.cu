// Atomics on shared and global memory, votes, shuffles, matches, reductions of warps.
extern "C" __global__ void histogram(unsigned *bins, const unsigned char *data, int count) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    local[i] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    atomicAdd(&local[data[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&bins[i], local[i]);
}
extern "C" __global__ void mixed(int *a, unsigned long long *b, float *f, double *d) {
  __shared__ int s;
  if (threadIdx.x == 0)
    s = 0;
  __syncthreads();
  int old = atomicMax(&s, a[threadIdx.x]) + atomicCAS(&a[1], 3, 4) + atomicExch(&a[2], 5);
  old += atomicInc((unsigned *)&a[3], 7u) + atomicAnd(&a[4], 6) + atomicOr(&a[5], 8) + atomicXor(&s, 9);
  b[0] = atomicAdd(b + 1, 5ull) + atomicCAS(b + 2, 1ull, 2ull) + (unsigned)old;
  f[0] = atomicAdd(f + 1, 1.5f);
  d[0] = atomicAdd(d + 1, 2.5);
  __threadfence();
}
extern "C" __global__ void warp(int *out, int *in) {
  int v = in[threadIdx.x];
  for (int o = 16; o; o >>= 1)
    v += __shfl_xor_sync(0xffffffffu, v, o);
  v += __shfl_up_sync(0xffffffffu, v, 1) + __shfl_down_sync(0xffu, v, 2) + __shfl_sync(~0u, v, 3);
  unsigned active = __activemask();
  v += __ballot_sync(active, v > 3) + __any_sync(active, v) + __all_sync(active, v);
  v += __match_any_sync(active, v);
  int same;
  v += __match_all_sync(active, v, &same) + same + __syncthreads_or(v) + __syncthreads_count(v);
#if __CUDA_ARCH__ >= 800
  v += __reduce_add_sync(~0u, v);
#endif
  v += __popc(v) + __clz(v) + __ffs(v) + __brev(v) + __byte_perm(v, 3, 0x1234) + __dp4a(v, v, v);
  v += __funnelshift_l(v, 3, v) + __vabsdiffu4(v, 3) + __mul24(v, v) + __mulhi(v, v);
  __syncwarp();
  out[threadIdx.x] = v;
}
