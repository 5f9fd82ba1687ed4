// One kernel, or two, for each way in which threads can race, and for each way in which they are ordered. The name of a
// case is the argument; lines that the check names are marked.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>
#include <cuda_pipeline.h>
#include <mma.h>

enum { THREADS = 64, BLOCKS = 8 };
__device__ unsigned tickets;
__device__ volatile int flag;

__global__ void warp_race(int *out) {
  __shared__ int part[32];
  part[threadIdx.x] = threadIdx.x; // warp_race writes
  out[threadIdx.x] = part[31 - threadIdx.x]; // warp_race reads
}

__global__ void warp_fine(int *out) {
  __shared__ int part[32];
  part[threadIdx.x] = threadIdx.x;
  __syncwarp();
  out[threadIdx.x] = part[31 - threadIdx.x];
}

__global__ void block_race(int *out) {
  __shared__ int part[THREADS];
  part[threadIdx.x] = threadIdx.x; // block_race writes
  __syncwarp();
  out[threadIdx.x] = part[THREADS - 1 - threadIdx.x]; // block_race reads
}

__global__ void block_fine(int *out) {
  __shared__ int part[THREADS];
  part[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = part[THREADS - 1 - threadIdx.x];
}

__global__ void read_first(int *out) {
  __shared__ int part[THREADS];
  part[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int other = part[THREADS - 1 - threadIdx.x]; // read_first reads
  part[threadIdx.x] = other + 1;               // read_first writes
  out[threadIdx.x] = other;
}

__global__ void grid_race(int *out) {
  out[blockIdx.x] = blockIdx.x; // grid_race writes
  if (blockIdx.x > 0)
    out[100 + blockIdx.x] = out[blockIdx.x - 1]; // grid_race reads
}

// The last block adds up what the others have stored: without a fence before the ticket that is a race.
template <bool has_fence> __device__ void last_block(int *out) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    out[blockIdx.x] = blockIdx.x + 1;
    if (has_fence)
      __threadfence();
    is_last = atomicAdd(&tickets, 1) == BLOCKS - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x < BLOCKS)
    out[100 + threadIdx.x] = out[threadIdx.x];
}
__global__ void tickets_race(int *out) { last_block<false>(out); }
__global__ void tickets_fine(int *out) { last_block<true>(out); }

__global__ void grid_fine(int *out) {
  out[blockIdx.x * THREADS + threadIdx.x] = threadIdx.x;
  cooperative_groups::this_grid().sync();
  out[1024 + blockIdx.x * THREADS + threadIdx.x] = out[(BLOCKS - 1 - blockIdx.x) * THREADS + threadIdx.x];
}

// A product that all warps store at once: the same values, or values of their own.
template <bool OWN> __device__ void products(int *memory) {
  using namespace nvcuda::wmma;
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, OWN ? 1.f + threadIdx.x / 32 : 1.f);
  store_matrix_sync((float *)memory, sum, 16, mem_row_major); // wmma stores
  __shared__ float tile[256];
  store_matrix_sync(tile, sum, 16, mem_row_major);
}

__global__ void wmma_same(int *memory) { products<false>(memory); }
__global__ void wmma_race(int *memory) { products<true>(memory); }

__global__ void same_value(int *out) {
  if (threadIdx.x % 2)
    out[0] = 1;
}

__global__ void other_values(int *out) {
  out[0] = threadIdx.x; // other_values writes
}

__global__ void atomics(int *out) {
  __shared__ int sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  atomicAdd(&sum, 1);
  atomicMax(out, (int)threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 1)
    out[1] = sum;
}

__global__ void bytes(char *out) { out[blockIdx.x * THREADS + threadIdx.x] = (char)threadIdx.x; }

__global__ void copy_race(const int *in, int *out) {
  __shared__ int part[THREADS];
  __pipeline_memcpy_async(part + threadIdx.x, in + threadIdx.x, 4); // copy_race copies
  __pipeline_commit();
  out[threadIdx.x] = part[threadIdx.x]; // copy_race reads
}

__global__ void copy_fine(const int *in, int *out) {
  __shared__ int part[2][THREADS];
  for (int i = 0; i < 2; i++) {
    __pipeline_memcpy_async(part[i] + threadIdx.x, in + threadIdx.x, 4);
    __pipeline_commit();
  }
  __pipeline_wait_prior(1);
  __syncthreads();
  out[threadIdx.x] = part[0][THREADS - 1 - threadIdx.x];
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] += part[1][THREADS - 1 - threadIdx.x];
}

