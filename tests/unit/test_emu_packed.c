/* Boxes of elements of 4 and 6 bits against a formula for every byte of shared memory. There is no
 * hardware that this was compared with: that gaps stay, and that the mbarrier counts bytes without
 * them, is what others write of B200s. */
#include "emu.h"

#include "emu/tensor_map.h"
#include "random.h"

#include <string.h>

enum { ROWS = 12, PITCH = 256, ROOM = 4096, UNTOUCHED = 0xee };

typedef struct request {
  uint64_t map, memory; /* memory: what shared memory holds before, and after */
  int32_t at[2];
  uint32_t bytes; /* that the mbarrier expects */
} request;

static const char load[] =
    ".version 8.7\n.target sm_100a\n.address_size 64\n"
    ".visible .entry k(.param .align 8 .b8 what[32]) {\n"
    ".shared .align 1024 .b8 tile[4096]; .shared .align 8 .b64 barrier;\n"
    ".reg .b32 %s, %b, %t, %n, %x, %y; .reg .b64 %m, %g, %d, %q, %e; .reg .pred %p, %one;\n"
    "mov.u32 %s, tile; mov.u32 %b, barrier; mov.u32 %t, %tid.x; setp.eq.u32 %one, %t, 0;\n"
    "ld.param.u64 %m, [what]; ld.param.u64 %g, [what+8]; ld.param.u32 %x, [what+16];\n"
    "ld.param.u32 %y, [what+20]; ld.param.u32 %n, [what+24];\n"
    "mul.wide.u32 %d, %t, 8; add.u64 %g, %g, %d; mad.lo.u32 %t, %t, 8, %s;\n"
    "ld.global.b64 %e, [%g]; st.shared.b64 [%t], %e;\n"
    "@%one mbarrier.init.shared.b64 [%b], 1; fence.proxy.async.shared::cta; bar.sync 0;\n"
    "@%one mbarrier.arrive.expect_tx.shared.b64 %q, [%b], %n;\n"
    "@%one cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes "
    "[%s], [%m, {%x, %y}], [%b];\n"
    "wait: mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra wait;\n"
    "ld.shared.b64 %e, [%t]; st.global.b64 [%g], %e;\nret;\n}\n";

/* A tensor of packed elements, and what is asked of it. */
typedef struct packed {
  bf_tensor_map map;
  uint8_t *byte, *shared;
  request asked;
} packed;

/* What 16 elements are in global memory, and how far they are from the next in shared memory. */
static unsigned chunk_of(unsigned type) { return type == BF_TENSOR_U6_ALIGN16 ? 12 : 8; }
static unsigned step_of(unsigned type) { return type == BF_TENSOR_U4_ALIGN8 ? 8 : 16; }

static packed make_packed(bed *at, test_random *random) {
  unsigned type = BF_TENSOR_U4_ALIGN8 + (unsigned)random_below(random, 3);
  bool has_gaps = type != BF_TENSOR_U4_ALIGN8, swizzled = random_below(random, 2);
  packed made = {.map = {.magic = BF_TENSOR_MAGIC,
                         .size = {255, ROWS - 1},
                         .box = {128, (uint16_t)(1 + random_below(random, 10))},
                         .step = {1, 1},
                         .rank = 2,
                         .type = (uint8_t)type,
                         .swizzle = swizzled ? BF_TENSOR_SWIZZLE_128 : 0,
                         .stride = {PITCH}}};
  if (!has_gaps)
    made.map.box[0] = (uint16_t)(32 * (1 + random_below(random, 8)));
  made.map.address = bed_alloc(at, ROWS * PITCH, 0);
  made.byte = (uint8_t *)(uintptr_t)made.map.address;
  made.asked = (request){.map = bed_alloc(at, BF_TENSOR_MAP_BYTES, 0),
                         .memory = bed_alloc(at, ROOM, UNTOUCHED),
                         .bytes = made.map.box[0] * made.map.box[1] / 16U * chunk_of(type)};
  made.asked.at[0] = has_gaps ? 128 * ((int32_t)random_below(random, 4) - 1)
                              : 32 * ((int32_t)random_below(random, 12) - 3);
  made.asked.at[1] = (int32_t)random_below(random, ROWS + 4) - 3;
  made.shared = (uint8_t *)(uintptr_t)made.asked.memory;
  memcpy((void *)(uintptr_t)made.asked.map, &made.map, sizeof made.map);
  for (unsigned i = 0; i < ROWS * PITCH; i++)
    made.byte[i] = (uint8_t)random_bits(random);
  return made;
}

/* What shared memory holds afterwards: 16 elements after 16. */
static void load_slowly(const packed *of, uint8_t *shared) {
  unsigned chunk = chunk_of(of->map.type), step = step_of(of->map.type);
  unsigned pitch = of->map.swizzle ? 128 : of->map.box[0] / 16U * step;
  for (unsigned row = 0; row < of->map.box[1]; row++)
    for (unsigned i = 0; i < of->map.box[0] / 16U * chunk; i++) {
      int32_t y = of->asked.at[1] + (int32_t)row;
      int32_t x = of->asked.at[0] / 16 * (int32_t)chunk + (int32_t)i;
      bool inside = y >= 0 && y < ROWS && x >= 0 && x < 256 / 16 * (int32_t)chunk;
      unsigned place = row * pitch + i / chunk * step + i % chunk;
      if (of->map.swizzle)
        place ^= (place >> 7 & 7) << 4;
      shared[place] = inside ? of->byte[y * PITCH + x] : 0;
    }
}

static void elements_are_unpacked(void **state) {
  (void)state;
  test_random random = {7};
  for (unsigned i = 0; i < 300; i++) {
    bed at;
    uint8_t expected[ROOM];
    bed_open_text(&at, "packed.ptx", load, strlen(load), NULL);
    packed of = make_packed(&at, &random);
    memcpy(expected, of.shared, sizeof expected);
    load_slowly(&of, expected);
    bf_emu_launch launch = bed_launch(&at, "k", 1, 512, &of.asked, sizeof of.asked);
    bed_run_well(&at, &launch);
    assert_memory_equal(of.shared, expected, sizeof expected);
    bed_close(&at);
  }
}

/* What the map or the coordinates must be. */
static void others_are_told(void **state) {
  (void)state;
  static const struct {
    unsigned type;
    int32_t x;
    uint16_t box;
    const char *said;
  } cases[] = {
      {BF_TENSOR_U4_ALIGN16, 64, 128, "no multiple of 128"},
      {BF_TENSOR_U6_ALIGN16, 0, 64, "have 128 elements"},
      {BF_TENSOR_U4_ALIGN8, 16, 128, "no multiple of 32"},
      {BF_TENSOR_U4_ALIGN8, 0, 48, "whole pieces of 16 bytes"},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    bed at;
    test_random random = {3};
    bed_open_text(&at, "packed.ptx", load, strlen(load), NULL);
    packed of = make_packed(&at, &random);
    bf_tensor_map *map = (bf_tensor_map *)(uintptr_t)of.asked.map;
    map->type = (uint8_t)cases[i].type;
    map->box[0] = cases[i].box;
    of.asked.at[0] = cases[i].x;
    bf_emu_launch launch = bed_launch(&at, "k", 1, 512, &of.asked, sizeof of.asked);
    bf_emu_fault fault = bed_run(&at, &launch).fault;
    assert_int_equal(fault.kind, BF_EMU_BAD_INSTRUCTION);
    if (!strstr(fault.text, cases[i].said))
      fail_msg("%s", fault.text);
    bed_close(&at);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_are_unpacked),
      cmocka_unit_test(others_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
