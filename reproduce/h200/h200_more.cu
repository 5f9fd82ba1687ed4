// More kernels of the training set, of classes in which the first had few: parameters of
// machines/h200.gpu may be fitted to them. The test set (h200_test.cu) shares none of them.
// Launched as those of h200_train.cu.
#define KERNEL(NAME)                                                                               \
  extern "C" __global__ void NAME(unsigned *out, const unsigned *in, unsigned n, unsigned p,       \
                                  unsigned q)

static __device__ unsigned thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ unsigned threads_all() { return gridDim.x * blockDim.x; }
// A number in [0, 1) of any word.
static __device__ float fraction(unsigned word) { return (float)(word >> 8) * (1.0f / 16777216); }
static __device__ unsigned mix(unsigned x) {
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  return x ^ x >> 12;
}

// ---- More arithmetic ----

// p rounds of q divisions of floats.
KERNEL(mo_fdivide) {
  float x = fraction(in[threadIdx.x]) + 1.0f, sum = 0;
  for (unsigned k = 0; k < p; k++)
    sum += x / (float)(n + k) + (float)(k + 1) / (x + sum);
  ((float *)out)[thread_number()] = sum;
}

// p rounds of roots rounded correctly, and of reciprocals of them.
KERNEL(mo_root) {
  float x = fraction(in[threadIdx.x]), sum = 0;
  for (unsigned k = 0; k < p; k++)
    sum += sqrtf(x + (float)k) + rsqrtf(sum + 1.0f);
  ((float *)out)[thread_number()] = sum;
}

// p rounds of exponentials and logarithms of the library.
KERNEL(mo_exp_log) {
  float x = fraction(in[threadIdx.x]), sum = 0;
  for (unsigned k = 0; k < p; k++)
    sum += expf(-x * (float)k) + logf(1.0f + x + sum);
  ((float *)out)[thread_number()] = sum;
}

// p rounds of powers.
KERNEL(mo_power) {
  float x = fraction(in[threadIdx.x]) + 0.5f, sum = 0;
  for (unsigned k = 0; k < p; k++)
    sum += powf(x, sum * 0.1f);
  ((float *)out)[thread_number()] = sum;
}

// p rounds of products and shifts of 64 bits.
KERNEL(mo_wide) {
  unsigned long long x = in[threadIdx.x], y = n;
  for (unsigned k = 0; k < p; k++) {
    x = x * 6364136223846793005ull + y;
    y ^= x >> 33 ^ y << 7;
  }
  out[thread_number()] = (unsigned)(x ^ y >> 32);
}

// p rounds of operations on bits.
KERNEL(mo_bits) {
  unsigned x = in[threadIdx.x], y = n;
  for (unsigned k = 0; k < p; k++) {
    x = __brev(x + k) ^ __popc(y);
    y = __funnelshift_l(y, x, 7) + __clz(x);
    x ^= __byte_perm(x, y, 0x2103);
  }
  out[thread_number()] = x + y;
}

// p rounds of conversions there and back.
KERNEL(mo_convert) {
  unsigned x = in[threadIdx.x];
  float y = 0;
  for (unsigned k = 0; k < p; k++) {
    y += (float)(x >> 8) * 0.5f;
    x = (unsigned)y + k;
  }
  out[thread_number()] = x;
}

// p rounds of divisions of doubles.
KERNEL(mo_double_divide) {
  double x = fraction(in[threadIdx.x]) + 1.0, y = n + 1;
  for (unsigned k = 0; k < p; k++)
    x = x / y + 0.5;
  out[thread_number()] = (unsigned)(x * 1000);
}

// p remainders of words of 64 bits.
KERNEL(mo_wide_divide) {
  unsigned long long x = (unsigned long long)in[threadIdx.x] << 20, sum = 0;
  for (unsigned k = 0; k < p; k++)
    sum += (x + sum) % (n + k + 1ull);
  out[thread_number()] = (unsigned)sum;
}

