// What is free fits into the host, which had so much available before; allocations take from it exactly.
// only: exec
#include "check.h"

int main() {
  char line[256];
  unsigned long long kilobytes = 0;
  FILE *file = fopen("/proc/meminfo", "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "MemAvailable: %llu", &kilobytes) == 1)
      break;
  size_t available, total, left, kept;
  CHECK(cudaMemGetInfo(&available, &total));
  printf("%s\n", available <= total && available > 0 ? "some of all" : "not some of all");
  printf("%s\n", available / 1024 < kilobytes - kilobytes / 16 ? "there is room" : "too much");
  void *memory;
  CHECK(cudaMalloc(&memory, 1 << 20));
  CHECK(cudaMemGetInfo(&left, &total));
  CHECK(cudaFree(memory));
  CHECK(cudaMemGetInfo(&kept, &total));
  printf("%zu\n", available - left);
  printf("%s\n", kept == available ? "given back" : "not given back");
}
