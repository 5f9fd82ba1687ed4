/* Suggestions for arrays whose best layout is known, their text, and patches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "source/patch.h"

enum { LANES = 32 };

static bf_machine *load(void) {
  bf_diagnostic diagnostic;
  bf_machine *machine;
  if (bf_machine_load("hopper", NULL, &machine, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return machine;
}

/* Lane i loads width bytes at first + i * stride bytes. */
static void add(bf_workload *to, unsigned width, unsigned first, unsigned stride) {
  bf_access access = {.op = BF_OP_LD, .width_bytes = width, .mask = UINT32_MAX, .count = 1};
  for (unsigned lane = 0; lane < LANES; lane++)
    access.address[lane] = first + lane * stride;
  assert_int_equal(bf_workload_add(to, &access), BF_OK);
}

/* A tile of rows of so many elements, read by rows and by columns. */
static bf_workload *tile(unsigned element, unsigned rows, unsigned columns) {
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  for (unsigned i = 0; i < rows * columns / LANES; i++)
    add(workload, element, i * LANES * element, element);
  for (unsigned i = 0; i < columns; i++)
    add(workload, element, i * element, columns * element);
  return workload;
}

static bf_suggestions suggest(const bf_shared_array *array) {
  bf_machine *machine = load();
  bf_diagnostic diagnostic;
  bf_suggestions found;
  bf_suggest_options options = {.machine = machine, .time_limit_seconds = 2, .threads = 1};
  if (bf_suggest(&options, array, &found, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  bf_machine_free(machine);
  return found;
}

/* Nothing is put where something else is, and all stays inside the array and what it grows by. */
static void assert_injective(const bf_suggestion *suggestion, uint64_t bytes) {
  uint64_t room = bytes + suggestion->extra_bytes;
  bool *is_used = calloc(room, 1);
  assert_non_null(is_used);
  for (uint64_t i = 0; i < bytes; i++) {
    uint64_t place = bf_index_place(&suggestion->map, i);
    assert_true(place < room && !is_used[place]);
    is_used[place] = true;
  }
  free(is_used);
}

/* Counting with the hash of a map is the same as moving the accesses. */
static void assert_hash(const bf_suggestion *suggestion, const bf_workload *workload) {
  bf_machine *machine = load();
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash *hash;
  uint64_t conflicts = 0;
  assert_true(bf_index_hash(&suggestion->map, &geometry, &hash));
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    bf_count count;
    assert_int_equal(bf_memory_count(machine, hash, bf_workload_get(workload, i), &count, NULL),
                     BF_OK);
    conflicts += count.conflicts;
  }
  assert_int_equal(conflicts, suggestion->conflicts);
  bf_hash_free(hash);
  bf_machine_free(machine);
}

/* A square tile: an XOR of row and column, and one more column, remove all. */
static void test_tile(void **state) {
  (void)state;
  bf_workload *workload = tile(4, 32, 32);
  bf_shared_array array = {.name = "t",
                           .bytes = 4096,
                           .element_bytes = 4,
                           .dimensions = 2,
                           .dimension = {32, 32},
                           .workload = workload};
  bf_suggestions found = suggest(&array);
  const bf_suggestion *swizzle = &found.of[BF_SUGGEST_SWIZZLE];
  const bf_suggestion *padding = &found.of[BF_SUGGEST_PADDING];
  assert_int_equal(found.conflicts, 32 * 31);
  assert_true(swizzle->exists && padding->exists && found.of[BF_SUGGEST_CUTE].exists);
  assert_int_equal(swizzle->conflicts, 0);
  assert_int_equal(swizzle->instructions, 1);
  assert_true(swizzle->is_direct);
  assert_int_equal(padding->conflicts, 0);
  assert_int_equal(padding->extra_bytes, 128);
  assert_int_equal(padding->map.padded_by, 1);
  assert_int_equal(found.best, BF_SUGGEST_PADDING);
  assert_hash(swizzle, workload);
  for (int i = 0; i < BF_SUGGEST_KINDS; i++)
    assert_injective(&found.of[i], 4096);
  bf_workload_free(workload);
}

/* Vectors stay whole, and elements of any size and shape stay apart. */
static void test_shapes(void **state) {
  (void)state;
  static const unsigned shapes[][3] = {{16, 32, 8},  {8, 32, 16}, {2, 32, 64},
                                       {12, 32, 32}, {4, 32, 24}, {1, 32, 128}};
  for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    unsigned element = shapes[i][0], bytes = element * shapes[i][1] * shapes[i][2];
    bf_workload *workload;
    assert_int_equal(bf_workload_create(&workload), BF_OK);
    for (unsigned k = 0; k < 8; k++)
      add(workload, element == 12 ? 4 : element, k * element, shapes[i][2] * element);
    bf_shared_array array = {.name = "t",
                             .bytes = bytes,
                             .element_bytes = element,
                             .dimensions = 2,
                             .dimension = {shapes[i][1], shapes[i][2]},
                             .workload = workload};
    bf_suggestions found = suggest(&array);
    assert_true(found.conflicts > 0 && found.best >= 0);
    for (int k = 0; k < BF_SUGGEST_KINDS; k++)
      if (found.of[k].exists) {
        assert_true(found.of[k].conflicts < found.conflicts);
        assert_injective(&found.of[k], bytes);
      }
    if (element != 12)
      assert_hash(&found.of[BF_SUGGEST_SWIZZLE], workload);
    bf_workload_free(workload);
  }
}

