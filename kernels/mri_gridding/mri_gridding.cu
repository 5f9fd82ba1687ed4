// Gridding of MRI samples: samples at any place of the plane are sorted by the tile of the grid
// they fall in, and every tile then sums what the samples around it add to its cells. The kernels:
// sort (within a block), prefix sums of counts with a tree, prefix sums of pairs, reordering of the
// samples, and gridding.
//
// volatile keeps neighbouring accesses of a thread apart; otherwise they become one wider access.
enum { THREADS = 256, ITEMS = 2 * THREADS, TILES = 64, TILE_BITS = 6, TILES_X = 8, CELLS = 8 };

// Where word i lies: with PADDED, one word in 33 is left out.
template <bool PADDED> __device__ constexpr unsigned at(unsigned i) {
  return PADDED ? i + i / 32 : i;
}

// Turns ITEMS words into the sums of the words before each; returns their total. A tree of partial
// sums, its levels at strides 2, 4, ... ITEMS.
template <bool PADDED> __device__ unsigned scan_tree(volatile unsigned *words) {
  unsigned t = threadIdx.x, stride = 1;
  for (unsigned pairs = ITEMS / 2; pairs > 0; pairs /= 2, stride *= 2) {
    __syncthreads();
    if (t < pairs)
      words[at<PADDED>(stride * (2 * t + 2) - 1)] += words[at<PADDED>(stride * (2 * t + 1) - 1)];
  }
  __syncthreads();
  unsigned total = words[at<PADDED>(ITEMS - 1)];
  __syncthreads();
  if (t == 0)
    words[at<PADDED>(ITEMS - 1)] = 0;
  for (unsigned pairs = 1; pairs < ITEMS; pairs *= 2) {
    stride /= 2;
    __syncthreads();
    if (t < pairs) {
      unsigned left = at<PADDED>(stride * (2 * t + 1) - 1);
      unsigned right = at<PADDED>(stride * (2 * t + 2) - 1);
      unsigned before = words[left];
      words[left] = words[right];
      words[right] += before;
    }
  }
  __syncthreads();
  return total;
}

// Sorts ITEMS tile numbers per block, bit by bit: items whose bit is 0 come first, in their order.
// sorted receives the numbers, source where each was; counts[tile * blocks + block] how many there
// are of each.
template <bool PADDED>
__device__ void sort(const unsigned *tiles, unsigned *sorted, unsigned *source, unsigned *counts) {
  __shared__ unsigned keys[ITEMS], indices[ITEMS], of_tile[TILES];
  __shared__ volatile unsigned zeros[at<PADDED>(ITEMS)];
  unsigned t = threadIdx.x, first = blockIdx.x * ITEMS;
  for (unsigned i = t; i < ITEMS; i += THREADS) {
    keys[i] = tiles[first + i];
    indices[i] = first + i;
  }
  for (unsigned bit = 0; bit < TILE_BITS; bit++) {
    __syncthreads();
    for (unsigned i = t; i < ITEMS; i += THREADS)
      zeros[at<PADDED>(i)] = !(keys[i] >> bit & 1);
    unsigned zero_count = scan_tree<PADDED>(zeros);
    unsigned key[2], index[2], target[2];
    for (unsigned half = 0; half < 2; half++) {
      unsigned i = t + half * THREADS;
      unsigned before = zeros[at<PADDED>(i)];
      key[half] = keys[i];
      index[half] = indices[i];
      target[half] = keys[i] >> bit & 1 ? zero_count + i - before : before;
    }
    __syncthreads();
    for (unsigned half = 0; half < 2; half++) {
      keys[target[half]] = key[half];
      indices[target[half]] = index[half];
    }
  }
  if (t < TILES)
    of_tile[t] = 0;
  __syncthreads();
  for (unsigned i = t; i < ITEMS; i += THREADS) {
    sorted[first + i] = keys[i];
    source[first + i] = indices[i];
    atomicAdd(&of_tile[keys[i]], 1);
  }
  __syncthreads();
  if (t < TILES)
    counts[t * gridDim.x + blockIdx.x] = of_tile[t];
}

