/* Room layout: where elements land is compared with what the emulator's tensor copies write and
 * where its descriptors read (both compared with an H200); costs with every swizzle tried as a hash
 * by bf_memory_count; and code with what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/descriptor.h"
#include "emu/tensor.h"
#include "layout/layout.h"

/* ---- Asking ---- */

enum { MOST_MOVES = 4 };

typedef struct question {
  const char *tile, *type;
  const char *write[MOST_MOVES], *read[MOST_MOVES];
  const char *layout, *machine;
} question;

static unsigned count_texts(const char *const *text) {
  unsigned count = 0;
  while (count < MOST_MOVES && text[count])
    count++;
  return count;
}

static int ask(const question *q, bf_machine **machine, bf_layouts **layouts,
               bf_diagnostic *diagnostic) {
  bf_layout_options options;
  bf_layout_default_options(&options);
  options.tile = q->tile, options.type = q->type, options.layout = q->layout;
  options.write = q->write, options.writes = count_texts(q->write);
  options.read = q->read, options.reads = count_texts(q->read);
  assert_int_equal(bf_machine_load(q->machine ? q->machine : "hopper", NULL, machine, diagnostic),
                   BF_OK);
  return bf_layouts_find(*machine, &options, layouts, diagnostic);
}

static bf_layouts *must_find(const question *q, bf_machine **machine) {
  bf_diagnostic diagnostic;
  bf_layouts *layouts;
  if (ask(q, machine, &layouts, &diagnostic) != BF_OK)
    fail_msg("%s: %s", q->tile, diagnostic.message);
  return layouts;
}

/* ---- Places ---- */

static const question tensor_tiles[] = {
    {"64x64", "f16", {"tma"}, {0}, NULL, NULL},   {"64x128", "f16", {"tma"}, {0}, NULL, NULL},
    {"8x32", "f32", {"tma"}, {0}, NULL, NULL},    {"512x16", "bf16", {"tma"}, {0}, NULL, NULL},
    {"24x256", "e4m3", {"tma"}, {0}, NULL, NULL}, {"16x48", "f64", {"tma"}, {0}, NULL, NULL},
    {"128x32", "tf32", {"tma"}, {0}, NULL, NULL},
};

/* The tile as the emulator's tensor copies bring it, box by box; bytes is what lands, tensor what
 * it is copied from. */
static void copy_boxes(const bf_layouts *layouts, const bf_tile_layout *layout, uint8_t *tensor,
                       uint8_t *bytes) {
  const bf_tile *tile = &layouts->tile;
  static const unsigned char types[9] = {
      [1] = BF_TENSOR_U8, [2] = BF_TENSOR_U16, [4] = BF_TENSOR_U32, [8] = BF_TENSOR_U64};
  bf_boxes boxes = bf_layout_boxes(layout, tile);
  const bf_emu_reduce plain = {0};
  for (unsigned i = 0; i < boxes.across; i++)
    for (unsigned j = 0; j < boxes.down; j++) {
      uint32_t at =
          (uint32_t)(i * layout->panel_stride_bytes + j * boxes.rows * layout->pitch_bytes);
      bf_emu_box box = {.map = {.magic = BF_TENSOR_MAGIC,
                                .address = (uint64_t)(uintptr_t)tensor,
                                .size = {tile->columns - 1, tile->rows - 1},
                                .box = {(uint16_t)boxes.columns, (uint16_t)boxes.rows},
                                .step = {1, 1},
                                .rank = 2,
                                .type = types[tile->element->bytes],
                                .swizzle = (uint8_t)layout->mode,
                                .stride = {bf_tile_row_bytes(tile)}},
                        .at = {(int32_t)(i * boxes.columns), (int32_t)(j * boxes.rows)},
                        .shared = at};
      bf_emu_box_move(&box, &plain, bytes + at, NULL);
    }
}

