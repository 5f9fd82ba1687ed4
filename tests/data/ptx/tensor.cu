// Tensor cores and asynchronous copies: wmma, ldmatrix, mma, cp.async, mbarrier.
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void multiply(const half *a, const half *b, float *c) {
  __shared__ half tile[16 * 24];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  for (int i = threadIdx.x; i < 256; i += 32)
    tile[i / 16 * 24 + i % 16] = a[i];
  __syncwarp();
  wmma::fill_fragment(fc, 0.f);
  wmma::load_matrix_sync(fa, tile, 24);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
extern "C" __global__ void fragments(const half *in, float *out) {
  __shared__ __align__(16) half tile[512];
  for (int i = threadIdx.x; i < 512; i += 32)
    tile[i] = in[i];
  __syncwarp();
  unsigned at = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x * 8), r[4], b[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2 + 16];"
               : "=r"(b[0]), "=r"(b[1]) : "r"(at));
  float d[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(r[0]), "r"(r[1]), "r"(b[0]));
  out[threadIdx.x] = d[0] + d[1] + d[2] + d[3] + b[1] + r[2] + r[3];
}
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void copies(const float4 *in, float4 *out, int rounds) {
  __shared__ float4 stage[2][128];
  __shared__ unsigned long long bar;
  unsigned b = (unsigned)__cvta_generic_to_shared(&bar);
  unsigned s = (unsigned)__cvta_generic_to_shared(&stage[0][threadIdx.x]);
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(b), "r"(blockDim.x));
  __syncthreads();
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(s), "l"(in + threadIdx.x));
  asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 4, %2;" ::"r"(s + 2048), "l"(in + threadIdx.x), "r"(rounds));
  asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;");
  asm volatile("{\n .reg .b64 state;\n .reg .pred p;\n mbarrier.arrive.shared.b64 state, [%0];\n"
               "waiting:\n mbarrier.try_wait.shared.b64 p, [%0], state;\n @p bra done;\n bra waiting;\n done:\n}" ::"r"(b));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(2048));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(s), "l"(in), "r"(2048), "r"(b));
  }
  asm volatile("fence.proxy.async;\n fence.mbarrier_init.release.cluster;\n barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;");
  unsigned leader, x = 0;
  asm volatile("{ .reg .pred q; elect.sync %0|q, 0xffffffff; @q mov.u32 %1, 0b101; @!q mov.u32 %1, 017; }" : "=r"(leader), "+r"(x));
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(s), "r"(x));
  out[threadIdx.x] = stage[0][threadIdx.x];
  out[0].x = leader;
}
#endif
