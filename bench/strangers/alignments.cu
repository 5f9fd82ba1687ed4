// Pairs of texts compared in shared memory, one pair for each block, along diagonals: scores of
// Needleman and Wunsch, and lengths of longest common subsequences.

// gpu: 256
#include "strangers.h"

constexpr int length = 32, gap = 2;

__device__ int similar(char a, char b) { return a == b ? 3 : -1; }

__global__ void needleman(const char *first, const char *second, int *out) {
  __shared__ int score[length + 1][length + 1], match[length][length];
  int t = threadIdx.x;
  size_t at = (size_t)blockIdx.x * length;
  char own = second[at + t];
  for (int y = 0; y < length; y++)
    match[y][t] = similar(first[at + y], own);
  score[0][t + 1] = -gap * (t + 1), score[t + 1][0] = -gap * (t + 1);
  if (t == 0)
    score[0][0] = 0;
  __syncwarp();
  for (int d = 0; d < 2 * length - 1; d++) {
    int x = t, y = d - t;
    if (y >= 0 && y < length)
      score[y + 1][x + 1] =
          max(score[y][x] + match[y][x], max(score[y][x + 1], score[y + 1][x]) - gap);
    __syncwarp();
  }
  for (int y = 0; y < length; y++)
    out[((size_t)blockIdx.x * length + y) * length + t] = score[y + 1][t + 1];
}

// 64 texts of 32 characters, one for each thread, against one text; a row of the table for each
// thread.
__global__ void subsequences(const char *texts, const char *other, int *out) {
  __shared__ int row[64][32];
  __shared__ char text[64][32], target[32];
  int t = threadIdx.x;
  for (int i = t; i < 64 * 32; i += 64) {
    (&text[0][0])[i] = texts[(size_t)blockIdx.x * 64 * 32 + i];
    (&row[0][0])[i] = 0;
  }
  if (t < 32)
    target[t] = other[t];
  __syncthreads();
  for (int y = 0; y < 32; y++) {
    int corner = 0, left = 0;
    for (int x = 0; x < 32; x++) {
      int above = row[t][x];
      left = text[t][x] == target[y] ? corner + 1 : max(above, left);
      corner = above;
      row[t][x] = left;
    }
  }
  out[(size_t)blockIdx.x * 64 + t] = row[t][31];
}

int main(int count, char **words) {
  program p(count, words);
  size_t pairs = p.scale * 64, n = pairs * length;
  std::vector<char> a = numbers<char>(n, 4), b = numbers<char>(n, 4, 7);
  char *first = to_device(a), *second = to_device(b);
  int *scores = device_array<int>(n * length);
  p.timed("needleman", [&] { needleman<<<pairs, length>>>(first, second, scores); });
  std::vector<int> got = to_host(scores, n * length), lengths(pairs);
  size_t wrong = 0;
  for (size_t k = 0; k < pairs; k++) {
    const int *score = &got[k * length * length];
    auto at = [&](int y, int x) {
      return y < 0 ? -gap * (x + 1) : x < 0 ? -gap * (y + 1) : score[y * length + x];
    };
    for (int y = 0; y < length; y++)
      for (int x = 0; x < length; x++) {
        int same =
            (x || y ? at(y - 1, x - 1) : 0) + (a[k * length + y] == b[k * length + x] ? 3 : -1);
        wrong += at(y, x) != std::max(same, std::max(at(y - 1, x), at(y, x - 1)) - gap);
      }
  }
  p.report("needleman", wrong, got);
  int *out = device_array<int>(pairs);
  p.timed("subsequences", [&] { subsequences<<<pairs / 64, 64>>>(first, second, out); });
  std::vector<int> found = to_host(out, pairs);
  for (size_t k = 0; k < pairs; k++) {
    int row[33] = {0};
    for (int y = 0; y < 32; y++)
      for (int x = 0, corner = 0; x < 32; x++) {
        int above = row[x + 1];
        row[x + 1] = a[k * 32 + x] == b[y] ? corner + 1 : std::max(above, row[x]);
        corner = above;
      }
    lengths[k] = row[32];
  }
  p.report("subsequences", differences(found, lengths), found);
  return p.end();
}
