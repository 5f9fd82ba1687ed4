// Kernels of braak13 and braak15 that vote by atomic additions in shared memory. Voting spaces
// have several copies; thread t votes in copy t mod copies. Where the votes of a copy lie is given
// by two strides, so that one kernel serves all layouts:
//   copy by copy            bin_stride 1, copy_stride bins
//   copy by copy, padded    bin_stride 1, copy_stride bins + 1
//   bin by bin              bin_stride copies, copy_stride 1

extern __shared__ unsigned votes[];

// The latency of an atomic addition of a warp: thread id adds 1 to word index[id]. cycles gets, for
// each thread, the time between two readings of the clock with nothing but an instruction between
// them, then the time with the addition, the difference being its latency, and the number of
// additions to its word so far.
extern "C" __global__ void latency(const unsigned *index, unsigned words, unsigned *cycles,
                                   unsigned *result) {
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x)
    votes[i] = 0;
  __syncthreads();
  unsigned word = (unsigned)__cvta_generic_to_shared(&votes[index[threadIdx.x]]);
  unsigned start, end, next;
  __syncthreads();
  asm volatile("mov.u32 %0, %%clock;\n\tadd.u32 %2, %3, 1;\n\tmov.u32 %1, %%clock;"
               : "=&r"(start), "=&r"(end), "=&r"(next)
               : "r"(word)
               : "memory");
  cycles[threadIdx.x] = end - start;
  cycles[2 * blockDim.x + threadIdx.x] = next;
  __syncthreads();
  asm volatile("{\n\t.reg .u32 old;\n\tmov.u32 %0, %%clock;\n\t"
               "atom.shared.add.u32 old, [%3], 1;\n\tadd.u32 %2, old, 1;\n\t"
               "mov.u32 %1, %%clock;\n\t}"
               : "=&r"(start), "=&r"(end), "=&r"(next)
               : "r"(word)
               : "memory");
  cycles[blockDim.x + threadIdx.x] = end - start;
  cycles[2 * blockDim.x + threadIdx.x] = next;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x)
    result[i] = votes[i];
}

__device__ void clear(unsigned words) {
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x)
    votes[i] = 0;
  __syncthreads();
}

// The votes of all copies for a bin.
__device__ unsigned sum_copies(unsigned bin, unsigned copies, unsigned bin_stride,
                               unsigned copy_stride) {
  unsigned sum = 0, at = bin * bin_stride;
#pragma unroll 1
  for (unsigned i = 0; i < copies; i++, at += copy_stride)
    sum += votes[at];
  return sum;
}

// Counts 12-bit pixels in 4096 >> shift bins. A block takes pixels_per_block pixels, its threads
// neighbouring ones.
extern "C" __global__ void histogram(const unsigned short *pixels, unsigned pixel_count,
                                     unsigned pixels_per_block, unsigned shift, unsigned copies,
                                     unsigned bin_stride, unsigned copy_stride, unsigned words,
                                     unsigned *result) {
  clear(words);
  unsigned base = threadIdx.x % copies * copy_stride;
  unsigned end = min((blockIdx.x + 1) * pixels_per_block, pixel_count);
  for (unsigned i = blockIdx.x * pixels_per_block + threadIdx.x; i < end; i += blockDim.x)
    atomicAdd(&votes[base + (pixels[i] >> shift) * bin_stride], 1);
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < 4096 >> shift; bin += blockDim.x)
    atomicAdd(&result[bin], sum_copies(bin, copies, bin_stride, copy_stride));
}

// Votes of edge points, x in the low and y in the high 16 bits, for lines rho = x cos + y sin. A
// block fills the line of one angle: bin rho + offset counts its votes.
extern "C" __global__ void hough(const unsigned *points, unsigned point_count, const float *cosines,
                                 const float *sines, unsigned offset, unsigned bins,
                                 unsigned copies, unsigned bin_stride, unsigned copy_stride,
                                 unsigned words, unsigned *space) {
  clear(words);
  float cosine = cosines[blockIdx.x], sine = sines[blockIdx.x];
  unsigned base = threadIdx.x % copies * copy_stride;
  for (unsigned i = threadIdx.x; i < point_count; i += blockDim.x) {
    float x = points[i] & 0xffff, y = points[i] >> 16;
    int rho = (int)floorf(fmaf(x, cosine, y * sine)) + (int)offset;
    atomicAdd(&votes[base + (unsigned)rho * bin_stride], 1);
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < bins; bin += blockDim.x)
    space[blockIdx.x * bins + bin] = sum_copies(bin, copies, bin_stride, copy_stride);
}
