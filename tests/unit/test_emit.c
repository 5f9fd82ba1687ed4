/* Room apply: what the emitted CuTe types and Triton layouts mean is compared with the hash, and
 * that none is said to exist is compared with trying all. That emitted C, CUDA and Verilog compile
 * and agree with the library is tested by tests/check/emit.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emit/emit.h"
#include "random.h"

static bf_hash *parse_in(const char *text, unsigned bank_bits, unsigned address_bits,
                         unsigned word_bytes) {
  bf_geometry geometry = {bank_bits, address_bits, word_bytes};
  bf_diagnostic diagnostic;
  bf_hash *hash;
  if (bf_hash_parse(text, &geometry, &hash, &diagnostic) != BF_OK)
    fail_msg("%s: %s", text, diagnostic.message);
  return hash;
}

static uint64_t words_of(const bf_hash *hash) { return (uint64_t)1 << hash->geometry.address_bits; }

/* A random hash: a swizzle most of the time. */
static bf_hash *random_hash(test_random *random) {
  static const char *const others[] = {"none", "fixed", "add", "perm:2", "bits:1,0,2"};
  unsigned n = 3 + (unsigned)random_below(random, 6), b = (unsigned)random_below(random, 4);
  char text[64];
  int shift = (int)(b + random_below(random, n)) * (random_below(random, 4) ? 1 : -1);
  if (random_below(random, 5) == 0)
    return parse_in(others[random_below(random, 5)], 3, n < 5 ? 5 : n, 4);
  snprintf(text, sizeof text, "cute:%u,%u,%d", b, 2 + (unsigned)random_below(random, n), shift);
  return parse_in(text, 3, n, 4);
}

/* ---- Errors ---- */

static const struct bad_request {
  const char *hash, *form;
  bf_emit_options options;
  int error;
  unsigned column;
  const char *message;
} bad_requests[] = {
    {"none",
     "pascal",
     {0},
     BF_BAD_INPUT,
     0,
     "unknown form 'pascal'; known: cuda, c, cute, triton, verilog"},
    {"none",
     "c",
     {.name = ""},
     BF_BAD_INPUT,
     1,
     "a name is letters, digits and '_', and starts with a letter"},
    {"none",
     "c",
     {.name = "1a"},
     BF_BAD_INPUT,
     1,
     "a name is letters, digits and '_', and starts with a letter"},
    {"none",
     "c",
     {.name = "_a"},
     BF_BAD_INPUT,
     1,
     "a name is letters, digits and '_', and starts with a letter"},
    {"none",
     "c",
     {.name = "ab-c"},
     BF_BAD_INPUT,
     3,
     "a name is letters, digits and '_', and starts with a letter"},
    {"none",
     "c",
     {.name = "a0123456789012345678901234567890123456789012345678901234567890"},
     BF_BAD_INPUT,
     61,
     "a name has at most 60 characters"},
    {"perm:3",
     "cute",
     {0},
     BF_UNSUPPORTED,
     0,
     "no such form: no cute::Swizzle<B,M,S> gives the same banks as perm:3"},
    {"add",
     "cute",
     {0},
     BF_UNSUPPORTED,
     0,
     "no such form: no cute::Swizzle<B,M,S> gives the same banks as add"},
    {"cute:2,5,30",
     "cute",
     {0},
     BF_UNSUPPORTED,
     0,
     "no such form: cute::Swizzle<2,5,30> uses offset bit 36, but CuTe's masks have 31 bits"},
    {"tma:128",
     "triton",
     {.element_bytes = 3, .columns = 64},
     BF_BAD_INPUT,
     0,
     "an element has 1, 2, 4, 8 or 16 bytes, not 3"},
    {"tma:128",
     "triton",
     {.element_bytes = 2, .columns = 48},
     BF_BAD_INPUT,
     0,
     "Triton tiles have a power of two columns, not 48"},
    {"tma:128",
     "triton",
     {.element_bytes = 2, .columns = (uint64_t)1 << 50},
     BF_BAD_INPUT,
     0,
     "a row of 1125899906842624 elements of 2 bytes does not fit the allocation of 4398046511104 "
     "bytes"},
    {"perm:3",
     "triton",
     {.element_bytes = 2, .columns = 64},
     BF_UNSUPPORTED,
     0,
     "no such form: no (vec, perPhase, maxPhase) gives the same banks as perm:3"},
    {"tma:128",
     "triton",
     {.element_bytes = 2, .columns = 32},
     BF_UNSUPPORTED,
     0,
     "no such form: on rows of 32 elements of 2 bytes, tma:128 has no (vec, perPhase, maxPhase): "
     "it "
     "moves elements out of their row"},
    {"tma:128",
     "triton",
     {.element_bytes = 2, .columns = 128},
     BF_UNSUPPORTED,
     0,
     "no such form: on rows of 128 elements of 2 bytes, tma:128 has no (vec, perPhase, maxPhase): "
     "it takes bits of the column, not of the row"},
    {"fixed",
     "triton",
     {.element_bytes = 8, .columns = 16},
     BF_UNSUPPORTED,
     0,
     "no such form: on rows of 16 elements of 8 bytes, fixed has no (vec, perPhase, maxPhase): it "
     "splits elements"},
    {"cute:1,2,-3",
     "triton",
     {.element_bytes = 4, .columns = 32},
     BF_UNSUPPORTED,
     0,
     "no such form: on rows of 32 elements of 4 bytes, cute:1,2,-3 has no (vec, perPhase, "
     "maxPhase): it moves rows by their columns, not columns by their rows"},
};