// p rounds of four independent chains of integers, of additions, minima and choices.
KERNEL(mo_choose) {
  int x[4];
  for (int i = 0; i < 4; i++)
    x[i] = (int)in[threadIdx.x + i];
  for (unsigned k = 0; k < p; k++)
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int other = x[i] + (int)k;
      x[i] = min(other, x[(i + 1) & 3]) > (int)n ? other - 3 : max(other, 7) ^ 5;
    }
  out[thread_number()] = (unsigned)(x[0] + x[1] + x[2] + x[3]);
}

// A polynomial of 16 terms at p places, coefficients in registers.
KERNEL(mo_polynomial) {
  float c[16], sum = 0, x = fraction(in[threadIdx.x]);
  for (int i = 0; i < 16; i++)
    c[i] = fraction(in[i]);
  for (unsigned k = 0; k < p; k++) {
    float at = x + (float)k * 0.01f, value = c[15];
#pragma unroll
    for (int i = 14; i >= 0; i--)
      value = value * at + c[i];
    sum += value;
  }
  ((float *)out)[thread_number()] = sum;
}

// n bodies in shared memory act on each thread's, p times.
KERNEL(mo_bodies) {
  extern __shared__ float4 body[];
  float3 force = {0, 0, 0}, own = {fraction(in[threadIdx.x]), fraction(n), 0.5f};
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
    body[i] = make_float4(fraction(in[i]), fraction(in[i + 1]), fraction(in[i + 2]), 1.0f);
  __syncthreads();
  for (unsigned k = 0; k < p; k++)
    for (unsigned i = 0; i < n; i++) {
      float4 other = body[i];
      float x = other.x - own.x, y = other.y - own.y, z = other.z - own.z;
      float inverse = rsqrtf(x * x + y * y + z * z + 0.01f);
      float scale = other.w * inverse * inverse * inverse;
      force.x += x * scale;
      force.y += y * scale;
      force.z += z * scale;
    }
  ((float *)out)[thread_number()] = force.x + force.y + force.z;
}

// ---- More grids ----

// Nothing, in every block.
KERNEL(mo_empty) {
  if (n == 1)
    out[thread_number()] = in[0];
}

// p rounds in every block; a last wave may be small.
KERNEL(mo_waves) {
  float x = fraction(in[threadIdx.x]), y = x;
  for (unsigned k = 0; k < p; k++) {
    x = x * 0.999f + y;
    y = y * 0.998f + 0.002f;
  }
  ((float *)out)[thread_number()] = x + y;
}

// The last q blocks work p times as long as the others, which work n rounds.
KERNEL(mo_late) {
  unsigned rounds = blockIdx.x + q >= gridDim.x ? n * p : n;
  unsigned x = in[threadIdx.x];
  for (unsigned k = 0; k < rounds; k++)
    x = mix(x + k);
  out[thread_number()] = x;
}

// Lengths of work by thread numbers at random: up to p rounds; warps end at different times.
KERNEL(mo_random_work) {
  unsigned rounds = in[thread_number() / q] % p;
  float x = fraction(in[0]);
  for (unsigned k = 0; k < rounds; k++)
    x = x * 0.5f + 0.25f;
  ((float *)out)[thread_number()] = x;
}

// Blocks that need shared memory of which few fit, p accesses each.
KERNEL(mo_roomy) {
  extern __shared__ unsigned room[];
  room[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  unsigned at = threadIdx.x;
  for (unsigned k = 0; k < p; k++)
    at = room[(at + k) % blockDim.x] % blockDim.x;
  out[thread_number()] = at;
}

// ---- More copies ----

// p tiles of 16 bytes a thread, two on their way while one is summed.
KERNEL(mo_async_stages) {
  extern __shared__ uint4 stage[];
  const uint4 *from = (const uint4 *)in + blockIdx.x * blockDim.x * p + threadIdx.x;
  unsigned sum = 0, to = (unsigned)__cvta_generic_to_shared(&stage[threadIdx.x]);
  unsigned apart = blockDim.x * 16;
  for (unsigned k = 0; k < 2; k++) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + k * apart),
                 "l"(from + k * blockDim.x));
    asm volatile("cp.async.commit_group;");
  }
  for (unsigned k = 0; k < p; k++) {
    asm volatile("cp.async.wait_group 1;");
    __syncthreads();
    uint4 found = stage[k % 3 * blockDim.x + (threadIdx.x + 1) % blockDim.x];
    sum += found.x ^ found.y ^ found.z ^ found.w;
    if (k + 2 < p)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + (k + 2) % 3 * apart),
                   "l"(from + (k + 2) * blockDim.x));
    asm volatile("cp.async.commit_group;");
  }
  out[thread_number()] = sum;
}

