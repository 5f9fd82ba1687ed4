/* Kernels that Triton 3.6 compiled for an H200 (tests/data/triton): products by tl.dot, by tensor
 * descriptors of the host and of the kernel, persistent and with specialised warps, whose sums are
 * exact there and here; and attention, whose result is near what the H200 stored. */
#include "emu/half.h"
#include "emu/tensor_map.h"
#include "emu_lanes.h"

#include <math.h>

/* ---- Files ---- */

/* The contents of a file of tests/data/triton. */
static bf_text read_data(const char *name) {
  char path[256], buffer[65536];
  bf_text text = {0};
  bf_reader *reader = NULL;
  bf_diagnostic diagnostic;
  size_t got = 0;
  for (unsigned i = 0; i < 2 && !reader; i++) {
    snprintf(path, sizeof path, "%stests/data/triton/%s.zst", i ? "../" : "", name);
    if (bf_reader_open(path, &reader, &diagnostic) != BF_OK)
      reader = NULL;
  }
  assert_non_null(reader);
  while (bf_reader_read(reader, buffer, sizeof buffer, &got, &diagnostic) == BF_OK && got)
    bf_text_add(&text, buffer, got);
  bf_reader_close(reader);
  return text;
}

/* ---- Products ---- */

typedef enum element { F16, BF16, F8, F32 } element;

static const unsigned element_bytes[] = {2, 2, 1, 4};

typedef enum arguments { POINTERS, DESCRIPTORS } arguments;

typedef struct product {
  const char *file, *kernel;
  element in, out;
  arguments arguments;
  bool transposed; /* b is stored along K */
  unsigned m, n, k;
  unsigned grid[2], threads, shared_bytes;
  uint16_t box[3][2]; /* of host descriptors: rows, columns of a, b, c */
} product;

static const product products[] = {
    {"dot_f16.ptx",
     "dot_kernel",
     F16,
     F32,
     POINTERS,
     false,
     200,
     136,
     160,
     {2, 2},
     128,
     65536,
     {{0}}},
    {"dot_bf16.ptx",
     "dot_kernel",
     BF16,
     F32,
     POINTERS,
     false,
     128,
     128,
     128,
     {2, 2},
     128,
     32768,
     {{0}}},
    {"dot_tf32.ptx",
     "dot_kernel",
     F32,
     F32,
     POINTERS,
     false,
     128,
     128,
     96,
     {2, 2},
     128,
     32768,
     {{0}}},
    {"dot_f8.ptx",
     "dot_transposed_kernel",
     F8,
     F32,
     POINTERS,
     true,
     128,
     128,
     256,
     {1, 1},
     256,
     98304,
     {{0}}},
    {"descriptor_f16.ptx",
     "descriptor_kernel",
     F16,
     F16,
     DESCRIPTORS,
     true,
     200,
     136,
     192,
     {2, 2},
     256,
     98328,
     {{128, 64}, {128, 64}, {128, 64}}},
    {"descriptor_f8.ptx",
     "descriptor_kernel",
     F8,
     F16,
     DESCRIPTORS,
     true,
     128,
     128,
     256,
     {1, 2},
     128,
     73752,
     {{128, 128}, {64, 128}, {128, 64}}},
    {"device_descriptor.ptx",
     "device_descriptor_kernel",
     F16,
     F16,
     POINTERS,
     true,
     256,
     128,
     192,
     {2, 1},
     128,
     98328,
     {{0}}},
    {"persistent.ptx",
     "persistent_kernel",
     F16,
     F16,
     POINTERS,
     true,
     384,
     256,
     128,
     {4, 1},
     256,
     131096,
     {{0}}},
    {"specialized.ptx",
     "persistent_kernel",
     F16,
     F16,
     POINTERS,
     true,
     384,
     256,
     128,
     {4, 1},
     128,
     131096,
     {{0}}},
};

/* Number i of a matrix: small and whole. */
static int whole(uint64_t i, uint64_t seed) {
  return (int)(((i * 1103515245 + seed * 12345 + (i >> 7) * 7919) >> 8) % 7) - 3;
}

/* The bits of a small whole number. */
static uint32_t encode(element type, float value) {
  uint32_t half = bf_emu_float_to_half(value, BF_EMU_RN), sign = value < 0 ? 0x80 : 0;
  switch (type) {
  case F16:
    return half;
  case BF16:
    return bf_emu_float_to_bf16(value, BF_EMU_RN);
  case F8: /* exponents of e4m3 are 8 less than those of f16 */
    return value == 0 ? 0 : sign | ((half & 0x7fff) - (8u << 10)) >> 7;
  default:
    return bf_emu_float_bits(value);
  }
}

