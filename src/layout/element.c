/* Types of elements, and tiles of them. */
#include "layout/layout.h"

#include "base/guess.h"

#include <string.h>

static const bf_element elements[] = {
    {"f16", 2, true, "FLOAT16", "cutlass::half_t"},
    {"bf16", 2, true, "BFLOAT16", "cutlass::bfloat16_t"},
    {"tf32", 4, true, "TFLOAT32", "cutlass::tfloat32_t"},
    {"f32", 4, false, "FLOAT32", "float"},
    {"f64", 8, false, "FLOAT64", "double"},
    {"e4m3", 1, true, "UINT8", "cutlass::float_e4m3_t"},
    {"e5m2", 1, true, "UINT8", "cutlass::float_e5m2_t"},
    {"s8", 1, true, "UINT8", "int8_t"},
    {"u8", 1, true, "UINT8", "uint8_t"},
    {"u16", 2, false, "UINT16", "uint16_t"},
    {"s32", 4, false, "INT32", "int32_t"},
    {"u32", 4, false, "UINT32", "uint32_t"},
    {"u64", 8, false, "UINT64", "uint64_t"},
};

const bf_element *bf_element_get(unsigned index) {
  return index < sizeof elements / sizeof *elements ? &elements[index] : NULL;
}

const bf_element *bf_element_find(const char *name, bf_diagnostic *diagnostic) {
  bf_guess guess = bf_guess_begin(name);
  bf_text known = {0};
  char likely[BF_GUESS_BYTES];
  for (unsigned i = 0; i < sizeof elements / sizeof *elements; i++) {
    if (strcmp(elements[i].name, name) == 0) {
      bf_text_free(&known);
      return &elements[i];
    }
    bf_guess_offer(&guess, elements[i].name, strlen(elements[i].name));
    bf_text_addf(&known, "%s%s", i ? ", " : "", elements[i].name);
  }
  bf_fail(diagnostic, BF_BAD_INPUT, "no element type '%.40s'%s; there are %s", name,
          bf_guess_text(&guess, likely), known.data ? known.data : "others");
  bf_text_free(&known);
  return NULL;
}

enum { MOST_ROWS = 65536 };

int bf_tile_parse(const char *text, bf_tile *tile, bf_diagnostic *diagnostic) {
  uint64_t rows, columns;
  const char *cursor = text;
  bool is_pair = bf_parse_number(&cursor, &rows) && *cursor == 'x';
  cursor += is_pair;
  if (!is_pair || !bf_parse_number(&cursor, &columns) || *cursor != 0)
    return bf_fail_at(diagnostic, "--tile", 1, text, cursor,
                      "a tile is written as rows x columns, for example 64x128");
  if (rows == 0 || columns == 0 || rows > MOST_ROWS || columns > MOST_ROWS)
    return bf_fail_at(diagnostic, "--tile", 1, text, text, "a tile has 1 to %d rows and columns",
                      MOST_ROWS);
  tile->rows = (unsigned)rows;
  tile->columns = (unsigned)columns;
  return BF_OK;
}
