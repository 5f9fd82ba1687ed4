// Calls through pointers: a table of functions, pointers from the host, and virtual functions.
#include "check.h"

typedef float (*Operation)(float, float);

__device__ float add(float a, float b) { return a + b; }
__device__ float subtract(float a, float b) { return a - b; }
__device__ float multiply(float a, float b) { return a * b; }

__device__ Operation operations[] = {add, subtract, multiply};
__device__ Operation chosen = multiply;

__global__ void apply_table(const float *a, const float *b, float *out) {
  int i = threadIdx.x;
  out[i] = operations[i % 3](a[i], b[i]);
}

__global__ void apply_one(const float *a, const float *b, float *out, Operation operation) {
  int i = threadIdx.x;
  out[i] = operation(a[i], b[i]);
}

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  float side;
  __device__ Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Rectangle : Shape {
  float width, height;
  __device__ Rectangle(float w, float h) : width(w), height(h) {}
  __device__ float area() const override { return width * height; }
};

__global__ void areas(float *out) {
  int i = threadIdx.x;
  Square square(i + 1.0f);
  Rectangle rectangle(2.0f, i + 0.5f);
  const Shape *shape = i % 2 ? (const Shape *)&square : (const Shape *)&rectangle;
  out[i] = shape->area();
}

int main() {
  const int n = 33;
  float a[n], b[n], got[n], *da, *db, *out;
  for (int i = 0; i < n; i++) {
    a[i] = i * 0.5f;
    b[i] = 3.0f - i;
  }
  CHECK(cudaMalloc(&da, sizeof a));
  CHECK(cudaMalloc(&db, sizeof b));
  CHECK(cudaMalloc(&out, sizeof got));
  CHECK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
  apply_table<<<1, n>>>(da, db, out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < n; i++)
    wrong += got[i] != (i % 3 == 0 ? a[i] + b[i] : i % 3 == 1 ? a[i] - b[i] : a[i] * b[i]);
  printf("table: %d wrong\n", wrong);
  Operation operation;
  CHECK(cudaMemcpyFromSymbol(&operation, chosen, sizeof operation));
  apply_one<<<1, n>>>(da, db, out, operation);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  wrong = 0;
  for (int i = 0; i < n; i++)
    wrong += got[i] != a[i] * b[i];
  printf("pointer from the host: %d wrong\n", wrong);
  areas<<<1, n>>>(out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  wrong = 0;
  for (int i = 0; i < n; i++)
    wrong += got[i] != (i % 2 ? (i + 1.0f) * (i + 1.0f) : 2.0f * (i + 0.5f));
  printf("virtual functions: %d wrong\n", wrong);
  return 0;
}
