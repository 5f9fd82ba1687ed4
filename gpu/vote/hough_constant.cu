// The Cartesian Hough transform in constant time. With rho_step 1, all pixels of a row (or column)
// vote at an angle as the row lies, only shifted: bin = x + round(y * factor). Pixels become bits;
// a thread sums 32 neighbouring bins over the rows at once, each row a word, with counters that are
// spread over words (bit p of all 32 counters in word p). No atomics are needed, and the time does
// not depend on the number of edge pixels.
//
// Votes are rounded in single precision. Where the shift is so near to a half that rounding of the
// sum could move single pixels, the row is left out, and its pixels vote one by one afterwards.
#include "hough.cuh"

// Lines of bits: rows of the image, or columns. Every line has `words` words, and PAD words of
// zeros before and after them.
struct Bits {
  unsigned *word;
  unsigned lines, length, words, pitch;
};

enum { PAD = 2, WARPS = 8, PLANES = 14 }; // a warp takes at most 65536 / 8 lines

// The factor of the line's number at an angle, and which lines it is about. Shifts within `margin`
// of a half are not sure.
struct Slope {
  bool steep; // x + factor * y: lines are rows
  float factor, margin;
};

__device__ static inline Slope slope_of(Angle angle, float margin) {
  bool steep = angle.x_factor == 1.0f;
  return {steep, steep ? angle.y_factor : angle.x_factor, margin};
}

// How far a line is shifted, to the nearest; false: not sure.
__device__ static inline bool shift_of(Slope slope, unsigned line, int *shift) {
  float moved = __fmul_rn((float)line, slope.factor);
  *shift = __float2int_rn(moved);
  return fabsf(moved - (float)*shift) < 0.5f - slope.margin;
}

// Bits of rows: every warp makes words of 32 pixels.
__global__ static void pack_rows(Hough hough, Bits rows) {
  uint64_t warp = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
  if (warp >= (uint64_t)rows.pitch * rows.lines)
    return;
  int64_t x = ((int64_t)(warp % rows.pitch) - PAD) * WARP + threadIdx.x % WARP;
  bool inside = x >= 0 && x < rows.length;
  unsigned word = __ballot_sync(~0u, inside && edge_vote(hough, x, warp / rows.pitch));
  if (threadIdx.x % WARP == 0)
    rows.word[warp] = word;
}

// Bits of columns from those of rows: a warp turns 32 x 32 bits.
__global__ static void pack_columns(Bits rows, Bits columns) {
  uint64_t warp = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
  unsigned lane = threadIdx.x % WARP;
  if (warp >= (uint64_t)columns.pitch * rows.words)
    return;
  unsigned across = (unsigned)(warp % rows.words), down = (unsigned)(warp / rows.words);
  int64_t row = ((int64_t)down - PAD) * WARP + lane;
  unsigned word = 0, mine = 0;
  if (row >= 0 && row < rows.lines)
    word = rows.word[row * rows.pitch + PAD + across];
  for (unsigned bit = 0; bit < WARP; bit++) {
    unsigned column = __ballot_sync(~0u, word >> bit & 1);
    mine = bit == lane ? column : mine;
  }
  uint64_t column = (uint64_t)across * WARP + lane;
  if (column < columns.lines)
    columns.word[column * columns.pitch + down] = mine;
}

// The 32 bits of a line from bit `offset` on; bits outside of it are 0, and so are lines past the
// last. Both words are read without a branch, so that those of many lines are under way at once.
__device__ static inline unsigned bits_from(const Bits &bits, unsigned line, int offset) {
  int word = min(max(offset >> 5, -PAD), (int)bits.words);
  const unsigned *from = bits.word + (uint64_t)min(line, bits.lines - 1) * bits.pitch + PAD;
  return __funnelshift_r(__ldg(from + word), __ldg(from + word + 1), offset & 31);
}

// sum and carry of three bits, 32 times.
__device__ static inline void add_bits(unsigned a, unsigned b, unsigned c, unsigned *sum,
                                       unsigned *carry) {
  *sum = a ^ b ^ c;
  *carry = (a & b) | (a & c) | (b & c);
}

