// Histograms as published: global atomics, atomics in shared memory with copies in several layouts,
// a histogram per thread, and a histogram per warp. All of them count pixels that lie in one piece,
// in bins of 2^n values.
#include "vote.cuh"

// The word of a bin in a copy.
__device__ static inline unsigned place(bf_cuda_layout layout, unsigned bins, unsigned copies,
                                        unsigned bin, unsigned copy) {
  switch (layout) {
  case BF_CUDA_BIN_BY_BIN:
    return bin * copies + copy;
  case BF_CUDA_COPY_BY_COPY:
    return bin + bins * copy;
  case BF_CUDA_PADDED:
    return bin + (bins + 1) * copy;
  default:
    return (bin + bins * copy) ^ (copy % WARP);
  }
}

// The words that copies take; hashed words stay in their block of 32.
__host__ __device__ static inline unsigned layout_words(bf_cuda_layout layout, unsigned bins,
                                                        unsigned copies) {
  unsigned words = layout == BF_CUDA_PADDED ? (bins + 1) * copies : bins * copies;
  return (words + WARP - 1) / WARP * WARP;
}

// Adds the copies of each bin to the sums. Bin by bin, threads start at different copies.
__device__ static inline void merge_layout(const Job &job, const unsigned *counts) {
  for (unsigned bin = threadIdx.x; bin < job.scale.bins; bin += blockDim.x) {
    unsigned sum = 0;
    for (unsigned i = 0; i < job.copies; i++) {
      unsigned copy = job.layout == BF_CUDA_BIN_BY_BIN ? (i + bin) % job.copies : i;
      sum += counts[place(job.layout, job.scale.bins, job.copies, bin, copy)];
    }
    if (sum)
      atomicAdd(&job.result.sums[bin], sum);
  }
}

// ---- Global atomics ----

// With one copy, blocks vote in the sums; with more, in copies that the last block adds up.
template <typename Pixel> __global__ void count_global(Job job) {
  unsigned copy = threadIdx.x % job.copies;
  unsigned *counts = job.copies == 1 ? job.result.sums : job.spread;
  each_bin<Pixel>(job, [&](unsigned bin) {
    if (bin < job.scale.bins)
      atomicAdd(&counts[place(job.layout, job.scale.bins, job.copies, bin, copy)], 1);
  });
  if (job.copies > 1 && last_block(job.result.ticket + 1))
    merge_layout(job, job.spread);
  publish(job.result);
}

// ---- Atomics in shared memory ----

template <typename Pixel> __global__ void count_shared(Job job) {
  extern __shared__ __align__(16) unsigned counts[];
  unsigned copy = threadIdx.x % job.copies;
  clear_words(counts, layout_words(job.layout, job.scale.bins, job.copies));
  each_bin<Pixel>(job, [&](unsigned bin) {
    if (bin < job.scale.bins)
      atomicAdd(&counts[place(job.layout, job.scale.bins, job.copies, bin, copy)], 1);
  });
  __syncthreads();
  merge_layout(job, counts);
  publish(job.result);
}

// ---- A histogram per thread ----

// Where a thread's counters lie. BANKS: words of a warp, lane by lane, so that every lane has a
// bank; each word holds neighbouring bins. Otherwise bin by bin, counters of neighbouring threads
// side by side.
template <typename Counter, bool BANKS>
__device__ static inline unsigned own_counter(unsigned bin, unsigned bins) {
  enum { PER_WORD = 4 / sizeof(Counter) };
  if (!BANKS)
    return bin * blockDim.x + threadIdx.x;
  unsigned warp_counters = (bins + PER_WORD - 1) / PER_WORD * PER_WORD * WARP;
  return threadIdx.x / WARP * warp_counters +
         (bin / PER_WORD * WARP + threadIdx.x % WARP) * PER_WORD + bin % PER_WORD;
}

template <typename Counter>
__host__ __device__ static inline unsigned own_words(unsigned bins, unsigned threads) {
  enum { PER_WORD = 4 / sizeof(Counter) };
  return (bins + PER_WORD - 1) / PER_WORD * threads;
}