static void tensor_copies_land_where_the_layout_says(void **state) {
  (void)state;
  for (size_t t = 0; t < sizeof tensor_tiles / sizeof *tensor_tiles; t++) {
    bf_machine *machine;
    bf_layouts *layouts = must_find(&tensor_tiles[t], &machine);
    const bf_tile *tile = &layouts->tile;
    unsigned row_bytes = bf_tile_row_bytes(tile);
    size_t size = (size_t)tile->rows * row_bytes;
    uint8_t *tensor = malloc(size), *bytes = calloc(1, size);
    for (size_t i = 0; i < size; i++)
      tensor[i] = (uint8_t)(i * 7 + i / 251);
    for (size_t n = 0; n < layouts->count; n++) {
      const bf_tile_layout *layout = &layouts->found[n].layout;
      memset(bytes, 0, size);
      copy_boxes(layouts, layout, tensor, bytes);
      for (unsigned row = 0; row < tile->rows; row++)
        for (unsigned byte = 0; byte < row_bytes; byte++)
          if (bytes[bf_layout_place(layout, row, byte)] != tensor[row * row_bytes + byte])
            fail_msg("%s, layout %s: byte %u of row %u", tensor_tiles[t].tile, layout->name, byte,
                     row);
    }
    assert_true(layouts->count >= 3);
    free(tensor);
    free(bytes);
    bf_layouts_free(layouts);
    bf_machine_free(machine);
  }
}

static const question operands[] = {
    {"64x64", "f16", {"tma"}, {"wgmma:A"}, NULL, NULL},
    {"128x128", "bf16", {"tma"}, {"wgmma:A"}, NULL, NULL},
    {"256x32", "f16", {"tma"}, {"wgmma:B"}, NULL, NULL},
    {"24x64", "e4m3", {"tma"}, {"wgmma:B"}, NULL, NULL},
    {"64x32", "tf32", {"tma"}, {"wgmma:A"}, NULL, NULL},
    {"64x64", "f16", {"tma"}, {"wgmma:A.mn"}, NULL, NULL},
    {"32x256", "f16", {"tma"}, {"wgmma:B.mn"}, NULL, NULL},
    {"16x16", "f16", {"tma"}, {"wgmma:B.mn"}, NULL, NULL},
    {"64x192", "bf16", {"tma"}, {"wgmma:A.mn"}, NULL, NULL},
    {"512x64", "f16", {"st:16"}, {"wgmma:B"}, NULL, NULL},
};

/* Compares every piece of 16 bytes that the instruction at (block, step) reads. */
static void compare_matrix(const bf_layouts *layouts, const bf_tile_layout *layout, unsigned block,
                           unsigned step) {
  const bf_tile *tile = &layouts->tile;
  const bf_move *move = &layouts->move[1];
  unsigned element = tile->element->bytes;
  bf_matrix m = bf_layout_matrix(layout, tile, move);
  uint64_t bits = m.bits | bf_layout_matrix_start(layout, tile, move, block, step) >> 4;
  assert_int_equal(bits & BF_EMU_DESCRIPTOR_UNUSED, 0);
  bf_emu_descriptor d = bf_emu_descriptor_unpack(bits);
  unsigned lines = move->is_mn_major ? m.depth : m.rows;
  unsigned pieces = (move->is_mn_major ? m.rows : m.depth) * element / 16;
  for (unsigned line = 0; line < lines; line++)
    for (unsigned piece = 0; piece < pieces; piece++) {
      unsigned row = line + (move->is_mn_major ? step * m.depth : block * m.rows);
      unsigned byte = piece * 16 + (move->is_mn_major ? block * m.rows : step * m.depth) * element;
      if (bf_emu_descriptor_piece(&d, !move->is_mn_major, line, piece) !=
          bf_layout_place(layout, row, byte))
        fail_msg("%s, layout %s: block %u, step %u, line %u, piece %u", move->text, layout->name,
                 block, step, line, piece);
    }
}