__global__ void copy_alone(const int *in, int *out) {
  __shared__ int part[THREADS];
  __pipeline_memcpy_async(part + threadIdx.x, in + threadIdx.x, 4); // copy_alone copies
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = part[THREADS - 1 - threadIdx.x]; // copy_alone reads
}

__global__ void add(int *out) { out[threadIdx.x] += 1; } // streams_race adds

// A flag in shared memory, with fences, orders two warps.
__global__ void flags_fine(int *out) {
  __shared__ int data[32];
  __shared__ volatile int ready;
  if (threadIdx.x == 0)
    ready = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    data[threadIdx.x] = threadIdx.x;
    __threadfence_block();
    __syncwarp();
    if (threadIdx.x == 0)
      ready = 1;
  } else {
    while (!ready)
      ;
    __threadfence_block();
    out[threadIdx.x] = data[threadIdx.x - 32];
  }
}

// Blocks of a cluster: its barrier orders what they do to global memory and to the shared memory of each other.
__global__ void __cluster_dims__(2) cluster_fine(int *out) {
  __shared__ int part[THREADS];
  auto cluster = cooperative_groups::this_cluster();
  unsigned other = cluster.block_rank() ^ 1;
  cluster.sync();
  cluster.map_shared_rank(part, other)[threadIdx.x] = threadIdx.x;
  out[blockIdx.x * THREADS + threadIdx.x] = threadIdx.x;
  cluster.sync();
  out[1024 + blockIdx.x * THREADS + threadIdx.x] =
      part[THREADS - 1 - threadIdx.x] + out[(blockIdx.x ^ 1) * THREADS + threadIdx.x];
  __syncthreads();
  part[threadIdx.x ^ 1] = cluster.map_shared_rank(part, cluster.block_rank())[threadIdx.x ^ 1];
}

__global__ void __cluster_dims__(2) cluster_race(int *out) {
  auto cluster = cooperative_groups::this_cluster();
  cluster.sync();
  out[blockIdx.x] = blockIdx.x;             // cluster_race writes
  out[100 + blockIdx.x] = out[blockIdx.x ^ 1]; // cluster_race reads
  cluster.sync();
}

// Waits for the first phase of an mbarrier.
__device__ void wait(unsigned barrier) {
  asm volatile("{\n.reg .pred p;\nagain: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\n@!p bra again;\n}" ::"r"(
                   barrier)
               : "memory");
}

// Shared memory of another block of the cluster, with nothing between.
__global__ void __cluster_dims__(2) far_store_race(int *out) {
  __shared__ int word;
  auto cluster = cooperative_groups::this_cluster();
  word = -1;
  cluster.sync();
  if (blockIdx.x == 1)
    *cluster.map_shared_rank(&word, 0) = 7; // far_store_race writes
  else
    out[0] = word; // far_store_race reads
  cluster.sync();
}

__global__ void __cluster_dims__(2) far_load_race(int *out) {
  __shared__ int word;
  auto cluster = cooperative_groups::this_cluster();
  cluster.sync();
  word = blockIdx.x + 1; // far_load_race writes
  __syncthreads();
  out[blockIdx.x] = *cluster.map_shared_rank(&word, blockIdx.x ^ 1); // far_load_race reads
  cluster.sync();
}

// Atomics race with other accesses only.
__global__ void __cluster_dims__(2) far_atomic_race(int *out) {
  __shared__ int word;
  auto cluster = cooperative_groups::this_cluster();
  word = 0;
  cluster.sync();
  if (blockIdx.x == 1)
    atomicAdd(cluster.map_shared_rank(&word, 0), 1); // far_atomic_race adds
  else
    out[0] = word; // far_atomic_race reads
  cluster.sync();
}

// The second turn overwrites what nobody has said to have read.
__global__ void __cluster_dims__(2) far_turn_race(int *out) {
  __shared__ int word;
  auto cluster = cooperative_groups::this_cluster();
  cluster.sync();
  for (int turn = 0; turn < 2; turn++) {
    *cluster.map_shared_rank(&word, blockIdx.x ^ 1) = turn + blockIdx.x + 5; // far_turn_race writes
    cluster.sync();
    out[blockIdx.x] = word; // far_turn_race reads
  }
  cluster.sync();
}

