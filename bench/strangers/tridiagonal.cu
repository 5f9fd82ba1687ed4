// Systems of linear equations with three diagonals, one for each block: by cyclic reduction, whose
// strides double, and by parallel cyclic reduction, which has none.

// gpu: 512
#include "strangers.h"

constexpr int size = 512;
struct system_arrays {
  const float *below, *diagonal, *above, *right;
};

__global__ void cyclic(system_arrays in, float *out) {
  __shared__ float a[size], b[size], c[size], d[size], x[size];
  int t = threadIdx.x;
  size_t first = (size_t)blockIdx.x * size;
  for (int i = t; i < size; i += size / 2) {
    a[i] = in.below[first + i], b[i] = in.diagonal[first + i];
    c[i] = in.above[first + i], d[i] = in.right[first + i];
  }
  int stride = 1;
  for (int active = size / 2; active > 1; active /= 2) {
    __syncthreads();
    stride *= 2;
    if (t < active) {
      int i = stride * t + stride - 1, left = i - stride / 2, right = min(i + stride / 2, size - 1);
      float k1 = a[i] / b[left], k2 = i == size - 1 ? 0 : c[i] / b[right];
      b[i] -= c[left] * k1 + a[right] * k2;
      d[i] -= d[left] * k1 + d[right] * k2;
      a[i] = -a[left] * k1;
      c[i] = -c[right] * k2;
    }
  }
  __syncthreads();
  if (t == 0) {
    int i = size / 2 - 1, k = size - 1;
    float determinant = b[i] * b[k] - c[i] * a[k];
    x[i] = (b[k] * d[i] - c[i] * d[k]) / determinant;
    x[k] = (d[k] * b[i] - d[i] * a[k]) / determinant;
  }
  for (int active = 2; active < size; active *= 2) {
    int half = stride / 2;
    __syncthreads();
    if (t < active) {
      int i = stride * t + half - 1;
      if (i == half - 1)
        x[i] = (d[i] - c[i] * x[i + half]) / b[i];
      else
        x[i] = (d[i] - a[i] * x[i - half] - c[i] * x[i + half]) / b[i];
    }
    stride = half;
  }
  __syncthreads();
  for (int i = t; i < size; i += size / 2)
    out[first + i] = x[i];
}

__global__ void parallel(system_arrays in, float *out) {
  __shared__ float a[size], b[size], c[size], d[size];
  int t = threadIdx.x;
  size_t at = (size_t)blockIdx.x * size + t;
  float below = in.below[at], middle = in.diagonal[at], above = in.above[at], right = in.right[at];
  for (int distance = 1; distance < size; distance *= 2) {
    a[t] = below, b[t] = middle, c[t] = above, d[t] = right;
    __syncthreads();
    float k1 = t >= distance ? below / b[t - distance] : 0;
    float k2 = t + distance < size ? above / b[t + distance] : 0;
    float next_below = 0, next_above = 0;
    if (t >= distance) {
      middle -= c[t - distance] * k1, right -= d[t - distance] * k1;
      next_below = -a[t - distance] * k1;
    }
    if (t + distance < size) {
      middle -= a[t + distance] * k2, right -= d[t + distance] * k2;
      next_above = -c[t + distance] * k2;
    }
    below = next_below, above = next_above;
    __syncthreads();
  }
  out[at] = right / middle;
}

int main(int count, char **words) {
  program p(count, words);
  size_t systems = p.scale * 16, n = systems * size;
  std::vector<float> below = numbers<float>(n, 8, 1), above = numbers<float>(n, 8, 2),
                     middle = numbers<float>(n, 8, 3);
  std::vector<float> solution = numbers<float>(n, 16, 4), right(n);
  for (size_t i = 0; i < n; i++) {
    middle[i] += 20;
    below[i] *= i % size != 0, above[i] *= i % size != size - 1;
    right[i] = middle[i] * solution[i] + (below[i] ? below[i] * solution[i - 1] : 0) +
               (above[i] ? above[i] * solution[i + 1] : 0);
  }
  system_arrays in = {to_device(below), to_device(middle), to_device(above), to_device(right)};
  float *out = device_array<float>(n);
  auto check = [&](const char *name) {
    std::vector<float> got = to_host(out, n);
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
      wrong += !(fabsf(got[i] - solution[i]) < 1e-3f);
    p.report(name, wrong);
  };
  p.timed("cyclic", [&] { cyclic<<<systems, size / 2>>>(in, out); });
  check("cyclic reduction");
  p.timed("parallel", [&] { parallel<<<systems, size>>>(in, out); });
  check("parallel cyclic reduction");
  return p.end();
}
