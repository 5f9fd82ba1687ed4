// Hough transforms that let edge pixels vote: with global atomics, and in two steps - a list of
// edge pixels, then blocks that vote in shared memory for a few angles each.
#include "hough.cuh"

// ---- Global atomics ----

// The word of a vote in a copy of the space.
__device__ static inline uint64_t spread_place(bf_cuda_layout layout, uint64_t words,
                                               unsigned copies, uint64_t word, unsigned copy) {
  if (layout == BF_CUDA_BIN_BY_BIN)
    return word * copies + copy;
  return word + copy * (words + (layout == BF_CUDA_PADDED ? 1 : 0));
}

// One thread per pixel. With copies, votes go to spread instead of the space.
__global__ static void vote_global(Hough hough, bf_cuda_layout layout, unsigned copies,
                                   unsigned *spread) {
  uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, width = hough.edges.width;
  if (i >= width * hough.edges.height)
    return;
  uint64_t x = i % width, y = i / width, words = (uint64_t)hough.angles * hough.rhos;
  unsigned vote = edge_vote(hough, x, y), copy = threadIdx.x % copies;
  if (!vote)
    return;
  for (unsigned t = 0; t < hough.angles; t++) {
    uint64_t word =
        (uint64_t)t * hough.rhos + rho_bin((float)x, (float)y, hough.angle[t], hough.rho_zero);
    atomicAdd(copies == 1 ? &hough.votes[word]
                          : &spread[spread_place(layout, words, copies, word, copy)],
              vote);
  }
}

__global__ static void add_spread(Hough hough, bf_cuda_layout layout, unsigned copies,
                                  const unsigned *spread) {
  uint64_t words = (uint64_t)hough.angles * hough.rhos, threads = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += threads) {
    unsigned sum = 0;
    for (unsigned copy = 0; copy < copies; copy++)
      sum += spread[spread_place(layout, words, copies, i, copy)];
    hough.votes[i] = sum;
  }
}

#ifndef BF_VOTE_KERNELS_ONLY // reproduce/voting.cu

size_t hough_global_bytes(const Hough &hough, const bf_cuda_hough_choice &choice) {
  return choice.copies < 2
             ? 0
             : ((size_t)hough.angles * hough.rhos + 1) * choice.copies * sizeof(unsigned);
}

int hough_global(const Hough &hough, const bf_cuda_hough_choice &choice, void *scratch,
                 const Device &device, cudaStream_t stream) {
  uint64_t pixels = hough.edges.width * hough.edges.height;
  uint64_t words = (uint64_t)hough.angles * hough.rhos;
  uint64_t blocks = (pixels + choice.threads - 1) / choice.threads;
  bool spread = choice.copies > 1;
  if (cudaMemsetAsync(spread ? scratch : hough.votes, 0,
                      spread ? hough_global_bytes(hough, choice) : words * sizeof(unsigned),
                      stream) != cudaSuccess)
    return BF_IO;
  if (blocks)
    vote_global<<<(unsigned)blocks, choice.threads, 0, stream>>>(
        hough, choice.layout, choice.copies, (unsigned *)scratch);
  if (spread)
    add_spread<<<device.sms * 4, 256, 0, stream>>>(hough, choice.layout, choice.copies,
                                                   (const unsigned *)scratch);
  return vote_check();
}

#endif

// ---- Two steps ----

// The list: how long it is, coordinates x + 65536 y, and values for weighted votes.
struct Points {
  unsigned *count, *place;
  unsigned char *value;
};

enum { RUN = 16, COLLECT_THREADS = 256, MAX_SHARE = 8 };

static Points points_in(void *scratch, uint64_t pixels) {
  unsigned char *bytes = (unsigned char *)scratch;
  unsigned *place = (unsigned *)(bytes + CLEAR_BYTES);
  return {(unsigned *)bytes, place, (unsigned char *)(place + pixels + 4)};
}

size_t hough_two_step_bytes(const Hough &hough) {
  uint64_t pixels = hough.edges.width * hough.edges.height;
  return CLEAR_BYTES + (pixels + 4) * (sizeof(unsigned) + 1);
}

// Which of the RUN pixels from x on are edges, as bits.
__device__ static inline unsigned edge_bits(const Hough &hough, uint64_t x, uint64_t y) {
  const unsigned char *from = hough.edges.data + y * hough.edges.stride_bytes + x;
  unsigned bits = 0;
  if (hough.edges.mask || x + RUN > hough.edges.width || (uintptr_t)from % RUN) {
    for (unsigned i = 0; i < RUN && x + i < hough.edges.width; i++)
      bits |= (edge_vote(hough, x + i, y) != 0) << i;
    return bits;
  }
  uint4 vector = *(const uint4 *)from;
  unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    unsigned set = __vsetgtu4(words[i], 0); // 1 in every byte that is not 0
    bits |= ((set | set >> 7 | set >> 14 | set >> 21) & 15) << 4 * i;
  }
  return bits;
}

