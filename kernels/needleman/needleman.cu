// Needleman-Wunsch alignment: score[y][x] = max(score[y-1][x-1] + similarity[y-1][x-1],
// score[y][x-1] - penalty, score[y-1][x] - penalty). A block of 16 threads fills a tile of 16 x 16
// cells in shared memory, along its antidiagonals; blocks of one launch lie on an antidiagonal of
// the matrix. In rows of 17 words the cells of an antidiagonal are 16 words apart.
enum { TILE = 16 };

// Cell (t + 1, m - t + 1) of the tile, from its three neighbours.
template <int PITCH>
__device__ void fill(int (*score)[PITCH], int (*similarity)[TILE], unsigned x, unsigned y,
                     int penalty) {
  score[y][x] = max(score[y - 1][x - 1] + similarity[y - 1][x - 1],
                    max(score[y][x - 1], score[y - 1][x]) - penalty);
}

// The tile whose cells begin at column 16 tile_x + 1 and row 16 tile_y + 1 of the (width + 1)^2
// scores. similarities has width columns.
template <int PITCH>
__device__ void align(int *scores, const int *similarities, unsigned width, int penalty,
                      unsigned tile_x, unsigned tile_y) {
  __shared__ int score[TILE + 1][PITCH];
  __shared__ int similarity[TILE][TILE];
  unsigned t = threadIdx.x, pitch = width + 1;
  int *corner = scores + (size_t)tile_y * TILE * pitch + tile_x * TILE;
  const int *of_pairs = similarities + (size_t)tile_y * TILE * width + tile_x * TILE;
  for (unsigned row = 0; row < TILE; row++)
    similarity[row][t] = of_pairs[row * width + t];
  if (t == 0)
    score[0][0] = corner[0];
  score[0][t + 1] = corner[t + 1];
  score[t + 1][0] = corner[(t + 1) * pitch];
  __syncthreads();
  for (unsigned m = 0; m < TILE; m++) {
    if (t <= m)
      fill<PITCH>(score, similarity, t + 1, m - t + 1, penalty);
    __syncthreads();
  }
  for (unsigned m = TILE - 1; m-- > 0;) {
    if (t <= m)
      fill<PITCH>(score, similarity, t + TILE - m, TILE - t, penalty);
    __syncthreads();
  }
  for (unsigned row = 0; row < TILE; row++)
    corner[(row + 1) * pitch + t + 1] = score[row + 1][t + 1];
}

// Antidiagonals of tiles from the upper left corner to the longest: tile (i, diagonal - i).
template <int PITCH>
__device__ void align_upper(int *scores, const int *similarities, unsigned width, int penalty,
                            unsigned diagonal) {
  align<PITCH>(scores, similarities, width, penalty, blockIdx.x, diagonal - blockIdx.x);
}

// The antidiagonals behind the longest, to the lower right corner.
template <int PITCH>
__device__ void align_lower(int *scores, const int *similarities, unsigned width, int penalty,
                            unsigned diagonal) {
  unsigned last = width / TILE - 1;
  align<PITCH>(scores, similarities, width, penalty, diagonal - last + blockIdx.x,
               last - blockIdx.x);
}

extern "C" __global__ void needleman_upper(int *scores, const int *similarities, unsigned width,
                                           int penalty, unsigned diagonal) {
  align_upper<TILE + 1>(scores, similarities, width, penalty, diagonal);
}

extern "C" __global__ void needleman_upper_padded(int *scores, const int *similarities,
                                                  unsigned width, int penalty, unsigned diagonal) {
  align_upper<TILE + 2>(scores, similarities, width, penalty, diagonal);
}

extern "C" __global__ void needleman_lower(int *scores, const int *similarities, unsigned width,
                                           int penalty, unsigned diagonal) {
  align_lower<TILE + 1>(scores, similarities, width, penalty, diagonal);
}

extern "C" __global__ void needleman_lower_padded(int *scores, const int *similarities,
                                                  unsigned width, int penalty, unsigned diagonal) {
  align_lower<TILE + 2>(scores, similarities, width, penalty, diagonal);
}
