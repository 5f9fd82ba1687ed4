extern "C" __global__ void twice(int *data) { data[threadIdx.x] *= 2; }
extern "C" __global__ void thrice(int *data) { data[threadIdx.x] *= 3; }