// p tiles of 4 bytes a thread, copied asynchronously through the first-level cache.
KERNEL(mo_async_words) {
  extern __shared__ unsigned words[];
  const unsigned *from = in + blockIdx.x * blockDim.x * p + threadIdx.x;
  unsigned sum = 0, to = (unsigned)__cvta_generic_to_shared(&words[threadIdx.x]);
  for (unsigned k = 0; k < p; k += 4) {
    for (unsigned i = 0; i < 4; i++)
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + i * blockDim.x * 4),
                   "l"(from + (k + i) * blockDim.x));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    for (unsigned i = 0; i < 4; i++)
      sum += words[i * blockDim.x + (threadIdx.x + 1) % blockDim.x];
    __syncthreads();
  }
  out[thread_number()] = sum;
}

// p tiles of blockDim x 4 words through shared memory, by loads and stores in turn with barriers.
KERNEL(mo_staged) {
  extern __shared__ uint4 staged[];
  const uint4 *from = (const uint4 *)in + blockIdx.x * blockDim.x * p;
  uint4 *to = (uint4 *)out + blockIdx.x * blockDim.x * p;
  for (unsigned k = 0; k < p; k++) {
    staged[threadIdx.x] = from[k * blockDim.x + threadIdx.x];
    __syncthreads();
    to[k * blockDim.x + threadIdx.x] = staged[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
  }
}

// ---- More global atomics ----

// q additions of floats to one of p words.
KERNEL(mo_global_float) {
  for (unsigned k = 0; k < q; k++)
    atomicAdd((float *)&out[mix(thread_number() * q + k) & (p - 1)], 1.0f);
}

// q additions of doubles to one of p.
KERNEL(mo_global_double) {
  for (unsigned k = 0; k < q; k++)
    atomicAdd((double *)out + (mix(thread_number() * q + k) & (p - 1)), 1.0);
}

// q products with one of p words, by compare and swap.
KERNEL(mo_global_swap) {
  for (unsigned k = 0; k < q; k++) {
    unsigned *word = &out[mix(thread_number() + k) & (p - 1)], old = *word, found;
    while ((found = atomicCAS(word, old, old * 3 + 1)) != old)
      old = found;
  }
}

// q additions of all lanes to one word whose result is used; p such words.
KERNEL(mo_global_same) {
  unsigned sum = 0;
  for (unsigned k = 0; k < q; k++)
    sum += atomicAdd(&out[(blockIdx.x + k) & (p - 1)], 1u);
  out[p + thread_number()] = sum;
}

// q exchanges with words of their own, p apart; the next waits for the one before.
KERNEL(mo_global_exchange) {
  unsigned value = in[threadIdx.x];
  for (unsigned k = 0; k < q; k++)
    value = atomicExch(&out[(thread_number() + (value & 1)) * p], value + 1);
  out[threads_all() * p + p + thread_number()] = value;
}

// q additions of 64 bits and minima to p words by lanes in turn.
KERNEL(mo_global_wide) {
  unsigned long long *cell = (unsigned long long *)out;
  for (unsigned k = 0; k < q; k++) {
    atomicAdd(&cell[(thread_number() + k) & (p - 1)], (unsigned long long)k);
    atomicMin((int *)&cell[p + ((thread_number() ^ k) & (p - 1))], (int)k);
  }
}

// ---- More barriers ----

// Sum of blockDim words by a tree in shared memory, p times.
KERNEL(mo_tree) {
  extern __shared__ unsigned sums[];
  unsigned sum = 0;
  for (unsigned k = 0; k < p; k++) {
    sums[threadIdx.x] = in[threadIdx.x] + sum;
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step; step /= 2) {
      if (threadIdx.x < step)
        sums[threadIdx.x] += sums[threadIdx.x + step];
      __syncthreads();
    }
    sum += sums[0];
    __syncthreads();
  }
  out[thread_number()] = sum;
}