// Replaces count words, a multiple of ITEMS, by the sums of the words before each. One block goes
// over them, ITEMS at a time.
template <bool PADDED> __device__ void scan_words(unsigned *words, unsigned count) {
  __shared__ volatile unsigned sums[at<PADDED>(ITEMS)];
  unsigned t = threadIdx.x, carry = 0;
  for (unsigned base = 0; base < count; base += ITEMS) {
    for (unsigned i = t; i < ITEMS; i += THREADS)
      sums[at<PADDED>(i)] = words[base + i];
    unsigned total = scan_tree<PADDED>(sums);
    for (unsigned i = t; i < ITEMS; i += THREADS)
      words[base + i] = carry + sums[at<PADDED>(i)];
    carry += total;
    __syncthreads();
  }
}

// The sum over the lanes up to this one, for each member of a pair.
__device__ void add_lanes_before(unsigned *sum) {
  for (unsigned distance = 1; distance < 32; distance *= 2)
    for (unsigned c = 0; c < 2; c++) {
      unsigned other = __shfl_up_sync(0xffffffff, sum[c], distance);
      sum[c] += threadIdx.x % 32 >= distance ? other : 0;
    }
}

// The same for pairs of words, each member by itself; count, in pairs, is a multiple of ITEMS. A
// thread moves one pair at a time, at a stride of two words, and adds two neighbouring pairs, at a
// stride of four.
template <bool PADDED> __device__ void scan_pairs(unsigned *words, unsigned count) {
  __shared__ volatile unsigned pairs[at<PADDED>(2 * ITEMS)];
  __shared__ unsigned of_warp[2 * THREADS / 32];
  unsigned t = threadIdx.x, carry[2] = {0, 0};
  for (unsigned base = 0; base < count; base += ITEMS) {
    for (unsigned i = t; i < ITEMS; i += THREADS)
      for (unsigned c = 0; c < 2; c++)
        pairs[at<PADDED>(2 * i + c)] = words[2 * (base + i) + c];
    __syncthreads();
    unsigned first[2], both[2], before[2];
    for (unsigned c = 0; c < 2; c++) {
      first[c] = pairs[at<PADDED>(4 * t + c)];
      before[c] = both[c] = first[c] + pairs[at<PADDED>(4 * t + 2 + c)];
    }
    add_lanes_before(before);
    if (t % 32 == 31)
      for (unsigned c = 0; c < 2; c++)
        of_warp[t / 32 * 2 + c] = before[c];
    __syncthreads();
    for (unsigned c = 0; c < 2; c++) {
      before[c] += carry[c] - both[c];
      for (unsigned warp = 0; warp < THREADS / 32; warp++) {
        before[c] += warp < t / 32 ? of_warp[2 * warp + c] : 0;
        carry[c] += of_warp[2 * warp + c];
      }
      pairs[at<PADDED>(4 * t + c)] = before[c];
      pairs[at<PADDED>(4 * t + 2 + c)] = before[c] + first[c];
    }
    __syncthreads();
    for (unsigned i = t; i < ITEMS; i += THREADS)
      for (unsigned c = 0; c < 2; c++)
        words[2 * (base + i) + c] = pairs[at<PADDED>(2 * i + c)];
    __syncthreads();
  }
}

// Moves pairs of floats (coordinates, or real and imaginary part) to their final places. A thread
// gathers two neighbouring pairs, at a stride of four words, and sends out one at a time, at a
// stride of two. first_place[tile * blocks + block] is where the first item of a tile of this block
// goes.
template <bool PADDED>
__device__ void reorder(const unsigned *sorted, const unsigned *source, const unsigned *first_place,
                        const float *from, float *to) {
  __shared__ volatile float pairs[at<PADDED>(2 * ITEMS)];
  __shared__ volatile unsigned
      tiles[2 * TILES]; // for each: its first item here, and that one's place
  unsigned t = threadIdx.x, base = blockIdx.x * ITEMS;
  for (unsigned i = 2 * t; i < 2 * t + 2; i++) {
    unsigned tile = sorted[base + i], item = source[base + i];
    if (i == 0 || sorted[base + i - 1] != tile) {
      tiles[2 * tile] = i;
      tiles[2 * tile + 1] = first_place[tile * gridDim.x + blockIdx.x];
    }
    for (unsigned c = 0; c < 2; c++)
      pairs[at<PADDED>(2 * i + c)] = from[2 * item + c];
  }
  __syncthreads();
  for (unsigned i = t; i < ITEMS; i += THREADS) {
    unsigned tile = sorted[base + i];
    unsigned place = tiles[2 * tile + 1] + i - tiles[2 * tile];
    for (unsigned c = 0; c < 2; c++)
      to[2 * place + c] = pairs[at<PADDED>(2 * i + c)];
  }
}