// Adds the bits of eight words to 32 counters: a tree of adders for the first three bits, then the
// carry.
__device__ static inline void count_eight(const unsigned (&word)[8], unsigned (&plane)[PLANES]) {
  unsigned two[4], four[2], eight;
  add_bits(plane[0], word[0], word[1], &plane[0], &two[0]);
  add_bits(plane[0], word[2], word[3], &plane[0], &two[1]);
  add_bits(plane[0], word[4], word[5], &plane[0], &two[2]);
  add_bits(plane[0], word[6], word[7], &plane[0], &two[3]);
  add_bits(plane[1], two[0], two[1], &plane[1], &four[0]);
  add_bits(plane[1], two[2], two[3], &plane[1], &four[1]);
  add_bits(plane[2], four[0], four[1], &plane[2], &eight);
#pragma unroll
  for (int p = 3; p < PLANES; p++) {
    if (!eight)
      break;
    unsigned carry = plane[p] & eight;
    plane[p] ^= eight;
    eight = carry;
  }
}

// The bins of this thread's word over lines from, from + WARPS, ... Lanes compute the shifts of 32
// lines at a time for each other; lines that are left out are shifted out of sight.
__device__ static inline void count_lines(const Bits &bits, Slope slope, int first_bin,
                                          unsigned from, unsigned (&plane)[PLANES]) {
  const int away = 1 << 28;
  unsigned lane = threadIdx.x % WARP;
  for (unsigned line = from; line < bits.lines; line += WARP * WARPS) {
    unsigned mine = line + lane * WARPS;
    int shift;
    if (mine >= bits.lines || !shift_of(slope, mine, &shift))
      shift = away;
    for (unsigned k = 0; k < WARP && line + k * WARPS < bits.lines; k += 8) {
      unsigned word[8];
#pragma unroll
      for (unsigned i = 0; i < 8; i++)
        word[i] =
            bits_from(bits, line + (k + i) * WARPS, first_bin - __shfl_sync(~0u, shift, k + i));
      count_eight(word, plane);
    }
  }
}

// Adds the counters of this thread's 32 bins, of at most `most`, to those of the block. Lanes begin
// at different bits, and so at different banks.
__device__ static inline void add_planes(const unsigned (&plane)[PLANES], unsigned most,
                                         unsigned *counts) {
  unsigned lane = threadIdx.x % WARP;
  for (unsigned i = 0; i < WARP; i++) {
    unsigned bit = (i + lane) % WARP, sum = 0;
#pragma unroll
    for (int p = 0; p < PLANES; p++) {
      if (most >> p == 0)
        break;
      sum += (plane[p] >> bit & 1) << p;
    }
    if (sum)
      atomicAdd(&counts[lane * WARP + bit], sum);
  }
}

// Whether any pixel can vote for bins from first_bin on, of a block.
__device__ static inline bool in_reach(const Bits &bits, Slope slope, int first_bin) {
  int last_shift;
  shift_of(slope, bits.lines ? bits.lines - 1 : 0, &last_shift);
  return first_bin <= (int)bits.length + max(last_shift, 0) + 1 &&
         first_bin + WARP * WARP > min(last_shift, 0) - 1;
}

// Block b is for one angle and 1024 bins. Its warps take turns at the lines, and add up in shared
// memory.
__global__ static void __launch_bounds__(WARPS *WARP)
    sum_lines(Hough hough, Bits rows, Bits columns, float margin, unsigned parts) {
  __shared__ unsigned counts[WARP * WARP];
  unsigned angle = blockIdx.x / parts, part = blockIdx.x % parts;
  for (unsigned i = threadIdx.x; i < WARP * WARP; i += blockDim.x)
    counts[i] = 0;
  __syncthreads();
  Slope slope = slope_of(hough.angle[angle], margin);
  const Bits bits = slope.steep ? rows : columns;
  int first_bin = (int)(part * WARP * WARP) - (int)hough.rho_zero;
  if (in_reach(bits, slope, first_bin)) {
    unsigned plane[PLANES] = {0};
    count_lines(bits, slope, first_bin + (int)(threadIdx.x % WARP * WARP), threadIdx.x / WARP,
                plane);
    add_planes(plane, (bits.lines + WARPS - 1) / WARPS, counts);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < WARP * WARP; i += blockDim.x) {
    unsigned bin = part * WARP * WARP + i;
    if (bin < hough.rhos)
      hough.votes[(uint64_t)angle * hough.rhos + bin] = counts[i];
  }
}