// The sum of count over the threads of the block before this one, and that of all in *total.
__device__ static inline unsigned sum_before(unsigned count, unsigned *total) {
  __shared__ unsigned warp_sums[COLLECT_THREADS / WARP];
  unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, sum = count;
  for (unsigned step = 1; step < WARP; step *= 2) {
    unsigned before = __shfl_up_sync(~0u, sum, step);
    sum += lane >= step ? before : 0;
  }
  if (lane == WARP - 1)
    warp_sums[warp] = sum;
  __syncthreads();
  unsigned before = 0;
  *total = 0;
  for (unsigned i = 0; i < COLLECT_THREADS / WARP; i++) {
    before += i < warp ? warp_sums[i] : 0;
    *total += warp_sums[i];
  }
  return before + sum - count;
}

// Step 1: a thread looks at RUN pixels of a row; a block reserves a part of the list for all its
// threads. The space is cleared on the way, for it is written in step 2.
__global__ static void collect(Hough hough, Points points) {
  __shared__ unsigned first;
  uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  uint64_t words = (uint64_t)hough.angles * hough.rhos;
  for (uint64_t i = thread; i < words; i += (uint64_t)gridDim.x * blockDim.x)
    hough.votes[i] = 0;
  uint64_t runs = (hough.edges.width + RUN - 1) / RUN;
  uint64_t y = runs ? thread / runs : 0, x = runs ? thread % runs * RUN : 0;
  unsigned bits = runs && y < hough.edges.height ? edge_bits(hough, x, y) : 0, total;
  unsigned at = sum_before(__popc(bits), &total);
  if (threadIdx.x == 0)
    first = total ? atomicAdd(points.count, total) : 0;
  __syncthreads();
  for (at += first; bits; bits &= bits - 1, at++) {
    unsigned column = (unsigned)x + __ffs(bits) - 1;
    points.place[at] = column | (unsigned)y << 16;
    if (hough.weighted)
      points.value[at] = hough.edges.data[y * hough.edges.stride_bytes + column];
  }
}

// Where votes for one angle lie: a line of rhos bins, in copies.
struct Lines {
  bf_cuda_layout layout;
  unsigned copies, rhos;
  __host__ __device__ unsigned words() const {
    unsigned padding = layout == BF_CUDA_PADDED ? 1 : 0;
    return ((rhos + padding) * copies + 3) / 4 * 4;
  }
  __device__ unsigned bin_step() const { return layout == BF_CUDA_BIN_BY_BIN ? copies : 1; }
  __device__ unsigned copy_step() const {
    return layout == BF_CUDA_BIN_BY_BIN ? 1 : rhos + (layout == BF_CUDA_PADDED ? 1 : 0);
  }
};

// The angles of a block as a thread sees them: the counter of the vote at angle i is at byte
// bits * step + start[i] of shared memory, where bits are those of rho after ROUNDER was added.
template <int SHARE> struct Share {
  Angle angle[SHARE];
  unsigned start[SHARE], step;
};

template <int SHARE>
__device__ static inline Share<SHARE> make_share(const Hough &hough, const Lines &lines,
                                                 const unsigned *counts, unsigned first_angle) {
  Share<SHARE> share;
  unsigned copy = threadIdx.x % lines.copies, base = (unsigned)__cvta_generic_to_shared(counts);
  share.step = lines.bin_step() * (unsigned)sizeof(unsigned);
  for (int i = 0; i < SHARE; i++) {
    share.angle[i] = hough.angle[min(first_angle + i, hough.angles - 1)];
    share.start[i] = base + (i * lines.words() + copy * lines.copy_step()) * 4 +
                     (hough.rho_zero - ROUNDER_BITS) * share.step;
  }
  return share;
}

// Votes of one point for all angles of the block.
template <int SHARE, bool WEIGHTED>
__device__ static inline void vote_point(const Share<SHARE> &share, unsigned place, unsigned vote) {
  float x = (float)(place & 0xffff), y = (float)(place >> 16);
#pragma unroll
  for (int i = 0; i < SHARE; i++) {
    unsigned at = rounded_bits(x, y, share.angle[i]) * share.step + share.start[i];
    if (WEIGHTED)
      asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(at), "r"(vote) : "memory");
    else
      asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(at) : "memory");
  }
}