static uint64_t matrix(bed *at, element type, unsigned count, uint64_t seed) {
  uint64_t address = bed_alloc(at, (size_t)count * element_bytes[type], 0);
  for (unsigned i = 0; i < count; i++) {
    uint32_t bits = encode(type, (float)whole(i, seed));
    memcpy((uint8_t *)(uintptr_t)address + (size_t)i * element_bytes[type], &bits,
           element_bytes[type]);
  }
  return address;
}

/* A descriptor as Triton passes it: the map, sizes and strides. Returns the bytes. */
static size_t put_descriptor(uint8_t *to, uint64_t address, element type, unsigned rows,
                             unsigned columns, const uint16_t *box) {
  bf_tensor_map map = {.address = address,
                       .size = {columns - 1, rows - 1},
                       .box = {box[1], box[0]},
                       .step = {1, 1},
                       .rank = 2,
                       .type = type == F16 ? BF_TENSOR_F16 : BF_TENSOR_U8,
                       .swizzle = BF_TENSOR_SWIZZLE_128,
                       .stride = {(uint64_t)columns * element_bytes[type]}};
  uint32_t sizes[2] = {rows, columns};
  uint64_t strides[2] = {columns, 1};
  memcpy(map.magic, BF_TENSOR_MAGIC, sizeof map.magic);
  memcpy(to, &map, sizeof map);
  memcpy(to + 128, sizes, sizeof sizes);
  memcpy(to + 136, strides, sizeof strides);
  return 192; /* the next begins at a multiple of 64 */
}

/* Parameters of the kernel; returns their bytes. The last two are memory for the kernel itself. */
static size_t put_parameters(bed *at, const product *p, const uint64_t *address, uint8_t *to) {
  size_t bytes = 0;
  uint32_t sizes[3] = {p->m, p->n, p->k};
  uint64_t scratch[2] = {bed_alloc(at, 4096, 0), 0};
  if (p->arguments == DESCRIPTORS) {
    bytes += put_descriptor(to, address[0], p->in, p->m, p->k, p->box[0]);
    bytes += put_descriptor(to + bytes, address[1], p->in, p->n, p->k, p->box[1]);
    bytes += put_descriptor(to + bytes, address[2], p->out, p->m, p->n, p->box[2]);
    bytes += 152 - 192;
    memcpy(to + bytes, &p->k, 4);
    bytes += 8;
  } else {
    memcpy(to, address, 24);
    memcpy(to + 24, sizes, 12);
    bytes = 40;
  }
  memcpy(to + bytes, scratch, sizeof scratch);
  return bytes + sizeof scratch;
}

static void check_product(const product *p, const uint8_t *c) {
  for (unsigned row = 0; row < p->m; row++)
    for (unsigned column = 0; column < p->n; column++) {
      int sum = 0;
      uint32_t bits = 0;
      for (unsigned k = 0; k < p->k; k++)
        sum += whole((uint64_t)row * p->k + k, 1) *
               whole(p->transposed ? (uint64_t)column * p->k + k : (uint64_t)k * p->n + column, 2);
      unsigned bytes = element_bytes[p->out];
      memcpy(&bits, c + ((size_t)row * p->n + column) * bytes, bytes);
      if (bits != encode(p->out, (float)sum))
        fail_msg("%s: row %u, column %u is 0x%x, not %d", p->file, row, column, bits, sum);
    }
}

static void products_are_exact(void **state) {
  (void)state;
  for (unsigned i = 0; i < sizeof products / sizeof *products; i++) {
    const product *p = &products[i];
    _Alignas(64) uint8_t parameters[1024] = {0};
    bf_text text = read_data(p->file);
    bed at;
    bed_open_text(&at, p->file, text.data, text.size, NULL);
    uint64_t address[3] = {matrix(&at, p->in, p->m * p->k, 1), matrix(&at, p->in, p->n * p->k, 2),
                           bed_alloc(&at, (size_t)p->m * p->n * element_bytes[p->out], 0xff)};
    size_t bytes = put_parameters(&at, p, address, parameters);
    bf_emu_launch launch = bed_launch(&at, p->kernel, p->grid[0], p->threads, parameters, bytes);
    launch.grid[1] = p->grid[1];
    launch.dynamic_shared_bytes = p->shared_bytes;
    bf_emu_result result = bed_run(&at, &launch);
    if (result.fault.kind)
      fail_msg("%s: %s", p->file, result.fault.text);
    check_product(p, (const uint8_t *)(uintptr_t)address[2]);
    bed_close(&at);
    bf_text_free(&text);
  }
}

/* ---- Attention ---- */

enum { HEADS = 2, LENGTH = 256 };

typedef struct attention {
  const char *file;
  unsigned depth, rows, threads, shared_bytes; /* rows: of a block */
  float scale;                                 /* 1 / sqrt(depth) / ln(2) */
  bool is_causal;
} attention;

