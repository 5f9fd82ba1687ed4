// What half a warp does at an instruction whose mask names the whole warp: split_warps OPERATION
// PLACE ends with a line, or hangs where lanes that the mask names never come. split_warps without
// arguments lists all pairs. tests/gpu/split_warps.py runs them on a GPU or under `bankfold exec`.
#include <cstdio>
#include <cstring>

static const char *const operations[] = {"shfl", "ballot", "any", "match", "redux", "syncwarp"};
static const char *const places[] = {"end",
                                     "barrier_behind",
                                     "barrier_beside",
                                     "loaded_mask",
                                     "loaded_mask_barrier",
                                     "ring",
                                     "both",
                                     "ended",
                                     "loop",
                                     "warp_behind",
                                     "barrier_beside_half",
                                     "barrier_beside_whole"};
enum {
  OPERATIONS = sizeof operations / sizeof *operations,
  PLACES = sizeof places / sizeof *places
};

template <int OPERATION> static __device__ unsigned meet(unsigned mask, unsigned value) {
  switch (OPERATION) {
  case 0:
    return __shfl_xor_sync(mask, value, 1);
  case 1:
    return __ballot_sync(mask, value & 1);
  case 2:
    return __any_sync(mask, value == 3);
  case 3:
    return __match_any_sync(mask, value & 7);
  case 4:
    return __reduce_add_sync(mask, value);
  default:
    __syncwarp(mask);
    return value;
  }
}

// mask is all ones; the compiler does not know that.
template <int OPERATION, int PLACE> static __global__ void split(unsigned *out, unsigned mask) {
  unsigned lane = threadIdx.x % 32, value = lane * 3 + 1;
  switch (PLACE) {
  case 0: // the others go on to the end
    if (lane < 16)
      value = meet<OPERATION>(0xffffffff, value);
    break;
  case 1: // the others wait at a barrier behind the branch
    if (lane < 16)
      value = meet<OPERATION>(0xffffffff, value);
    __syncthreads();
    break;
  case 2: // the others wait at a barrier on the other side of the branch
    if (lane < 16)
      value = meet<OPERATION>(0xffffffff, value);
    else
      __syncthreads();
    break;
  case 3:
    if (lane < 16)
      value = meet<OPERATION>(mask, value);
    break;
  case 4:
    if (lane < 16)
      value = meet<OPERATION>(mask, value);
    __syncthreads();
    break;
  case 5: // each half waits for a lane of the other, by another mask
    if (lane < 16)
      value = meet<OPERATION>(0xffffffff, value);
    else
      value = meet<OPERATION>(0xffff0001, value + 5);
    break;
  case 6:
    if (lane < 16)
      value = meet<OPERATION>(0xffffffff, value) + 1;
    else
      value = meet<OPERATION>(0xffffffff, value) * 5;
    break;
  case 7:
    if (lane >= 16)
      return;
    value = meet<OPERATION>(0xffffffff, value);
    break;
  case 8: // lanes leave the loop one after the other
    for (unsigned i = 0; i <= lane; i++)
      value += meet<OPERATION>(0xffffffff, value);
    break;
  case 9: // the others wait for the whole warp behind the branch
    if (lane < 16)
      value = meet<OPERATION>(0xffffffff, value);
    __syncwarp();
    break;
  case 10: // as barrier_beside, in two warps
    if (lane < 16)
      value = meet<OPERATION>(0xffffffff, value);
    else
      __syncthreads();
    break;
  case 11: // half of one warp and all of the other wait at the barrier
    if (threadIdx.x < 16)
      value = meet<OPERATION>(0xffffffff, value);
    else
      __syncthreads();
    break;
  }
  out[threadIdx.x] = value;
}

template <int OPERATION, int PLACE> static void launch(int operation, int place, unsigned *out) {
  constexpr int threads = PLACE < 10 ? 32 : 64;
  if (operation == OPERATION && place == PLACE)
    split<OPERATION, PLACE><<<1, threads>>>(out, 0xffffffff);
  if constexpr (PLACE + 1 < PLACES)
    launch<OPERATION, PLACE + 1>(operation, place, out);
  else if constexpr (OPERATION + 1 < OPERATIONS)
    launch<OPERATION + 1, 0>(operation, place, out);
}

static int find(const char *const *names, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (!strcmp(names[i], name))
      return i;
  fprintf(stderr, "split_warps: what is %s?\n", name);
  return -1;
}

int main(int count, char **argument) {
  if (count != 3) {
    for (int i = 0; i < OPERATIONS * PLACES; i++)
      printf("%s %s\n", operations[i / PLACES], places[i % PLACES]);
    return 0;
  }
  int operation = find(operations, OPERATIONS, argument[1]),
      place = find(places, PLACES, argument[2]);
  unsigned *out;
  if (operation < 0 || place < 0 || cudaMallocManaged(&out, 64 * sizeof *out) ||
      cudaMemset(out, 0, 64 * sizeof *out))
    return 2;
  launch<0, 0>(operation, place, out);
  cudaError_t error = cudaDeviceSynchronize();
  if (error) {
    printf("error: %s\n", cudaGetErrorString(error));
    return 1;
  }
  unsigned sum = 0;
  for (int i = 0; i < 64; i++)
    sum = sum * 31 + out[i];
  printf("ends, sum %u\n", sum);
  return 0;
}
