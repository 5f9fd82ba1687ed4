// wgmma: all types, operands in registers and in shared memory, both orders, every layout with many offsets, starts and
// base offsets. Shared memory holds random small numbers, so that a wrong address shows in the sums, which are exact.
// flags: -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
#include "hopper.h"

#include <vector>

enum { ROOM = 98304 };

#define D16(type, c)                                                                                                   \
  "+" type(d[0]), "+" type(d[1]), "+" type(d[2]), "+" type(d[3]), "+" type(d[4]), "+" type(d[5]), "+" type(d[6]),        \
      "+" type(d[7]), "+" type(d[8]), "+" type(d[9]), "+" type(d[10]), "+" type(d[11]), "+" type(d[12]),                 \
      "+" type(d[13]), "+" type(d[14]), "+" type(d[15])
#define LIST16 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define D8(type)                                                                                                       \
  "+" type(d[0]), "+" type(d[1]), "+" type(d[2]), "+" type(d[3]), "+" type(d[4]), "+" type(d[5]), "+" type(d[6]),        \
      "+" type(d[7])
#define LIST8 "{%0, %1, %2, %3, %4, %5, %6, %7}"

/* A product m64n32 with operands a and b; ROWS: that the accumulator is of 16 or 8 registers. */
#define KERNEL16(name, text, letter, ctype)                                                                            \
  struct name {                                                                                                        \
    static __device__ void run(uint32_t *out, uint64_t a, uint64_t b, const uint32_t *r, int add) {                    \
      ctype d[16];                                                                                                     \
      for (int i = 0; i < 16; i++)                                                                                     \
        d[i] = (ctype)(int)(threadIdx.x % 7 + i);                                                                      \
      wgmma_fence();                                                                                                   \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n" text "\n}"                                             \
                   : D16(letter, d)                                                                                    \
                   : "l"(a), "l"(b), "r"(add), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));                            \
      wgmma_commit();                                                                                                  \
      wgmma_wait<0>();                                                                                                 \
      for (int i = 0; i < 16; i++)                                                                                     \
        memcpy(&out[i], &d[i], 4);                                                                                     \
    }                                                                                                                  \
  };
#define KERNEL8(name, text)                                                                                            \
  struct name {                                                                                                        \
    static __device__ void run(uint32_t *out, uint64_t a, uint64_t b, const uint32_t *r, int add) {                    \
      uint32_t d[8];                                                                                                   \
      for (int i = 0; i < 8; i++)                                                                                      \
        d[i] = 0x3c003800; /* 0.5 and 1 */                                                                             \
      wgmma_fence();                                                                                                   \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %10, 0;\n" text "\n}"                                             \
                   : D8("r")                                                                                           \
                   : "l"(a), "l"(b), "r"(add), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));                            \
      wgmma_commit();                                                                                                  \
      wgmma_wait<0>();                                                                                                 \
      for (int i = 0; i < 16; i++)                                                                                     \
        out[i] = i < 8 ? d[i] : 0;                                                                                     \
    }                                                                                                                  \
  };
#define W "wgmma.mma_async.sync.aligned."
#define A16 "{%19, %20, %21, %22}"
KERNEL16(f16, W "m64n32k16.f32.f16.f16 " LIST16 ", %16, %17, p, 1, 1, 0, 0;", "f", float)
KERNEL16(f16_negative, W "m64n32k16.f32.f16.f16 " LIST16 ", %16, %17, p, -1, 1, 0, 0;", "f", float)
KERNEL16(f16_negative_b, W "m64n32k16.f32.f16.f16 " LIST16 ", %16, %17, p, 1, -1, 0, 0;", "f", float)
KERNEL16(f16_a, W "m64n32k16.f32.f16.f16 " LIST16 ", %16, %17, p, 1, 1, 1, 0;", "f", float)
KERNEL16(f16_b, W "m64n32k16.f32.f16.f16 " LIST16 ", %16, %17, p, 1, 1, 0, 1;", "f", float)
KERNEL16(f16_ab, W "m64n32k16.f32.f16.f16 " LIST16 ", %16, %17, p, 1, 1, 1, 1;", "f", float)
KERNEL16(f16_r, W "m64n32k16.f32.f16.f16 " LIST16 ", " A16 ", %17, p, 1, 1, 0;", "f", float)
KERNEL16(f16_rb, W "m64n32k16.f32.f16.f16 " LIST16 ", " A16 ", %17, p, 1, 1, 1;", "f", float)
KERNEL16(bf16, W "m64n32k16.f32.bf16.bf16 " LIST16 ", %16, %17, p, 1, 1, 0, 0;", "f", float)
KERNEL16(bf16_rb, W "m64n32k16.f32.bf16.bf16 " LIST16 ", " A16 ", %17, p, -1, -1, 1;", "f", float)
KERNEL16(tf32, W "m64n32k8.f32.tf32.tf32 " LIST16 ", %16, %17, p, 1, 1;", "f", float)
KERNEL16(tf32_r, W "m64n32k8.f32.tf32.tf32 " LIST16 ", " A16 ", %17, p, 1, 1;", "f", float)
KERNEL16(e4m3, W "m64n32k32.f32.e4m3.e4m3 " LIST16 ", %16, %17, p, 1, 1;", "f", float)
KERNEL16(e5m2, W "m64n32k32.f32.e5m2.e4m3 " LIST16 ", %16, %17, p, 1, 1;", "f", float)
KERNEL16(e4m3_r, W "m64n32k32.f32.e4m3.e5m2 " LIST16 ", " A16 ", %17, p, 1, -1;", "f", float)
KERNEL16(s8, W "m64n32k32.s32.s8.s8 " LIST16 ", %16, %17, p;", "r", uint32_t)
KERNEL16(u8, W "m64n32k32.s32.u8.s8.satfinite " LIST16 ", %16, %17, p;", "r", uint32_t)
KERNEL16(s8_r, W "m64n32k32.s32.s8.u8 " LIST16 ", " A16 ", %17, p;", "r", uint32_t)
KERNEL16(b1, W "m64n32k256.s32.b1.b1.and.popc " LIST16 ", %16, %17, p;", "r", uint32_t)
KERNEL16(b1_r, W "m64n32k256.s32.b1.b1.and.popc " LIST16 ", " A16 ", %17, p;", "r", uint32_t)
KERNEL8(h16, W "m64n32k16.f16.f16.f16 " LIST8 ", %8, %9, p, 1, 1, 0, 0;")
KERNEL8(h16_rb, W "m64n32k16.f16.f16.f16 " LIST8 ", {%11, %12, %13, %14}, %9, p, 1, 1, 1;")
KERNEL8(h8, W "m64n32k32.f16.e4m3.e4m3 " LIST8 ", %8, %9, p, 1, 1;")

template <class Product>
__global__ void multiply(const uint4 *data, uint64_t a, uint64_t b, uint32_t *to, int add) {
  extern __shared__ __align__(1024) uint8_t room[];
  for (unsigned i = threadIdx.x; i < ROOM / 16; i += blockDim.x)
    ((uint4 *)room)[i] = data[i];
  async_fence();
  __syncthreads();
  uint64_t start = shared_address(room) >> 4;
  const uint32_t *words = (const uint32_t *)data;
  uint32_t r[4], d[16];
  for (int i = 0; i < 4; i++)
    r[i] = words[threadIdx.x * 4 + i];
  Product::run(d, a + start, b + start, r, add);
  for (int i = 0; i < 16; i++)
    to[threadIdx.x * 16 + i] = d[i];
}

static uint8_t *device;
static uint32_t *output;

/* Runs a product and prints what it gives. */
template <class Product> static void try_one(const char *name, uint64_t a, uint64_t b, int add = 1) {
  static uint32_t host[2048];
  CHECK(cudaFuncSetAttribute(multiply<Product>, cudaFuncAttributeMaxDynamicSharedMemorySize, ROOM));
  multiply<Product><<<1, 128, ROOM>>>((const uint4 *)device, a, b, output, add);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host, output, sizeof host, cudaMemcpyDeviceToHost));
  printf("%s %016llx %016llx: %08x %08x\n", name, (unsigned long long)a, (unsigned long long)b, digest(host, sizeof host),
         host[17]);
}