/* What ptxas merges is not merged any more behind an XOR: the map is chosen for what is written. */
static void test_merged(void **state) {
  (void)state;
  bf_workload *written, *merged;
  assert_int_equal(bf_workload_create(&written), BF_OK);
  assert_int_equal(bf_workload_create(&merged), BF_OK);
  for (unsigned k = 0; k < 32; k++)
    add(written, 4, 4 * k, 128);
  for (unsigned k = 0; k < 8; k++)
    add(merged, 16, 16 * k, 128);
  bf_shared_array array = {.name = "t",
                           .bytes = 4096,
                           .element_bytes = 4,
                           .dimensions = 2,
                           .dimension = {32, 32},
                           .workload = written,
                           .merged = merged};
  bf_suggestions found = suggest(&array);
  assert_int_equal(found.accesses, 8);
  assert_int_equal(found.wavefronts, 8 * 32);
  assert_int_equal(found.of[BF_SUGGEST_SWIZZLE].wavefronts, 32);
  assert_false(found.of[BF_SUGGEST_SWIZZLE].keeps_merging);
  assert_int_equal(found.of[BF_SUGGEST_PADDING].wavefronts, 32);
  assert_true(found.of[BF_SUGGEST_PADDING].keeps_merging);
  assert_int_equal(found.of[BF_SUGGEST_PADDING].map.padded_by, 4);
  bf_workload_free(written);
  bf_workload_free(merged);
}

static void test_fine(void **state) {
  (void)state;
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  bf_shared_array array = {.name = "t", .bytes = 4096, .element_bytes = 4, .workload = workload};
  bf_suggestions found = suggest(&array);
  assert_int_equal(found.accesses, 0);
  assert_int_equal(found.best, -1);
  add(workload, 4, 0, 4);
  found = suggest(&array);
  assert_int_equal(found.conflicts, 0);
  assert_int_equal(found.best, -1);
  bf_workload_free(workload);
}

/* ---- Text ---- */

static void assert_element(const bf_index_map *map, const bf_shared_array *array,
                           const char *expected) {
  static const char *const name[] = {"z", "y", "x"};
  const char *const *first = name + 3 - array->dimensions;
  bf_text text = {0};
  bf_index_write_element(map, array, "BF_T", first, first, &text);
  assert_string_equal(text.data, expected);
  bf_text_free(&text);
}

