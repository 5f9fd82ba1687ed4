// A kernel that waits for the host, which waits for the kernel first and then ends: both are said, and the program ends.
// only: exec
// exec: --hint-after 6
// says: the program has waited 1 s for kernel wait_for
// says: the program has ended, and for 3 s no block of kernel
#include "check.h"
#include <thread>

__global__ void wait_for(volatile int *flag) {
  while (*flag == 0)
    ;
}

int main() {
  int *flag;
  CHECK(cudaMallocHost(&flag, sizeof *flag));
  *flag = 0;
  wait_for<<<1, 1>>>(flag);
  std::thread late([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    *(volatile int *)flag = 1;
  });
  CHECK(cudaDeviceSynchronize());
  late.join();
  *flag = 0;
  wait_for<<<1, 1>>>(flag);
  printf("not waited for\n");
  return 0;
}
