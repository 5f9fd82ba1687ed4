// The list of edge pixels as braak15, section 4.4.1, describes it: the warps of a block first fill
// lists of their own in shared memory, whose lanes try one place after the other; then one thread
// asks for room in the list of all, and warps copy theirs there.

enum { WARP = 32, MOST_WARPS = 32 };

// Lanes that have an edge try to write its place at `index`; the one that is found there goes on,
// the others try the next. Returns how many places the list of the warp has.
static __device__ unsigned fill_list(const unsigned char *edges, unsigned width, unsigned first,
                                     unsigned count, volatile unsigned *list,
                                     volatile unsigned *length) {
  unsigned index = 0;
  *length = 0;
  for (unsigned i = first + threadIdx.x % WARP; i < first + count; i += WARP) {
    if (edges[i] > 0) {
      const unsigned place = i % width | i / width << 16;
      unsigned found;
      do {
        list[index] = place;
        found = list[index];
        index++;
        *length = index;
      } while (found != place);
    }
    index = *length;
  }
  return index;
}

// per_warp, a multiple of 32, are the pixels of a warp; count is a multiple of those of a block.
extern "C" __global__ void list_by_tries(const unsigned char *edges, unsigned width,
                                         unsigned per_warp, unsigned *length, unsigned *result) {
  extern __shared__ unsigned lists[];
  __shared__ volatile unsigned lengths[MOST_WARPS];
  __shared__ unsigned begin;
  const unsigned warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
  unsigned *own = lists + warp * per_warp;
  const unsigned found = fill_list(edges, width, (blockIdx.x * warps + warp) * per_warp, per_warp,
                                   own, &lengths[warp]);
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    for (unsigned i = 0; i < warps; i++)
      sum += lengths[i];
    begin = atomicAdd(length, sum);
  }
  __syncthreads();
  unsigned at = begin;
  for (unsigned i = 0; i < warp; i++)
    at += lengths[i];
  for (unsigned i = threadIdx.x % WARP; i < found; i += WARP)
    result[at + i] = own[i];
}