static void test_elements(void **state) {
  (void)state;
  bf_index_map map = {.element_bytes = 4, .terms = 1, .term = {{.shift = 5, .mask = 31}}};
  bf_shared_array square = {.name = "t", .dimensions = 2, .dimension = {32, 32}};
  bf_shared_array wide = {.name = "t", .dimensions = 2, .dimension = {32, 64}};
  bf_shared_array narrow = {.name = "t", .dimensions = 2, .dimension = {64, 16}};
  bf_shared_array odd = {.name = "t", .dimensions = 2, .dimension = {32, 24}};
  bf_shared_array cube = {.name = "t", .dimensions = 3, .dimension = {4, 32, 32}};
  bf_shared_array flat_rows = {.name = "t", .dimensions = 3, .dimension = {4, 6, 32}};
  bf_shared_array line = {.name = "t", .dimensions = 1, .dimension = {1024}};
  assert_element(&map, &square, "t[y][x ^ (y & 31)]");
  assert_element(&map, &wide, "t[y][x ^ (x >> 5 & 1) ^ ((y << 1) & 30)]");
  assert_element(&map, &odd, "(&t[0][0])[BF_T(y * 24 + x)]");
  assert_element(&map, &cube, "t[z][y][x ^ (y & 31)]");
  assert_element(&map, &flat_rows, "t[z][y][x ^ ((z * 6 + y) & 31)]");
  assert_element(&map, &line, "t[BF_T(x)]");
  map.term[0].mask = 15;
  assert_element(&map, &narrow, "t[y][x ^ (y >> 1 & 15)]");
  bf_text macro = {0}, layout = {0}, alone = {0};
  bf_index_write_cute(&map, &cube, &layout);
  assert_string_equal(layout.data, "composition(Swizzle<4, 0, 5>{}, Layout<Shape<Int<4>, Int<32>, "
                                   "Int<32>>, Stride<Int<1024>, Int<32>, Int<1>>>{})");
  bf_index_write_cute(&map, &(bf_shared_array){.name = "t"}, &alone);
  assert_string_equal(alone.data, "Swizzle<4, 0, 5>{}");
  bf_text_free(&layout);
  bf_text_free(&alone);
  bf_index_write_macro(&map, "BF_T", &macro);
  assert_string_equal(macro.data, "#define BF_T(i) ((i) ^ ((i) >> 5 & 15))");
  bf_text_free(&macro);
}

/* ---- Patches ---- */

/* What becomes of the first array of a source; NULL: problem says why nothing does. */
static void assert_patch(const char *text, const bf_index_map *map, bf_shared_array *shared,
                         const char *expected, const char *problem, const char *diff) {
  bf_diagnostic diagnostic;
  bf_source *source;
  bf_source_array *list;
  size_t count;
  char found[200];
  bf_text result = {0}, written = {0};
  assert_int_equal(bf_source_read("a.cu", text, strlen(text), &source, &diagnostic), BF_OK);
  assert_int_equal(bf_source_arrays(source, &list, &count, &diagnostic), BF_OK);
  shared->name = list[0].name;
  bf_suggestion suggestion = {.exists = true, .map = *map};
  bf_patch patch = {.source = source};
  bf_patch_array array = {
      .declared = &list[0], .array = shared, .suggestion = &suggestion, .macro = "BF_S"};
  assert_int_equal(bf_patch_add(&patch, &array, found, &diagnostic), BF_OK);
  assert_string_equal(found, problem);
  bf_patch_write_source(&patch, &result);
  assert_string_equal(result.data, expected ? expected : text);
  assert_int_equal(bf_patch_write_diff(&patch, "a.cu", &written, &diagnostic), BF_OK);
  if (diff)
    assert_string_equal(written.data, diff);
  bf_text_free(&result);
  bf_text_free(&written);
  bf_patch_free(&patch);
  bf_source_free(source);
}