// Adds up the copies of the lines of a block and writes them, or adds them where other blocks have
// other slices.
__device__ static inline void write_lines(const Hough &hough, const Lines &lines,
                                          const unsigned *counts, unsigned angle, bool alone) {
  for (unsigned bin = threadIdx.x; bin < hough.rhos; bin += blockDim.x) {
    unsigned sum = 0;
    for (unsigned c = 0; c < lines.copies; c++)
      sum += counts[bin * lines.bin_step() + (c + bin) % lines.copies * lines.copy_step()];
    unsigned *to = &hough.votes[(uint64_t)angle * hough.rhos + bin];
    if (alone)
      *to = sum;
    else if (sum)
      atomicAdd(to, sum);
  }
}

// Step 2: block b votes for SHARE angles with one of the slices of the list, four points of a
// thread at a time. Angles past the last are those of the last, and not written.
template <int SHARE, bool WEIGHTED>
__global__ void vote_lines(Hough hough, Points points, Lines lines, unsigned slices) {
  extern __shared__ __align__(16) unsigned counts[];
  unsigned first_angle = blockIdx.x / slices * SHARE, slice = blockIdx.x % slices;
  Share<SHARE> share = make_share<SHARE>(hough, lines, counts, first_angle);
  clear_words(counts, lines.words() * SHARE);
  unsigned count = *points.count, fours = count / 4;
  unsigned from = (unsigned)((uint64_t)fours * slice / slices);
  unsigned to = (unsigned)((uint64_t)fours * (slice + 1) / slices);
  for (unsigned i = from + threadIdx.x; i < to; i += blockDim.x) {
    uint4 four = ((const uint4 *)points.place)[i];
    uchar4 vote = WEIGHTED ? ((const uchar4 *)points.value)[i] : make_uchar4(1, 1, 1, 1);
    vote_point<SHARE, WEIGHTED>(share, four.x, vote.x);
    vote_point<SHARE, WEIGHTED>(share, four.y, vote.y);
    vote_point<SHARE, WEIGHTED>(share, four.z, vote.z);
    vote_point<SHARE, WEIGHTED>(share, four.w, vote.w);
  }
  if (slice == 0 && threadIdx.x < count % 4) {
    unsigned i = fours * 4 + threadIdx.x;
    vote_point<SHARE, WEIGHTED>(share, points.place[i], WEIGHTED ? points.value[i] : 1);
  }
  __syncthreads();
  for (unsigned i = 0; i < SHARE && first_angle + i < hough.angles; i++)
    write_lines(hough, lines, counts + i * lines.words(), first_angle + i, slices == 1);
}

#ifndef BF_VOTE_KERNELS_ONLY

template <int SHARE, bool WEIGHTED>
static int launch(const Hough &hough, const Points &points, const Lines &lines,
                  const bf_cuda_hough_choice &choice, const Device &device, cudaStream_t stream) {
  size_t shared_bytes = (size_t)lines.words() * SHARE * sizeof(unsigned);
  if (shared_bytes > (size_t)device.shared_limit)
    return BF_UNSUPPORTED;
  int error = vote_allow(vote_lines<SHARE, WEIGHTED>, shared_bytes);
  if (error)
    return error;
  unsigned groups = (hough.angles + SHARE - 1) / SHARE;
  vote_lines<SHARE, WEIGHTED><<<groups * choice.slices, choice.threads, shared_bytes, stream>>>(
      hough, points, lines, choice.slices);
  return vote_check();
}

template <int SHARE>
static int launch_share(const Hough &hough, const Points &points, const Lines &lines,
                        const bf_cuda_hough_choice &choice, const Device &device,
                        cudaStream_t stream) {
  return hough.weighted ? launch<SHARE, true>(hough, points, lines, choice, device, stream)
                        : launch<SHARE, false>(hough, points, lines, choice, device, stream);
}

int hough_two_step(const Hough &hough, const bf_cuda_hough_choice &choice, void *scratch,
                   const Device &device, cudaStream_t stream) {
  uint64_t runs = (hough.edges.width + RUN - 1) / RUN * hough.edges.height;
  uint64_t blocks = (runs + COLLECT_THREADS - 1) / COLLECT_THREADS;
  Points points = points_in(scratch, hough.edges.width * hough.edges.height);
  Lines lines = {choice.layout, choice.copies, hough.rhos};
  if (cudaMemsetAsync(points.count, 0, sizeof(unsigned), stream) != cudaSuccess)
    return BF_IO;
  collect<<<blocks ? (unsigned)blocks : 1, COLLECT_THREADS, 0, stream>>>(hough, points);
  switch (choice.angles) {
  case 1:
    return launch_share<1>(hough, points, lines, choice, device, stream);
  case 2:
    return launch_share<2>(hough, points, lines, choice, device, stream);
  case 4:
    return launch_share<4>(hough, points, lines, choice, device, stream);
  default:
    return launch_share<MAX_SHARE>(hough, points, lines, choice, device, stream);
  }
}

#endif