// (1 - (d / 2)^2)^2 for |d| < 2, the weight of a sample at distance d in one direction.
__device__ float window(float distance) {
  float rest = 1 - distance * distance / 4;
  return rest > 0 ? rest * rest : 0;
}

// Sums what samples add to the cells of one tile, a thread for each of its CELLS x CELLS cells.
// Samples of tile k are first[k] .. first[k + 1); those of the 3 x 3 tiles around it are staged as
// structures of four floats, at a stride of STRIDE words.
template <unsigned STRIDE>
__device__ void grid(const unsigned *first, const float *coordinates, const float *values,
                     float *cells) {
  enum { STAGED = CELLS * CELLS };
  __shared__ volatile float samples[STRIDE * STAGED];
  unsigned t = threadIdx.y * CELLS + threadIdx.x;
  int tile_x = blockIdx.x, tile_y = blockIdx.y;
  float x = tile_x * CELLS + threadIdx.x, y = tile_y * CELLS + threadIdx.y;
  float real = 0, imaginary = 0;
  for (int ny = max(tile_y - 1, 0); ny <= min(tile_y + 1, TILES_X - 1); ny++)
    for (int nx = max(tile_x - 1, 0); nx <= min(tile_x + 1, TILES_X - 1); nx++) {
      unsigned end = first[ny * TILES_X + nx + 1];
      for (unsigned base = first[ny * TILES_X + nx]; base < end; base += STAGED) {
        __syncthreads();
        if (base + t < end) {
          samples[STRIDE * t] = coordinates[2 * (base + t)];
          samples[STRIDE * t + 1] = coordinates[2 * (base + t) + 1];
          samples[STRIDE * t + 2] = values[2 * (base + t)];
          samples[STRIDE * t + 3] = values[2 * (base + t) + 1];
        }
        __syncthreads();
        for (unsigned i = 0; i < min(end - base, (unsigned)STAGED); i++) {
          float weight = window(samples[STRIDE * i] - x) * window(samples[STRIDE * i + 1] - y);
          real += weight * samples[STRIDE * i + 2];
          imaginary += weight * samples[STRIDE * i + 3];
        }
      }
    }
  unsigned cell = (unsigned)y * TILES_X * CELLS + (unsigned)x;
  cells[2 * cell] = real;
  cells[2 * cell + 1] = imaginary;
}

extern "C" __global__ void mri_sort(const unsigned *tiles, unsigned *sorted, unsigned *source,
                                    unsigned *counts) {
  sort<false>(tiles, sorted, source, counts);
}

extern "C" __global__ void mri_sort_padded(const unsigned *tiles, unsigned *sorted,
                                           unsigned *source, unsigned *counts) {
  sort<true>(tiles, sorted, source, counts);
}

extern "C" __global__ void mri_scan_words(unsigned *words, unsigned count) {
  scan_words<false>(words, count);
}

extern "C" __global__ void mri_scan_words_padded(unsigned *words, unsigned count) {
  scan_words<true>(words, count);
}

extern "C" __global__ void mri_scan_pairs(unsigned *words, unsigned count) {
  scan_pairs<false>(words, count);
}

extern "C" __global__ void mri_scan_pairs_padded(unsigned *words, unsigned count) {
  scan_pairs<true>(words, count);
}

extern "C" __global__ void mri_reorder(const unsigned *sorted, const unsigned *source,
                                       const unsigned *first_place, const float *from, float *to) {
  reorder<false>(sorted, source, first_place, from, to);
}

extern "C" __global__ void mri_reorder_padded(const unsigned *sorted, const unsigned *source,
                                              const unsigned *first_place, const float *from,
                                              float *to) {
  reorder<true>(sorted, source, first_place, from, to);
}

extern "C" __global__ void mri_grid(const unsigned *first, const float *coordinates,
                                    const float *values, float *cells) {
  grid<4>(first, coordinates, values, cells);
}

extern "C" __global__ void mri_grid_padded(const unsigned *first, const float *coordinates,
                                           const float *values, float *cells) {
  grid<5>(first, coordinates, values, cells);
}