static void test_patches(void **state) {
  (void)state;
  bf_index_map map = {.element_bytes = 4, .terms = 1, .term = {{.shift = 5, .mask = 31}}};
  bf_index_map pad = {.element_bytes = 4,
                      .row_elements = 32,
                      .pad_elements = 1,
                      .padded_dimension = 1,
                      .padded_by = 1};
  bf_shared_array square = {
      .bytes = 4096, .element_bytes = 4, .dimensions = 2, .dimension = {32, 32}};
  bf_shared_array line = {.bytes = 4096, .element_bytes = 4, .dimensions = 1, .dimension = {1024}};
  assert_patch(
      "void k() {\n  __shared__ float s[32][32];\n  s[y + 1][x] = 1;\n}\n", &map, &square,
      "void k() {\n  __shared__ float s[32][32];\n  s[y + 1][x ^ ((y + 1) & 31)] = 1;\n}\n", "",
      "--- a.cu\n+++ a.cu\n@@ -1,4 +1,4 @@\n void k() {\n"
      "   __shared__ float s[32][32];\n-  s[y + 1][x] = 1;\n"
      "+  s[y + 1][x ^ ((y + 1) & 31)] = 1;\n }\n");
  assert_patch("void k() {\n  __shared__ float s[N][N];\n  s[y++][x] = 1;\n}", &pad, &square,
               "void k() {\n  __shared__ float s[N][N + 1];\n  s[y++][x] = 1;\n}", "",
               "--- a.cu\n+++ a.cu\n@@ -1,4 +1,4 @@\n void k() {\n-  __shared__ float s[N][N];\n"
               "+  __shared__ float s[N][N + 1];\n   s[y++][x] = 1;\n }\n"
               "\\ No newline at end of file\n");
  assert_patch("void k() {\r\n  __shared__ float s[1024];\r\n  s[i] = s[i + 1];\r\n}\r\n", &map,
               &line,
               "void k() {\r\n#define BF_S(i) ((i) ^ ((i) >> 5 & 31))\r\n"
               "  __shared__ float s[1024];\r\n  s[BF_S(i)] = s[BF_S(i + 1)];\r\n}\r\n",
               "", NULL);
  assert_patch("void k() { /* {\n */ __shared__ float s[1024]; s[i] = 0; }", &map, &line,
               "void k() { /* {\n */ \n#define BF_S(i) ((i) ^ ((i) >> 5 & 31))\n"
               "__shared__ float s[1024]; s[BF_S(i)] = 0; }",
               "", NULL);
  assert_patch("void k() { __shared__ float s[32][32]; s[y\n][x] = 1; }", &map, &square,
               "void k() { __shared__ float s[32][32]; s[y][x ^ (y & 31)] = 1; }", "", NULL);
}

/* What must be computed once is an argument of a function. */
static void test_effects(void **state) {
  (void)state;
  bf_index_map map = {.element_bytes = 4, .terms = 1, .term = {{.shift = 5, .mask = 31}}};
  bf_shared_array square = {
      .bytes = 4096, .element_bytes = 4, .dimensions = 2, .dimension = {32, 32}};
  bf_shared_array line = {.bytes = 4096, .element_bytes = 4, .dimensions = 1, .dimension = {1024}};
  assert_patch("void k() {\n  __shared__ float s[32][32];\n  s[y++][x] = 1;\n}\n", &map, &square,
               "void k() {\n  const auto BF_S = [](auto i) { return i ^ (i >> 5 & 31); };\n"
               "  __shared__ float s[32][32];\n  (&s[0][0])[BF_S((y++) * 32 + x)] = 1;\n}\n",
               "", NULL);
  assert_patch("__shared__ int s[1024];\nvoid k() { s[s[f(1)]] = 2; }", &map, &line,
               "template <class Index> static __device__ __forceinline__ Index BF_S(Index i) { "
               "return i ^ (i >> 5 & 31); }\n"
               "__shared__ int s[1024];\nvoid k() { s[BF_S(s[BF_S(f(1))])] = 2; }",
               "", NULL);
}

/* What is defined for an array that is passed to functions stands before the first of them. */
static void test_passed(void **state) {
  (void)state;
  bf_index_map map = {.element_bytes = 4, .terms = 1, .term = {{.shift = 5, .mask = 31}}};
  bf_shared_array line = {.bytes = 4096, .element_bytes = 4, .dimensions = 1, .dimension = {1024}};
  assert_patch(
      "__device__ void f(int *v) { v[3] = 1; }\nvoid k() { __shared__ int s[1024]; f(s); }", &map,
      &line,
      "#define BF_S(i) ((i) ^ ((i) >> 5 & 31))\n__device__ void f(int *v) { v[BF_S(3)] = 1; "
      "}\nvoid k() { __shared__ int s[1024]; f(s); }",
      "", NULL);
  assert_patch(
      "void k() { __shared__ int s[1024]; f(s); }\n__device__ void f(int *v) { v[g()] = 1; }", &map,
      &line,
      "template <class Index> static __device__ __forceinline__ Index BF_S(Index i) { "
      "return i ^ (i >> 5 & 31); }\nvoid k() { __shared__ int s[1024]; f(s); }\n__device__ "
      "void f(int *v) { v[BF_S(g())] = 1; }",
      "", NULL);
  map.only_of = "s";
  map.only_bytes = 4096;
  assert_patch("__device__ void f(int *s) { s[3] = 1; }\nvoid k() { __shared__ int s[N]; f(s); }",
               &map, &line, NULL, "it is passed to functions, which do not know its size", NULL);
}

