/* The algorithms of CUB for whole devices. */
#include <cub/cub.cuh>
void all(void *temp, size_t &bytes, int *a, int *b, unsigned *k, float *f, unsigned long long *w,
         int n) {
  cub::DeviceReduce::Sum(temp, bytes, a, b, n);
  cub::DeviceScan::InclusiveSum(temp, bytes, f, f, n);
  cub::DeviceRadixSort::SortKeys(temp, bytes, k, k + n, n);
  cub::DeviceSelect::Unique(temp, bytes, a, a, b, n);
  cub::DeviceHistogram::HistogramEven(temp, bytes, f, b, 65, 0.f, 1.f, n);
  cub::DeviceRunLengthEncode::Encode(temp, bytes, a, a, b, b, n);
}
