// Softmax of rows of COLUMNS floats: exp(x - largest) / sum of them. A block brings ROWS rows to
// shared memory, and each thread does one: threads lie PITCH words apart. With 64 they all hit the
// same bank.

constexpr int ROWS = 64; // and threads
constexpr int COLUMNS = 64;

// Softmax of one row, in place.
__device__ void softmax_row(float *row) {
  float largest = row[0], sum = 0;
  for (int i = 1; i < COLUMNS; i++)
    largest = fmaxf(largest, row[i]);
  for (int i = 0; i < COLUMNS; i++) {
    float power = expf(row[i] - largest);
    row[i] = power;
    sum += power;
  }
  for (int i = 0; i < COLUMNS; i++)
    row[i] /= sum;
}

template <int PITCH> __device__ void softmax_rows(const float *input, float *output) {
  __shared__ float data[ROWS][PITCH];
  int tx = threadIdx.x, first = blockIdx.x * ROWS * COLUMNS;
  for (int i = 0; i < ROWS; i++)
    data[i][tx] = input[first + i * COLUMNS + tx];
  __syncthreads();
  softmax_row(data[tx]);
  __syncthreads();
  for (int i = 0; i < ROWS; i++)
    output[first + i * COLUMNS + tx] = data[i][tx];
}

extern "C" __global__ void softmax(const float *input, float *output) {
  softmax_rows<COLUMNS>(input, output);
}

extern "C" __global__ void softmax_padded(const float *input, float *output) {
  softmax_rows<COLUMNS + 1>(input, output);
}
