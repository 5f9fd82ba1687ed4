/* cp.async.bulk.tensor with im2col::w and im2col::w::128 against a formula for every pixel. */
#include "emu.h"

#include "emu/tensor_map.h"
#include "random.h"

#include <string.h>

enum { CHANNELS = 32, WIDTH = 9, HEIGHT = 3, IMAGES = 6, ROOM = 1 << 15, ROW_BYTES = 64 };

typedef struct request {
  uint64_t map, out;
  int32_t at[4]; /* channel, width, height, image */
  uint32_t halo, offset, bytes;
} request;

#define KERNEL(mode)                                                                               \
  ".version 8.6\n.target sm_100a\n.address_size 64\n"                                              \
  ".visible .entry k(.param .align 8 .b8 what[48]) {\n"                                            \
  ".shared .align 1024 .b8 tile[32768]; .shared .align 8 .b64 barrier;\n"                          \
  ".reg .b32 %s, %b, %t, %n, %i, %c<4>, %x; .reg .b64 %m, %g, %d, %q, %e; .reg .pred %p, %one;\n"  \
  ".reg .b16 %h, %o;\n"                                                                            \
  "mov.u32 %s, tile; mov.u32 %b, barrier; mov.u32 %t, %tid.x; setp.eq.u32 %one, %t, 0;\n"          \
  "ld.param.u64 %m, [what]; ld.param.u64 %g, [what+8]; ld.param.u32 %c0, [what+16];\n"             \
  "ld.param.u32 %c1, [what+20]; ld.param.u32 %c2, [what+24]; ld.param.u32 %c3, [what+28];\n"       \
  "ld.param.u16 %h, [what+32]; ld.param.u16 %o, [what+36]; ld.param.u32 %n, [what+40];\n"          \
  "@%one mbarrier.init.shared.b64 [%b], 1; bar.sync 0;\n"                                          \
  "@%one mbarrier.arrive.expect_tx.shared.b64 %q, [%b], %n;\n"                                     \
  "@%one cp.async.bulk.prefetch.tensor.4d.L2.global." mode                                         \
  " [%m, {%c0, %c1, %c2, %c3}], {%h, %o};\n"                                                       \
  "@%one cp.async.bulk.tensor.4d.shared::cta.global." mode                                         \
  ".mbarrier::complete_tx::bytes [%s], [%m, {%c0, %c1, %c2, %c3}], [%b], {%h, %o};\n"              \
  "wait: mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra wait;\n"                        \
  "mov.u32 %i, %t;\n"                                                                              \
  "all: mul.wide.u32 %d, %i, 8; add.u64 %d, %d, %g; mad.lo.u32 %x, %i, 8, %s;\n"                   \
  "ld.shared.b64 %e, [%x]; st.global.b64 [%d], %e; add.u32 %i, %i, 256;\n"                         \
  "setp.lt.u32 %p, %i, 4096; @%p bra all;\nret;\n}\n"

static const char *const kernel[2] = {KERNEL("im2col::w"), KERNEL("im2col::w::128")};

/* A tensor, its map and what is asked for. */
typedef struct images {
  bf_tensor_map map;
  const uint16_t *word;
  bool is_128;
  uint32_t pixels, group;
  request asked;
} images;

/* The place of pixel k: those of the first row from where it begins, then whole rows of the images
 * behind. */
static void place_of(const images *of, int64_t k, int64_t *width, int64_t *image) {
  int64_t step = of->map.step[1], end = WIDTH - 1 + of->map.upper[0], low = of->map.lower[0];
  int64_t first = (end - of->asked.at[1]) / step + 1, in_row = (end - low) / step + 1;
  *image = of->asked.at[3] + (k < first ? 0 : 1 + (k - first) / in_row);
  *width = k < first ? of->asked.at[1] + k * step : low + (k - first) % in_row * step;
}

/* Writes a pixel as row number `row` of the box. */
static void put_pixel(const images *of, uint32_t row, int64_t width, int64_t image, uint8_t *to) {
  int64_t height = of->asked.at[2], at = width + of->asked.offset;
  bool is_inside = at >= 0 && at < WIDTH && height >= 0 && height < HEIGHT && image < IMAGES;
  for (uint32_t c = 0; c < CHANNELS; c++) {
    uint32_t address = row * ROW_BYTES + 2 * c;
    address ^= (address >> 7 & 3) << 4;
    uint16_t value =
        is_inside ? of->word[((image * HEIGHT + height) * WIDTH + at) * CHANNELS + c] : 0;
    memcpy(to + address, &value, 2);
  }
}

static void load_slowly(const images *of, uint8_t *to) {
  uint32_t row = 0;
  for (uint32_t k = 0; k < of->pixels; k++) {
    int64_t width, image;
    place_of(of, k, &width, &image);
    put_pixel(of, row++, width, image, to);
    for (uint32_t j = 1; (k + 1) % of->group == 0 && j <= of->asked.halo; j++)
      put_pixel(of, row++, width + j, image, to);
  }
}

/* Whether the halo stays between the corners, where alone it is known. */
static bool has_halo(const images *of) {
  for (uint32_t k = of->group; k <= of->pixels && of->asked.halo; k += of->group) {
    int64_t width, image;
    place_of(of, k - 1, &width, &image);
    if (width + of->asked.halo > WIDTH - 1 + of->map.upper[0])
      return false;
  }
  return of->map.step[1] == 1 || !of->asked.halo;
}

