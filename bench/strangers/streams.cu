// Kernels launched by two threads of the host, each with two streams: transposes and sums that
// depend on each other.

// gpu: 32
#include "strangers.h"

#include <chrono>
#include <thread>

__global__ void transpose(const int *in, int *out, int n) {
  __shared__ int tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    tile[threadIdx.y + i][threadIdx.x] = in[(size_t)(y + i) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    out[(size_t)(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}

// Adds up each row of 64 by threads that have a row each.
__global__ void sum_rows(const int *in, int *out) {
  __shared__ int rows[64 * 64];
  for (int i = threadIdx.x; i < 64 * 64; i += 64)
    rows[i] = in[(size_t)blockIdx.x * 64 * 64 + i];
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 64; i++)
    sum += rows[threadIdx.x * 64 + i];
  out[(size_t)blockIdx.x * 64 + threadIdx.x] = sum;
}

struct worker {
  int n, launches;
  double each_ns;
  std::vector<int> in, turned, sums;
  // Transposes in one stream; sums in another, which waits for it.
  void work() {
    size_t all = (size_t)n * n;
    int *source = to_device(in), *out = device_array<int>(all),
        *totals = device_array<int>(all / 64);
    cudaStream_t first, second;
    cudaEvent_t done;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&done));
    auto start = std::chrono::steady_clock::now();
    for (int i = launches > 1 ? -2 : 0; i < launches; i++) {
      if (i == 0) {
        CHECK(cudaStreamSynchronize(second));
        start = std::chrono::steady_clock::now();
      }
      transpose<<<dim3(n / 32, n / 32), dim3(32, 8), 0, first>>>(source, out, n);
      CHECK(cudaEventRecord(done, first));
      CHECK(cudaStreamWaitEvent(second, done, 0));
      sum_rows<<<all / 4096, 64, 0, second>>>(out, totals);
    }
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaStreamSynchronize(second));
    std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    each_ns = taken.count() / launches;
    turned = to_host(out, all), sums = to_host(totals, all / 64);
  }
};

int main(int count, char **words) {
  program p(count, words);
  int n = 128 * (int)p.scale;
  std::vector<worker> workers(2);
  std::vector<std::thread> threads;
  for (unsigned w = 0; w < workers.size(); w++) {
    workers[w].n = n, workers[w].launches = p.launches;
    workers[w].in = numbers<int>((size_t)n * n, 1000, w + 1);
  }
  for (worker &w : workers)
    threads.emplace_back([&w] { w.work(); });
  for (std::thread &t : threads)
    t.join();
  if (p.launches > 1) {
    double slowest = std::max(workers[0].each_ns, workers[1].each_ns);
    fprintf(stderr, "time both_threads %d %.0f %.0f\n", p.launches, slowest, slowest);
  }
  for (const worker &w : workers) {
    size_t wrong = 0, wrong_sums = 0;
    for (int y = 0; y < n; y++)
      for (int x = 0; x < n; x++)
        wrong += w.turned[(size_t)x * n + y] != w.in[(size_t)y * n + x];
    for (size_t i = 0; i < w.sums.size(); i++) {
      int sum = 0;
      for (size_t k = 0; k < 64; k++)
        sum += w.turned[i * 64 + k];
      wrong_sums += w.sums[i] != sum;
    }
    p.report("transposed", wrong, w.turned);
    p.report("summed", wrong_sums, w.sums);
  }
  return p.end();
}
