// Runs a kernel that Triton compiled (tests/data/triton) through the driver, on data of small whole numbers, and compares some
// of the results:
//   triton FILE.ptx KERNEL KIND TYPE M N K BLOCKS_X BLOCKS_Y THREADS SHARED_BYTES [BOX...]
// KIND: pointers, transposed (b lies along K) or descriptors (with the rows and columns of the boxes of a, b and c) for
// products of M x N x K; attention for M heads of N rows of K numbers, causal for those that look back only.
// TYPE: of the operands and of the result, as f16:f32.
// Build: nvcc -lcuda. Under bankfold exec --gpu h200 it gives the simulator's cycles.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <deque>
#include <string>
#include <vector>

#define OK(call)                                                                                                              \
  do {                                                                                                                        \
    CUresult error = (call);                                                                                                  \
    if (error != CUDA_SUCCESS) {                                                                                              \
      printf("%s: error %d\n", #call, (int)error);                                                                            \
      exit(1);                                                                                                                \
    }                                                                                                                         \
  } while (0)

static unsigned bytes_of(const std::string &type) { return type == "f8" ? 1 : type == "f32" ? 4 : 2; }

/* Number i of a matrix: small and whole. */
static int whole(uint64_t i, uint64_t seed) {
  return (int)(((i * 1103515245 + seed * 12345 + (i >> 7) * 7919) >> 8) % 7) - 3;
}

static void encode(const std::string &type, float value, void *to) {
  if (type == "f16")
    *(__half *)to = __half(value);
  else if (type == "bf16")
    *(__nv_bfloat16 *)to = __nv_bfloat16(value);
  else if (type == "f8")
    *(__nv_fp8_e4m3 *)to = __nv_fp8_e4m3(value);
  else
    *(float *)to = value;
}

static CUdeviceptr to_device(const std::vector<uint8_t> &from) {
  CUdeviceptr at;
  OK(cuMemAlloc(&at, from.size()));
  OK(cuMemcpyHtoD(at, from.data(), from.size()));
  return at;
}

static CUdeviceptr matrix(const std::string &type, size_t count, uint64_t seed, float share) {
  std::vector<uint8_t> bytes(count * bytes_of(type));
  for (size_t i = 0; i < count; i++)
    encode(type, (float)whole(i, seed) * share, &bytes[i * bytes_of(type)]);
  return to_device(bytes);
}

/* The parameters of a launch, one after the other. Each is passed by its own address: where ptxas puts a tensor map among
 * them - at a multiple of 64 bytes of the constant bank, in which they begin at 0x210 - a packed buffer would have to know. */
struct parameters {
  std::deque<CUtensorMap> map;
  std::deque<uint64_t> word;
  std::vector<void *> at;

  void add(uint64_t value) {
    word.push_back(value);
    at.push_back(&word.back());
  }
};

/* A descriptor as Triton passes it: the map, sizes and strides. */
static void add_descriptor(parameters &to, CUdeviceptr at, const std::string &type, unsigned rows, unsigned columns,
                           const unsigned *box) {
  cuuint64_t size[] = {columns, rows}, stride[] = {(cuuint64_t)columns * bytes_of(type)};
  cuuint32_t boxes[] = {box[1], box[0]}, step[] = {1, 1};
  to.map.emplace_back();
  OK(cuTensorMapEncodeTiled(&to.map.back(), type == "f16" ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_UINT8, 2,
                            (void *)at, size, stride, boxes, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                            CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  to.at.push_back(&to.map.back());
  for (uint64_t number : {(uint64_t)rows, (uint64_t)columns, (uint64_t)columns, (uint64_t)1})
    to.add(number);
}

struct job {
  std::string kind, in, out;
  unsigned m, n, k, grid[2], threads, shared_bytes, box[6];
  CUfunction kernel;
  CUdeviceptr at[4], scratch;
};

static void launch(const job &own, parameters &from) {
  from.add(own.scratch);
  from.add(0);
  OK(cuFuncSetAttribute(own.kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)own.shared_bytes));
  OK(cuLaunchKernel(own.kernel, own.grid[0], own.grid[1], 1, own.threads, 1, 1, own.shared_bytes, NULL, from.at.data(), NULL));
  OK(cuCtxSynchronize());
}

/* Some of the sums. */
static int wrong_sums(const job &own) {
  std::vector<uint8_t> c((size_t)own.m * own.n * bytes_of(own.out));
  OK(cuMemcpyDtoH(c.data(), own.at[2], c.size()));
  int wrong = 0;
  for (uint64_t i = 0; i < 500; i++) {
    uint64_t place = i * 2654435761u % ((uint64_t)own.m * own.n), row = place / own.n, column = place % own.n;
    int sum = 0;
    for (unsigned k = 0; k < own.k; k++)
      sum += whole(row * own.k + k, 1) * whole(own.kind == "pointers" ? (uint64_t)k * own.n + column : column * own.k + k, 2);
    uint8_t expected[4];
    encode(own.out, (float)sum, expected);
    wrong += memcmp(expected, &c[place * bytes_of(own.out)], bytes_of(own.out)) != 0;
  }
  return wrong;
}

static int multiply(job &own) {
  parameters passed;
  own.at[0] = matrix(own.in, (size_t)own.m * own.k, 1, 1);
  own.at[1] = matrix(own.in, (size_t)own.n * own.k, 2, 1);
  own.at[2] = matrix(own.out, (size_t)own.m * own.n, 3, 1);
  if (own.kind == "descriptors") {
    add_descriptor(passed, own.at[0], own.in, own.m, own.k, own.box);
    add_descriptor(passed, own.at[1], own.in, own.n, own.k, own.box + 2);
    add_descriptor(passed, own.at[2], own.out, own.m, own.n, own.box + 4);
  } else {
    for (unsigned i = 0; i < 3; i++)
      passed.add(own.at[i]);
    passed.add(own.m);
    passed.add(own.n);
  }
  passed.add(own.k);
  launch(own, passed);
  return wrong_sums(own);
}

/* One row of the result, by the definition. */
static void expect_row(const job &own, unsigned head, unsigned row, double scale, std::vector<double> &result) {
  auto value = [&](int which, unsigned at, unsigned i) {
    return whole(((uint64_t)head * own.n + at) * own.k + i, which) * 0.5;
  };
  double total = 0;
  result.assign(own.k, 0);
  for (unsigned j = 0; j < (own.kind == "causal" ? row + 1 : own.n); j++) {
    double score = 0;
    for (unsigned i = 0; i < own.k; i++)
      score += value(1, row, i) * value(2, j, i);
    double weight = exp2(score * scale);
    total += weight;
    for (unsigned i = 0; i < own.k; i++)
      result[i] += weight * value(3, j, i);
  }
  for (double &one : result)
    one /= total;
}

static int attend(job &own) {
  parameters passed;
  CUdeviceptr array[4];
  float scale = (float)(1.4426950408889634 / sqrt(own.k));
  size_t count = (size_t)own.m * own.n * own.k;
  for (int i = 0; i < 4; i++)
    passed.add(array[i] = matrix("f16", count, i + 1, 0.5f));
  passed.add(own.n);
  passed.at.push_back(&scale);
  launch(own, passed);
  std::vector<__half> y(count);
  OK(cuMemcpyDtoH(y.data(), array[3], count * 2));
  std::vector<double> expected;
  int wrong = 0;
  for (unsigned i = 0; i < 16; i++) {
    unsigned head = i % own.m, row = i * 2654435761u % own.n;
    expect_row(own, head, row, scale, expected);
    for (unsigned j = 0; j < own.k; j++)
      wrong += fabs(expected[j] - (double)(float)y[((size_t)head * own.n + row) * own.k + j]) > 0.004;
  }
  return wrong;
}

static std::string read_file(const char *path) {
  std::string text;
  FILE *file = fopen(path, "rb");
  if (!file) {
    printf("error: no %s\n", path);
    exit(1);
  }
  char buffer[65536];
  for (size_t got; (got = fread(buffer, 1, sizeof buffer, file)) > 0;)
    text.append(buffer, got);
  fclose(file);
  return text;
}

int main(int count, char **word) {
  if (count < 12)
    return 2;
  CUdevice device;
  CUcontext context;
  CUmodule module;
  job own = {};
  std::string types = word[4];
  own.kind = word[3];
  own.in = types.substr(0, types.find(':'));
  own.out = types.substr(types.find(':') + 1);
  unsigned *numbers[] = {&own.m, &own.n, &own.k, &own.grid[0], &own.grid[1], &own.threads, &own.shared_bytes};
  for (int i = 0; i < 7; i++)
    *numbers[i] = (unsigned)atoi(word[5 + i]);
  for (int i = 0; i < 6 && 12 + i < count; i++)
    own.box[i] = (unsigned)atoi(word[12 + i]);
  OK(cuInit(0));
  OK(cuDeviceGet(&device, 0));
  OK(cuCtxCreate(&context, NULL, 0, device));
  OK(cuModuleLoadData(&module, read_file(word[1]).c_str()));
  OK(cuModuleGetFunction(&own.kernel, module, word[2]));
  OK(cuMemAlloc(&own.scratch, 1 << 20));
  int wrong = own.kind == "attention" || own.kind == "causal" ? attend(own) : multiply(own);
  printf("%s: %d wrong\n", word[2], wrong);
  return wrong != 0;
}