// Adds all threads' counters to the totals of the block and clears them. A thread takes 32 words
// that hold the same bins: of a warp (BANKS), or of neighbouring threads.
template <typename Counter, bool BANKS>
__device__ static inline void flush_own(unsigned *words, unsigned *totals, unsigned bins) {
  enum { PER_WORD = 4 / sizeof(Counter) };
  __syncthreads();
  unsigned count = own_words<Counter>(bins, blockDim.x) / WARP;
  for (unsigned group = threadIdx.x; group < count; group += blockDim.x) {
    unsigned sums[PER_WORD] = {0};
    for (unsigned i = 0; i < WARP; i++) {
      unsigned at = group * WARP + (i + threadIdx.x) % WARP, word = words[at];
      words[at] = 0;
      for (unsigned k = 0; k < PER_WORD; k++)
        sums[k] += (Counter)(word >> k * sizeof(Counter) * 8);
    }
    unsigned groups_per_warp = (bins + PER_WORD - 1) / PER_WORD;
    for (unsigned k = 0; k < PER_WORD; k++) {
      unsigned bin =
          BANKS ? group % groups_per_warp * PER_WORD + k : group * WARP * PER_WORD / blockDim.x;
      if (sums[k] && bin < bins)
        atomicAdd(&totals[bin], sums[k]);
    }
  }
  __syncthreads();
}

// Votes of a vector of pixels.
template <typename Pixel, typename Vote>
__device__ static inline void each_of_vector(const Scale &scale, uint4 vector, Vote vote) {
  unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int k = 0; k < VECTOR_BYTES / (int)sizeof(Pixel); k++)
    vote(scaled_bin(scale, (Pixel)(words[k * sizeof(Pixel) / 4] >> (k * sizeof(Pixel) % 4 * 8))));
}

// The vectors of a job, and the pixels that are in none.
template <typename Pixel> struct Vectors {
  const Pixel *pixels;
  uint64_t head, count, tail;
  __device__ Vectors(const Job &job) {
    pixels = (const Pixel *)job.data;
    head = (-(uintptr_t)pixels % VECTOR_BYTES) / sizeof(Pixel);
    head = head < job.pixels ? head : job.pixels;
    count = (job.pixels - head) * sizeof(Pixel) / VECTOR_BYTES;
    tail = head + count * (VECTOR_BYTES / sizeof(Pixel));
  }
  __device__ uint4 at(uint64_t i) const { return __ldcs((const uint4 *)(pixels + head) + i); }
};

// Pixels outside of vectors, straight into the sums, by the first block.
template <typename Pixel>
__device__ static inline void count_ends(const Job &job, const Vectors<Pixel> &vectors) {
  uint64_t ends = vectors.head + job.pixels - vectors.tail;
  if (blockIdx.x == 0)
    for (uint64_t i = threadIdx.x; i < ends; i += blockDim.x) {
      uint64_t pixel = i < vectors.head ? i : vectors.tail + i - vectors.head;
      unsigned bin = scaled_bin(job.scale, vectors.pixels[pixel]);
      if (bin < job.scale.bins)
        atomicAdd(&job.result.sums[bin], 1);
    }
}

template <typename Pixel, typename Counter, bool BANKS> __global__ void count_own(Job job) {
  extern __shared__ __align__(16) unsigned words[];
  enum { PER_VECTOR = VECTOR_BYTES / sizeof(Pixel) };
  const uint64_t round = ((uint64_t)1 << (8 * sizeof(Counter) - 1)) * 2 / PER_VECTOR - 1;
  unsigned bins = job.scale.bins, own = own_words<Counter>(bins, blockDim.x);
  unsigned *totals = words + own;
  Counter *counters = (Counter *)words;
  clear_words(words, own + (bins + 3) / 4 * 4);
  Vectors<Pixel> vectors(job);
  uint64_t threads = (uint64_t)gridDim.x * blockDim.x;
  uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (uint64_t done = 0; done < vectors.count; done += round * threads) {
    for (uint64_t k = 0; k < round && i < vectors.count; k++, i += threads)
      each_of_vector<Pixel>(job.scale, vectors.at(i), [&](unsigned bin) {
        if (bin < bins)
          counters[own_counter<Counter, BANKS>(bin, bins)]++;
      });
    flush_own<Counter, BANKS>(words, totals, bins);
  }
  for (unsigned bin = threadIdx.x; bin < bins; bin += blockDim.x)
    if (totals[bin])
      atomicAdd(&job.result.sums[bin], totals[bin]);
  count_ends(job, vectors);
  publish(job.result);
}

