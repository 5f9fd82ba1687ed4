/* Maps of element indices as people write them. */
#include "source/suggest.h"

#include <stdio.h>
#include <string.h>

static bool is_power(uint64_t number) { return number && (number & (number - 1)) == 0; }

static unsigned bits_of(uint64_t power) { return (unsigned)__builtin_ctzll(power); }

/* ---- Parts: what the terms take from which subscript ---- */

/* An operand of the XOR: (source >> shift) & mask, or << -shift. */
typedef struct part {
  bool is_row;      /* of the index of the row, else of the last subscript */
  bool is_flat_row; /* needs the row's index over all dimensions but the last */
  int shift;
  uint64_t mask;
} part;

enum { MOST_PARTS = 2 * BF_INDEX_MOST_TERMS };

/* Splits a term into what comes from the last subscript, of `bits` bits, and from the row. */
static unsigned split_term(const bf_hash_term *term, const bf_shared_array *array, unsigned bits,
                           part *parts) {
  uint64_t own_bits = (UINT64_C(1) << bits) - 1, from = term->mask << term->shift;
  uint64_t of_column = (from & own_bits) >> term->shift, of_row = term->mask & ~of_column;
  unsigned count = 0;
  if (of_column)
    parts[count++] = (part){.shift = term->shift, .mask = of_column};
  if (!of_row)
    return count;
  part row = {.is_row = true, .shift = term->shift - (int)bits, .mask = of_row};
  uint64_t row_bits = (of_row << term->shift) >> bits,
           rows = array->dimension[array->dimensions - 2];
  row.is_flat_row = array->dimensions > 2 && (!is_power(rows) || row_bits >= rows);
  parts[count++] = row;
  return count;
}

static unsigned split(const bf_index_map *map, const bf_shared_array *array, part *parts) {
  unsigned count = 0, bits = bits_of(array->dimension[array->dimensions - 1]);
  for (unsigned i = 0; i < map->terms; i++)
    count += split_term(&map->term[i], array, bits, parts + count);
  return count;
}

bool bf_index_is_direct(const bf_index_map *map, const bf_shared_array *array) {
  if (!map->terms)
    return array->dimensions > 1 || !map->row_elements;
  if (array->dimensions < 2 || map->only_of)
    return false;
  uint64_t columns = array->dimension[array->dimensions - 1];
  for (unsigned i = 0; i < map->terms; i++)
    if (!is_power(columns) || map->term[i].mask >= columns)
      return false;
  return true;
}

unsigned bf_index_repeated(const bf_index_map *map, const bf_shared_array *array) {
  part parts[MOST_PARTS];
  unsigned last = array->dimensions - 1, repeated = 0;
  if (!map->terms)
    return bf_index_is_direct(map, array) ? 0 : 1;
  if (!bf_index_is_direct(map, array))
    return (1u << array->dimensions) - 1;
  unsigned count = split(map, array, parts);
  for (unsigned i = 0; i < count; i++)
    repeated |= !parts[i].is_row       ? 1u << last
                : parts[i].is_flat_row ? (1u << last) - 1
                                       : 1u << (last - 1);
  return repeated;
}

unsigned bf_index_instructions(const bf_index_map *map, const bf_shared_array *array) {
  part parts[MOST_PARTS];
  unsigned sum = 0;
  if (!map->terms)
    return bf_index_is_direct(map, array) ? 0 : 2; /* a shift and an addition */
  if (!bf_index_is_direct(map, array))
    return 2 * map->terms; /* each a shift and a LOP3 */
  unsigned count = split(map, array, parts);
  for (unsigned i = 0; i < count; i++)
    sum += 1 + (parts[i].shift != 0);
  return sum;
}

/* ---- Elements ---- */

/* " ^ (source >> shift & mask)" */
static void write_part(const char *source, int shift, uint64_t mask, bf_text *text) {
  bf_text_addf(text, " ^ (%s%s", shift < 0 ? "(" : "", source);
  if (shift)
    bf_text_addf(text, " %s %d%s", shift > 0 ? ">>" : "<<", shift > 0 ? shift : -shift,
                 shift < 0 ? ")" : "");
  bf_text_addf(text, mask > 255 ? " & 0x%llx)" : " & %llu)", (unsigned long long)mask);
}

/* The index over the first `count` subscripts. */
static void write_flat(const bf_shared_array *array, const char *const *operand, unsigned count,
                       bf_text *text) {
  for (unsigned i = 2; i < count; i++)
    bf_text_puts(text, "(");
  bf_text_puts(text, operand[0]);
  for (unsigned i = 1; i < count; i++)
    bf_text_addf(text, " * %llu + %s%s", (unsigned long long)array->dimension[i], operand[i],
                 i + 1 < count ? ")" : "");
}