/* Declarations that mean several shapes. */
static void test_several_shapes(void **state) {
  (void)state;
  bf_index_map pad = {.element_bytes = 4,
                      .row_elements = 32,
                      .pad_elements = 1,
                      .padded_dimension = 1,
                      .padded_by = 1,
                      .cases = 3,
                      .pad_case = {{32, 4, 1}, {33, 4, 0}, {16, 4, 2}}};
  bf_shared_array square = {
      .bytes = 4096, .element_bytes = 4, .dimensions = 2, .dimension = {32, 32}};
  assert_patch("void k() { __shared__ T s[N][N + P]; s[y][x] = 1; }", &pad, &square,
               "void k() { __shared__ T s[N][(N + P) + ((N + P) == 32 ? 1 : (N + P) == 16 ? 2 : "
               "0)]; s[y][x] = 1; }",
               "", NULL);
  pad.cases = 2;
  pad.pad_case[1] = (bf_pad_case){32, 1, 4};
  assert_patch("void k() { __shared__ T s[N][N]; s[y][x] = 1; }", &pad, &square,
               "void k() { __shared__ T s[N][N + (N == 32 && sizeof(T) == 4 ? 1 : N == 32 && "
               "sizeof(T) == 1 ? 4 : 0)]; s[y][x] = 1; }",
               "", NULL);
  bf_index_map map = {.element_bytes = 4,
                      .terms = 1,
                      .term = {{.shift = 5, .mask = 31}},
                      .only_of = "s",
                      .only_bytes = 4096};
  assert_patch("void k() {\n__shared__ float s[N][M];\ns[y][x] = 1; }", &map, &square,
               "void k() {\n#define BF_S(i) (sizeof(s) != 4096 ? (i) : (i) ^ ((i) >> 5 & 31))\n"
               "__shared__ float s[N][M];\n(&s[0][0])[BF_S(y * (sizeof(s[0]) / sizeof(s[0][0])) + "
               "x)] = 1; }",
               "", NULL);
}

static void test_no_patches(void **state) {
  (void)state;
  bf_index_map map = {.element_bytes = 4, .terms = 1, .term = {{.shift = 5, .mask = 31}}};
  bf_shared_array square = {
      .bytes = 4096, .element_bytes = 4, .dimensions = 2, .dimension = {32, 32}};
  bf_shared_array line = {.element_bytes = 4, .dimensions = 1};
  bf_index_map pad = {
      .element_bytes = 4, .row_elements = 32, .pad_elements = 1, .padded_dimension = 0};
  bf_shared_array flat = {.bytes = 4096, .element_bytes = 4};
  assert_patch("void k() { __shared__ float s[32][32]; f(s); }", &map, &square, NULL,
               "it is used as a pointer in line 1", NULL);
  /* An XOR of what is whole rows needs no more room; longer rows do. */
  assert_patch("void k() { extern __shared__ float s[]; s[1] = 2; }", &pad, &line, NULL,
               "its size is given at launch, and not known to be whole rows of banks", NULL);
  assert_patch("void k() { __shared__ float s[A][B]; s[1][2] = 2; }", &map, &flat, NULL,
               "its dimensions are not known", NULL);
  assert_patch("void k() { __shared__ int s[32][32]; s[s[0][1]][2] = 2; }", &map, &square, NULL,
               "its subscripts name an array that is changed too", NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tile),       cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_merged),     cmocka_unit_test(test_fine),
      cmocka_unit_test(test_elements),   cmocka_unit_test(test_patches),
      cmocka_unit_test(test_no_patches), cmocka_unit_test(test_effects),
      cmocka_unit_test(test_passed),     cmocka_unit_test(test_several_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