static void every_error_message(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_requests / sizeof *bad_requests; i++) {
    const struct bad_request *bad = &bad_requests[i];
    bf_hash *hash = parse_in(bad->hash, 5, 40, 4);
    bf_text text = {0};
    bf_diagnostic diagnostic;
    assert_int_equal(bf_emit(hash, bad->form, &bad->options, &text, &diagnostic), bad->error);
    assert_string_equal(diagnostic.message, bad->message);
    assert_int_equal(diagnostic.column, bad->column);
    assert_int_equal(text.size, 0);
    bf_hash_free(hash);
  }
}

static void verilog_needs_an_address(void **state) {
  (void)state;
  bf_hash *hash = parse_in("none", 0, 0, 4);
  bf_emit_options options = {0};
  bf_text text = {0};
  bf_diagnostic diagnostic;
  assert_int_equal(bf_emit(hash, "verilog", &options, &text, &diagnostic), BF_UNSUPPORTED);
  assert_string_equal(diagnostic.message,
                      "no such form: an allocation of one word has no address bits");
  bf_hash_free(hash);
}

/* ---- CuTe ---- */

/* cute::Swizzle<B,M,S>::apply, from its definition. */
static uint64_t swizzle(unsigned bits, unsigned base, int shift, uint64_t offset) {
  uint64_t mask = ((uint64_t)1 << bits) - 1;
  uint64_t from = mask << (base + (unsigned)(shift > 0 ? shift : 0));
  return offset ^ (shift > 0 ? (offset & from) >> shift : (offset & from) << -shift);
}

/* The type of that name in the text; false if it has none. */
static bool find_type(const char *text, const char *name, unsigned *bits, unsigned *base,
                      int *shift) {
  char start[128];
  snprintf(start, sizeof start, "using %s = cute::Swizzle<", name);
  const char *at = strstr(text, start);
  return at && sscanf(at + strlen(start), "%u, %u, %d>;", bits, base, shift) == 3;
}

/* On offsets in elements of every size, the type gives every word the bank that hash gives. */
static void check_types(const bf_hash *hash, const char *text) {
  unsigned word_bytes = hash->geometry.word_bytes, banks = 1u << hash->geometry.bank_bits;
  for (unsigned size = 1; size <= 16; size *= 2) {
    unsigned bits, base;
    int shift;
    char name[32];
    snprintf(name, sizeof name, "s_swizzle_%ub", size);
    if (!find_type(text, name, &bits, &base, &shift)) {
      assert_true(size > word_bytes);
      continue;
    }
    for (uint64_t word = 0; word < words_of(hash); word++) {
      uint64_t offset = word * word_bytes, inside = offset % size;
      uint64_t placed = swizzle(bits, base, shift, offset / size) * size + inside;
      assert_int_equal(placed / word_bytes % banks, bf_hash_bank(hash, word));
    }
  }
}

