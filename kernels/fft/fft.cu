// Fourier transforms of complex floats, one per block: Stockham's algorithm, in which each thread
// transforms RADIX elements in registers and the block exchanges them through shared memory between
// passes. roots[k] = exp(-2 pi i k / POINTS).

// Complex numbers side by side: neighbouring threads lie two words apart, and more when writing.
struct interleaved {
  __device__ static void put(float *data, int i, int run, float2 value) {
    data[2 * i] = value.x;
    data[2 * i + 1] = value.y;
  }
  __device__ static float2 get(const float *data, int i, int run) {
    return make_float2(data[2 * i], data[2 * i + 1]);
  }
};

// Real parts before imaginary parts, and a gap of as many words as a run has behind every RADIX
// runs (at least 32 words): neither writing nor reading conflicts.
template <int POINTS, int RADIX> struct padded_planes {
  static constexpr int plane = POINTS + POINTS / RADIX;
  __device__ static int place(int i, int run) {
    int group = run * RADIX < 32 ? 32 : run * RADIX;
    return i + i / group * run;
  }
  __device__ static void put(float *data, int i, int run, float2 value) {
    data[place(i, run)] = value.x;
    data[place(i, run) + plane] = value.y;
  }
  __device__ static float2 get(const float *data, int i, int run) {
    return make_float2(data[place(i, run)], data[place(i, run) + plane]);
  }
};

__device__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ float2 operator*(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
// a times -i.
__device__ float2 turned(float2 a) { return make_float2(a.y, -a.x); }

// Transforms a, b, c, d in place.
__device__ void transform4(float2 &a, float2 &b, float2 &c, float2 &d) {
  float2 even_sum = a + c, even_difference = a - c;
  float2 odd_sum = b + d, odd_difference = turned(b - d);
  a = even_sum + odd_sum;
  b = even_difference + odd_difference;
  c = even_sum - odd_sum;
  d = even_difference - odd_difference;
}

__device__ void transform(float2 (&v)[4]) { transform4(v[0], v[1], v[2], v[3]); }

__device__ void transform(float2 (&v)[8]) {
  const float half_root = 0.70710678118654752f; // cos 45 degrees
  transform4(v[0], v[2], v[4], v[6]);
  transform4(v[1], v[3], v[5], v[7]);
  float2 odd[4] = {v[1], v[3] * make_float2(half_root, -half_root), turned(v[5]),
                   v[7] * make_float2(-half_root, -half_root)};
  float2 even[4] = {v[0], v[2], v[4], v[6]};
  for (int k = 0; k < 4; k++) {
    v[k] = even[k] + odd[k];
    v[k + 4] = even[k] - odd[k];
  }
}

// One pass: runs of length run become runs of length run * RADIX.
template <int POINTS, int RADIX>
__device__ void pass(float2 (&v)[RADIX], int thread, int run, const float2 *roots) {
  int step = thread % run * (POINTS / (run * RADIX));
  for (int r = 1; r < RADIX; r++)
    v[r] = v[r] * roots[step * r];
  transform(v);
}

// Where element r of a thread goes after a pass; the others of the thread follow run apart.
template <int RADIX> __device__ int target(int thread, int run) {
  return thread / run * run * RADIX + thread % run;
}

template <int POINTS, int RADIX, class LAYOUT>
__device__ void fft(const float2 *input, float2 *output, const float2 *roots, float *data) {
  constexpr int THREADS = POINTS / RADIX;
  int thread = threadIdx.x, first = blockIdx.x * POINTS;
  float2 v[RADIX];
  for (int r = 0; r < RADIX; r++)
    v[r] = input[first + thread + r * THREADS];
  int run = 1;
  for (; run < THREADS; run *= RADIX) {
    pass<POINTS, RADIX>(v, thread, run, roots);
    int to = target<RADIX>(thread, run);
    for (int r = 0; r < RADIX; r++)
      LAYOUT::put(data, to + r * run, run, v[r]);
    __syncthreads();
    for (int r = 0; r < RADIX; r++)
      v[r] = LAYOUT::get(data, thread + r * THREADS, run);
    __syncthreads();
  }
  pass<POINTS, RADIX>(v, thread, run, roots);
  for (int r = 0; r < RADIX; r++)
    output[first + thread + r * THREADS] = v[r];
}

extern "C" __global__ void fft512(const float2 *input, float2 *output, const float2 *roots) {
  __shared__ float data[2 * 512];
  fft<512, 8, interleaved>(input, output, roots, data);
}

extern "C" __global__ void fft512_padded(const float2 *input, float2 *output, const float2 *roots) {
  __shared__ float data[2 * padded_planes<512, 8>::plane];
  fft<512, 8, padded_planes<512, 8>>(input, output, roots, data);
}

extern "C" __global__ void fft1024(const float2 *input, float2 *output, const float2 *roots) {
  __shared__ float data[2 * 1024];
  fft<1024, 4, interleaved>(input, output, roots, data);
}

extern "C" __global__ void fft1024_padded(const float2 *input, float2 *output,
                                          const float2 *roots) {
  __shared__ float data[2 * padded_planes<1024, 4>::plane];
  fft<1024, 4, padded_planes<1024, 4>>(input, output, roots, data);
}