static void descriptors_read_what_the_layout_placed(void **state) {
  (void)state;
  for (size_t t = 0; t < sizeof operands / sizeof *operands; t++) {
    bf_machine *machine;
    bf_layouts *layouts = must_find(&operands[t], &machine);
    for (size_t n = 0; n < layouts->count; n++) {
      bf_matrix m = bf_layout_matrix(&layouts->found[n].layout, &layouts->tile, &layouts->move[1]);
      assert_true(m.rows <= 256 && m.blocks >= 1 && m.steps >= 1);
      for (unsigned block = 0; block < m.blocks; block++)
        for (unsigned step = 0; step < m.steps; step++)
          compare_matrix(layouts, &layouts->found[n].layout, block, step);
      /* bytes / 128, as an H200 counts for every descriptor */
      uint64_t bytes =
          (uint64_t)layouts->tile.rows * layouts->tile.columns * layouts->tile.element->bytes;
      assert_int_equal(layouts->found[n].cost[1].wavefronts, bytes / 128);
    }
    assert_true(layouts->count >= 2);
    bf_layouts_free(layouts);
    bf_machine_free(machine);
  }
}

/* No two bytes share a place, and all are inside. */
static void every_layout_is_one_to_one(void **state) {
  (void)state;
  question q = {"24x32", "f16", {"st:4"}, {"ld:4"}, NULL, NULL};
  bf_machine *machine;
  bf_layouts *layouts = must_find(&q, &machine);
  for (size_t n = 0; n < layouts->count; n++) {
    const bf_tile_layout *layout = &layouts->found[n].layout;
    uint8_t *used = calloc(1, layout->bytes);
    for (unsigned row = 0; row < layouts->tile.rows; row++)
      for (unsigned byte = 0; byte < bf_tile_row_bytes(&layouts->tile); byte++) {
        uint32_t place = bf_layout_place(layout, row, byte);
        assert_true(place < layout->bytes && !used[place]);
        used[place] = 1;
      }
    free(used);
  }
  bf_layouts_free(layouts);
  bf_machine_free(machine);
}

/* ---- Costs ---- */

static const question thread_tiles[] = {
    {"32x32", "f32", {"st"}, {"ld@32x1"}, NULL, NULL},
    {"64x32", "f16", {"st:16"}, {"ldmatrix"}, NULL, NULL},
    {"16x64", "f16", {"stmatrix"}, {"ld:4@8x4*3", "ldmatrix.x2.trans"}, NULL, NULL},
    {"32x16", "f32", {"cp.async:8"}, {"ld:8@(l/8 + l%8*4, l/8*2)"}, NULL, NULL},
    {"64x32", "f16", {"ds_write_b128"}, {"ds_read_b128@16x4t"}, NULL, "cdna3"},
    {"64x32", "f16", {"ds_write_b64"}, {"ds_read_b128@16x4t"}, NULL, "cdna4"},
};

/* Weighted wavefronts of the moves on rows that are pitch_bytes apart, under a hash. */
static uint64_t count_hashed(const bf_layouts *layouts, const bf_machine *machine,
                             unsigned pitch_bytes, const char *hash_text) {
  const bf_tile *tile = &layouts->tile;
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash *hash = NULL;
  uint64_t total = 0;
  assert_int_equal(bf_hash_parse(hash_text, &geometry, &hash, NULL), BF_OK);
  for (unsigned i = 0; i < layouts->moves; i++) {
    const bf_move *move = &layouts->move[i];
    bf_access access = {.op = move->op, .width_bytes = move->width_bytes, .count = 1};
    for (unsigned corner = 0; corner < tile->rows * tile->columns; corner++) {
      unsigned row = corner / tile->columns, column = corner % tile->columns;
      bf_count count;
      if (row % move->step_rows || column % move->step_columns)
        continue;
      access.mask = 0;
      for (unsigned lane = 0; lane < move->lanes; lane++) {
        unsigned r = row + move->row[lane], c = column + move->column[lane];
        access.address[lane] = r * pitch_bytes + c * tile->element->bytes;
        access.mask |= (uint64_t)1 << lane;
      }
      assert_int_equal(bf_memory_count(machine, hash, &access, &count, NULL), BF_OK);
      total += bf_count_wavefronts(&count) * move->weight;
    }
  }
  bf_hash_free(hash);
  return total;
}

