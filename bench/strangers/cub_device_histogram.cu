// Device-wide histograms of CUB: bytes, and three channels of a picture with four.

// gpu: 1024
#include "strangers.h"

#include <cub/cub.cuh>

int main(int count, char **words) {
  program p(count, words);
  int n = (int)p.scale * 16384;
  std::vector<unsigned char> in = numbers<unsigned char>((size_t)n * 4, 200);
  unsigned char *source = to_device(in);
  int *bins = device_array<int>(768);
  size_t bytes = 0;
  CHECK(cub::DeviceHistogram::HistogramEven(nullptr, bytes, source, bins, 257, 0, 256, n * 4));
  char *memory = device_array<char>(bytes);
  p.timed("bytes", [&] {
    CHECK(cub::DeviceHistogram::HistogramEven(memory, bytes, source, bins, 257, 0, 256, n * 4));
  });
  std::vector<int> wanted(256), got = to_host(bins, 256);
  for (unsigned char x : in)
    wanted[x]++;
  p.report("bytes", differences(got, wanted), got);
  int *channels[3] = {bins, bins + 256, bins + 512};
  int levels[3] = {257, 129, 65}, lower[3] = {0, 0, 0}, upper[3] = {256, 256, 256};
  bytes = 0;
  CHECK((cub::DeviceHistogram::MultiHistogramEven<4, 3>(nullptr, bytes, source, channels, levels,
                                                        lower, upper, n)));
  char *more = device_array<char>(bytes);
  p.timed("channels", [&] {
    CHECK((cub::DeviceHistogram::MultiHistogramEven<4, 3>(more, bytes, source, channels, levels,
                                                          lower, upper, n)));
  });
  wanted.assign(768, 0);
  for (size_t i = 0; i < (size_t)n * 4; i++)
    if (i % 4 < 3)
      wanted[i % 4 * 256 + (in[i] >> i % 4)]++;
  got = to_host(bins, 768);
  for (int i = 128; i < 256; i++)
    got[256 + i] = 0;
  for (int i = 64; i < 256; i++)
    got[512 + i] = 0;
  p.report("channels", differences(got, wanted), got);
  return p.end();
}