// Prefix sums of blockDim words in shared memory in two buffers, p times.
KERNEL(mo_scan) {
  extern __shared__ unsigned line[];
  unsigned own = in[threadIdx.x];
  for (unsigned k = 0; k < p; k++) {
    unsigned from = 0;
    line[threadIdx.x] = own;
    __syncthreads();
    for (unsigned step = 1; step < blockDim.x; step *= 2) {
      unsigned value = line[from * blockDim.x + threadIdx.x];
      if (threadIdx.x >= step)
        value += line[from * blockDim.x + threadIdx.x - step];
      from ^= 1;
      line[from * blockDim.x + threadIdx.x] = value;
      __syncthreads();
    }
    own ^= line[from * blockDim.x + threadIdx.x];
    __syncthreads();
  }
  out[thread_number()] = own;
}

// Prefix sums of a warp by shuffles, p times.
KERNEL(mo_shuffle) {
  unsigned own = in[thread_number()], lane = threadIdx.x % 32;
  for (unsigned k = 0; k < p; k++)
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
      unsigned other = __shfl_up_sync(~0u, own, step);
      own += lane >= step ? other : 0;
    }
  out[thread_number()] = own;
}

// p rounds of votes and matches of a warp.
KERNEL(mo_vote) {
  unsigned own = in[thread_number()];
  for (unsigned k = 0; k < p; k++)
    own = own * 5 + __popc(__ballot_sync(~0u, own >> (k & 31) & 1)) + __any_sync(~0u, own == k);
  out[thread_number()] = own;
}

// The first warp works p rounds while the others of its block wait, q times.
KERNEL(mo_one_works) {
  __shared__ unsigned handed;
  unsigned x = in[threadIdx.x];
  for (unsigned k = 0; k < q; k++) {
    if (threadIdx.x < 32)
      for (unsigned i = 0; i < p; i++)
        x = mix(x + i);
    if (threadIdx.x == 0)
      handed = x;
    __syncthreads();
    x ^= handed;
    __syncthreads();
  }
  out[thread_number()] = x;
}

// ---- More latency ----

// Each thread looks for q words among n sorted ones in global memory, by halves.
KERNEL(mo_search) {
  unsigned sum = 0;
  for (unsigned k = 0; k < q; k++) {
    unsigned wanted = mix(thread_number() * q + k) & (n - 1), low = 0, length = n;
    while (length > 1) {
      length /= 2;
      low += in[low + length] % 2 == (wanted >> k & 1) ? length : 0;
    }
    sum += low;
  }
  out[thread_number()] = sum;
}

// Cyclic reduction of systems of 2 blockDim equations in shared memory, a block each.
KERNEL(mo_cyclic) {
  extern __shared__ float a[];
  unsigned size = 2 * blockDim.x;
  float *b = a + size + p;
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x) {
    a[i] = fraction(in[blockIdx.x * size + i]) * 0.25f;
    b[i] = 1.0f + a[i];
  }
  for (unsigned step = 1, active = blockDim.x; active; step *= 2, active /= 2) {
    __syncthreads();
    if (threadIdx.x < active) {
      unsigned i = (threadIdx.x + 1) * 2 * step - 1, before = i - step;
      float scale = a[i] / b[before];
      b[i] -= scale * a[before];
      a[i] = -scale * a[before];
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x)
    ((float *)out)[blockIdx.x * size + i] = b[i];
}

// p dependent loads of one word of the first-level cache, lanes n words apart.
KERNEL(mo_near_chase) {
  unsigned at = threadIdx.x * n;
  for (unsigned k = 0; k < p; k++)
    at = (in[at & 1023] & q) + threadIdx.x * n;
  out[thread_number()] = at;
}