/* Runs the kernel on q, k and v, one behind the other, and gives y behind them. */
static void run_attention(const attention *what, uint16_t *array) {
  bf_text text = read_data(what->file);
  size_t bytes = (size_t)HEADS * LENGTH * what->depth * 2;
  bed at;
  bed_open_text(&at, what->file, text.data, text.size, NULL);
  struct {
    uint64_t array[4];
    uint32_t length;
    float scale;
    uint64_t scratch[2];
  } parameters = {.length = LENGTH, .scale = what->scale};
  for (unsigned i = 0; i < 4; i++) {
    parameters.array[i] = bed_alloc(&at, bytes, 0);
    memcpy((void *)(uintptr_t)parameters.array[i], (uint8_t *)array + i * bytes, bytes);
  }
  bf_emu_launch launch = bed_launch(&at, "attention_kernel", LENGTH / what->rows, what->threads,
                                    &parameters, sizeof parameters);
  launch.grid[1] = HEADS;
  launch.dynamic_shared_bytes = what->shared_bytes;
  bf_emu_result result = bed_run(&at, &launch);
  if (result.fault.kind)
    fail_msg("%s: %s", what->file, result.fault.text);
  memcpy((uint8_t *)array + 3 * bytes, (void *)(uintptr_t)parameters.array[3], bytes);
  bed_close(&at);
  bf_text_free(&text);
}

/* What the H200 stored: the same but for the last place of a few. */
static void attention_is_near_the_gpus(void **state) {
  (void)state;
  const attention what = {"attention.ptx", 64, 64, 128, 40960, 0.18033688011112042f, false};
  const unsigned count = HEADS * LENGTH * what.depth;
  bf_text data = read_data("attention.bin");
  uint16_t *array = malloc(data.size), *stored = (uint16_t *)(void *)data.data + 3 * count;
  unsigned unequal = 0;
  assert_non_null(array);
  assert_int_equal(data.size, 4 * count * 2);
  memcpy(array, data.data, data.size);
  run_attention(&what, array);
  for (unsigned i = 0; i < count; i++) {
    float difference = bf_emu_half_to_float(array[3 * count + i]) - bf_emu_half_to_float(stored[i]);
    unequal += array[3 * count + i] != stored[i];
    if (fabsf(difference) > 0.0003f)
      fail_msg("element %u is off by %g", i, (double)difference);
  }
  print_message("%u of %u elements are not the same, in the last place\n", unequal, count);
  assert_in_range(unequal, 0, count / 50);
  free(array);
  bf_text_free(&data);
}

/* One row of the result, by the definition. */
static void expect_row(const attention *what, const uint16_t *array, unsigned head, unsigned row,
                       double *result) {
  unsigned depth = what->depth, count = HEADS * LENGTH * depth;
  const uint16_t *q = array + (size_t)(head * LENGTH + row) * depth;
  const uint16_t *k = array + count + (size_t)head * LENGTH * depth, *v = k + count;
  double total = 0;
  memset(result, 0, depth * sizeof *result);
  for (unsigned j = 0; j < (what->is_causal ? row + 1 : (unsigned)LENGTH); j++) {
    double score = 0;
    for (unsigned i = 0; i < depth; i++)
      score += (double)bf_emu_half_to_float(q[i]) * bf_emu_half_to_float(k[j * depth + i]);
    double weight = exp2(score * what->scale);
    total += weight;
    for (unsigned i = 0; i < depth; i++)
      result[i] += weight * bf_emu_half_to_float(v[j * depth + i]);
  }
  for (unsigned i = 0; i < depth; i++)
    result[i] /= total;
}

static void causal_attention_is_right(void **state) {
  (void)state;
  const attention what = {"attention_causal.ptx", 128, 128, 256, 98304, 0.12751743082459868f, true};
  const unsigned count = HEADS * LENGTH * what.depth;
  uint16_t *array = calloc(4 * count, sizeof *array);
  double expected[128];
  assert_non_null(array);
  for (unsigned i = 0; i < 3 * count; i++)
    array[i] = bf_emu_float_to_half((float)whole(i, 5) / 2, BF_EMU_RN);
  run_attention(&what, array);
  for (unsigned row = 0; row < HEADS * LENGTH; row++) {
    expect_row(&what, array, row / LENGTH, row % LENGTH, expected);
    for (unsigned i = 0; i < what.depth; i++) {
      double own = bf_emu_half_to_float(array[3 * count + row * what.depth + i]);
      if (fabs(own - expected[i]) > 0.002)
        fail_msg("row %u, element %u is %g, not %g", row, i, own, expected[i]);
    }
  }
  free(array);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_exact),
      cmocka_unit_test(attention_is_near_the_gpus),
      cmocka_unit_test(causal_attention_is_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
