// What the fast histograms share: reading rows of an image 16 bytes at a time, how a block hands on
// what it counted, and the launch.
#ifndef BF_GPU_TILES_CUH
#define BF_GPU_TILES_CUH

#include "vote.cuh"

// ---- Reading ----

// A row of the image: pixels before its first vector of 16 bytes, and vectors. Images have fewer
// than 2^32 pixels here.
template <typename Pixel> struct Row {
  const Pixel *pixels;
  unsigned head, vectors, width;
  __device__ Row(const Image &image, unsigned number) {
    pixels = (const Pixel *)(image.data + number * image.stride_bytes);
    width = (unsigned)image.width;
    head = min((unsigned)(-(uintptr_t)pixels % VECTOR_BYTES / sizeof(Pixel)), width);
    vectors = (width - head) / (VECTOR_BYTES / sizeof(Pixel));
  }
  // Pixels before and after the vectors: how many, and one of them.
  __device__ unsigned ends() const { return width - vectors * (VECTOR_BYTES / sizeof(Pixel)); }
  __device__ Pixel end(unsigned i) const {
    return pixels[i < head ? i : vectors * (VECTOR_BYTES / sizeof(Pixel)) + i];
  }
};

// Reads the vectors of this thread in a tile: consecutive threads take consecutive ones, LOADS
// times. Those past the end of the row stay unread. Returns how many were read.
template <typename Pixel, int LOADS>
__device__ inline int read_tile(const Row<Pixel> &row, unsigned tile, uint4 (&vectors)[LOADS]) {
  const uint4 *from = (const uint4 *)(row.pixels + row.head);
  unsigned first = tile * (LOADS * blockDim.x) + threadIdx.x;
  int count = 0;
#pragma unroll
  for (int i = 0; i < LOADS; i++)
    if (first + i * blockDim.x < row.vectors) {
      vectors[i] = __ldg(from + first + i * blockDim.x);
      count++;
    }
  return count;
}

// Tile number `index` of row number `row`.
struct Position {
  unsigned row, index, per_row;
  __device__ void advance(unsigned tiles) {
    index += tiles;
    if (index >= per_row) {
      row += index / per_row;
      index %= per_row;
    }
  }
};

// Calls ends(row) for each row and vectors(array, count) for each tile that this block has, which
// are first, first + step ... of all tiles. The next tile is read while one is counted. clear()
// runs before anything is read.
template <typename Pixel, int LOADS, typename Clear, typename Ends, typename Vectors>
__device__ inline void each_tile(const Image &image, unsigned tiles_per_row, unsigned first,
                                 unsigned step, Clear clear, Ends ends, Vectors vectors) {
  asm volatile("griddepcontrol.launch_dependents;");
  clear();
  asm volatile("griddepcontrol.wait;" ::: "memory");
  Position at = {0, 0, tiles_per_row};
  at.advance(first);
  uint4 next[LOADS];
  int next_count = 0;
  if (at.row < image.height)
    next_count = read_tile(Row<Pixel>(image, at.row), at.index, next);
  __syncthreads();
  while (at.row < image.height) {
    uint4 now[LOADS];
    int count = next_count;
#pragma unroll
    for (int i = 0; i < LOADS; i++)
      now[i] = next[i];
    if (at.index == 0)
      ends(Row<Pixel>(image, at.row));
    at.advance(step);
    if (at.row < image.height)
      next_count = read_tile(Row<Pixel>(image, at.row), at.index, next);
    vectors(now, count);
  }
  __syncthreads();
}

// Sets words of shared memory to zero, 16 bytes at a time; words is a multiple of 4. Others may use
// them after a barrier.
__device__ inline void start_clear(unsigned *words, unsigned count) {
  for (unsigned i = threadIdx.x; i < count / 4; i += blockDim.x)
    ((uint4 *)words)[i] = make_uint4(0, 0, 0, 0);
}

// ---- What a block hands on ----

// BLOCKS_ARRIVE: every block adds its count of every bin, and one arrival in the upper bits of the
// same word, to the sums; the block that sees all others arrived writes the bin and clears the
// word. That is one trip through memory, where adding, a ticket, and reading sums are three. Words
// have 32 bits where fewer than 2^24 pixels are counted by fewer than 256 blocks. INTO_COUNTS: for
// many bins, most of them empty: what is not zero is added to the result, which the host has
// cleared. LAST_BLOCK: as publish says.
enum End { BLOCKS_ARRIVE, BLOCKS_ARRIVE_NARROW, INTO_COUNTS, LAST_BLOCK };
enum { MOST_ARRIVING_BINS = 4096, ARRIVING_AT_ONCE = 8 };
const uint64_t NARROW_PIXELS = 1 << 24, NARROW_BLOCKS = 256;

// How rows of counters lie in the shared memory of blocks: bin by bin in `copies` copies, `words`
// in all. Where not all rows fit, they are dealt out: of 2^part_bits neighbouring blocks, which
// read the same pixels, block b counts the rows whose lowest bits are those of b. Pixels then come
// from the second-level cache for all of them but the first. There are parts for INTO_COUNTS alone.
struct RowShare {
  unsigned copies, part_bits, words;
  __host__ __device__ unsigned part_mask() const { return (1u << part_bits) - 1; }
};

struct Finish {
  Result result;
  End end;
};

