// Addresses of shared memory in a cluster: the own ones have the rank of the block in bits 24 and up, as mapa gives them; other
// blocks are reached by changing these bits, as CUTLASS does for pairs; all that takes an address takes the own one with them.
// flags: -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
#include "hopper.h"

enum { BLOCKS = 4, NUMBERS = 16, PEER_MASK = 0xfeffffff };

static __device__ uint32_t rank() {
  uint32_t own;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(own));
  return own;
}

static __device__ void meet() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

static __device__ uint32_t load_any(uint32_t at) {
  uint32_t value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(at) : "memory");
  return value;
}

/* A call with a frame of its own, which holds the address of the variable too. */
__shared__ uint32_t common[32];
static __device__ __noinline__ uint32_t called(int i) {
  common[i] += 5;
  return (uint32_t)__cvta_generic_to_shared(&common[i]) >> 24;
}

__global__ void __cluster_dims__(BLOCKS, 1, 1) addresses(uint32_t *out) {
  __shared__ alignas(16) uint32_t word[4], sum;
  __shared__ alignas(8) uint64_t barrier[2];
  __shared__ float matrix[64];
  uint32_t *to = out + blockIdx.x * NUMBERS, own = shared_address(word), t = threadIdx.x, mapped, found;
  uint64_t generic = (uint64_t)(uintptr_t)word, far;
  if (t == 0) {
    word[0] = 100 + rank();
    word[1] = word[2] = word[3] = 0;
    sum = 0;
    barrier_init(&barrier[0], 1); /* st.async to the own block */
    barrier_init(&barrier[1], 2); /* arrivals of a pair at its first block */
    barrier_expect(&barrier[0], 4);
    barrier_fence();
  }
  common[t] = 1;
  matrix[t] = matrix[t + 32] = (float)t;
  meet();
  uint32_t in_call = called(t);
  atomicAdd(&word[1 + t % 2], 1);
  if (t > 0) {
    meet();
    return;
  }
  to[0] = own >> 24;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(own), "r"(rank()));
  to[1] = mapped == own;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(far) : "l"(generic), "r"((rank() + 1) % BLOCKS));
  to[2] = (uint32_t)((int64_t)(far - generic) / (1 << 24));
  to[3] = *(volatile uint32_t *)far;
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(found) : "r"(own & PEER_MASK));
  to[4] = found;
  to[5] = load_any(own);
  to[6] = load_any(own & PEER_MASK);
  to[7] = load_any(own & 0xffffff);
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(shared_address(&word[3])),
               "r"(7 + rank()), "r"(shared_address(&barrier[0]))
               : "memory");
  barrier_wait(&barrier[0], 0);
  to[8] = word[3];
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(shared_address(&barrier[1]) & PEER_MASK)
               : "memory");
  if (rank() % 2 == 0)
    barrier_wait(&barrier[1], 0);
  asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(shared_address(&sum) & 0xffffff), "r"(1u << 8 * rank()) : "memory");
  meet();
  to[9] = sum;
  to[10] = in_call;
  to[11] = common[1];
  to[12] = word[1] + word[2];
  to[13] = (uint32_t)matrix[63];
  to[14] = __isShared((void *)far);
}

int main() {
  uint32_t *device, host[BLOCKS * NUMBERS];
  CHECK(cudaMalloc(&device, sizeof host));
  CHECK(cudaMemset(device, 0, sizeof host));
  for (int turn = 0; turn < 2; turn++)
    addresses<<<BLOCKS, 32>>>(device);
  CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < BLOCKS; i++) {
    for (int k = 0; k < NUMBERS - 1; k++)
      printf("%d ", (int)host[i * NUMBERS + k]);
    printf("\n");
  }
  return 0;
}