static images make_images(bed *at, test_random *random, bool is_128) {
  images made = {.is_128 = is_128,
                 .map = {.magic = BF_TENSOR_MAGIC,
                         .size = {CHANNELS - 1, WIDTH - 1, HEIGHT - 1, IMAGES - 1},
                         .box = {CHANNELS, (uint16_t)(1 + random_below(random, 40))},
                         .step = {1, (uint8_t)(1 + random_below(random, 3) / 2), 1, 1},
                         .rank = 4,
                         .type = BF_TENSOR_U16,
                         .swizzle = BF_TENSOR_SWIZZLE_64,
                         .is_im2col = is_128 ? BF_TENSOR_IM2COL_W_128 : BF_TENSOR_IM2COL_W,
                         .stride = {ROW_BYTES, ROW_BYTES * WIDTH, ROW_BYTES * WIDTH * HEIGHT},
                         .lower = {(int16_t)((int)random_below(random, 4) - 2)},
                         .upper = {(int16_t)((int)random_below(random, 6) - 2)}}};
  size_t words = (size_t)CHANNELS * WIDTH * HEIGHT * IMAGES;
  made.map.address = bed_alloc(at, words * 2, 0);
  uint16_t *word = (uint16_t *)(uintptr_t)made.map.address;
  for (size_t i = 0; i < words; i++)
    word[i] = (uint16_t)random_bits(random);
  made.word = word;
  made.pixels = is_128 ? 128 : made.map.box[1];
  made.group = is_128 ? 32 : made.pixels;
  made.asked = (request){.map = bed_alloc(at, BF_TENSOR_MAP_BYTES, 0),
                         .out = bed_alloc(at, ROOM, 0),
                         .halo = random_below(random, 2) ? (uint32_t)random_below(random, 4) : 0,
                         .offset = (uint32_t)random_below(random, 3)};
  made.asked.at[1] = made.map.lower[0] - 1 + (int32_t)random_below(random, 6);
  made.asked.at[2] = (int32_t)random_below(random, HEIGHT + 2) - 1;
  made.asked.at[3] = (int32_t)random_below(random, IMAGES);
  made.asked.bytes = (made.pixels + made.pixels / made.group * made.asked.halo) * ROW_BYTES;
  memcpy((void *)(uintptr_t)made.asked.map, &made.map, sizeof made.map);
  return made;
}

/* Runs one; true: it was a box whose halo is known. */
static bool compare(test_random *random, bool is_128) {
  bed at;
  uint8_t expected[ROOM] = {0};
  bed_open_text(&at, "wide.ptx", kernel[is_128], strlen(kernel[is_128]), NULL);
  images of = make_images(&at, random, is_128);
  bf_emu_launch launch = bed_launch(&at, "k", 1, 256, &of.asked, sizeof of.asked);
  bool is_known = has_halo(&of);
  if (is_known) {
    bed_run_well(&at, &launch);
    load_slowly(&of, expected);
    assert_memory_equal((const void *)(uintptr_t)of.asked.out, expected, sizeof expected);
  } else {
    bf_emu_fault fault = bed_run(&at, &launch).fault;
    assert_int_equal(fault.kind, BF_EMU_BAD_INSTRUCTION);
    assert_non_null(strstr(fault.text, "halo pixels"));
  }
  bed_close(&at);
  return is_known;
}

static void pixels_are_loaded(void **state) {
  (void)state;
  test_random random = {4};
  unsigned known[2] = {0};
  for (unsigned i = 0; i < 400; i++)
    known[i % 2] += compare(&random, i % 2);
  assert_in_range(known[0], 100, 200);
  assert_in_range(known[1], 90, 200);
}

/* Maps of another kind, without a swizzle, or with too large a halo. */
static void bad_boxes_are_told(void **state) {
  (void)state;
  static const char *const parts[] = {"not for im2col::w", "needs a tensor map with a swizzle",
                                      "at most 511 halo pixels", "outside of the box of pixels"};
  for (unsigned i = 0; i < 4; i++) {
    bed at;
    test_random random = {5};
    bed_open_text(&at, "wide.ptx", kernel[0], strlen(kernel[0]), NULL);
    images of = make_images(&at, &random, false);
    bf_tensor_map *map = (bf_tensor_map *)(uintptr_t)of.asked.map;
    if (i == 0)
      map->is_im2col = BF_TENSOR_IM2COL;
    else if (i == 1)
      map->swizzle = BF_TENSOR_SWIZZLE_NONE;
    else if (i == 2)
      of.asked.halo = 512;
    else
      of.asked.at[1] = 100;
    bf_emu_launch launch = bed_launch(&at, "k", 1, 256, &of.asked, sizeof of.asked);
    bf_emu_fault fault = bed_run(&at, &launch).fault;
    assert_int_equal(fault.kind, BF_EMU_BAD_INSTRUCTION);
    if (!strstr(fault.text, parts[i]))
      fail_msg("%s", fault.text);
    bed_close(&at);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pixels_are_loaded),
      cmocka_unit_test(bad_boxes_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
