// LU decomposition without pivoting, in tiles of 16 x 16: L has ones on its diagonal and both
// factors take the place of the matrix. For every step: the tile on the diagonal is factored
// (diagonal), the tiles to its right and below it are solved (perimeter), and the rest is reduced
// (interior). Threads own a column of a tile, or a row: then a warp reads with a stride of PITCH
// words.
enum { TILE = 16 };

// Factors the tile at corner, with TILE threads.
template <int PITCH> __device__ void factor(float *corner, unsigned width) {
  __shared__ float tile[TILE][PITCH];
  unsigned t = threadIdx.x;
  for (unsigned row = 0; row < TILE; row++)
    tile[row][t] = corner[row * width + t];
  __syncthreads();
  for (unsigned i = 0; i < TILE - 1; i++) {
    if (t > i) { // column i of L: a thread for each row
      for (unsigned k = 0; k < i; k++)
        tile[t][i] -= tile[t][k] * tile[k][i];
      tile[t][i] /= tile[i][i];
    }
    __syncthreads();
    if (t > i) // row i + 1 of U: a thread for each column
      for (unsigned k = 0; k <= i; k++)
        tile[i + 1][t] -= tile[i + 1][k] * tile[k][t];
    __syncthreads();
  }
  for (unsigned row = 0; row < TILE; row++)
    corner[row * width + t] = tile[row][t];
}

// Rows first to last - 1 of a tile, a column for each thread.
template <int PITCH>
__device__ void load(float (*tile)[PITCH], const float *source, unsigned width, unsigned first,
                     unsigned last) {
  for (unsigned row = first; row < last; row++)
    tile[row][threadIdx.x % TILE] = source[row * width + threadIdx.x % TILE];
}

template <int PITCH>
__device__ void store(float *target, unsigned width, const float (*tile)[PITCH]) {
  for (unsigned row = 0; row < TILE; row++)
    target[row * width + threadIdx.x % TILE] = tile[row][threadIdx.x % TILE];
}

// Solves a tile to the right of the factored tile at offset (threads 0 to 15, a column each) and
// one below it (threads 16 to 31, a row each). Each half of the warp goes its own way.
template <int PITCH> __device__ void solve(float *matrix, unsigned width, unsigned offset) {
  __shared__ float diagonal[TILE][PITCH], right[TILE][PITCH], below[TILE][PITCH];
  unsigned t = threadIdx.x % TILE;
  bool is_below = threadIdx.x >= TILE;
  unsigned distance = (blockIdx.x + 1) * TILE;
  float *corner = matrix + (size_t)offset * width + offset;
  float *at_right = corner + distance, *at_below = corner + (size_t)distance * width;
  if (is_below) {
    load<PITCH>(diagonal, corner, width, TILE / 2, TILE);
    load<PITCH>(below, at_below, width, 0, TILE);
  } else {
    load<PITCH>(diagonal, corner, width, 0, TILE / 2);
    load<PITCH>(right, at_right, width, 0, TILE);
  }
  __syncthreads();
  if (is_below)
    for (unsigned i = 0; i < TILE; i++) {
      for (unsigned k = 0; k < i; k++)
        below[t][i] -= below[t][k] * diagonal[k][i];
      below[t][i] /= diagonal[i][i];
    }
  else
    for (unsigned i = 1; i < TILE; i++)
      for (unsigned k = 0; k < i; k++)
        right[i][t] -= diagonal[i][k] * right[k][t];
  __syncthreads();
  if (is_below)
    store<PITCH>(at_below, width, below);
  else
    store<PITCH>(at_right, width, right);
}

// The tile at row and column offset of a matrix; with several blocks, of matrices that lie
// `distance` floats apart.
extern "C" __global__ void lud_diagonal(float *matrix, unsigned width, unsigned offset,
                                        unsigned distance) {
  factor<TILE>(matrix + blockIdx.x * distance + offset * (width + 1), width);
}

extern "C" __global__ void lud_diagonal_padded(float *matrix, unsigned width, unsigned offset,
                                               unsigned distance) {
  factor<TILE + 1>(matrix + blockIdx.x * distance + offset * (width + 1), width);
}

extern "C" __global__ void lud_perimeter(float *matrix, unsigned width, unsigned offset) {
  solve<TILE>(matrix, width, offset);
}

extern "C" __global__ void lud_perimeter_padded(float *matrix, unsigned width, unsigned offset) {
  solve<TILE + 1>(matrix, width, offset);
}

// Takes from each tile behind the perimeter the product of the tiles at its left and above it.
extern "C" __global__ void lud_interior(float *matrix, unsigned width, unsigned offset) {
  __shared__ float left[TILE][TILE], above[TILE][TILE];
  unsigned x = threadIdx.x, y = threadIdx.y;
  unsigned row = offset + (blockIdx.y + 1) * TILE + y;
  unsigned column = offset + (blockIdx.x + 1) * TILE + x;
  left[y][x] = matrix[(size_t)row * width + offset + x];
  above[y][x] = matrix[(size_t)(offset + y) * width + column];
  __syncthreads();
  float sum = 0;
  for (unsigned k = 0; k < TILE; k++)
    sum += left[y][k] * above[k][x];
  matrix[(size_t)row * width + column] -= sum;
}
