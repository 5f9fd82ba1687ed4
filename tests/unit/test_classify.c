/* Pattern classes: the examples of "Configurable XOR hash functions for banked scratchpad memories
 * in GPUs" (section 3.2), their sentences, and recovery of random parameters under random masks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "random.h"

static const bf_trace_limits limits = {.lanes = 32, .allocation_bytes = (uint64_t)1 << 32};

static bf_access parse(const char *line) {
  bf_arena arena = {0};
  bf_access access;
  bf_diagnostic found;
  if (bf_trace_parse_line("t", 1, line, &limits, &arena, &access, &found) != 1)
    fail_msg("%s: %s", line, found.message);
  bf_arena_free(&arena);
  return access;
}

static void assert_matrix(const bf_pattern *p, int64_t m00, int64_t m01, int64_t m10, int64_t m11) {
  assert_int_equal(p->m[0][0], m00);
  assert_int_equal(p->m[0][1], m01);
  assert_int_equal(p->m[1][0], m10);
  assert_int_equal(p->m[1][1], m11);
}

/* tile[ty + i][tx], 16x16: s = [1 0; 0 1] (ty, tx) + (i, 0). */
static void transpose_loading(void **state) {
  (void)state;
  for (int i = 0; i < 16; i += 2) {
    char line[64];
    sprintf(line, "st 4 ffffffff stride:1+%d", 16 * i);
    bf_access access = parse(line);
    bf_pattern p = bf_access_classify(&access, 32, 16);
    assert_int_equal(p.class_, BF_PATTERN_LINEAR);
    assert_int_equal(p.width_x, 16);
    assert_int_equal(p.height_y, 2);
    assert_matrix(&p, 1, 0, 0, 1);
    assert_int_equal(p.origin[0], i);
    assert_int_equal(p.origin[1], 0);
  }
}

/* tile[tx][ty + i], 16x16: s = [0 1; 1 0] (ty, tx) + (0, i). */
static void transpose_storing(void **state) {
  (void)state;
  for (int i = 0; i < 15; i++) {
    char line[64];
    sprintf(line, "ld 4 ffffffff block:16,16,1+%d", i);
    bf_access access = parse(line);
    bf_pattern p = bf_access_classify(&access, 32, 16);
    assert_int_equal(p.class_, BF_PATTERN_BLOCK);
    assert_int_equal(p.width_x, 16);
    assert_int_equal(p.stride_x, 16);
    assert_int_equal(p.stride_y, 1);
    assert_matrix(&p, 0, 1, 1, 0);
    assert_int_equal(p.origin[0], 0);
    assert_int_equal(p.origin[1], i);
  }
}

/* sdata[2*S*tx]: s = [0 0; 0 2S] (ty, tx). */
static void reduction(void **state) {
  (void)state;
  for (int s = 1; s <= 256; s *= 2) {
    char line[64];
    sprintf(line, "ld 4 ffffffff stride:%d", 2 * s);
    bf_access access = parse(line);
    bf_pattern p = bf_access_classify(&access, 32, 1);
    assert_int_equal(p.class_, BF_PATTERN_STRIDE);
    assert_int_equal(p.width_x, 32);
    assert_int_equal(p.stride_x, 2 * s);
    assert_matrix(&p, 0, 0, 0, 2 * s);
    assert_int_equal(p.origin[1], 0);
  }
}

/* i0 = (pos / stride) * 4 * stride + pos % stride: linear down to stride 32, then
 * s = [4*stride 0; 0 1] (ty, tx). */
