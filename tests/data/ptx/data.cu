// Variables with initialisers in every space; addresses of variables and functions.
struct record { int tag; float weight; const char *name; double *where; };
__device__ double cell = 3.25;
__constant__ float weights[5] = {1.f, -2.5f, 0.f, 1e20f, 3.14159f};
__constant__ unsigned char bytes[2][3] = {{1, 2, 3}, {4, 5, 255}};
__device__ int counter;
__device__ long long big = -5;
__device__ const char *text = "hello";
__device__ record records[2] = {{1, 2.f, "one", &cell}, {-1, -0.f, "two", 0}};
__device__ int *inner = &counter + 0;
__device__ short shorts[3] = {-1, 2, -3};
__device__ __managed__ int shared_with_host = 4;
__device__ int lots[64];
extern "C" __global__ void use(float *out, int i) {
  __shared__ double a[8];
  __shared__ __align__(16) char b[32];
  int local[16];
  for (int k = 0; k < 16; k++)
    local[k] = out[k];
  a[i & 7] = cell;
  b[i & 31] = bytes[1][i % 3];
  __syncthreads();
  out[i] = weights[i] + counter + big + text[i] + records[i & 1].weight + *inner + a[i & 3] + b[0] +
           local[i & 15] + shorts[i] + shared_with_host + lots[i];
}