// ---- A histogram per warp ----

enum { TAG_SHIFT = 27, COUNT_MASK = (1 << TAG_SHIFT) - 1 };

// One more in a counter for every lane of the warp that votes, without atomics: all lanes write the
// next count with their tag, and those whose tag is not what stays try again.
__device__ static inline void vote_tagged(volatile unsigned *counter, bool votes) {
  unsigned tag = threadIdx.x % WARP << TAG_SHIFT, next = 0;
  while (__any_sync(~0u, votes)) {
    if (votes)
      next = tag | ((*counter & COUNT_MASK) + 1);
    __syncwarp();
    if (votes)
      *counter = next;
    __syncwarp();
    votes = votes && *counter != next;
    __syncwarp();
  }
}

// STRIDED: a thread reads vectors that follow each other, so that lanes read places far apart.
// Otherwise lanes read vectors that follow each other. The lanes of a warp run as often as each
// other.
template <typename Pixel, bool ATOMIC, bool STRIDED> __global__ void count_warp(Job job) {
  extern __shared__ __align__(16) unsigned words[];
  unsigned warp_words = layout_words(job.layout, job.scale.bins, job.copies);
  unsigned *counts = words + threadIdx.x / WARP * warp_words;
  unsigned copy = threadIdx.x % job.copies;
  clear_words(words, warp_words * (blockDim.x / WARP));
  Vectors<Pixel> vectors(job);
  uint64_t threads = (uint64_t)gridDim.x * blockDim.x;
  uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  uint64_t rounds = (vectors.count + threads - 1) / threads;
  for (uint64_t k = 0; k < rounds; k++) {
    uint64_t i = STRIDED ? thread * rounds + k : k * threads + thread;
    bool valid = i < vectors.count;
    uint4 vector = valid ? vectors.at(i) : make_uint4(0, 0, 0, 0);
    each_of_vector<Pixel>(job.scale, vector, [&](unsigned bin) {
      bool votes = valid && bin < job.scale.bins;
      unsigned *counter =
          &counts[place(job.layout, job.scale.bins, job.copies, votes ? bin : 0, copy)];
      if (!ATOMIC)
        vote_tagged(counter, votes);
      else if (votes)
        atomicAdd(counter, 1);
    });
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < job.scale.bins; bin += blockDim.x) {
    unsigned sum = 0;
    for (unsigned warp = 0; warp < blockDim.x / WARP; warp++)
      for (unsigned c = 0; c < job.copies; c++)
        sum += words[warp * warp_words +
                     place(job.layout, job.scale.bins, job.copies, bin, (c + bin) % job.copies)] &
               COUNT_MASK;
    if (sum)
      atomicAdd(&job.result.sums[bin], sum);
  }
  count_ends(job, vectors);
  publish(job.result);
}

// Rearranges pixels so that neighbours end up `rows` apart: those of a block of rows x columns are
// transposed. The rest is copied.
template <typename Pixel>
__global__ void shuffle_pixels(const Pixel *from, Pixel *to, uint64_t pixels, unsigned rows) {
  uint64_t columns = pixels / rows, threads = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += threads)
    to[i] = i < rows * columns ? from[i % rows * columns + i / rows] : from[i];
}

#ifndef BF_VOTE_KERNELS_ONLY // reproduce/voting.cu

// ---- The host's side ----

// The grid, and shared memory of a kernel: refuses what does not fit.
template <typename Kernel>
static int launch(Kernel kernel, const Job &job, const bf_cuda_choice &choice, size_t words,
                  const Device &device, cudaStream_t stream) {
  size_t shared_bytes = words * sizeof(unsigned);
  if (shared_bytes + 64 > (size_t)device.shared_limit)
    return BF_UNSUPPORTED;
  int error = vote_allow(kernel, shared_bytes);
  if (error)
    return error;
  kernel<<<device.sms * choice.blocks_per_sm, choice.threads, shared_bytes, stream>>>(job);
  return vote_check();
}

