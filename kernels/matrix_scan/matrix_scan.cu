// Inclusive scan (running sums) of every row of a matrix of unsigned integers. A warp takes a row,
// CHUNK elements at a time: each thread sums EACH neighbouring elements in shared memory, so that
// threads lie EACH words apart and conflict 8 ways.

constexpr int ROWS = 8;          // per block; blocks have 32 x ROWS threads
constexpr int EACH = 8;          // elements of a thread
constexpr int CHUNK = 32 * EACH; // elements of a warp

// PAD inserts a word behind every 32, after which EACH * thread does not conflict.
template <bool PAD> __device__ int place(int i) { return PAD ? i + i / 32 : i; }

// Replaces totals[0..31] of a row by their running sums; called by all threads of the block.
__device__ void scan_totals(unsigned *totals, int tx) {
  for (int apart = 1; apart < 32; apart *= 2) {
    unsigned left = tx >= apart ? totals[tx - apart] : 0;
    __syncthreads();
    totals[tx] += left;
    __syncthreads();
  }
}

// width is a multiple of CHUNK, the number of rows one of ROWS.
template <bool PAD> __device__ void scan_rows(const unsigned *input, unsigned *output, int width) {
  __shared__ unsigned data[ROWS][PAD ? CHUNK + EACH : CHUNK];
  __shared__ unsigned totals[ROWS][32];
  int tx = threadIdx.x, ty = threadIdx.y, row = (blockIdx.x * ROWS + ty) * width;
  unsigned before = 0; // sum of the chunks before
  for (int first = 0; first < width; first += CHUNK) {
    for (int i = 0; i < CHUNK; i += 32)
      data[ty][place<PAD>(i + tx)] = input[row + first + i + tx];
    __syncthreads();
    unsigned sum = 0;
    for (int i = 0; i < EACH; i++) {
      sum += data[ty][place<PAD>(tx * EACH + i)];
      data[ty][place<PAD>(tx * EACH + i)] = sum;
    }
    totals[ty][tx] = sum;
    __syncthreads();
    scan_totals(totals[ty], tx);
    unsigned left = before + totals[ty][tx] - sum; // sum of the threads before
    for (int i = 0; i < EACH; i++)
      data[ty][place<PAD>(tx * EACH + i)] += left;
    before += totals[ty][31];
    __syncthreads();
    for (int i = 0; i < CHUNK; i += 32)
      output[row + first + i + tx] = data[ty][place<PAD>(i + tx)];
    __syncthreads();
  }
}

extern "C" __global__ void matrix_scan(const unsigned *input, unsigned *output, int width) {
  scan_rows<false>(input, output, width);
}

extern "C" __global__ void matrix_scan_padded(const unsigned *input, unsigned *output, int width) {
  scan_rows<true>(input, output, width);
}