/* Every layout for both operands; offsets that the layouts are used with, and others. */
template <class Product> static void try_layouts(const char *name, unsigned most_base) {
  static const unsigned width[] = {16, 128, 64, 32};
  for (unsigned layout = 0; layout < 4; layout++) {
    unsigned atom = 8 * width[layout];
    try_one<Product>(name, descriptor(0, atom, 2 * atom, layout), descriptor(32768, atom, 2 * atom, layout));
    try_one<Product>(name, descriptor(2048, 4096, atom, layout), descriptor(65536, 2048, atom, layout), 0);
    for (unsigned base = 0; base <= most_base; base++) {
      try_one<Product>(name, descriptor(128 * base, 1024, 3 * atom, layout, base),
                       descriptor(32768 + 128 * ((base * 3) % 8), 3 * atom, 1024, layout, base * 5 % 8));
      try_one<Product>(name, descriptor(1024 + 16 * base, 2048, 1024, layout),
                       descriptor(32768 + 32 * base, 512, 1024, layout));
    }
  }
}

/* Random numbers of a type that is exact in all sums. */
static void fill(const char *type) {
  std::vector<uint8_t> host(ROOM);
  unsigned state = 5;
  for (unsigned i = 0; i < ROOM; i++)
    host[i] = (uint8_t)next_random(&state);
  if (type[0] == 'h') { /* f16: -2 to 2 in halves */
    static const uint16_t numbers[] = {0x0000, 0x3800, 0x3c00, 0x3e00, 0x4000, 0xb800, 0xbc00, 0xbe00};
    for (unsigned i = 0; i < ROOM / 2; i++)
      ((uint16_t *)host.data())[i] = numbers[next_random(&state) % 8];
  }
  if (type[0] == 'b') { /* bf16 */
    static const uint16_t numbers[] = {0x0000, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0xbf00, 0xbf80, 0xbfc0};
    for (unsigned i = 0; i < ROOM / 2; i++)
      ((uint16_t *)host.data())[i] = numbers[next_random(&state) % 8];
  }
  if (type[0] == 't')
    for (unsigned i = 0; i < ROOM / 4; i++)
      ((float *)host.data())[i] = (float)(next_random(&state) % 33) - 16;
  if (type[0] == '4' || type[0] == '5') { /* f8: 0, 1, 2, -1 */
    static const uint8_t e4m3[] = {0x00, 0x38, 0x40, 0xb8}, e5m2[] = {0x00, 0x3c, 0x40, 0xbc};
    for (unsigned i = 0; i < ROOM; i++)
      host[i] = type[0] == '4' ? e4m3[next_random(&state) % 4] : e5m2[next_random(&state) % 4];
  }
  CHECK(cudaMemcpy(device, host.data(), ROOM, cudaMemcpyHostToDevice));
}

