/* cp.async.bulk.tensor with gather4 and scatter4 against loops over rows and columns. */
#include "emu.h"

#include "emu/tensor_map.h"
#include "random.h"

#include <string.h>

enum { ROWS = 40, COLUMNS = 96, STRIDE = 128, WORDS = 1024, UNTOUCHED = 0xeeee };

typedef struct request {
  uint64_t map, memory; /* memory: what shared memory holds before a scatter, or after a gather */
  int32_t at[5];        /* a column and four rows */
  uint32_t bytes;       /* that the mbarrier expects */
  uint32_t offset;      /* of the box in shared memory */
} request;

#define START                                                                                      \
  ".version 8.6\n.target sm_100a\n.address_size 64\n"                                              \
  ".visible .entry k(.param .align 8 .b8 what[48]) {\n"                                            \
  ".shared .align 1024 .b8 tile[2048]; .shared .align 8 .b64 barrier;\n"                           \
  ".reg .b32 %s, %b, %t, %o, %n, %c<5>; .reg .b64 %m, %g, %d, %q, %e; .reg .pred %p, %one;\n"      \
  "mov.u32 %s, tile; mov.u32 %b, barrier; mov.u32 %t, %tid.x; setp.eq.u32 %one, %t, 0;\n"          \
  "ld.param.u64 %m, [what]; ld.param.u64 %g, [what+8]; ld.param.u32 %c0, [what+16];\n"             \
  "ld.param.u32 %c1, [what+20]; ld.param.u32 %c2, [what+24]; ld.param.u32 %c3, [what+28];\n"       \
  "ld.param.u32 %c4, [what+32]; ld.param.u32 %n, [what+36]; ld.param.u32 %o, [what+40];\n"         \
  "mul.wide.u32 %d, %t, 8; add.u64 %g, %g, %d; mad.lo.u32 %t, %t, 8, %s; add.u32 %s, %s, %o;\n"    \
  "ld.global.b64 %e, [%g]; st.shared.b64 [%t], %e;\n"                                              \
  "@%one mbarrier.init.shared.b64 [%b], 1; fence.proxy.async.shared::cta; bar.sync 0;\n"
#define WAIT "wait: mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra wait;\n"
#define COORDINATES "[%m, {%c0, %c1, %c2, %c3, %c4}]"

static const char gather[] =
    START "@%one mbarrier.arrive.expect_tx.shared.b64 %q, [%b], %n;\n"
          "@%one cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4."
          "mbarrier::complete_tx::bytes [%s], " COORDINATES ", [%b];\n" WAIT
          "ld.shared.b64 %e, [%t]; st.global.b64 [%g], %e;\nret;\n}\n";
static const char scatter[] =
    START "@%one cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 " COORDINATES ";\n"
          "@%one cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group " COORDINATES
          ", [%s];\n"
          "@%one cp.async.bulk.commit_group; @%one cp.async.bulk.wait_group 0;\nret;\n}\n";

/* A tensor of 16-bit numbers and a map of it. */
typedef struct matrix {
  bf_tensor_map map;
  uint16_t *word; /* STRIDE from row to row */
  uint16_t *shared;
  request asked;
} matrix;

/* Where an element of the box lies in shared memory, in words: rows as far from each other as the
 * swizzle is wide, and of the address bits from 4 on as many exchanged as it has pieces of 16. */
static unsigned place_of(const matrix *of, unsigned row, unsigned column) {
  static const unsigned width[] = {0, 32, 64, 128};
  unsigned wide = width[of->map.swizzle], pitch = wide ? wide : of->map.box[0] * 2U;
  unsigned address = of->asked.offset + row * pitch + column * 2;
  if (wide)
    address ^= (address >> 7 & (wide / 16 - 1)) << 4;
  return address / 2;
}

/* Whether an element of the box lies inside the tensor, and where. */
static bool is_inside(const matrix *of, unsigned row, unsigned column, size_t *at) {
  int32_t y = of->asked.at[1 + row], x = of->asked.at[0] + (int32_t)column;
  *at = (size_t)(y * STRIDE + x);
  return y >= 0 && y < ROWS && x >= 0 && x < COLUMNS;
}

/* What shared memory holds after a gather. */
static void gather_slowly(const matrix *of, uint16_t *shared) {
  for (unsigned row = 0; row < 4; row++)
    for (unsigned column = 0; column < of->map.box[0]; column++) {
      size_t at;
      bool inside = is_inside(of, row, column, &at);
      shared[place_of(of, row, column)] = inside ? of->word[at] : of->map.fill ? 0x7ff7 : 0;
    }
}