/* Offsets and addresses swizzle alike from an aligned base, and not from one aligned to half. */
static void check_alignment(const char *text) {
  unsigned bits, base;
  int shift;
  unsigned long alignment;
  assert_true(find_type(text, "s_swizzle_1b", &bits, &base, &shift));
  const char *at = strstr(text, "s_alignment = ");
  assert_non_null(at);
  assert_int_equal(sscanf(at, "s_alignment = %lu; // bytes", &alignment), 1);
  if (bits == 0)
    return;
  bool half_will_do = true;
  for (uint64_t offset = 0; offset < 4 * alignment; offset++) {
    uint64_t start = 5 * alignment, half = 5 * (alignment / 2);
    uint64_t swizzled = swizzle(bits, base, shift, offset);
    assert_true(swizzle(bits, base, shift, start + offset) == start + swizzled);
    half_will_do &= swizzle(bits, base, shift, half + offset) == half + swizzled;
  }
  assert_false(half_will_do);
}

static void cute_types_equal_the_hash(void **state) {
  (void)state;
  test_random random = {21};
  const bf_emit_options options = {.name = "s"};
  for (int round = 0; round < 500; round++) {
    bf_hash *hash = random_hash(&random);
    bf_text text = {0};
    unsigned bits, base;
    int shift;
    bool found = bf_hash_find_swizzle(hash, &bits, &base, &shift);
    int error = bf_emit(hash, "cute", &options, &text, NULL);
    assert_int_equal(error, found ? BF_OK : BF_UNSUPPORTED);
    if (found) {
      check_types(hash, text.data);
      check_alignment(text.data);
    }
    bf_text_free(&text);
    bf_hash_free(hash);
  }
}

static void tma_modes_are_named(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"tma:32", "mode CU_TENSOR_MAP_SWIZZLE_32B"},   {"tma:64", "mode CU_TENSOR_MAP_SWIZZLE_64B"},
      {"tma:128", "mode CU_TENSOR_MAP_SWIZZLE_128B"}, {"none", "mode CU_TENSOR_MAP_SWIZZLE_NONE"},
      {"xor:0,3,28", "CU_TENSOR_MAP_SWIZZLE_128B"},   {"fixed", NULL}};
  const bf_emit_options options = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_hash *hash = parse_in(cases[i][0], 5, 14, 4);
    bf_text text = {0};
    assert_int_equal(bf_emit(hash, "cute", &options, &text, NULL), BF_OK);
    if (cases[i][1])
      assert_non_null(strstr(text.data, cases[i][1]));
    else
      assert_null(strstr(text.data, "CU_TENSOR_MAP"));
    bf_text_free(&text);
    bf_hash_free(hash);
  }
}

/* ---- Triton ---- */

typedef struct tile {
  uint64_t element_bytes, columns;
} tile;

/* Whether the layout puts every element into the bank into which hash puts it. */
static bool triton_equals(const bf_hash *hash, tile t, uint64_t vec, uint64_t per_phase,
                          uint64_t max_phase) {
  uint64_t word_bytes = hash->geometry.word_bytes, banks = 1u << hash->geometry.bank_bits;
  uint64_t elements = words_of(hash) * word_bytes / t.element_bytes;
  for (uint64_t i = 0; i < elements; i++) {
    uint64_t row = i / t.columns, column = i % t.columns;
    uint64_t phase = vec * (row / per_phase % max_phase) % t.columns;
    for (uint64_t byte = 0; byte < t.element_bytes; byte++) {
      uint64_t from = i * t.element_bytes + byte;
      uint64_t to = (row * t.columns + (column ^ phase)) * t.element_bytes + byte;
      if (to / word_bytes % banks != bf_hash_bank(hash, from / word_bytes))
        return false;
    }
  }
  return true;
}

/* Whether any layout does. */
static bool some_triton_equals(const bf_hash *hash, tile t) {
  uint64_t rows = words_of(hash) * hash->geometry.word_bytes / t.element_bytes / t.columns;
  for (uint64_t vec = 1; vec <= t.columns; vec *= 2)
    for (uint64_t per_phase = 1; per_phase <= rows; per_phase *= 2)
      for (uint64_t max_phase = 1; max_phase <= t.columns; max_phase *= 2)
        if (triton_equals(hash, t, vec, per_phase, max_phase))
          return true;
  return false;
}