// The sum of a row's copies. Threads of a warp, which take consecutive rows, start at different
// copies, so that they read different banks.
__device__ inline unsigned sum_copies(const unsigned *counts, unsigned copies, unsigned row) {
  unsigned turn = row * copies / WARP, sum = 0;
  for (unsigned c = 0; c < copies; c++)
    sum += counts[row * copies + ((c + turn) & (copies - 1))];
  return sum;
}

template <typename Word, int SHIFT>
__device__ inline void arrive(const unsigned *counts, unsigned copies, const Result &result) {
  Word *words = (Word *)result.sums;
  for (unsigned first = threadIdx.x; first < result.values;
       first += ARRIVING_AT_ONCE * blockDim.x) {
    unsigned sums[ARRIVING_AT_ONCE];
    Word before[ARRIVING_AT_ONCE];
#pragma unroll
    for (unsigned i = 0; i < ARRIVING_AT_ONCE; i++) {
      unsigned row = first + i * blockDim.x;
      if (row < result.values) {
        sums[i] = sum_copies(counts, copies, row);
        before[i] = atomicAdd(&words[row], ((Word)1 << SHIFT) + sums[i]);
      }
    }
#pragma unroll
    for (unsigned i = 0; i < ARRIVING_AT_ONCE; i++) {
      unsigned row = first + i * blockDim.x;
      if (row < result.values && before[i] >> SHIFT == gridDim.x - 1) {
        put_bin(result, row, (unsigned)(before[i] & (((Word)1 << SHIFT) - 1)) + sums[i]);
        words[row] = 0;
      }
    }
  }
}

// Adds to a bin of a result that began at zero, which fewer than 2^32 pixels cannot overflow; or to
// one that did not.
__device__ inline void add_to_counts(const Result &result, unsigned bin, unsigned count) {
  if (result.accumulate || result.wide)
    add_to_bin(result, bin, count);
  else
    atomicAdd((unsigned *)result.counts + bin, count);
}

// Ends a kernel: counts of this block lie as share says.
__device__ inline void finish(unsigned *counts, const RowShare &share, const Finish &to) {
  const Result &result = to.result;
  unsigned copies = share.copies, parts = share.part_mask() + 1, part = blockIdx.x & (parts - 1);
  switch (to.end) {
  case BLOCKS_ARRIVE:
    arrive<unsigned long long, 40>(counts, copies, result);
    break;
  case BLOCKS_ARRIVE_NARROW:
    arrive<unsigned, 24>(counts, copies, result);
    break;
  case INTO_COUNTS:
    for (unsigned row = threadIdx.x; row * parts + part < result.values; row += blockDim.x) {
      unsigned sum = sum_copies(counts, copies, row);
      if (sum)
        add_to_counts(result, row * parts + part, sum);
    }
    break;
  case LAST_BLOCK:
    merge_copies(counts, copies, result);
    publish(result);
  }
}

// ---- The host's side ----

// As many copies as fit, and where one does not, the fewest parts of it that do.
inline RowShare share_rows(unsigned rows, unsigned copies, const Device &device) {
  size_t room = (size_t)device.shared_limit / sizeof(unsigned) - 32;
  RowShare share = {copies, 0, 0};
  while (share.copies > 1 && (size_t)rows * share.copies > room)
    share.copies /= 2;
  while ((rows >> share.part_bits) + 1 > room)
    share.part_bits++;
  share.words = (((rows - 1) >> share.part_bits) + 1) * share.copies;
  share.words = (share.words + 3) / 4 * 4;
  return share;
}

// How blocks end that count `pixels`.
inline End choose_end(const Result &result, uint64_t pixels, uint64_t blocks) {
  if (!result.values_are_bins)
    return LAST_BLOCK;
  if (result.values > MOST_ARRIVING_BINS)
    return INTO_COUNTS;
  return pixels < NARROW_PIXELS && blocks < NARROW_BLOCKS ? BLOCKS_ARRIVE_NARROW : BLOCKS_ARRIVE;
}

// Tiles of an image, and blocks for them: `parts` for each.
struct Grid {
  unsigned tiles_per_row, blocks;
};
inline Grid make_grid(const Image &image, size_t pixel_bytes, unsigned parts,
                      const bf_cuda_choice &choice, const Device &device) {
  uint64_t tile_bytes = (uint64_t)choice.threads * choice.loads * VECTOR_BYTES;
  uint64_t tiles_per_row = (image.width * pixel_bytes + tile_bytes - 1) / tile_bytes;
  if (tiles_per_row == 0)
    tiles_per_row = 1;
  uint64_t blocks = (uint64_t)device.sms * choice.blocks_per_sm / parts;
  if (blocks > image.height * tiles_per_row)
    blocks = image.height * tiles_per_row;
  return {(unsigned)tiles_per_row, (blocks ? (unsigned)blocks : 1) * parts};
}

// Launches a kernel with each_tile. From Hopper on its blocks may start, and clear their shared
// memory, while the kernel before in the stream is ending; they wait for its end before they read.
template <typename... Parameters, typename... Arguments>
int launch_tiles(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                 size_t shared_bytes, const Device &device, cudaStream_t stream,
                 Arguments... arguments) {
  if (shared_bytes > (size_t)device.shared_limit)
    return BF_UNSUPPORTED;
  int error = vote_allow(kernel, shared_bytes);
  if (error)
    return error;
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = device.major >= 9 ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...) == cudaSuccess ? vote_check()
                                                                                      : BF_IO;
}

#endif