static unsigned widest(const bf_layouts *layouts) {
  unsigned bytes = layouts->tile.element->bytes;
  for (unsigned i = 0; i < layouts->moves; i++)
    bytes = layouts->move[i].width_bytes > bytes ? layouts->move[i].width_bytes : bytes;
  return bytes;
}

static const bf_layout_found *find_named(const bf_layouts *layouts, const char *name) {
  for (size_t i = 0; i < layouts->count; i++)
    if (strcmp(layouts->found[i].layout.name, name) == 0)
      return &layouts->found[i];
  return NULL;
}

/* Every padding below a row of banks that keeps the widest access aligned is there, at its cost. */
static void check_paddings(const bf_layouts *layouts, const bf_machine *machine, unsigned row) {
  unsigned banks_bytes = machine->word_bytes << machine->bank_bits;
  unsigned least = widest(layouts) > machine->word_bytes ? widest(layouts) : machine->word_bytes;
  for (unsigned pad = least; pad < banks_bytes; pad += least) {
    char name[32];
    snprintf(name, sizeof name, "pad:%u", pad);
    const bf_layout_found *found = find_named(layouts, name);
    if (!found)
      fail_msg("%s is missing", name);
    assert_int_equal(count_hashed(layouts, machine, row + pad, "none"), found->choice.wavefronts);
  }
}

/* Every swizzle as a hash: each costs what its layout does, and none less than the best; so do
 * paddings. */
static void every_swizzle_counts_as_its_hash(void **state) {
  (void)state;
  for (size_t t = 0; t < sizeof thread_tiles / sizeof *thread_tiles; t++) {
    bf_machine *machine;
    bf_layouts *layouts = must_find(&thread_tiles[t], &machine);
    unsigned row = layouts->tile.columns * layouts->tile.element->bytes, tried = 0;
    uint64_t bytes = (uint64_t)layouts->tile.rows * row;
    for (unsigned bits = 1; bits <= 5; bits++)
      for (unsigned base = (unsigned)__builtin_ctz(widest(layouts)); base < 12; base++)
        for (int shift = -10; shift <= 10; shift++) {
          unsigned far = (unsigned)abs(shift);
          if (far < bits || (uint64_t)1 << (bits + base + far) > bytes)
            continue;
          char name[32];
          snprintf(name, sizeof name, "cute:%u,%u,%d", bits, base, shift);
          const bf_layout_found *found = find_named(layouts, name);
          if (!found)
            fail_msg("%s: %s is missing", thread_tiles[t].tile, name);
          assert_int_equal(count_hashed(layouts, machine, row, name), found->choice.wavefronts);
          tried++;
        }
    assert_true(tried > 10);
    assert_int_equal(count_hashed(layouts, machine, row, "none"),
                     find_named(layouts, "none")->choice.wavefronts);
    check_paddings(layouts, machine, row);
    for (size_t i = 1; i < layouts->count; i++)
      assert_true(layouts->found[i].choice.wavefronts >= layouts->found[0].choice.wavefronts);
    bf_layouts_free(layouts);
    bf_machine_free(machine);
  }
}

typedef struct known {
  question asked;
  const char *best;
  uint64_t wavefronts, conflicts;
} known;