// Memory of a block that may not have begun, and of one that may end first; whichever does, the
// second is told.
__global__ void __cluster_dims__(2) far_early_race(int *out) {
  __shared__ int word;
  auto cluster = cooperative_groups::this_cluster();
  *cluster.map_shared_rank(&word, blockIdx.x ^ 1) = 7; // far_early_race writes
  cluster.sync();
  out[blockIdx.x] = word;
}
__noinline__ __device__ int read_late(const int *word) { // that stays a function: its end is not that of the kernel
  int value;
  asm volatile("ld.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory"); // far_late reads
  return value;
}
template <unsigned reader> __device__ void far_late(int *out) {
  __shared__ int word;
  auto cluster = cooperative_groups::this_cluster();
  word = blockIdx.x;
  cluster.sync();
  if (blockIdx.x == reader)
    *out = read_late(cluster.map_shared_rank(&word, reader ^ 1));
}
__global__ void __cluster_dims__(2) far_late_0_race(int *out) { far_late<0>(out); }
__global__ void __cluster_dims__(2) far_late_1_race(int *out) { far_late<1>(out); }

__global__ void __cluster_dims__(2) far_fine(int *out) {
  __shared__ int row[THREADS], sum;
  auto cluster = cooperative_groups::this_cluster();
  row[threadIdx.x] = 0;
  sum = 0;
  cluster.sync();
  for (int turn = 0; turn < 3; turn++) {
    cluster.map_shared_rank(row, blockIdx.x ^ 1)[threadIdx.x ^ 1] = turn + threadIdx.x;
    atomicAdd(cluster.map_shared_rank(&sum, 0), 1);
    cluster.sync();
    out[threadIdx.x + blockIdx.x * THREADS] = row[threadIdx.x] + cluster.map_shared_rank(row, 0)[threadIdx.x];
    cluster.sync();
  }
  if (threadIdx.x == 0)
    out[2 * THREADS + blockIdx.x] = *cluster.map_shared_rank(&sum, 0);
  cluster.sync();
}

__device__ unsigned address_of(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

__device__ unsigned in_block(const void *pointer, unsigned rank) {
  unsigned far;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"(address_of(pointer)), "r"(rank));
  return far;
}

// Block 1 fills a row of block 0 and arrives at its mbarrier; block 0 reads, and arrives at that of block 1 before the next.
__global__ void __cluster_dims__(2) far_arrival_fine(int *out) {
  __shared__ int row[THREADS];
  __shared__ unsigned long long full, empty;
  auto cluster = cooperative_groups::this_cluster();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(&full)), "r"(THREADS) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(&empty)), "r"(THREADS) : "memory");
  }
  cluster.sync();
  for (int turn = 0; turn < 2; turn++) {
    if (blockIdx.x == 1) {
      if (turn == 1)
        wait(address_of(&empty));
      cluster.map_shared_rank(row, 0)[threadIdx.x] = turn + threadIdx.x + 1;
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(in_block(&full, 0)) : "memory");
    } else {
      if (turn == 0)
        wait(address_of(&full));
      else
        asm volatile("{\n.reg .pred p;\nagain: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 1;\n@!p bra again;\n}" ::"r"(
                         address_of(&full))
                     : "memory");
      out[threadIdx.x] = row[threadIdx.x];
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(in_block(&empty, 1)) : "memory");
    }
  }
  cluster.sync();
}

// st.async to block 0, which waits for it or does not.
template <bool waits> __device__ void send(int *out) {
  __shared__ int row[THREADS];
  __shared__ unsigned long long full;
  auto cluster = cooperative_groups::this_cluster();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address_of(&full)) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(&full)), "r"(4 * THREADS) : "memory");
  }
  row[threadIdx.x] = 0;
  cluster.sync();
  if (blockIdx.x == 1)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(in_block(&row[threadIdx.x], 0)),
                 "r"(threadIdx.x), "r"(in_block(&full, 0)) // send sends
                 : "memory");
  if (!waits)
    cluster.sync();
  else if (blockIdx.x == 0)
    wait(address_of(&full));
  if (blockIdx.x == 0)
    out[threadIdx.x] = row[threadIdx.x]; // send reads
  if (waits)
    cluster.sync();
}
__global__ void __cluster_dims__(2) send_race(int *out) { send<false>(out); }
__global__ void __cluster_dims__(2) send_fine(int *out) { send<true>(out); }

// What is sent lands where the other block reads without having said that it has read.
__global__ void __cluster_dims__(2) send_over_race(int *out) {
  __shared__ int row[THREADS];
  __shared__ unsigned long long full;
  auto cluster = cooperative_groups::this_cluster();
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address_of(&full)) : "memory");
  cluster.sync();
  if (blockIdx.x == 0)
    out[threadIdx.x] = row[threadIdx.x]; // send_over_race reads
  else
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(in_block(&row[threadIdx.x], 0)),
                 "r"(threadIdx.x), "r"(in_block(&full, 0)) // send_over_race sends
                 : "memory");
  cluster.sync();
}

