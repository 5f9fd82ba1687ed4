/* The parts of CUB that work in a block, each in a kernel of its own. */
#include <cub/cub.cuh>

template <int THREADS, int ITEMS, class T> __global__ void cub_scan(const T *in, T *out) {
  typedef cub::BlockLoad<T, THREADS, ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE> load;
  typedef cub::BlockStore<T, THREADS, ITEMS, cub::BLOCK_STORE_WARP_TRANSPOSE> store;
  typedef cub::BlockScan<T, THREADS> scan;
  __shared__ union {
    typename load::TempStorage l;
    typename store::TempStorage s;
    typename scan::TempStorage c;
  } t;
  T items[ITEMS], sum;
  load(t.l).Load(in + blockIdx.x * THREADS * ITEMS, items);
  __syncthreads();
  scan(t.c).ExclusiveSum(items, items, sum);
  __syncthreads();
  store(t.s).Store(out + blockIdx.x * THREADS * ITEMS, items);
}
template __global__ void cub_scan<128, 4, int>(const int *, int *);
template __global__ void cub_scan<256, 9, float>(const float *, float *);
template __global__ void cub_scan<128, 8, double>(const double *, double *);

template <int THREADS, int ITEMS, class K> __global__ void cub_sort(K *keys) {
  typedef cub::BlockLoad<K, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE> load;
  typedef cub::BlockRadixSort<K, THREADS, ITEMS> sort;
  __shared__ union {
    typename load::TempStorage l;
    typename sort::TempStorage s;
  } t;
  K items[ITEMS];
  load(t.l).Load(keys + blockIdx.x * THREADS * ITEMS, items);
  __syncthreads();
  sort(t.s).SortBlockedToStriped(items);
  cub::StoreDirectStriped<THREADS>(threadIdx.x, keys + blockIdx.x * THREADS * ITEMS, items);
}
template __global__ void cub_sort<128, 8, unsigned>(unsigned *);
template __global__ void cub_sort<256, 5, unsigned long long>(unsigned long long *);

struct less_than {
  __device__ bool operator()(int a, int b) const { return a < b; }
};
template <int THREADS, int ITEMS> __global__ void cub_merge(int *keys) {
  typedef cub::BlockMergeSort<int, THREADS, ITEMS> sort;
  __shared__ typename sort::TempStorage t;
  int items[ITEMS];
  cub::LoadDirectBlocked(threadIdx.x, keys + blockIdx.x * THREADS * ITEMS, items);
  sort(t).Sort(items, less_than());
  cub::StoreDirectBlocked(threadIdx.x, keys + blockIdx.x * THREADS * ITEMS, items);
}
template __global__ void cub_merge<128, 7>(int *);

template <cub::BlockReduceAlgorithm HOW> __global__ void cub_reduce(const float *in, float *out) {
  typedef cub::BlockReduce<float, 256, HOW> reduce;
  __shared__ typename reduce::TempStorage t;
  float items[4];
  cub::LoadDirectStriped<256>(threadIdx.x, in + blockIdx.x * 1024, items);
  float sum = reduce(t).Sum(items);
  if (threadIdx.x == 0)
    out[blockIdx.x] = sum;
}
template __global__ void cub_reduce<cub::BLOCK_REDUCE_RAKING>(const float *, float *);
template __global__ void cub_reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(const float *, float *);

template <cub::BlockHistogramAlgorithm HOW>
__global__ void cub_histogram(const unsigned char *in, unsigned *out) {
  typedef cub::BlockHistogram<unsigned char, 128, 8, 256, HOW> histogram;
  __shared__ typename histogram::TempStorage t;
  __shared__ unsigned bins[256];
  unsigned char items[8];
  cub::LoadDirectStriped<128>(threadIdx.x, in + blockIdx.x * 1024, items);
  histogram(t).Histogram(items, bins);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 128)
    atomicAdd(out + i, bins[i]);
}
template __global__ void cub_histogram<cub::BLOCK_HISTO_ATOMIC>(const unsigned char *, unsigned *);
template __global__ void cub_histogram<cub::BLOCK_HISTO_SORT>(const unsigned char *, unsigned *);

template <int THREADS, int ITEMS, class T> __global__ void cub_exchange(T *data) {
  typedef cub::BlockExchange<T, THREADS, ITEMS> exchange;
  __shared__ typename exchange::TempStorage t;
  T items[ITEMS];
  cub::LoadDirectStriped<THREADS>(threadIdx.x, data + blockIdx.x * THREADS * ITEMS, items);
  exchange(t).StripedToBlocked(items, items);
  for (int i = 1; i < ITEMS; i++)
    items[i] += items[i - 1];
  __syncthreads();
  exchange(t).BlockedToStriped(items, items);
  cub::StoreDirectStriped<THREADS>(threadIdx.x, data + blockIdx.x * THREADS * ITEMS, items);
}
template __global__ void cub_exchange<128, 8, float>(float *);
template __global__ void cub_exchange<256, 16, int>(int *);
template __global__ void cub_exchange<64, 4, double>(double *);
