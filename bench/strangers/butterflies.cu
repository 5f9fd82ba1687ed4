// Transforms by butterflies in shared memory: the Walsh-Hadamard transform, a fast Fourier
// transform with complex floats, and the same over the integers modulo 65537, which is exact.

// gpu: 256
#include "strangers.h"

constexpr int size = 1024;

__global__ void walsh(const int *in, int *out) {
  __shared__ int data[size];
  int t = threadIdx.x;
  size_t first = (size_t)blockIdx.x * size;
  for (int i = t; i < size; i += size / 4)
    data[i] = in[first + i];
  for (int stride = size / 4; stride > 0; stride /= 4) {
    int low = t & (stride - 1), i0 = (t - low) * 4 + low;
    __syncthreads();
    int a = data[i0], b = data[i0 + stride], c = data[i0 + 2 * stride], d = data[i0 + 3 * stride];
    int sum = a + c, difference = a - c, other = b + d, last = b - d;
    data[i0] = sum + other, data[i0 + stride] = sum - other;
    data[i0 + 2 * stride] = difference + last, data[i0 + 3 * stride] = difference - last;
  }
  __syncthreads();
  for (int i = t; i < size; i += size / 4)
    out[first + i] = data[i];
}

__device__ int reversed(int i) { return (int)(__brev((unsigned)i) >> 22); }

__global__ void fourier(const float2 *in, float2 *out, const float2 *roots) {
  __shared__ float2 data[size];
  int t = threadIdx.x;
  size_t first = (size_t)blockIdx.x * size;
  data[reversed(t)] = in[first + t], data[reversed(t + size / 2)] = in[first + t + size / 2];
  for (int half = 1; half < size; half *= 2) {
    __syncthreads();
    int low = t & (half - 1), i = 2 * (t - low) + low;
    float2 w = roots[low * (size / 2 / half)], a = data[i], b = data[i + half];
    float2 turned = make_float2(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
    data[i] = make_float2(a.x + turned.x, a.y + turned.y);
    data[i + half] = make_float2(a.x - turned.x, a.y - turned.y);
  }
  __syncthreads();
  out[first + t] = data[t], out[first + t + size / 2] = data[t + size / 2];
}

constexpr unsigned prime = 65537;

__global__ void number_theoretic(const unsigned *in, unsigned *out, const unsigned *roots) {
  extern __shared__ unsigned values[];
  int t = threadIdx.x;
  size_t first = (size_t)blockIdx.x * size;
  values[t] = in[first + t], values[t + size / 2] = in[first + t + size / 2];
  for (int half = size / 2; half > 0; half /= 2) {
    __syncthreads();
    int low = t & (half - 1), i = 2 * (t - low) + low;
    unsigned a = values[i], b = values[i + half];
    values[i] = (a + b) % prime;
    values[i + half] =
        (unsigned)((unsigned long long)(a + prime - b) * roots[low * (size / 2 / half)] % prime);
  }
  __syncthreads();
  out[first + t] = values[reversed(t)], out[first + t + size / 2] = values[reversed(t + size / 2)];
}

// Element k of a transform, from its definition; a few are computed again in each block.
static int walsh_at(const int *in, int k) {
  int sum = 0;
  for (int i = 0; i < size; i++)
    sum += __builtin_parity(i & k) ? -in[i] : in[i];
  return sum;
}

int main(int count, char **words) {
  program p(count, words);
  size_t blocks = p.scale * 16, n = blocks * size;
  std::vector<int> in = numbers<int>(n, 256);
  std::vector<float2> complex(n), roots(size / 2);
  std::vector<unsigned> values(in.begin(), in.end()), powers(size / 2);
  for (size_t i = 0; i < n; i++)
    complex[i] = make_float2((float)in[i], (float)in[n - 1 - i]);
  unsigned long long root = 1, power = 1;
  for (int i = 0; i < 64; i++)
    root = root * 3 % prime; // 3 has order 65536
  for (int i = 0; i < size / 2; i++, power = power * root % prime) {
    roots[i] = make_float2((float)cos(-2 * M_PI * i / size), (float)sin(-2 * M_PI * i / size));
    powers[i] = (unsigned)power;
  }
  size_t wrong = 0, wrong_complex = 0, wrong_values = 0;
  int *source = to_device(in), *out = device_array<int>(n);
  float2 *complex_source = to_device(complex), *complex_out = device_array<float2>(n),
         *device_roots = to_device(roots);
  unsigned *value_source = to_device(values), *value_out = device_array<unsigned>(n),
           *device_powers = to_device(powers);
  p.timed("walsh", [&] { walsh<<<blocks, size / 4>>>(source, out); });
  p.timed("fourier",
          [&] { fourier<<<blocks, size / 2>>>(complex_source, complex_out, device_roots); });
  p.timed("number_theoretic", [&] {
    number_theoretic<<<blocks, size / 2, size * 4>>>(value_source, value_out, device_powers);
  });
  std::vector<int> got = to_host(out, n);
  std::vector<float2> complex_got = to_host(complex_out, n);
  std::vector<unsigned> value_got = to_host(value_out, n);
  for (size_t b = 0; b < blocks; b++) {
    int k = (int)(b * 37 % size);
    wrong += walsh_at(&in[b * size], k) != got[b * size + k];
    double x = 0, y = 0;
    unsigned long long sum = 0, step = k < size / 2 ? powers[k] : prime - powers[k - size / 2],
                       w = 1;
    for (int i = 0; i < size; i++, w = w * step % prime) {
      double angle = -2 * M_PI * ((long long)i * k % size) / size;
      const float2 &z = complex[b * size + i];
      x += z.x * cos(angle) - z.y * sin(angle), y += z.x * sin(angle) + z.y * cos(angle);
      sum += values[b * size + i] * w % prime;
    }
    const float2 &z = complex_got[b * size + k];
    wrong_complex += !(fabs(z.x - x) < 1 && fabs(z.y - y) < 1);
    wrong_values += sum % prime != value_got[b * size + k];
  }
  p.report("walsh", wrong, got);
  p.report("fourier", wrong_complex);
  p.report("number theoretic", wrong_values, value_got);
  return p.end();
}
