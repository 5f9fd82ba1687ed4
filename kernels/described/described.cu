// Three benchmarks of the document as far as its text describes them: what it says of each is
// beside the kernel. Where it says nothing, they are as plain as can be.

// "conv-2 has a high number of scratchpad memory instructions of 35% (2560 loads and 640 stores),
// but the average bank conflict degree is only 2.2". Four loads for every store is a filter of five
// weights where a thread computes eight results and ten rows of them are stored, and 2560 are those
// of 64 warps. Four columns side by side, 80 words apart, are a conflict of degree 2.
constexpr int RADIUS = 2, STEPS = 8, COLUMNS = 16, WARP_COLUMNS = 4, ROWS = 8;
constexpr int PITCH = (STEPS + 2) * ROWS;

__constant__ float weights[2 * RADIUS + 1];

extern "C" __global__ void described_columns(const float *input, float *output, int width,
                                             int height) {
  __shared__ float data[COLUMNS][PITCH];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int x = warp * WARP_COLUMNS + lane % WARP_COLUMNS, y = lane / WARP_COLUMNS;
  int column = blockIdx.x * COLUMNS + x;
  int first = (int)blockIdx.y * STEPS * ROWS + y - ROWS;
  float *own = &data[x][y];
  const float *from = &input[first * width + column];
  own[0] = first >= 0 ? from[0] : 0;
  for (int i = 1; i <= STEPS; i++)
    own[i * ROWS] = from[i * ROWS * width];
  own[(STEPS + 1) * ROWS] =
      first + (STEPS + 1) * ROWS < height ? from[(STEPS + 1) * ROWS * width] : 0;
  __syncthreads();
  float *to = &output[first * width + column];
  for (int i = 1; i <= STEPS; i++) {
    float sum = 0;
    for (int j = -RADIUS; j <= RADIUS; j++)
      sum += weights[RADIUS + j] * own[i * ROWS + j];
    to[i * ROWS * width] = sum;
  }
}

// hist256 "consists mainly of load and store operations to the scratchpad memory", with "a
// replication factor of 32, which is the number of sub-histograms in shared memory per thread
// block". The published hash by Givargis takes bits 8 to 12: copies lie 256 words apart. A block is
// one warp, so that lanes own their copies and need no atomics.
enum { BINS = 256, COPIES = 32 };

extern "C" __global__ void described_histogram(const unsigned *pixels, unsigned words,
                                               unsigned *result) {
  __shared__ unsigned counts[COPIES * BINS];
  unsigned *own = &counts[threadIdx.x * BINS];
  for (unsigned i = threadIdx.x; i < COPIES * BINS; i += COPIES)
    counts[i] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * COPIES + threadIdx.x; i < words; i += gridDim.x * COPIES) {
    unsigned four = pixels[i];
    own[four & 255]++;
    own[four >> 8 & 255]++;
    own[four >> 16 & 255]++;
    own[four >> 24]++;
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < BINS; bin += COPIES) {
    unsigned sum = 0;
    for (unsigned copy = 0; copy < COPIES; copy++)
      sum += counts[copy * BINS + bin];
    atomicAdd(&result[bin], sum);
  }
}

// In MRI-grid-1 "only 7.6% of the instructions are scratchpad memory instructions (194 loads and
// 141 stores). The average conflict degree is 16.3". Lanes that write rows of 32 words and read
// columns of them have degree 32 and 1, 16.5 on average; the published hash, bits 0-4 with 5-9,
// removes it. A warp has 32 samples and a tile of 8 x 4 cells: each lane weighs its sample for all
// cells, then sums a cell.
constexpr int TERMS = 8;
__constant__ float window[TERMS + 1];

extern "C" __global__ void described_gridding(const float *samples, float *cells) {
  __shared__ float parts[4][32][32];
  unsigned sample = blockIdx.x * 128 + threadIdx.x, lane = threadIdx.x % 32;
  float(*part)[32] = parts[threadIdx.x / 32];
  float x = samples[3 * sample], y = samples[3 * sample + 1], value = samples[3 * sample + 2];
#pragma unroll 1
  for (unsigned cell = 0; cell < 32; cell++) {
    float to_x = x - (float)(cell % 8), to_y = y - (float)(cell / 8);
    float distance = to_x * to_x + to_y * to_y, weight = window[TERMS];
    for (int i = TERMS - 1; i >= 0; i--)
      weight = weight * distance + window[i];
    part[lane][cell] = weight * value;
  }
  __syncwarp();
  float sum = 0;
#pragma unroll 1
  for (unsigned i = 0; i < 32; i++)
    sum += part[i][lane];
  cells[sample] = sum;
}