static void write_direct(const bf_index_map *map, const bf_shared_array *array,
                         const char *const *operand, const char *const *plain, bf_text *text) {
  part parts[MOST_PARTS];
  unsigned count = split(map, array, parts), last = array->dimensions - 1;
  bf_text row = {0};
  bf_text_puts(&row, "(");
  write_flat(array, operand, last, &row);
  bf_text_puts(&row, ")");
  text->failed |= row.failed;
  bf_text_puts(text, array->name);
  for (unsigned i = 0; i < last; i++)
    bf_text_addf(text, "[%s]", plain[i]);
  bf_text_addf(text, "[%s", operand[last]);
  for (unsigned i = 0; i < count && !row.failed; i++)
    write_part(!parts[i].is_row       ? operand[last]
               : parts[i].is_flat_row ? row.data
                                      : operand[last - 1],
               parts[i].shift, parts[i].mask, text);
  bf_text_puts(text, "]");
  bf_text_free(&row);
}

/* A flat index through the macro; (&name[0][0])[...] where there are several dimensions. */
void bf_index_write_called(const bf_index_map *map, const bf_shared_array *array, const char *macro,
                           const char *const *operand, const char *const *plain, bf_text *text) {
  bool is_flat = array->dimensions <= 1;
  bf_text_addf(text, is_flat ? "%s[" : "(&%s", array->name);
  for (unsigned i = 0; i < array->dimensions && !is_flat; i++)
    bf_text_puts(text, "[0]");
  bf_text_addf(text, is_flat ? "%s(" : ")[%s(", macro);
  if (is_flat)
    bf_text_puts(text, plain[0]);
  else if (map->only_of) /* rows have several lengths */
    bf_text_addf(text, "%s * (sizeof(%s[0]) / sizeof(%s[0][0])) + %s", operand[0], array->name,
                 array->name, operand[1]);
  else
    write_flat(array, operand, array->dimensions, text);
  bf_text_puts(text, ")]");
}

void bf_index_write_element(const bf_index_map *map, const bf_shared_array *array,
                            const char *macro, const char *const *operand, const char *const *plain,
                            bf_text *text) {
  if (!bf_index_is_direct(map, array)) {
    bf_index_write_called(map, array, macro, operand, plain, text);
  } else if (map->terms) {
    write_direct(map, array, operand, plain, text);
  } else {
    bf_text_puts(text, array->name);
    for (unsigned i = 0; i < array->dimensions; i++)
      bf_text_addf(text, "[%s]", plain[i]);
  }
}

/* Where the element with that index goes. */
static void write_place(const bf_index_map *map, const char *index, bf_text *text) {
  if (map->only_of)
    bf_text_addf(text, "sizeof(%s) != %llu ? %s : ", map->only_of,
                 (unsigned long long)map->only_bytes, index);
  bf_text_puts(text, index);
  if (map->row_elements)
    bf_text_addf(text, " + %s / %llu", index, (unsigned long long)map->row_elements);
  if (map->row_elements && map->pad_elements > 1)
    bf_text_addf(text, " * %llu", (unsigned long long)map->pad_elements);
  for (unsigned i = 0; i < map->terms; i++)
    write_part(index, map->term[i].shift, map->term[i].mask, text);
}

void bf_index_write_macro(const bf_index_map *map, const char *macro, bf_text *text) {
  bf_text_addf(text, "#define %s(i) (", macro);
  write_place(map, "(i)", text);
  bf_text_puts(text, ")");
}

void bf_index_write_function(const bf_index_map *map, const char *name, bool is_inside,
                             bf_text *text) {
  bf_text_addf(text,
               is_inside ? "const auto %s = [](auto i) { return "
                         : "template <class Index> static __device__ __forceinline__ Index "
                           "%s(Index i) { return ",
               name);
  write_place(map, "i", text);
  bf_text_puts(text, is_inside ? "; };" : "; }");
}

/* Whether all dimensions are known. */
static bool is_closed(const bf_shared_array *array) {
  for (unsigned i = 0; i < array->dimensions; i++)
    if (array->dimension[i] == 0)
      return false;
  return array->dimensions > 0;
}

/* Shape<Int<a>, ...>, Stride<Int<b>, ...> of rows one behind the other. */
static void write_layout(const bf_shared_array *array, bf_text *text) {
  uint64_t stride = 1;
  bf_text_puts(text, "Shape<");
  for (unsigned i = 0; i < array->dimensions; i++) {
    bf_text_addf(text, "%sInt<%llu>", i ? ", " : "", (unsigned long long)array->dimension[i]);
    stride *= array->dimension[i];
  }
  bf_text_puts(text, ">, Stride<");
  for (unsigned i = 0; i < array->dimensions; i++) {
    stride /= array->dimension[i];
    bf_text_addf(text, "%sInt<%llu>", i ? ", " : "", (unsigned long long)stride);
  }
  bf_text_puts(text, ">");
}

void bf_index_write_cute(const bf_index_map *map, const bf_shared_array *array, bf_text *text) {
  const bf_hash_term *term = &map->term[0];
  unsigned base = (unsigned)__builtin_ctzll(term->mask);
  unsigned bits = (unsigned)__builtin_popcountll(term->mask);
  bool has_layout = is_closed(array);
  bf_text_addf(text, "%sSwizzle<%u, %u, %d>{}", has_layout ? "composition(" : "", bits, base,
               term->shift);
  if (!has_layout)
    return;
  bf_text_puts(text, ", Layout<");
  write_layout(array, text);
  bf_text_puts(text, ">{})");
}
