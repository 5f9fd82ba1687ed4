// A patch that looks right and is not: READ of hidden.h stands in a line that names the array.
#include "hidden.h"

extern "C" __global__ void hides(int *out) {
  __shared__ int hidden[32][32];
  int t = threadIdx.x;
  for (int k = 0; k < 32; k++)
    hidden[k][t] = 32 * k + t;
  __syncthreads();
  out[t] = hidden[t][1] + READ(t, 2);
}