// Block 1 arrives at an mbarrier of block 0, which that orders behind it, and the threads of block 0 with each other.
__global__ void __cluster_dims__(2) arrival_fine(int *out) {
  __shared__ unsigned long long word;
  __shared__ int part[THREADS];
  auto cluster = cooperative_groups::this_cluster();
  unsigned barrier = (unsigned)__cvta_generic_to_shared(&word), remote;
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(2 * THREADS) : "memory");
  cluster.sync();
  part[threadIdx.x] = threadIdx.x;
  out[blockIdx.x * THREADS + threadIdx.x] = threadIdx.x;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(remote) : "r"(barrier));
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
  if (cluster.block_rank() == 0) {
    wait(barrier);
    out[1024 + threadIdx.x] = part[THREADS - 1 - threadIdx.x] + out[THREADS + threadIdx.x];
  }
  cluster.sync();
}

// A copy by the hardware into shared memory that threads wrote and read before, and after it.
__global__ void bulk_fine(int *in, int *out) {
  __shared__ alignas(16) int part[THREADS];
  __shared__ unsigned long long word;
  unsigned barrier = (unsigned)__cvta_generic_to_shared(&word), to = (unsigned)__cvta_generic_to_shared(part);
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
  part[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(4 * THREADS)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(in), "r"(4 * THREADS), "r"(barrier)
                 : "memory");
  }
  wait(barrier);
  out[threadIdx.x] = part[THREADS - 1 - threadIdx.x];
}

// A launch that lets the next one of its stream begin, and goes on; one that keeps it; and the next, which waits for it, or
// does not.
__global__ void lets_go(int *out) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  out[threadIdx.x] = 1; // early writes
}
__global__ void keeps(int *out) { out[threadIdx.x] = 1; }
__global__ void early(const int *in, int *out) {
  out[threadIdx.x] = in[threadIdx.x]; // early reads
}
__global__ void patient(const int *in, int *out) {
  if (threadIdx.x == 0)
    asm volatile("griddepcontrol.wait;" ::: "memory");
  __syncthreads();
  out[threadIdx.x] = in[threadIdx.x];
}

static int *memory;

// Two launches, the second of which may begin before the end of the first; between: something else is done.
// A kernel that waits for one that is launched later, in another stream, and reads what that has written: behind a fence
// of the writer, or not.
__global__ void awaits(volatile int *flag, int *data) {
  while (*flag == 0)
    ;
  __threadfence();
  if (data[threadIdx.x] == -1) // beside reads
    data[0] = 0;
}

template <bool FENCE> __global__ void tells(volatile int *flag, int *data) {
  data[threadIdx.x] = 1; // beside writes
  if (FENCE)
    __threadfence();
  __syncwarp();
  *flag = 1;
}

static void run_beside(bool has_fence, int *memory) {
  cudaStream_t first, second;
  cudaStreamCreate(&first);
  cudaStreamCreate(&second);
  awaits<<<1, 32, 0, first>>>(memory, memory + 64);
  if (has_fence)
    tells<true><<<1, 32, 0, second>>>(memory, memory + 64);
  else
    tells<false><<<1, 32, 0, second>>>(memory, memory + 64);
}

static void run_pair(void (*first)(int *), void (*second)(const int *, int *), bool between) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how = {};
  how.gridDim = 1;
  how.blockDim = THREADS;
  how.attrs = &attribute;
  how.numAttrs = 1;
  first<<<1, THREADS>>>(memory);
  if (between)
    cudaMemsetAsync(memory + 2048, 0, 4);
  cudaLaunchKernelEx(&how, second, (const int *)memory, memory + 1024);
}

static void run_streams(const char *name) {
  cudaStream_t a, b;
  cudaEvent_t event;
  cudaStreamCreate(&a);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEventCreate(&event);
  if (!strcmp(name, "streams_race")) {
    add<<<1, THREADS, 0, a>>>(memory);
    add<<<1, THREADS, 0, b>>>(memory);
  } else if (!strcmp(name, "legacy_race")) {
    add<<<1, THREADS>>>(memory);
    add<<<1, THREADS, 0, b>>>(memory);
  } else if (!strcmp(name, "programmatic_fine")) {
    cudaEvent_t early;
    cudaEventCreateWithFlags(&early, cudaEventDisableTiming);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticEvent;
    attribute.val.programmaticEvent.event = early;
    cudaLaunchConfig_t how = {};
    how.gridDim = 1;
    how.blockDim = THREADS;
    how.stream = a;
    how.attrs = &attribute;
    how.numAttrs = 1;
    cudaLaunchKernelEx(&how, add, memory);
    cudaStreamWaitEvent(b, early);
    add<<<1, THREADS, 0, b>>>(memory);
  } else if (!strcmp(name, "streams_fine")) {
    add<<<1, THREADS, 0, a>>>(memory);
    add<<<1, THREADS, 0, b>>>(memory + 512);
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event);
    add<<<1, THREADS, 0, b>>>(memory);
    cudaStreamSynchronize(b);
    add<<<1, THREADS, 0, a>>>(memory);
    add<<<1, THREADS>>>(memory);
    add<<<1, THREADS, 0, a>>>(memory);
  }
}