int main() {
  CHECK(cudaMalloc(&device, ROOM));
  CHECK(cudaMalloc(&output, 8192));
  fill("half");
  try_layouts<f16>("f16", 7);
  try_layouts<f16_a>("f16 A", 3);
  try_layouts<f16_b>("f16 B", 7);
  try_layouts<f16_ab>("f16 AB", 3);
  try_layouts<f16_r>("f16 registers", 1);
  try_layouts<f16_rb>("f16 registers, B", 1);
  try_layouts<f16_negative>("f16 -a", 0);
  try_layouts<f16_negative_b>("f16 -b", 0);
  try_layouts<h16>("f16 to f16", 0);
  try_layouts<h16_rb>("f16 to f16, registers, B", 0);
  fill("bf16");
  try_layouts<bf16>("bf16", 0);
  try_layouts<bf16_rb>("bf16 registers, B", 0);
  fill("tf32");
  try_layouts<tf32>("tf32", 1);
  try_layouts<tf32_r>("tf32 registers", 0);
  fill("4");
  try_layouts<e4m3>("e4m3", 1);
  try_layouts<h8>("e4m3 to f16", 0);
  fill("5");
  try_layouts<e5m2>("e5m2 e4m3", 0);
  try_layouts<e4m3_r>("e4m3 e5m2 registers", 0);
  fill("8");
  try_layouts<s8>("s8", 1);
  try_layouts<u8>("u8 s8", 0);
  try_layouts<s8_r>("s8 u8 registers", 0);
  try_layouts<b1>("b1", 1);
  try_layouts<b1_r>("b1 registers", 0);
  return 0;
}