/* What the tensor holds after a scatter. */
static void scatter_slowly(const matrix *of, uint16_t *words) {
  for (unsigned row = 0; row < 4; row++)
    for (unsigned column = 0; column < of->map.box[0]; column++) {
      size_t at;
      if (is_inside(of, row, column, &at))
        words[at] = of->shared[place_of(of, row, column)];
    }
}

/* Any matrix, box and rows; those of a scatter differ from each other. */
static matrix make_matrix(bed *at, test_random *random, bool is_scatter) {
  matrix made = {.map = {.magic = BF_TENSOR_MAGIC,
                         .size = {COLUMNS - 1, ROWS - 1},
                         .box = {0, 1},
                         .step = {1, 1},
                         .rank = 2,
                         .type = BF_TENSOR_F16,
                         .swizzle = (uint8_t)random_below(random, 4),
                         .fill = (uint8_t)random_below(random, 2),
                         .stride = {STRIDE * 2}}};
  unsigned most = made.map.swizzle ? 8U << made.map.swizzle : 96;
  made.map.box[0] = (uint16_t)(8 * (1 + random_below(random, most / 8)));
  made.map.address = bed_alloc(at, ROWS * STRIDE * 2, 0);
  made.word = (uint16_t *)(uintptr_t)made.map.address;
  made.asked = (request){.map = bed_alloc(at, BF_TENSOR_MAP_BYTES, 0),
                         .memory = bed_alloc(at, WORDS * 2, 0),
                         .bytes = made.map.box[0] * 8U,
                         .offset = 128 * (uint32_t)random_below(random, 8)};
  made.shared = (uint16_t *)(uintptr_t)made.asked.memory;
  memcpy((void *)(uintptr_t)made.asked.map, &made.map, sizeof made.map);
  made.asked.at[0] = 8 * ((int32_t)random_below(random, 14) - 1);
  for (unsigned i = 0; i < 4; i++)
    made.asked.at[1 + i] = is_scatter ? (int32_t)(12 * i + random_below(random, 12)) - 4
                                      : (int32_t)random_below(random, ROWS + 6) - 3;
  for (unsigned i = 0; i < ROWS * STRIDE; i++)
    made.word[i] = (uint16_t)random_bits(random);
  for (unsigned i = 0; i < WORDS; i++)
    made.shared[i] = is_scatter ? (uint16_t)random_bits(random) : UNTOUCHED;
  return made;
}

static void rows_are_gathered(void **state) {
  (void)state;
  test_random random = {1};
  for (unsigned i = 0; i < 300; i++) {
    bed at;
    uint16_t expected[WORDS];
    bed_open_text(&at, "gather.ptx", gather, strlen(gather), NULL);
    matrix of = make_matrix(&at, &random, false);
    memcpy(expected, of.shared, sizeof expected);
    gather_slowly(&of, expected);
    bf_emu_launch launch = bed_launch(&at, "k", 1, 256, &of.asked, sizeof of.asked);
    bed_run_well(&at, &launch);
    assert_memory_equal(of.shared, expected, sizeof expected);
    bed_close(&at);
  }
}

static void rows_are_scattered(void **state) {
  (void)state;
  test_random random = {2};
  for (unsigned i = 0; i < 300; i++) {
    bed at;
    uint16_t expected[ROWS * STRIDE];
    bed_open_text(&at, "scatter.ptx", scatter, strlen(scatter), NULL);
    matrix of = make_matrix(&at, &random, true);
    memcpy(expected, of.word, sizeof expected);
    scatter_slowly(&of, expected);
    bf_emu_launch launch = bed_launch(&at, "k", 1, 256, &of.asked, sizeof of.asked);
    bed_run_well(&at, &launch);
    assert_memory_equal(of.word, expected, sizeof expected);
    bed_close(&at);
  }
}

/* A map of boxes with several rows, or of three dimensions, is a fault that says so. */
static void other_maps_are_told(void **state) {
  (void)state;
  for (unsigned i = 0; i < 2; i++) {
    bed at;
    test_random random = {3};
    bed_open_text(&at, "gather.ptx", gather, strlen(gather), NULL);
    matrix of = make_matrix(&at, &random, false);
    bf_tensor_map *map = (bf_tensor_map *)(uintptr_t)of.asked.map;
    if (i)
      map->rank = 3;
    else
      map->box[1] = 4;
    bf_emu_launch launch = bed_launch(&at, "k", 1, 256, &of.asked, sizeof of.asked);
    bf_emu_fault fault = bed_run(&at, &launch).fault;
    assert_int_equal(fault.kind, BF_EMU_BAD_INSTRUCTION);
    if (!strstr(fault.text, i ? "another number of dimensions" : "more than one row"))
      fail_msg("%s", fault.text);
    bed_close(&at);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_gathered),
      cmocka_unit_test(rows_are_scattered),
      cmocka_unit_test(other_maps_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
