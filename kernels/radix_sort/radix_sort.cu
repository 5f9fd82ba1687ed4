// Sorts KEYS unsigned integers per block, four bits at a time from the lowest. Every thread counts
// the digits of its keys; the running sums of all counters, by digit and then by thread, say where
// keys go. In that scan a thread sums DIGITS neighbouring counters: threads lie 16 words apart and
// conflict 16 ways.

constexpr int THREADS = 256;
constexpr int EACH = 4; // keys of a thread
constexpr int KEYS = THREADS * EACH;
constexpr int DIGIT_BITS = 4, DIGITS = 1 << DIGIT_BITS;
constexpr int COUNTERS = DIGITS * THREADS;

// PAD inserts a word behind every 32, after which DIGITS * thread does not conflict.
template <bool PAD> __device__ int place(int i) { return PAD ? i + i / 32 : i; }

// Replaces totals[0..THREADS-1] by their running sums; called by all threads.
__device__ void scan_totals(unsigned *totals, int tx) {
  for (int apart = 1; apart < THREADS; apart *= 2) {
    unsigned left = tx >= apart ? totals[tx - apart] : 0;
    __syncthreads();
    totals[tx] += left;
    __syncthreads();
  }
}

// Replaces each counter by the sum of those before it.
template <bool PAD> __device__ void scan_counters(unsigned *counters, unsigned *totals, int tx) {
  unsigned sum = 0;
  for (int i = 0; i < DIGITS; i++)
    sum += counters[place<PAD>(tx * DIGITS + i)];
  totals[tx] = sum;
  __syncthreads();
  scan_totals(totals, tx);
  unsigned before = totals[tx] - sum;
  for (int i = 0; i < DIGITS; i++) {
    unsigned count = counters[place<PAD>(tx * DIGITS + i)];
    counters[place<PAD>(tx * DIGITS + i)] = before;
    before += count;
  }
}

template <bool PAD>
__device__ void sort(const unsigned *input, unsigned *output, unsigned *counters) {
  __shared__ unsigned keys[KEYS], totals[THREADS];
  int tx = threadIdx.x, first = blockIdx.x * KEYS;
  for (int i = 0; i < KEYS; i += THREADS)
    keys[i + tx] = input[first + i + tx];
  __syncthreads();
  for (int shift = 0; shift < 32; shift += DIGIT_BITS) {
    unsigned own[EACH]; // neighbours, so that equal digits keep their order
    for (int i = 0; i < DIGITS; i++)
      counters[place<PAD>(i * THREADS + tx)] = 0;
    for (int i = 0; i < EACH; i++) {
      own[i] = keys[tx * EACH + i];
      counters[place<PAD>((own[i] >> shift) % DIGITS * THREADS + tx)]++;
    }
    __syncthreads();
    scan_counters<PAD>(counters, totals, tx);
    __syncthreads();
    for (int i = 0; i < EACH; i++)
      keys[counters[place<PAD>((own[i] >> shift) % DIGITS * THREADS + tx)]++] = own[i];
    __syncthreads();
  }
  for (int i = 0; i < KEYS; i += THREADS)
    output[first + i + tx] = keys[i + tx];
}

extern "C" __global__ void radix_sort(const unsigned *input, unsigned *output) {
  __shared__ unsigned counters[COUNTERS];
  sort<false>(input, output, counters);
}

extern "C" __global__ void radix_sort_padded(const unsigned *input, unsigned *output) {
  __shared__ unsigned counters[COUNTERS + COUNTERS / 32];
  sort<true>(input, output, counters);
}