static const known answers[] = {
    {{"32x32", "f32", {"st"}, {"ld@32x1"}, NULL, NULL}, "cute:5,2,5", 64, 0},
    {{"32x32", "f32", {"st"}, {"ld@32x1"}, "pad:4", NULL}, "pad:4", 64, 0},
    {{"32x32", "f32", {"st"}, {"ld@32x1"}, "none", NULL}, "none", 32 + 32 * 32, 31 * 32},
    {{"64x64", "f16", {"tma"}, {"ldmatrix"}, NULL, NULL}, "128", 64, 0},
    {{"64x64", "f16", {"tma"}, {"ldmatrix"}, "none", NULL}, "none", 8 * 64, 7 * 64},
    {{"64x64", "f16", {"tma"}, {"wgmma:A"}, NULL, NULL}, "128", 64, 0},
    {{"64x16", "f16", {"tma"}, {"wgmma:A"}, NULL, NULL}, "32", 16, 0},
    {{"32x64", "f16", {"st:2@2x16t*2"}, {"wgmma:B.mn", "ld:16*3"}, NULL, NULL},
     "none:16+48",
     256,
     0},
    {{"64x16", "f16", {"cp.async"}, {"ldmatrix"}, NULL, NULL}, "cute:1,4,3", 64 + 16, 0},
    {{"64x64", "f16", {"ds_write_b128"}, {"ds_read_b128@16x4t"}, NULL, "cdna3"},
     "cute:3,4,3",
     128,
     0},
};

static void answers_are_known(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    bf_machine *machine;
    bf_layouts *layouts = must_find(&answers[i].asked, &machine);
    const bf_layout_choice *best = bf_layouts_get(layouts, 0);
    assert_string_equal(best->name, answers[i].best);
    assert_int_equal(best->wavefronts, answers[i].wavefronts);
    assert_int_equal(best->conflicts, answers[i].conflicts);
    bf_layouts_free(layouts);
    bf_machine_free(machine);
  }
}

/* ---- Refusals ---- */

typedef struct refusal {
  question asked;
  const char *message;
} refusal;

static const refusal refusals[] = {
    {{"64", "f16", {"tma"}, {0}, NULL, NULL}, "rows x columns"},
    {{"64x64", "f61", {"tma"}, {0}, NULL, NULL}, "no element type 'f61' (did you mean"},
    {{"64x64", "f16", {"tmaa"}, {0}, NULL, NULL}, "did you mean 'tma'"},
    {{"64x64", "f16", {"ldmatrix"}, {0}, NULL, NULL}, "give it by --read"},
    {{"64x64", "f16", {"tma:128"}, {0}, NULL, NULL}, "divides the 64 columns"},
    {{"64x128", "f16", {"tma:128"}, {0}, "128", NULL}, "is 256 bytes wide"},
    {{"64x12", "f16", {"tma"}, {0}, NULL, NULL}, "a multiple of 16 bytes wide"},
    {{"64x48", "f16", {"tma"}, {0}, "64", NULL}, "no multiple of 64 bytes"},
    {{"64x64", "f16", {"tma"}, {"wgmma:A"}, "none", NULL}, "core matrix"},
    {{"64x64", "f16", {"tma"}, {"wgmma:A"}, "pad:16", NULL}, "without gaps"},
    {{"64x64", "f16", {"tma"}, {"wgmma:A"}, "none:16+16", NULL}, "multiples of 128 bytes"},
    {{"64x64", "f16", {"st:16"}, {"wgmma:A"}, "none:16+8", NULL}, "no layout 'none:16+8'"},
    {{"64x64", "f32", {"tma"}, {"wgmma:A"}, NULL, NULL}, "does not take f32"},
    {{"64x64", "e4m3", {"tma"}, {"wgmma:A.mn"}, NULL, NULL}, "only operands of 16-bit types"},
    {{"32x64", "f16", {"tma"}, {"wgmma:A"}, NULL, NULL}, "multiple of 64 rows along M"},
    {{"64x64", "f16", {"tma"}, {"wgmma:C"}, NULL, NULL}, "say which operand"},
    {{"64x64", "f16", {"tma"}, {0}, NULL, "ampere"}, "came with Hopper"},
    {{"32x32", "f32", {"st:3"}, {0}, NULL, NULL}, "not '3'"},
    {{"32x32", "f32", {"st"}, {"ld@7x4"}, NULL, NULL}, "7x4 lanes are not the 32"},
    {{"32x32", "f32", {"st"}, {"ld@(l, 32)"}, NULL, NULL}, "outside of the tile"},
    {{"32x32", "f32", {"st"}, {"ld@(l, 0"}, NULL, NULL}, "expected )"},
    {{"32x32", "f32", {"st"}, {"ld@(l, 1/0)"}, NULL, NULL}, "division by 0"},
    {{"32x32", "f32", {"st"}, {"ld@(l, q)"}, NULL, NULL}, "expected a number"},
    {{"32x32", "f32", {"st"}, {"ld*0"}, NULL, NULL}, "a weight is a number"},
    {{"32x32", "f32", {"st:16"}, {"ld"}, "cute:2,2,3", NULL}, "torn apart"},
    {{"32x32", "f32", {"st"}, {"ld"}, "cute:3,2,2", NULL}, "S is at least B"},
    {{"32x32", "f32", {"st"}, {"ld"}, "zigzag", NULL}, "no layout 'zigzag'"},
    {{"1024x1024", "f32", {"st"}, {"ld"}, "none", NULL}, "more than the 232448 of a block"},
};

