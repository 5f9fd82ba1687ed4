// What lies behind the dynamic shared memory that a launch asks for: one access of one kernel, in a
// process of its own because a fault ends the context. tests/gpu/shared_tail.py runs all cases and
// prints the table.
//   shared_tail STATIC DYNAMIC PLACE      PLACE: inside, first, last, granule, next_kib, private or
//   registers
// STATIC is 0, 4, 100 or 1000 bytes; DYNAMIC is bytes, or max-N for N bytes less than a block can
// have. Prints one line: STATIC DYNAMIC PLACE start=ADDRESS end=ADDRESS at=ADDRESS dynamic_register
// total_register result
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum place { INSIDE, FIRST, LAST, GRANULE, NEXT_KIB, PRIVATE, REGISTERS, PLACES };
static const char *const names[PLACES] = {"inside",   "first",   "last",     "granule",
                                          "next_kib", "private", "registers"};
constexpr unsigned granule_bytes = 128;

struct seen {
  unsigned start, at, dynamic_size, total_size, value;
};

extern __shared__ unsigned dynamic_words[];

// The shared address of a place: the last word asked for, the first behind it, the last one of the
// granule in which the memory ends (of the last word asked for, where it ends with a granule), the
// first one of the next granule, and the first 1 KiB further on.
__device__ unsigned address_of(unsigned start, unsigned bytes, int place) {
  unsigned end = start + bytes, whole = (end + granule_bytes - 1) / granule_bytes * granule_bytes;
  switch (place) {
  case INSIDE:
    return end - 4;
  case FIRST:
    return end;
  case GRANULE:
    return whole;
  case NEXT_KIB:
    return whole + 1024;
  default:
    return whole - 4;
  }
}

// A store and a load there that the compiler neither knows nor removes.
__device__ unsigned write_and_read(unsigned at, unsigned value, unsigned wait_ns) {
  asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(at), "r"(value) : "memory");
  __nanosleep(wait_ns);
  asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(value) : "r"(at) : "memory");
  return value;
}

template <int static_bytes>
__global__ void probe(unsigned bytes, int place, seen *result, unsigned *strangers) {
  __shared__ volatile unsigned fixed[static_bytes > 0 ? static_bytes / 4 : 1];
  if (static_bytes > 0)
    fixed[static_bytes / 4 - 1] = blockIdx.x;
  unsigned start = (unsigned)__cvta_generic_to_shared(dynamic_words);
  unsigned at = address_of(start, bytes, place), dynamic_size, total_size, value = 0;
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(dynamic_size));
  asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(total_size));
  if (blockIdx.x == 0) { // before the access, which may be the last thing that this kernel does
    result->start = start, result->at = at;
    result->dynamic_size = dynamic_size, result->total_size = total_size;
    __threadfence_system();
  }
  if (place == PRIVATE) {
    // Every block writes its number to the end of its granule, waits, and reads what is there then.
    value = write_and_read(at, blockIdx.x, 5000);
    if (value != blockIdx.x)
      atomicAdd(strangers, 1);
  } else if (place != REGISTERS) {
    value = write_and_read(at, 12345, 0);
  }
  if (static_bytes > 0 && fixed[static_bytes / 4 - 1] != blockIdx.x)
    atomicAdd(strangers, 1);
  if (blockIdx.x == 0)
    result->value = value;
}

template <int static_bytes>
static cudaError_t launch(unsigned bytes, int place, seen *result, unsigned *strangers) {
  cudaError_t error =
      cudaFuncSetAttribute(probe<static_bytes>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess)
    return error;
  probe<static_bytes><<<place == PRIVATE ? 20000 : 1, 1, bytes>>>(bytes, place, result, strangers);
  error = cudaGetLastError();
  return error != cudaSuccess ? error : cudaDeviceSynchronize();
}

static cudaError_t launch_any(unsigned static_bytes, unsigned bytes, int place, seen *result,
                              unsigned *strangers) {
  switch (static_bytes) {
  case 0:
    return launch<0>(bytes, place, result, strangers);
  case 4:
    return launch<4>(bytes, place, result, strangers);
  case 100:
    return launch<100>(bytes, place, result, strangers);
  case 1000:
    return launch<1000>(bytes, place, result, strangers);
  default:
    return cudaErrorInvalidValue;
  }
}

// The bytes of "max-N", or those of a plain number. Dynamic memory starts at a multiple of 16
// bytes.
static unsigned dynamic_bytes(const char *text, unsigned static_bytes) {
  if (strncmp(text, "max-", 4) != 0)
    return strtoul(text, nullptr, 10);
  int limit = 0;
  cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  return limit - (static_bytes + 15) / 16 * 16 - strtoul(text + 4, nullptr, 10);
}

int main(int count, char **words) {
  int place = 0;
  while (count == 4 && place < PLACES && strcmp(words[3], names[place]) != 0)
    place++;
  if (count != 4 || place == PLACES) {
    fprintf(stderr, "usage: shared_tail STATIC DYNAMIC PLACE\n");
    return 2;
  }
  unsigned static_bytes = strtoul(words[1], nullptr, 10),
           bytes = dynamic_bytes(words[2], static_bytes);
  seen *result; // the host's memory, which can be read after a fault
  unsigned *strangers, others = 0;
  cudaError_t error = cudaHostAlloc(&result, sizeof(*result), cudaHostAllocMapped);
  if (error != cudaSuccess || (error = cudaMalloc(&strangers, sizeof(*strangers))) != cudaSuccess) {
    printf("%s\n", cudaGetErrorName(error));
    return 1;
  }
  memset(result, 0, sizeof(*result));
  cudaMemset(strangers, 0, sizeof(*strangers));
  error = launch_any(static_bytes, bytes, place, result, strangers);
  if (error == cudaSuccess)
    error = cudaMemcpy(&others, strangers, sizeof(others), cudaMemcpyDeviceToHost);
  printf("%u %u %s start=%u end=%u at=%u dynamic_smem_size=%u total_smem_size=%u ", static_bytes,
         bytes, words[3], result->start, result->start + bytes, result->at, result->dynamic_size,
         result->total_size);
  if (error != cudaSuccess)
    printf("%s\n", cudaGetErrorName(error));
  else if (place == PRIVATE)
    printf("%u of 20000 blocks read something else\n", others);
  else
    printf("%s\n", place == REGISTERS                  ? "read"
                   : result->value == 12345 && !others ? "kept"
                                                       : "lost");
  return 0;
}
