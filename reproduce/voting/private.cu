// Histograms with one for every thread, as braak15, section 3.4, describes them: those of its Fig.
// 3.5 have 256 bins of 16 bits in two layouts, those of Fig. 3.6 have 64 bins of a word in three.
// Pixels are bytes, read four at a time; a thread has at most 2^16 - 1 of them.

// Where bin b of thread t is; numbers of bins and threads are known to the compiler, as they are in
// the document. With a bank of its own a thread has two bins side by side in a word.
template <int THREADS> struct bin_major {
  __device__ static unsigned place(unsigned b, unsigned t) { return b * THREADS + t; }
};
template <int THREADS> struct own_banks {
  __device__ static unsigned place(unsigned b, unsigned t) {
    return 2 * (b / 2 * THREADS + t) + b % 2;
  }
};
template <int PITCH> struct copy_major {
  __device__ static unsigned place(unsigned b, unsigned t) { return PITCH * t + b; }
};

template <class Bin, int BINS, int THREADS, class Layout>
static __device__ void count_own(const unsigned *pixels, unsigned words, unsigned *sums) {
  extern __shared__ unsigned shared[];
  Bin *bins = (Bin *)shared;
  const unsigned t = threadIdx.x;
  for (unsigned b = 0; b < BINS; b++)
    bins[Layout::place(b, t)] = 0;
  for (unsigned i = blockIdx.x * THREADS + t; i < words; i += gridDim.x * THREADS) {
    const unsigned four = pixels[i];
    for (unsigned k = 0; k < 4; k++)
      bins[Layout::place((four >> 8 * k & 255) * BINS / 256, t)]++;
  }
  __syncthreads();
  for (unsigned b = t; b < BINS; b += THREADS) {
    unsigned sum = 0;
    for (unsigned k = 0; k < THREADS; k++)
      sum += bins[Layout::place(b, (k + t) % THREADS)];
    atomicAdd(&sums[b], sum);
  }
}

#define COUNT_OWN(name, bin, bins, threads, ...)                                                   \
  extern "C" __global__ void name##_##threads(const unsigned *pixels, unsigned words,              \
                                              unsigned *sums) {                                    \
    count_own<bin, bins, threads, __VA_ARGS__>(pixels, words, sums);                               \
  }
#define COUNT_16_BITS(threads)                                                                     \
  COUNT_OWN(layout_1, unsigned short, 256, threads, bin_major<threads>)                            \
  COUNT_OWN(layout_2, unsigned short, 256, threads, own_banks<threads>)
#define COUNT_WORDS(threads)                                                                       \
  COUNT_OWN(bin_major, unsigned, 64, threads, bin_major<threads>)                                  \
  COUNT_OWN(copy_major, unsigned, 64, threads, copy_major<64>)                                     \
  COUNT_OWN(padded, unsigned, 64, threads, copy_major<65>)

COUNT_16_BITS(32)
COUNT_16_BITS(64)
COUNT_WORDS(32)
COUNT_WORDS(64)
COUNT_WORDS(96)
COUNT_WORDS(128)
COUNT_WORDS(160)
COUNT_WORDS(192)