template <typename Pixel, typename Counter, bool BANKS>
static int launch_own(const Job &job, const bf_cuda_choice &choice, const Device &device,
                      cudaStream_t stream) {
  size_t words =
      (size_t)own_words<Counter>(job.scale.bins, choice.threads) + (job.scale.bins + 3) / 4 * 4;
  return launch(count_own<Pixel, Counter, BANKS>, job, choice, words, device, stream);
}

template <typename Pixel>
static int launch_shuffled(Job job, const bf_cuda_choice &choice, size_t words,
                           const Device &device, void *scratch, cudaStream_t stream) {
  shuffle_pixels<Pixel><<<device.sms * 8, 256, 0, stream>>>((const Pixel *)job.data,
                                                            (Pixel *)scratch, job.pixels, 1024);
  job.data = scratch;
  return launch(count_warp<Pixel, false, false>, job, choice, words, device, stream);
}

template <typename Pixel>
static int launch_any(const Job &job, const bf_cuda_choice &choice, const Device &device,
                      void *scratch, cudaStream_t stream) {
  size_t copies_words = layout_words(job.layout, job.scale.bins, job.copies);
  size_t warps_words = copies_words * (choice.threads / WARP);
  switch (choice.method) {
  case BF_CUDA_GLOBAL:
    if (job.copies > 1 &&
        cudaMemsetAsync(job.spread, 0, copies_words * sizeof(unsigned), stream) != cudaSuccess)
      return BF_IO;
    return launch(count_global<Pixel>, job, choice, 0, device, stream);
  case BF_CUDA_SHARED:
    return launch(count_shared<Pixel>, job, choice, copies_words, device, stream);
  case BF_CUDA_THREAD_BYTES:
    return launch_own<Pixel, uint8_t, true>(job, choice, device, stream);
  case BF_CUDA_THREAD_HALVES:
    return launch_own<Pixel, uint16_t, false>(job, choice, device, stream);
  case BF_CUDA_THREAD_BANKS:
    return launch_own<Pixel, uint16_t, true>(job, choice, device, stream);
  case BF_CUDA_THREAD_WORDS:
    return launch_own<Pixel, uint32_t, true>(job, choice, device, stream);
  case BF_CUDA_WARP_SOFTWARE:
    return launch(count_warp<Pixel, false, false>, job, choice, warps_words, device, stream);
  case BF_CUDA_WARP_SHUFFLED:
    return launch_shuffled<Pixel>(job, choice, warps_words, device, scratch, stream);
  case BF_CUDA_WARP_STRIDED:
    return launch(count_warp<Pixel, false, true>, job, choice, warps_words, device, stream);
  case BF_CUDA_WARP_ATOMIC:
    return launch(count_warp<Pixel, true, false>, job, choice, warps_words, device, stream);
  case BF_CUDA_WARP_ATOMIC_STRIDED:
    return launch(count_warp<Pixel, true, true>, job, choice, warps_words, device, stream);
  default:
    return BF_BAD_INPUT;
  }
}

int vote_published(const Job &job, bf_pixel_type type, const bf_cuda_choice &choice,
                   const Device &device, void *scratch, cudaStream_t stream) {
  return type == BF_PIXEL_U8 ? launch_any<uint8_t>(job, choice, device, scratch, stream)
                             : launch_any<uint16_t>(job, choice, device, scratch, stream);
}

// Scratch memory beside the sums: copies in global memory, or rearranged pixels.
size_t vote_published_bytes(const Job &job, bf_pixel_type type, const bf_cuda_choice &choice) {
  if (choice.method == BF_CUDA_WARP_SHUFFLED)
    return job.pixels * (type == BF_PIXEL_U8 ? 1 : 2) + VECTOR_BYTES;
  if (choice.method == BF_CUDA_GLOBAL && job.copies > 1)
    return layout_words(job.layout, job.scale.bins, job.copies) * sizeof(unsigned);
  return 0;
}

#endif
