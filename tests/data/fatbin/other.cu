extern "C" __global__ void negate(int *data) { data[threadIdx.x] *= -1; }
