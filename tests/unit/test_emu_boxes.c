/* Boxes of interleaved tensors against an H200 (tests/data/h200/boxes.txt; its README says what a
 * line is). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/tensor.h"

enum { GLOBAL_BYTES = 1 << 17, SHARED_BYTES = 1 << 14, UNTOUCHED = 0xfffe, STORED = 0x8000 };

/* The next number of a line. */
static long long number(char **at) { return strtoll(*at, at, 10); }

static uint16_t global_memory[GLOBAL_BYTES / 2] __attribute__((aligned(128)));
static uint16_t shared_memory[SHARED_BYTES / 2] __attribute__((aligned(1024)));

/* Reads what was asked for; the tensor lies in global_memory. */
static bf_emu_box read_box(char *line) {
  bf_emu_box box = {.map = {.magic = BF_TENSOR_MAGIC}};
  bf_tensor_map *map = &box.map;
  char *at = strchr(line, ' ');
  unsigned bytes = (unsigned)number(&at);
  map->is_im2col = line[0] == 'i';
  box.is_store = line[0] == 's';
  map->type = bytes == 1 ? BF_TENSOR_U8 : bytes == 2 ? BF_TENSOR_F16 : BF_TENSOR_F32;
  map->rank = (uint8_t)number(&at);
  map->interleave = (uint8_t)number(&at);
  map->swizzle = (uint8_t)number(&at);
  map->fill = (uint8_t)number(&at);
  map->address = (uint64_t)(uintptr_t)global_memory + (uint64_t)number(&at);
  for (unsigned i = 0; i < map->rank; i++)
    map->size[i] = (uint32_t)number(&at) - 1;
  for (unsigned i = 0; i + 1 < map->rank; i++)
    map->stride[i] = (uint64_t)number(&at);
  for (unsigned i = 0; i < (map->is_im2col ? 2u : map->rank); i++)
    map->box[i] = (uint16_t)number(&at);
  for (unsigned i = 0; map->is_im2col && i < map->rank - 2u; i++)
    map->lower[i] = (int16_t)number(&at);
  for (unsigned i = 0; map->is_im2col && i < map->rank - 2u; i++)
    map->upper[i] = (int16_t)number(&at);
  for (unsigned i = 0; i < map->rank; i++)
    map->step[i] = (uint8_t)number(&at);
  for (unsigned i = 0; i < map->rank; i++)
    box.at[i] = (int32_t)number(&at);
  for (unsigned i = 0; map->is_im2col && i < map->rank - 2u; i++)
    box.offset[i] = (uint16_t)number(&at);
  return box;
}

/* What memory holds before a copy. */
static uint16_t before(bool is_global, bool is_store, size_t i) {
  return is_global ? (uint16_t)i : is_store ? (uint16_t)(STORED + i) : (uint16_t)UNTOUCHED;
}

/* A number in hexadecimal, behind which an x may follow: that is no prefix. */
static size_t hexadecimal(const char **at) {
  static const char digits[] = "0123456789abcdef";
  size_t value = 0;
  for (; **at && strchr(digits, **at); (*at)++)
    value = value * 16 + (size_t)(strchr(digits, **at) - digits);
  return value;
}

/* Fills words with what was found: runs "place:value+length", or "x" where all are the same. */
static void read_found(const char *at, bool is_store, uint16_t *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    words[i] = before(is_store, is_store, i);
  while (*at++ == ' ') {
    size_t place = hexadecimal(&at);
    at++;
    size_t value = hexadecimal(&at);
    bool is_same = *at++ == 'x';
    size_t length = hexadecimal(&at);
    for (size_t i = 0; i < length; i++)
      words[place + i] = (uint16_t)(value + (is_same ? 0 : i));
  }
}

/* Whether the emulator does the same with a box. */
static bool does_same(char *asked, char *found) {
  static uint16_t expected[GLOBAL_BYTES / 2];
  bf_emu_box box = read_box(asked);
  const char *wrong = bf_emu_box_check(&box, box.map.rank, box.map.is_im2col);
  char *launch = strstr(found, "launch ");
  int error = atoi(launch + 7);
  if (error || wrong)
    return error == 715 && wrong;
  for (size_t i = 0; i < GLOBAL_BYTES / 2; i++)
    global_memory[i] = before(true, box.is_store, i);
  for (size_t i = 0; i < SHARED_BYTES / 2; i++)
    shared_memory[i] = before(false, box.is_store, i);
  size_t count = (box.is_store ? GLOBAL_BYTES : SHARED_BYTES) / 2;
  read_found(strchr(launch + 7, ' ') ? strchr(launch + 7, ' ') : "", box.is_store, expected, count);
  bf_emu_box_move(&box, &(bf_emu_reduce){0}, (uint8_t *)shared_memory, (uint8_t *)shared_memory);
  const uint16_t *result = box.is_store ? global_memory : shared_memory;
  return memcmp(result, expected, count * sizeof *result) == 0;
}

static void boxes_land_where_they_do_on_an_h200(void **state) {
  (void)state;
  static char asked[1024], found[1 << 16];
  FILE *file = fopen("tests/data/h200/boxes.txt", "r");
  unsigned boxes = 0, same = 0;
  assert_non_null(file);
  while (fgets(asked, sizeof asked, file) && fgets(found, sizeof found, file)) {
    found[strcspn(found, "\n")] = 0;
    if (!strstr(found, "map 0")) /* the driver makes no such map */
      continue;
    boxes++;
    bool is_equal = does_same(asked, found);
    same += is_equal;
    if (!is_equal)
      print_message("another place: %s", asked);
  }
  fclose(file);
  assert_true(boxes > 400);
  assert_int_equal(same, boxes);
}

typedef struct span {
  uint64_t first, end;
} span;

static void add_row(void *context, uint64_t address, uint64_t bytes) {
  span *all = context;
  all->first = address < all->first ? address : all->first;
  all->end = address + bytes > all->end ? address + bytes : all->end;
}

static uint32_t below(uint32_t *state, uint32_t end) {
  *state = *state * 1664525 + 1013904223;
  return (*state >> 8) % end;
}

/* Of 5000 tiles, inside and across the borders of their tensors: the range is that of all rows. */
static void ranges_are_those_of_rows(void **state) {
  (void)state;
  uint32_t random = 1;
  for (unsigned i = 0; i < 5000; i++) {
    bf_emu_box box = {.map = {.magic = BF_TENSOR_MAGIC, .type = BF_TENSOR_F16, .address = 1 << 20}};
    box.map.rank = (uint8_t)(1 + below(&random, 4));
    for (unsigned d = 0; d < box.map.rank; d++) {
      box.map.size[d] = below(&random, 20);
      box.map.stride[d] = 16 * (1 + below(&random, 200));
      box.map.box[d] = (uint16_t)(1 + below(&random, 12));
      box.map.step[d] = (uint8_t)(1 + below(&random, 3));
      box.at[d] = (int32_t)below(&random, 60) - 30;
    }
    span rows = {UINT64_MAX, 0}, found;
    bf_emu_box_rows(&box, add_row, &rows);
    assert_int_equal(bf_emu_box_range(&box, &found.first, &found.end), rows.first < rows.end);
    if (rows.first < rows.end) {
      assert_int_equal(found.first, rows.first);
      assert_int_equal(found.end, rows.end);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(boxes_land_where_they_do_on_an_h200),
                                     cmocka_unit_test(ranges_are_those_of_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