static void fast_walsh(void **state) {
  (void)state;
  for (int stride = 512; stride >= 2; stride /= 4) {
    bf_access access = {.width_bytes = 4, .mask = 0xffffffff, .count = 1};
    for (int pos = 0; pos < 32; pos++) {
      int lo = pos & (stride - 1);
      access.address[pos] = (uint32_t)(((pos - lo) << 2) + lo) * 4;
    }
    bf_pattern p = bf_access_classify(&access, 32, 1);
    assert_int_equal(p.class_, stride >= 32 ? BF_PATTERN_LINEAR : BF_PATTERN_BLOCK);
    if (stride < 32) {
      assert_int_equal(p.width_x, stride);
      assert_int_equal(p.height_y, 32 / stride);
      assert_matrix(&p, 4 * stride, 0, 0, 1);
    }
  }
}

static void classes_and_sentences(void **state) {
  (void)state;
  static const struct {
    const char *line;
    int64_t columns;
    bf_pattern_class class_;
    const char *sentence;
  } table[] = {
      {"ld 4 ffffffff stride:0+3", 1, BF_PATTERN_BROADCAST,
       "broadcast: all 32 active lanes access element 3"},
      {"ld 4 10 72", 1, BF_PATTERN_BROADCAST, "broadcast: the one active lane accesses element 18"},
      {"ld 4 ffffffff stride:1", 1, BF_PATTERN_LINEAR, "linear: lane i accesses element i"},
      {"ld 8 ffffffff stride:1+5", 1, BF_PATTERN_LINEAR, "linear: lane i accesses element i + 5"},
      {"ld 4 ffffffff stride:1+16", 16, BF_PATTERN_LINEAR,
       "linear: lane i accesses element i + 16; with tx = i % 16 and ty = i / 16 and rows of 16 "
       "elements that is row ty + 1, column tx"},
      {"ld 4 ffffffff stride:32", 1, BF_PATTERN_STRIDE,
       "stride 32: lane i accesses element 32*i; 32 is a multiple of 2^5"},
      {"ld 4 ffffffff stride:32+7", 32, BF_PATTERN_STRIDE,
       "stride 32: lane i accesses element 32*i + 7; 32 is a multiple of 2^5; with rows of 32 "
       "elements that is row i, column 7"},
      {"ld 4 ffffffff stride:33", 1, BF_PATTERN_STRIDE,
       "stride 33: lane i accesses element 33*i; 33 is odd"},
      {"ld 4 ffffffff stride:-1+31", 1, BF_PATTERN_STRIDE,
       "stride -1: lane i accesses element -i + 31; -1 is odd"},
      {"ld 4 3 140 76", 1, BF_PATTERN_STRIDE,
       "stride -16: lane i accesses element -16*i + 35; -16 is a multiple of 2^4"},
      {"ld 4 ffffffff block:8,1,32", 1, BF_PATTERN_BLOCK,
       "block of 8x4 lanes: with tx = i % 8 and ty = i / 8, lane i accesses element 32*ty + tx"},
      {"ld 4 ffffffff block:16,16,1", 16, BF_PATTERN_BLOCK,
       "block of 16x2 lanes: with tx = i % 16 and ty = i / 16, lane i accesses element "
       "ty + 16*tx; with rows of 16 elements that is row tx, column ty"},
      {"ld 4 ffffffff block:2,0,1", 1, BF_PATTERN_BLOCK,
       "block of 2x16 lanes: with tx = i % 2 and ty = i / 2, lane i accesses element ty"},
      {"ld 4 1f 0 4 12 8 64", 1, BF_PATTERN_RANDOM,
       "random: no stride and no block describes the elements of the 5 active lanes, which lie "
       "between 0 and 16"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    bf_access access = parse(table[i].line);
    bf_pattern p = bf_access_classify(&access, 32, table[i].columns);
    bf_text text = {0};
    bf_pattern_explain(&p, &access, &text);
    assert_int_equal(p.class_, table[i].class_);
    assert_string_equal(text.data, table[i].sentence);
    bf_text_free(&text);
  }
}

/* A linear access seen by a thread block of 8 lanes a row, and patterns that have no such view. */
static void reshaping(void **state) {
  (void)state;
  bf_access access = parse("ld 4 ffffffff stride:3+5");
  bf_pattern p = bf_access_classify(&access, 32, 1);
  assert_true(bf_pattern_reshape(&p, 8));
  assert_int_equal(p.class_, BF_PATTERN_STRIDE);
  assert_int_equal(p.height_y, 4);
  assert_matrix(&p, 24, 0, 0, 3);
  assert_false(bf_pattern_reshape(&p, 33));
  assert_false(bf_pattern_reshape(&p, 0));
  access = parse("ld 4 ffffffff block:8,1,32");
  p = bf_access_classify(&access, 32, 1);
  assert_true(bf_pattern_reshape(&p, 8));
  assert_false(bf_pattern_reshape(&p, 16));
}

static uint32_t draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

/* The element that a pattern gives lane, by its strides and by its matrix. */
static int64_t by_strides(const bf_pattern *p, unsigned lane) {
  return p->stride_x * (lane % p->width_x) + p->stride_y * (lane / p->width_x) + p->offset;
}

static int64_t by_matrix(const bf_pattern *p, unsigned lane) {
  int64_t tx = lane % p->width_x, ty = lane / p->width_x;
  int64_t row = p->m[0][0] * ty + p->m[0][1] * tx + p->origin[0];
  int64_t column = p->m[1][0] * ty + p->m[1][1] * tx + p->origin[1];
  return row * p->columns + column;
}

/* Whatever block an access was made from, and whatever lanes are active, some description is found
 * and gives every active lane its element; with all lanes active it is the block itself. */
static void random_blocks_are_recovered(void **state) {
  (void)state;
  uint64_t random = 1;
  for (int round = 0; round < 20000; round++) {
    unsigned lanes = draw(&random) % 2 ? 32 : 64;
    unsigned width_x = 1u << draw(&random) % 6;
    int64_t stride_x = (int64_t)(draw(&random) % 201) - 100;
    int64_t stride_y = (int64_t)(draw(&random) % 201) - 100;
    uint64_t all = lanes == 64 ? UINT64_MAX : 0xffffffff;
    uint64_t mask = round % 3 ? all : (((uint64_t)draw(&random) << 32) | draw(&random)) & all;
    bf_access access = {.width_bytes = 4, .mask = mask ? mask : 1, .count = 1};
    for (unsigned lane = 0; lane < lanes; lane++)
      access.address[lane] =
          4 * (uint32_t)(10000 + stride_x * (lane % width_x) + stride_y * (lane / width_x));
    int64_t columns = draw(&random) % 40 + 1;
    bf_pattern p = bf_access_classify(&access, lanes, columns);
    assert_int_not_equal(p.class_, BF_PATTERN_RANDOM);
    for (uint64_t left = access.mask; left; left &= left - 1) {
      unsigned lane = (unsigned)__builtin_ctzll(left);
      assert_int_equal(by_strides(&p, lane), access.address[lane] / 4);
      assert_int_equal(by_matrix(&p, lane), access.address[lane] / 4);
    }
    if (columns > 1)
      assert_true(p.m[1][0] >= 0 && p.m[1][0] < columns && p.m[1][1] >= 0 && p.m[1][1] < columns);
    if (mask == all && p.class_ == BF_PATTERN_BLOCK) {
      assert_int_equal(p.width_x, width_x);
      assert_int_equal(p.stride_x, stride_x);
      assert_int_equal(p.stride_y, stride_y);
    }
  }
}

/* A full block with one address moved fits nothing. */
static void one_stray_lane_makes_it_random(void **state) {
  (void)state;
  for (unsigned stray = 0; stray < 32; stray++) {
    bf_access access = parse("ld 4 ffffffff block:8,3,100");
    access.address[stray] += 4000;
    bf_pattern p = bf_access_classify(&access, 32, 1);
    assert_int_equal(p.class_, BF_PATTERN_RANDOM);
    assert_string_equal(bf_pattern_class_name(p.class_), "random");
  }
}

/* ---- The slow way ---- */

/* The class of an access whose lanes 0 and 1 are active, by trying every width: the strides are
 * then those of lanes 0 and 1, and of lane 0 and the first active lane of another row. */
static bf_pattern_class slow_class(const bf_access *access, int lanes) {
  int64_t element[BF_MAX_LANES];
  for (int lane = 0; lane < lanes; lane++)
    element[lane] = access->address[lane] / access->width_bytes;
  int64_t x = element[1] - element[0];
  for (int width = lanes; width > 1; width--) {
    bool fits = lanes % width == 0, has_y = false;
    int64_t y = 0;
    for (int lane = 1; lane < lanes && fits; lane++) {
      int64_t rest = element[lane] - element[0] - x * (lane % width);
      if (!(access->mask >> lane & 1))
        continue;
      if (lane >= width && !has_y)
        y = rest / (lane / width);
      has_y = has_y || lane >= width;
      fits = rest == y * (lane / width);
    }
    if (fits && width < lanes)
      return BF_PATTERN_BLOCK;
    if (fits)
      return x == 0 ? BF_PATTERN_BROADCAST : x == 1 ? BF_PATTERN_LINEAR : BF_PATTERN_STRIDE;
  }
  return BF_PATTERN_RANDOM;
}

/* Strides, blocks, and both with one lane elsewhere, of 32 and 64 lanes. */
static void classes_are_those_of_the_slow_way(void **state) {
  (void)state;
  test_random random = {3};
  unsigned of_class[BF_PATTERN_RANDOM + 1] = {0};
  for (int round = 0; round < 40000; round++) {
    int lanes = round & 1 ? 64 : 32, columns = 1 << random_below(&random, 7);
    bf_access access = {.op = BF_OP_LD, .width_bytes = 1U << random_below(&random, 5), .count = 1};
    access.mask =
        (random_below(&random, 2) ? UINT64_MAX : random_bits(&random)) >> (64 - lanes) | 3;
    int64_t x = (int64_t)random_below(&random, 5) - 1, y = (int64_t)random_below(&random, 9) - 4;
    unsigned elsewhere = (unsigned)random_below(&random, 96);
    for (int lane = 0; lane < lanes; lane++) {
      int64_t element = 500 + x * (lane % columns) + y * (lane / columns);
      element += lane == (int)elsewhere ? 1 + (int64_t)random_below(&random, 2) : 0;
      access.address[lane] = (uint32_t)element * access.width_bytes;
    }
    bf_pattern_class found = bf_access_classify(&access, (unsigned)lanes, 1).class_;
    assert_int_equal(found, slow_class(&access, lanes));
    of_class[found]++;
  }
  for (int i = 0; i <= BF_PATTERN_RANDOM; i++)
    assert_true(of_class[i] > 200);
}

/* Steps of half the address space come to the same place modulo 2^32. */
static void strides_do_not_wrap(void **state) {
  (void)state;
  bf_access access = {.op = BF_OP_LD, .width_bytes = 1, .mask = UINT32_MAX, .count = 1};
  for (unsigned lane = 0; lane < 32; lane++)
    access.address[lane] = lane % 2 * 0x80000000U;
  assert_int_equal(bf_access_classify(&access, 32, 1).class_, BF_PATTERN_BLOCK);
  access.mask = 7;
  assert_int_equal(bf_access_classify(&access, 32, 1).class_, BF_PATTERN_BLOCK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classes_are_those_of_the_slow_way),
      cmocka_unit_test(strides_do_not_wrap),
      cmocka_unit_test(transpose_loading),
      cmocka_unit_test(transpose_storing),
      cmocka_unit_test(reduction),
      cmocka_unit_test(fast_walsh),
      cmocka_unit_test(classes_and_sentences),
      cmocka_unit_test(reshaping),
      cmocka_unit_test(random_blocks_are_recovered),
      cmocka_unit_test(one_stray_lane_makes_it_random),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
