// Sums of weights per bin. An atomic add of a float in shared memory is a loop with a lock per bank
// on Hopper (some 100 cycles, times the conflicts), so the fast way has none: every lane of every
// warp has its own sums, each in its own bank, 32 KB per warp. Four pixels are added at a time, and
// equal ones among them are found by comparing.
#include "segments.cuh"
#include "vote.cuh"

// As last part of publish(): sums of values, or of bins, to the result.
__device__ static inline void publish_sums(const Sums &sums, unsigned values,
                                           bool values_are_bins) {
  if (!last_block(sums.ticket))
    return;
  if (!sums.accumulate)
    for (unsigned bin = threadIdx.x; bin < sums.bins.count; bin += blockDim.x)
      sums.out[bin] = 0;
  __syncthreads();
  for (unsigned value = threadIdx.x; value < values; value += blockDim.x) {
    unsigned bin = values_are_bins ? value : bin_of(sums.bins, value);
    double sum = __ldcg(&sums.sums[value]);
    sums.sums[value] = 0;
    if (bin < sums.bins.count)
      atomicAdd(&sums.out[bin], sum);
  }
}

// ---- With atomics ----

template <typename Sum> struct Copies {
  bf_cuda_layout layout;
  unsigned rows, copies;
  __device__ unsigned place(unsigned row, unsigned copy) const {
    switch (layout) {
    case BF_CUDA_BIN_BY_BIN:
      return row * copies + copy;
    case BF_CUDA_COPY_BY_COPY:
      return row + rows * copy;
    case BF_CUDA_PADDED:
      return row + (rows + 1) * copy;
    default:
      return (row + rows * copy) ^ (copy % WARP);
    }
  }
  __host__ __device__ unsigned count() const {
    unsigned words = layout == BF_CUDA_PADDED ? (rows + 1) * copies : rows * copies;
    return (words + WARP - 1) / WARP * WARP;
  }
};

__device__ static inline double read_weight(const Weights &weights, uint64_t x, uint64_t y) {
  const unsigned char *row = weights.data + y * weights.stride_bytes;
  return weights.type == BF_WEIGHT_F32 ? read_value<float>(row + x * sizeof(float))
                                       : read_value<double>(row + x * sizeof(double));
}

// The row of sums of a pixel: its value, for 8 bits, and else its bin.
template <typename Pixel>
__device__ static inline unsigned find_row(const Bins &bins, Pixel value) {
  return sizeof(Pixel) == 1 ? (unsigned)value : bin_of_float(bins, (float)value);
}

// copies.copies 0: in global memory.
template <typename Pixel, typename Sum>
__global__ void weigh_shared(Image image, Weights weights, Copies<Sum> copies, Sums sums) {
  extern __shared__ __align__(16) unsigned char memory[];
  Sum *parts = (Sum *)memory;
  unsigned copy = copies.copies ? threadIdx.x % copies.copies : 0;
  for (unsigned i = threadIdx.x; copies.copies && i < copies.count(); i += blockDim.x)
    parts[i] = 0;
  __syncthreads();
  each_pixel<Pixel>(image, [&](uint64_t x, uint64_t y, Pixel value) {
    unsigned row = find_row<Pixel>(sums.bins, value);
    if (row >= copies.rows)
      return;
    if (copies.copies)
      atomicAdd(&parts[copies.place(row, copy)], (Sum)read_weight(weights, x, y));
    else
      atomicAdd(&sums.sums[row], read_weight(weights, x, y));
  });
  __syncthreads();
  for (unsigned row = threadIdx.x; copies.copies && row < copies.rows; row += blockDim.x) {
    double sum = 0;
    for (unsigned i = 0; i < copies.copies; i++)
      sum += parts[copies.place(row, (i + row) % copies.copies)];
    atomicAdd(&sums.sums[row], sum);
  }
  publish_sums(sums, copies.rows, sizeof(Pixel) > 1);
}

// ---- Without atomics ----

enum { VALUES = 256, PIXELS = 4, GROUPS = 8 };

// Adds the weights of four pixels to the sums of one lane; the sums of value v are at own[32 v].
__device__ static inline void weigh_four(float *own, unsigned values, float4 w) {
  unsigned a = values & 255, b = values >> 8 & 255, c = values >> 16 & 255, d = values >> 24;
  float sum_a = own[a * WARP], sum_b = own[b * WARP], sum_c = own[c * WARP], sum_d = own[d * WARP];
  sum_a += w.x;
  sum_b = (b == a ? sum_a : sum_b) + w.y;
  sum_c = (c == b ? sum_b : c == a ? sum_a : sum_c) + w.z;
  sum_d = (d == c ? sum_c : d == b ? sum_b : d == a ? sum_a : sum_d) + w.w;
  own[a * WARP] = sum_a;
  own[b * WARP] = sum_b;
  own[c * WARP] = sum_c;
  own[d * WARP] = sum_d;
}