// A stencil of five points over a field of n columns, p rows a block; blocks of n threads.
KERNEL(mo_stencil) {
  const float *from = (const float *)in;
  unsigned column = threadIdx.x, row = blockIdx.x * p + 1;
  for (unsigned k = 0; k < p; k++, row++) {
    unsigned at = row * n + column;
    float left = column ? from[at - 1] : 0, right = column + 1 < n ? from[at + 1] : 0;
    ((float *)out)[at] = 0.2f * (from[at] + left + right + from[at - n] + from[at + n]);
  }
}

// ---- More ways ----

// Branches in branches by the bits of a random word, q rounds.
KERNEL(mo_nested) {
  unsigned x = in[thread_number()];
  float y = 1.0f;
  for (unsigned k = 0; k < q; k++) {
    if (x & 1) {
      y = y * 0.5f + 1.0f;
      if (x & 2)
        y = sqrtf(y) + fraction(x);
      else
        x += 77;
    } else if (x & 4) {
      x = mix(x);
      y -= 0.25f;
    } else {
      for (unsigned i = 0; i < (x >> 3 & 3); i++)
        y = y * 0.9f + 0.1f;
    }
    x = mix(x + k);
  }
  out[thread_number()] = x + (unsigned)y;
}

// Loops whose length differs from lane to lane, up to p rounds, q times.
KERNEL(mo_lengths) {
  unsigned x = in[thread_number()], sum = 0;
  for (unsigned k = 0; k < q; k++) {
    unsigned rounds = x % p;
    for (unsigned i = 0; i < rounds; i++)
      sum += mix(sum + i);
    x = mix(x + k);
  }
  out[thread_number()] = sum;
}

// Mandelbrot's set in a field of n columns, at most q rounds.
KERNEL(mo_mandel) {
  unsigned i = thread_number();
  float a = (float)(i % n) / (float)n * 3.0f - 2.0f,
        b = (float)(i / n % n) / (float)n * 2.0f - 1.0f;
  float x = 0, y = 0;
  unsigned steps = 0;
  for (; steps < q && x * x + y * y < 4.0f; steps++) {
    float next = x * x - y * y + a;
    y = 2.0f * x * y + b;
    x = next;
  }
  out[i] = steps;
}

// ---- More shared memory ----

// Words of 16 bytes, n of them apart, q rounds.
KERNEL(mo_shared_wide) {
  extern __shared__ uint4 wide[];
  for (unsigned i = threadIdx.x; i < blockDim.x; i += blockDim.x)
    wide[i * n] = make_uint4(in[i], i, 2, 3);
  __syncthreads();
  unsigned sum = 0;
  for (unsigned k = 0; k < q; k++) {
    uint4 found = wide[(threadIdx.x ^ k) % blockDim.x * n];
    sum += found.x + found.y + found.z + found.w;
  }
  out[thread_number()] = sum;
}

// A product of 32 x 32 tiles in registers of 4 x 1 words a thread: blocks of 256 threads, rows of
// the first tile are p words apart, n / 32 tiles.
KERNEL(mo_tiles) {
  extern __shared__ float left[];
  __shared__ float right[32][32];
  unsigned x = threadIdx.x % 32, y = threadIdx.x / 32;
  float sum[4] = {0, 0, 0, 0};
  for (unsigned tile = 0; tile < n; tile += 32) {
    for (unsigned k = 0; k < 32; k += 8) {
      left[x * p + y + k] = fraction(in[(blockIdx.x * 32 + y + k) * n + tile + x]);
      right[y + k][x] = fraction(in[(tile + y + k) * 32 + x]);
    }
    __syncthreads();
#pragma unroll 8
    for (unsigned k = 0; k < 32; k++)
      for (unsigned i = 0; i < 4; i++)
        sum[i] += left[k * p + y * 4 + i] * right[k][x];
    __syncthreads();
  }
  for (unsigned i = 0; i < 4; i++)
    ((float *)out)[(blockIdx.x * 32 + y * 4 + i) * 32 + x] = sum[i];
}