/* The emitted layout equals the hash; false where there is none. Rows are as the text says. */
static bool emitted_triton_equals(const bf_hash *hash, tile t, bf_diagnostic *diagnostic) {
  bf_emit_options options = {.element_bytes = t.element_bytes, .columns = t.columns};
  bf_text text = {0};
  int error = bf_emit(hash, "triton", &options, &text, diagnostic);
  if (error == BF_OK) {
    unsigned vec, per_phase, max_phase, columns;
    const char *rows = strstr(text.data, "of exactly "), *at = strstr(text.data, "gl.Swizzled");
    assert_true(rows && at);
    assert_int_equal(sscanf(rows, "of exactly %u", &columns), 1);
    assert_int_equal(sscanf(at, "gl.SwizzledSharedLayout(vec=%u, per_phase=%u, max_phase=%u, ",
                            &vec, &per_phase, &max_phase),
                     3);
    assert_true(t.columns == 0 || t.columns == columns);
    t.columns = columns;
    assert_true(triton_equals(hash, t, vec, per_phase, max_phase));
    assert_true((uint64_t)vec * max_phase <= columns);
  } else {
    assert_int_equal(error, BF_UNSUPPORTED);
    assert_memory_equal(diagnostic->message, "no such form", 12);
  }
  bf_text_free(&text);
  return error == BF_OK;
}

/* Tiles of every shape; with the shape left open there is a layout if there is one for any shape.
 */
static void check_triton(const bf_hash *hash, uint64_t element_bytes) {
  bf_diagnostic diagnostic;
  bool any = false;
  tile t = {element_bytes, 1};
  for (; t.columns * t.element_bytes <= words_of(hash) * 4; t.columns *= 2) {
    bool found = emitted_triton_equals(hash, t, &diagnostic);
    any |= found;
    if (!found && some_triton_equals(hash, t))
      fail_msg("%s, %u columns of %u bytes: %s", bf_hash_text(hash), (unsigned)t.columns,
               (unsigned)t.element_bytes, diagnostic.message);
  }
  t.columns = 0;
  if (any && !emitted_triton_equals(hash, t, &diagnostic))
    fail_msg("%s, elements of %u bytes: %s", bf_hash_text(hash), (unsigned)t.element_bytes,
             diagnostic.message);
}

static void triton_layouts_equal_the_hash(void **state) {
  (void)state;
  test_random random = {22};
  for (int round = 0; round < 300; round++) {
    bf_hash *hash = random_hash(&random);
    for (uint64_t element_bytes = 1; element_bytes <= 16; element_bytes *= 2)
      check_triton(hash, element_bytes);
    bf_hash_free(hash);
  }
}

/* ---- C ---- */

static void assert_emits(const char *hash_text, const char *form, const char *line) {
  bf_hash *hash = parse_in(hash_text, 5, 14, 4);
  bf_emit_options options = {.name = "t"};
  bf_text text = {0};
  assert_int_equal(bf_emit(hash, form, &options, &text, NULL), BF_OK);
  if (!strstr(text.data, line))
    fail_msg("'%s' is not in\n%s", line, text.data);
  bf_text_free(&text);
  bf_hash_free(hash);
}

/* A handful of shifts and masks. */
static void c_is_short(void **state) {
  (void)state;
  assert_emits("none", "c", "  return word;\n");
  assert_emits("fixed", "c", "  return word ^ ((word >> 5) & 0x1fu);\n");
  assert_emits("fixed", "c", "  return offset ^ ((offset >> 5) & 0x7cu);\n");
  assert_emits("fixed", "c", "  return t_word(word);\n");
  assert_emits("bits:0^5^7,1^6^8,2,3,4", "c",
               "  return word ^ (((word >> 5) ^ (word >> 7)) & 0x3u);\n");
  assert_emits("pad:32+1", "c", "  return word + word / 32u;\n");
  assert_emits("mod:30", "c", "  return word + word / 30u * 2u;\n");
  assert_emits("mod:31", "c", "16384 words need 16912 words of memory");
  assert_emits("tma:128", "c", "#define T_GRANULE_BYTES 16u\n");
  assert_emits("tma:128", "c", "#define T_ALLOCATION_WORDS(words) (((words) + 31u) / 32u * 32u)\n");
  assert_emits("tma:128", "cuda", "static __host__ __device__ __forceinline__");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_error_message),           cmocka_unit_test(verilog_needs_an_address),
      cmocka_unit_test(cute_types_equal_the_hash),     cmocka_unit_test(tma_modes_are_named),
      cmocka_unit_test(triton_layouts_equal_the_hash), cmocka_unit_test(c_is_short),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