// Adds up what all lanes have, and that to the sums: first the lanes of each warp for each value,
// by all threads, which begin at different lanes and so at different banks; then the warps.
__device__ static inline void merge_lanes(float *parts, unsigned warps, double *sums) {
  __syncthreads();
  for (unsigned i = threadIdx.x; i < VALUES * warps; i += blockDim.x) {
    unsigned value = i % VALUES;
    float *lanes = parts + i * WARP;
    double even = 0, odd = 0;
    for (unsigned lane = 0; lane < WARP; lane += 2) {
      even += lanes[(lane + value) % WARP];
      odd += lanes[(lane + 1 + value) % WARP];
    }
    lanes[value % WARP] = (float)(even + odd);
  }
  __syncthreads();
  for (unsigned value = threadIdx.x; value < VALUES; value += blockDim.x) {
    double sum = 0;
    for (unsigned warp = 0; warp < warps; warp++)
      sum += parts[(warp * VALUES + value) * WARP + value % WARP];
    atomicAdd(&sums[value], sum);
  }
}

// Pixels after the last whole group of four.
__device__ static inline void weigh_rest(const uint8_t *pixels, const float *weights,
                                         uint64_t first, uint64_t end, double *sums) {
  if (blockIdx.x == 0 && first + threadIdx.x < end)
    atomicAdd(&sums[pixels[first + threadIdx.x]], (double)weights[first + threadIdx.x]);
}

// 8-bit pixels at a multiple of 4 bytes and weights at a multiple of 16, in one piece. GROUPS
// groups of four are read before they are added, to have enough reads in flight for few threads.
__global__ void weigh_private(const uint8_t *pixels, const float *weights, uint64_t count,
                              Sums sums) {
  extern __shared__ __align__(16) unsigned char memory[];
  unsigned warps = blockDim.x / WARP, lane = threadIdx.x % WARP;
  clear_words((unsigned *)memory, VALUES * WARP * warps);
  float *parts = (float *)memory;
  float *own = parts + threadIdx.x / WARP * VALUES * WARP + lane;
  uint64_t groups = count / PIXELS, threads = (uint64_t)gridDim.x * blockDim.x;
  uint64_t first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (; first < groups; first += GROUPS * threads) {
    unsigned values[GROUPS];
    float4 weight[GROUPS];
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
      if (first + i * threads < groups) {
        values[i] = __ldcs((const unsigned *)pixels + first + i * threads);
        weight[i] = __ldcs((const float4 *)weights + first + i * threads);
      }
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
      if (first + i * threads < groups)
        weigh_four(own, values[i], weight[i]);
  }
  merge_lanes(parts, warps, sums.sums);
  weigh_rest(pixels, weights, groups * PIXELS, count, sums.sums);
  publish_sums(sums, VALUES, false);
}

// ---- The host's side ----

static int launch_private(const Image &image, const Weights &weights, const Sums &sums,
                          const bf_cuda_choice &choice, const Device &device, cudaStream_t stream) {
  unsigned warps = choice.threads / WARP;
  size_t warp_bytes = VALUES * WARP * sizeof(float);
  while (warps > 1 && warps * warp_bytes + 64 > (size_t)device.shared_limit)
    warps--;
  if (warps * warp_bytes + 64 > (size_t)device.shared_limit)
    return BF_UNSUPPORTED;
  int error = vote_allow(weigh_private, warps * warp_bytes);
  if (error)
    return error;
  weigh_private<<<device.sms * choice.blocks_per_sm, warps * WARP, warps * warp_bytes, stream>>>(
      image.data, (const float *)weights.data, image.width, sums);
  return vote_check();
}

template <typename Pixel, typename Sum>
static int launch_shared(const Image &image, const Weights &weights, const Sums &sums,
                         const bf_cuda_choice &choice, const Device &device, cudaStream_t stream) {
  Copies<Sum> copies = {choice.layout, sizeof(Pixel) == 1 ? VALUES : sums.bins.count,
                        choice.copies};
  if (copies.layout == BF_CUDA_HASHED && copies.rows % WARP)
    copies.layout = BF_CUDA_BIN_BY_BIN;
  while (copies.copies && copies.count() * sizeof(Sum) + 64 > (size_t)device.shared_limit)
    copies.copies /= 2;
  size_t shared_bytes = copies.copies ? copies.count() * sizeof(Sum) : 0;
  int error = vote_allow(weigh_shared<Pixel, Sum>, shared_bytes);
  if (error)
    return error;
  weigh_shared<Pixel, Sum>
      <<<device.sms * choice.blocks_per_sm, choice.threads, shared_bytes, stream>>>(image, weights,
                                                                                    copies, sums);
  return vote_check();
}

template <typename Pixel>
static int launch_sum(const Image &image, const Weights &weights, const Sums &sums,
                      const bf_cuda_choice &choice, const Device &device, cudaStream_t stream) {
  return choice.method == BF_CUDA_PLAIN || weights.type == BF_WEIGHT_F64
             ? launch_shared<Pixel, double>(image, weights, sums, choice, device, stream)
             : launch_shared<Pixel, float>(image, weights, sums, choice, device, stream);
}

int vote_weighted(const Image &image, bf_pixel_type type, const Weights &weights, const Sums &sums,
                  const bf_cuda_choice &choice, const Device &device, cudaStream_t stream) {
  if (choice.method == BF_CUDA_PACKED)
    return launch_private(image, weights, sums, choice, device, stream);
  switch (type) {
  case BF_PIXEL_U8:
    return launch_sum<uint8_t>(image, weights, sums, choice, device, stream);
  case BF_PIXEL_U16:
    return launch_sum<uint16_t>(image, weights, sums, choice, device, stream);
  default:
    return launch_sum<float>(image, weights, sums, choice, device, stream);
  }
}