// One vote of a line's pixel.
__device__ static inline void vote_pixel(const Hough &hough, unsigned angle, Slope slope,
                                         unsigned line, unsigned along) {
  float x = slope.steep ? along : line, y = slope.steep ? line : along;
  atomicAdd(&hough.votes[(uint64_t)angle * hough.rhos +
                         rho_bin(x, y, hough.angle[angle], hough.rho_zero)],
            1);
}

// Pixels of lines that were left out: block b is for one angle; a warp looks at 32 lines at a time,
// and its lanes take words of those that it finds.
__global__ static void vote_rest(Hough hough, Bits rows, Bits columns, float margin) {
  unsigned angle = blockIdx.x, lane = threadIdx.x % WARP;
  Slope slope = slope_of(hough.angle[angle], margin);
  const Bits bits = slope.steep ? rows : columns;
  for (unsigned first = threadIdx.x / WARP * WARP; first < bits.lines; first += blockDim.x) {
    int shift;
    unsigned mine = first + lane;
    unsigned left = __ballot_sync(~0u, mine < bits.lines && !shift_of(slope, mine, &shift));
    for (; left; left &= left - 1) {
      unsigned line = first + __ffs(left) - 1;
      for (unsigned i = lane; i < bits.words; i += WARP)
        for (unsigned word = bits.word[(uint64_t)line * bits.pitch + PAD + i]; word;
             word &= word - 1)
          vote_pixel(hough, angle, slope, line, i * WARP + __ffs(word) - 1);
    }
  }
}

static Bits make_bits(unsigned *word, uint64_t lines, uint64_t length) {
  unsigned words = (unsigned)((length + WARP - 1) / WARP);
  return {word, (unsigned)lines, (unsigned)length, words, words + 2 * PAD};
}

size_t hough_constant_bytes(const Hough &hough) {
  Bits rows = make_bits(NULL, hough.edges.height, hough.edges.width);
  Bits columns = make_bits(NULL, hough.edges.width, hough.edges.height);
  return ((size_t)rows.pitch * rows.lines + (size_t)columns.pitch * columns.lines) *
         sizeof(unsigned);
}

// How near to a half a shift may be before rounding of the sum matters: sums are at most rho_zero,
// and exact to 2^-25 of the power of two above that; four times as much is on the safe side.
static float margin_of(unsigned rho_zero) {
  float margin = 1.0f / (1 << 23);
  for (uint64_t power = 1; power <= rho_zero; power *= 2)
    margin *= 2;
  return margin;
}

int hough_constant(const Hough &hough, void *scratch, const Device &, cudaStream_t stream) {
  Bits rows = make_bits((unsigned *)scratch, hough.edges.height, hough.edges.width);
  Bits columns = make_bits(rows.word + (uint64_t)rows.pitch * rows.lines, hough.edges.width,
                           hough.edges.height);
  float margin = margin_of(hough.rho_zero);
  unsigned parts = (hough.rhos + WARP * WARP - 1) / (WARP * WARP);
  uint64_t row_warps = (uint64_t)rows.pitch * rows.lines;
  uint64_t square_warps = (uint64_t)rows.words * columns.pitch;
  if (row_warps) {
    pack_rows<<<(unsigned)((row_warps + 7) / 8), 256, 0, stream>>>(hough, rows);
    pack_columns<<<(unsigned)((square_warps + 7) / 8), 256, 0, stream>>>(rows, columns);
  }
  sum_lines<<<hough.angles * parts, WARPS * WARP, 0, stream>>>(hough, rows, columns, margin, parts);
  if (row_warps)
    vote_rest<<<hough.angles, 512, 0, stream>>>(hough, rows, columns, margin);
  return vote_check();
}