static void what_cannot_be_is_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    bf_machine *machine;
    bf_layouts *layouts;
    bf_diagnostic diagnostic;
    assert_int_equal(ask(&refusals[i].asked, &machine, &layouts, &diagnostic), BF_BAD_INPUT);
    assert_null(layouts);
    if (!strstr(diagnostic.message, refusals[i].message))
      fail_msg("'%s' is not in '%s'", refusals[i].message, diagnostic.message);
    bf_machine_free(machine);
  }
}

/* ---- Code ---- */

static void code_says_what_the_layout_is(void **state) {
  static const struct {
    const char *form, *says;
  } forms[] = {
      {"cute", "Swizzle<3, 3, 3>"},
      {"cute", "Layout_K_SW128_Atom<cutlass::half_t>"},
      {"ptx", "0x4000004000010000ull"},
      {"ptx", "{{0, 32, 64, 96, 8192, 8224, 8256, 8288}}"},
      {"tma", "box[2] = {64, 64}"},
      {"tma", "CU_TENSOR_MAP_SWIZZLE_128B"},
      {"triton", "NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)"},
      {"cuda", "column / 64 * 8192 + row * 128 + column % 64 * 2"},
  };
  (void)state;
  question q = {"64x128", "f16", {"tma"}, {"wgmma:A"}, NULL, NULL};
  bf_machine *machine;
  bf_layouts *layouts = must_find(&q, &machine);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    char *text;
    assert_int_equal(bf_layouts_emit(layouts, 0, forms[i].form, &text, NULL), BF_OK);
    if (!strstr(text, forms[i].says))
      fail_msg("'%s' is not in\n%s", forms[i].says, text);
    bf_free(text);
  }
  char *none;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_layouts_emit(layouts, 0, "tritn", &none, &diagnostic), BF_BAD_INPUT);
  assert_non_null(strstr(diagnostic.message, "did you mean 'triton'"));
  bf_layouts_free(layouts);
  bf_machine_free(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensor_copies_land_where_the_layout_says),
      cmocka_unit_test(descriptors_read_what_the_layout_placed),
      cmocka_unit_test(every_layout_is_one_to_one),
      cmocka_unit_test(every_swizzle_counts_as_its_hash),
      cmocka_unit_test(answers_are_known),
      cmocka_unit_test(what_cannot_be_is_refused),
      cmocka_unit_test(code_says_what_the_layout_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
