/* What the programs of this folder share. Each is called as
 *   PROGRAM [SCALE [LAUNCHES]]
 * SCALE (1) multiplies the size of its data: 1 is for the emulator, what its comment "gpu:" says is
 * for a GPU. LAUNCHES (1) is how often each kernel is launched; where it is more than 1, two more
 * launches come first, and standard error gets a line "time NAME LAUNCHES MEDIAN_NS LEAST_NS" for
 * each kernel. Standard output is the same in every run with one SCALE: a line for each result,
 * with a checksum of its bytes, or what is said to be right of it. */
#ifndef STRANGERS_H
#define STRANGERS_H

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    cudaError_t check_error = (call);                                                              \
    if (check_error != cudaSuccess) {                                                              \
      printf("line %d: %s: %s\n", __LINE__, cudaGetErrorName(check_error),                         \
             cudaGetErrorString(check_error));                                                     \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* Numbers below a limit, the same everywhere. */
template <typename T> std::vector<T> numbers(size_t count, unsigned limit, unsigned seed = 1) {
  std::vector<T> made(count);
  for (T &x : made) {
    seed = seed * 1664525u + 1013904223u;
    x = (T)((seed >> 8) % limit);
  }
  return made;
}

template <typename T> T *device_array(size_t count) {
  T *made;
  CHECK(cudaMalloc(&made, count * sizeof(T)));
  CHECK(cudaMemset(made, 0, count * sizeof(T)));
  return made;
}

template <typename T> T *to_device(const std::vector<T> &host) {
  T *made = device_array<T>(host.size());
  CHECK(cudaMemcpy(made, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return made;
}

template <typename T> std::vector<T> to_host(const T *device, size_t count) {
  std::vector<T> made(count);
  CHECK(cudaMemcpy(made.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return made;
}

struct program {
  size_t scale = 1;
  int launches = 1;
  bool right = true;

  program(int count, char **words) {
    if (count > 1)
      scale = (size_t)std::max(1, atoi(words[1]));
    if (count > 2)
      launches = std::max(1, atoi(words[2]));
  }

  /* Calls launch, which launches a kernel that does the same each time, and measures it. */
  template <typename F> void timed(const char *name, F launch) {
    if (launches == 1) {
      launch();
      CHECK(cudaDeviceSynchronize());
      return;
    }
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int i = -2; i < launches; i++) {
      CHECK(cudaEventRecord(start));
      launch();
      CHECK(cudaEventRecord(end));
      CHECK(cudaEventSynchronize(end));
      float milliseconds;
      CHECK(cudaEventElapsedTime(&milliseconds, start, end));
      if (i >= 0)
        times.push_back(milliseconds);
    }
    CHECK(cudaDeviceSynchronize());
    std::sort(times.begin(), times.end());
    fprintf(stderr, "time %s %d %.0f %.0f\n", name, launches, times[times.size() / 2] * 1e6,
            times[0] * 1e6);
  }

  /* Says whether a result is right. */
  void report(const char *name, size_t wrong) {
    printf("%s: %zu wrong\n", name, wrong);
    right = right && wrong == 0;
  }

  /* The same for a result whose bits must not change: with a checksum (FNV-1a over its words). */
  template <typename T> void report(const char *name, size_t wrong, const std::vector<T> &result) {
    unsigned long long sum = 14695981039346656037ull;
    const unsigned char *bytes = (const unsigned char *)result.data();
    for (size_t i = 0; i < result.size() * sizeof(T); i += 4) {
      unsigned word = 0;
      for (size_t k = 0; k < 4 && i + k < result.size() * sizeof(T); k++)
        word |= (unsigned)bytes[i + k] << 8 * k;
      sum = (sum ^ word) * 1099511628211ull;
    }
    printf("%s: %zu wrong, checksum %016llx\n", name, wrong, sum);
    right = right && wrong == 0;
  }

  int end() const {
    printf("%s\n", right ? "pass" : "FAIL");
    return right ? 0 : 1;
  }
};

/* How many elements of two results differ. */
template <typename T> size_t differences(const std::vector<T> &a, const std::vector<T> &b) {
  size_t wrong = a.size() != b.size();
  for (size_t i = 0; i < std::min(a.size(), b.size()); i++)
    wrong += a[i] != b[i];
  return wrong;
}

#endif