int main(int, char **argument) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 1); // else loading a kernel waits for those that run
  const char *name = argument[1];
  cudaMalloc(&memory, 16384);
  cudaMemset(memory, 0, 16384);
  void *arguments[] = {&memory};
#define CASE(kernel, blocks, threads, ...)                                                         \
  if (!strcmp(name, #kernel))                                                                      \
  kernel<<<blocks, threads>>>(__VA_ARGS__)
  CASE(warp_race, 1, 32, memory);
  CASE(warp_fine, 1, 32, memory);
  CASE(block_race, 1, THREADS, memory);
  CASE(block_fine, 1, THREADS, memory);
  CASE(read_first, 1, THREADS, memory);
  CASE(grid_race, BLOCKS, 1, memory);
  CASE(tickets_race, BLOCKS, THREADS, memory);
  CASE(tickets_fine, BLOCKS, THREADS, memory);
  CASE(wmma_same, BLOCKS, THREADS, memory);
  CASE(wmma_race, 1, THREADS, memory);
  CASE(same_value, BLOCKS, THREADS, memory);
  CASE(other_values, 1, 32, memory);
  CASE(atomics, BLOCKS, THREADS, memory);
  CASE(bytes, BLOCKS, THREADS, (char *)memory);
  CASE(copy_race, 1, THREADS, memory + 512, memory);
  CASE(copy_fine, 1, THREADS, memory + 512, memory);
  CASE(copy_alone, 1, THREADS, memory + 512, memory);
  CASE(flags_fine, 1, THREADS, memory);
  CASE(cluster_fine, BLOCKS, THREADS, memory);
  CASE(cluster_race, BLOCKS, 1, memory);
  CASE(arrival_fine, 2, THREADS, memory);
  CASE(far_store_race, 2, 1, memory);
  CASE(far_load_race, 2, 1, memory);
  CASE(far_atomic_race, 2, 1, memory);
  CASE(far_turn_race, 2, 1, memory);
  CASE(far_early_race, 2, THREADS, memory);
  CASE(far_late_0_race, 2, THREADS, memory);
  CASE(far_late_1_race, 2, THREADS, memory);
  CASE(far_fine, 2, THREADS, memory);
  CASE(far_arrival_fine, 2, THREADS, memory);
  CASE(send_race, 2, THREADS, memory);
  CASE(send_over_race, 2, THREADS, memory);
  CASE(send_fine, 2, THREADS, memory);
  CASE(bulk_fine, 1, THREADS, memory + 512, memory);
  if (!strcmp(name, "grid_fine"))
    cudaLaunchCooperativeKernel((const void *)grid_fine, dim3(BLOCKS), dim3(THREADS), arguments, 0, 0);
  if (!strncmp(name, "beside", 6)) {
    int *loaded;
    cudaMalloc(&loaded, 512);
    cudaMemset(loaded, 0, 512);
    run_beside(!strcmp(name, "beside_fine"), loaded);
  }
  if (!strcmp(name, "many_fine")) // a process may have 65530 pieces of memory
    for (int i = 0; i < 40000; i++) {
      char *piece;
      cudaMalloc(&piece, 300);
      if (i == 39999)
        bytes<<<1, 16>>>(piece);
    }
  if (!strcmp(name, "large_fine")) {
    char *large;
    cudaMalloc(&large, (size_t)2 << 30);
    bytes<<<BLOCKS, THREADS>>>(large);
  }
  run_streams(name);
  if (!strcmp(name, "early_race"))
    run_pair(lets_go, early, false);
  if (!strcmp(name, "early_between"))
    run_pair(lets_go, early, true);
  if (!strcmp(name, "early_kept"))
    run_pair(keeps, early, false);
  if (!strcmp(name, "early_waits"))
    run_pair(lets_go, patient, false);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
