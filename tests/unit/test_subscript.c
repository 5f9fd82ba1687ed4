/* Elements of shared arrays: values against C's own, refusals, costs, and launches in source. */
#include "source/launch_shape.h"
#include "source/launches.h"
#include "source/subscript.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The value of every expression as C has it, beside its text. */
#define BOTH(expression)                                                                           \
  { #expression, (expression) }
static void values_are_those_of_c(void **state) {
  (void)state;
  bf_subscript_array array;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_subscript_type("float[4096]", &array, &diagnostic), BF_OK);
  for (long long x = 0; x < 32; x++)
    for (long long y = 0; y < 4; y++) {
      const struct {
        const char *text;
        long long value;
      } rows[] = {
          BOTH(x),
          BOTH(x + 2 * y),
          BOTH(x ^ y),
          BOTH((x & 3) << 2 | y),
          BOTH(x * 8 % 7),
          BOTH(31 - x),
          BOTH(x > y ? x : y),
          BOTH(x / 3 + y % 2),
          BOTH(!x + (x == y) + (x != 3) * 2),
          BOTH((x << 1 ^ x) & 31),
          BOTH(1 + (x >= 4 && y < 2) + (x <= 2 || y)),
          BOTH(-x + 31),
          BOTH(~x & 31),
          BOTH(0x1f - x),
          BOTH(x - -y),
          BOTH(x + 64 - y - 3),
          BOTH((x >> 1) * 2 + 5 * 4 / 3),
      };
      bf_subscript_place place = {
          .block = {32, 4, 1}, .values = 2, .name = {"x", "y"}, .value = {x, y}};
      uint32_t thread[3] = {(uint32_t)x, (uint32_t)y, 0};
      for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        uint64_t value[BF_SUBSCRIPT_MOST_DIMENSIONS];
        snprintf(text, sizeof text, "a[%s]", rows[i].text);
        assert_int_equal(bf_subscript_evaluate(text, &array, &place, thread, value, &diagnostic),
                         BF_OK);
        assert_int_equal(value[0], rows[i].value);
      }
    }
}

static void bad_ones_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *text;
    unsigned column;
    const char *message;
  } rows[] = {
      {"a", 2, "expected an element, as in tile[threadIdx.x][0]"},
      {"a[0]", 5, "subscripts are missing"},
      {"a[0][0][0]", 9, "the array has 2 dimensions"},
      {"a[0][0] + 1", 9, "text behind the element"},
      {"a[0][1/0]", 7, "division by zero"},
      {"a[0][1 << 64]", 8, "a shift by 64"},
      {"a[0][(1]", 8, "expected )"},
      {"a[0][]", 6, "expected a number, a name or ("},
      {"a[0][-1]", 6, "thread (0, 0, 0) asks for -1, outside the 32 of this dimension"},
      {"a[0][99999999999999999999]", 6, "too large a number"},
      {"a[0][1 ? 2]", 11, "expected : behind ?"},
      {"a[0][n]", 6, "the value of 'n' is not known; --param n=NUMBER gives it"},
  };
  bf_subscript_array array;
  bf_diagnostic diagnostic;
  bf_subscript_place place = {.block = {32, 1, 1}};
  uint32_t thread[3] = {0, 0, 0};
  uint64_t value[BF_SUBSCRIPT_MOST_DIMENSIONS];
  assert_int_equal(bf_subscript_type("int[4][32]", &array, &diagnostic), BF_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_int_equal(
        bf_subscript_evaluate(rows[i].text, &array, &place, thread, value, &diagnostic),
        BF_BAD_INPUT);
    assert_string_equal(diagnostic.message, rows[i].message);
    assert_int_equal(diagnostic.column, rows[i].column);
  }
  char deep[512] = "a[0][";
  memset(deep + 5, '(', 400);
  assert_int_equal(bf_subscript_evaluate(deep, &array, &place, thread, value, &diagnostic),
                   BF_BAD_INPUT);
  static const char *const types[] = {"",           "float",    "float[",   "float[0]",
                                      "float[2][]", "floot[2]", "float[2]x"};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    assert_int_equal(bf_subscript_type(types[i], &array, &diagnostic), BF_BAD_INPUT);
}

/* A column of a tile of n columns: conflicts are those of lanes that are n words apart, and the
 * padding is the least that makes the rows odd. */
static void columns_of_tiles_are_padded(void **state) {
  (void)state;
  bf_machine *machine;
  bf_diagnostic diagnostic;
  const char *const text = "tile[threadIdx.x][0]";
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, &diagnostic), BF_OK);
  for (unsigned columns = 1; columns <= 64; columns++) {
    char type[32];
    bf_subscript_array array;
    bf_subscript_place place = {.block = {32, 1, 1}};
    bf_subscript_cost cost, padded;
    int extra;
    snprintf(type, sizeof type, "float[32][%u]", columns);
    assert_int_equal(bf_subscript_type(type, &array, &diagnostic), BF_OK);
    assert_int_equal(
        bf_subscript_count(&text, 1, &array, &place, machine, BF_OP_LD, 0, &cost, &diagnostic),
        BF_OK);
    unsigned ways = columns & -columns;
    assert_int_equal(cost.wavefronts, ways > 32 ? 32 : ways);
    assert_int_equal(
        bf_subscript_pad(&text, 1, &array, &place, machine, BF_OP_LD, &extra, &padded, &diagnostic),
        BF_OK);
    assert_int_equal(extra, columns % 2 == 0);
    assert_int_equal(padded.wavefronts, 1);
  }
  bf_machine_free(machine);
}

static void launches_are_found(void **state) {
  (void)state;
  static const char text[] = "#define N 16\n"
                             "void f() {\n"
                             "  a<<<4, 128>>>(x);\n"
                             "  dim3 block(32, N / 2), grid(n, n);\n"
                             "  b<<<grid, block, 0, stream>>>(x);\n"
                             "  c<float, 3><<<dim3(n, n), dim3(N, N)>>>(x);\n"
                             "  d<<<n, m>>>(x); // not known\n"
                             "  const dim3 rows = dim3(2, 3), sides(64, 2);\n"
                             "  e<<<rows, sides>>>(x);\n"
                             "  int e = 1 << 3;\n"
                             "  dim3 p = {8, 4}, q; q.x = N; q.y = 2; if (q.x == 3) n++;\n"
                             "  g<<<1, p>>>(x); h<<<1, q>>>(x); p.x *= 2; i<<<1, p>>>(x);\n"
                             "  if (n) q.y = 3; j<<<1, q>>>(x); { dim3 r(4); if (n) { r.x = 2; }\n"
                             "  k<<<1, r>>>(x); dim3 t(4); t = p; l<<<1, t>>>(x); dim3 u(5);\n"
                             "  set(&u); m<<<1, u>>>(x); }\n"
                             "}\n";
  static const struct {
    const char *kernel;
    bool is_known, is_template;
    uint32_t x, y;
  } expected[] = {{"a", true, false, 128, 1}, {"b", true, false, 32, 8}, {"c", true, true, 16, 16},
                  {"d", false, false, 0, 0},  {"e", true, false, 64, 2}, {"g", true, false, 8, 4},
                  {"h", true, false, 16, 2},  {"i", false, false, 0, 0}, {"j", false, false, 0, 0},
                  {"k", false, false, 0, 0},  {"l", false, false, 0, 0}, {"m", false, false, 0, 0}};
  bf_source *source;
  bf_diagnostic diagnostic;
  bf_source_launch launch;
  size_t cursor = 0, found = 0;
  assert_int_equal(bf_source_read("f.cu", text, sizeof text - 1, &source, &diagnostic), BF_OK);
  for (; bf_source_next_launch(source, &cursor, &launch); found++) {
    assert_string_equal(launch.kernel, expected[found].kernel);
    assert_int_equal(launch.is_known, expected[found].is_known);
    assert_int_equal(launch.is_template, expected[found].is_template);
    if (launch.is_known) {
      assert_int_equal(launch.block[0], expected[found].x);
      assert_int_equal(launch.block[1], expected[found].y);
      assert_int_equal(launch.block[2], 1);
    }
  }
  assert_int_equal(found, 12);
  bf_source_free(source);
}

/* Kernels and their blocks in a file, each pair once; templates have no name. */
static void shapes_are_found(void **state) {
  (void)state;
  static const char text[] = "__global__ void a(); template <int N> __global__ void b();\n"
                             "void f(int n) { a<<<8, 64>>>(); a<<<9, 64>>>(); a<<<1, n>>>();\n"
                             "  b<3><<<2, 64>>>(); a<<<1, dim3(32, 8)>>>(); }\n";
  char path[] = "/tmp/bankfold.XXXXXX";
  int file = mkstemp(path);
  bf_source_shape shapes[4];
  unsigned count;
  bool is_one;
  assert_true(file >= 0);
  close(file);
  assert_int_equal(bf_write_file(path, text, sizeof text - 1, NULL), BF_OK);
  assert_int_equal(bf_source_find_shapes(path, shapes, 4, &count, &is_one, NULL), BF_OK);
  assert_int_equal(count, 3);
  assert_false(is_one);
  assert_string_equal(shapes[0].kernel, "a");
  assert_string_equal(shapes[0].block, "64x1x1");
  assert_string_equal(shapes[1].kernel, "");
  assert_string_equal(shapes[2].block, "32x8x1");
  assert_int_equal(bf_source_find_shapes(path, shapes, 2, &count, &is_one, NULL), BF_OK);
  assert_int_equal(count, 2);
  assert_true(is_one);
  unlink(path);
  assert_int_equal(bf_source_find_shapes(path, shapes, 4, &count, &is_one, NULL), BF_IO);
}

/* The grid and the values of arguments, as far as the source tells: through variables that never
 * change, sides of a dim3, and functions that are called in one way only. */
static void values_of_launches_are_found(void **state) {
  (void)state;
  static const char text[] =
      "#define N 64\n__global__ void a(float *p, int n, int m);\n"
      "void run(float *p, int n, int k) { int m = n * 2; dim3 b(32, 4); dim3 g(n / b.x, k);\n"
      "  a<<<g, b>>>(p, n, m); a<<<k, N>>>(p, k, b.y); int c = 1; c++; a<<<1, 32>>>(p, c, n);\n"
      "  dim3 s(3); s.x = k; a<<<1, 32>>>(p, s.x, s.y); }\n"
      "int main(int argc, char **argv) { int k = atoi(argv[1]); run(0, 256, k); }\n";
  static const char *const values[] = {"0=0,1=256,2=512", "0=0,2=4", "0=0,2=256", "0=0"};
  bf_source *source;
  bf_source_launch launch;
  size_t cursor = 0;
  assert_int_equal(bf_source_read("x.cu", text, sizeof text - 1, &source, NULL), BF_OK);
  for (unsigned i = 0; i < 4; i++) {
    assert_true(bf_source_next_launch(source, &cursor, &launch));
    assert_true(launch.is_known);
    assert_string_equal(launch.values, values[i]);
    assert_int_equal(launch.grid[0], i >= 2 ? 1 : 0);
  }
  assert_int_equal(launch.block[0], 32);
  bf_source_free(source);
}

/* Sides of a block that are template arguments of the kernel are those of its instance. */
static void sides_of_templates_are_found(void **state) {
  (void)state;
  static const char text[] = "template <int S, class T> void run(T *p) { dim3 b(S, 8);\n"
                             "  match<S, T><<<9, b>>>(p); match<T, S><<<9, S>>>(p); }\n"
                             "void go() { turn<8, 4><<<1, 64>>>(p); turn<8><<<1, 128>>>(p); }\n";
  char path[] = "/tmp/bankfold.XXXXXX";
  const char *const list[] = {path};
  bf_source_launches *launches;
  bf_launched found;
  int file = mkstemp(path);
  assert_true(file >= 0 && write(file, text, sizeof text - 1) == sizeof text - 1);
  close(file);
  assert_int_equal(bf_source_launches_read(list, 1, &launches, NULL), BF_OK);
  unlink(path);
  assert_true(bf_source_launches_find(launches, path, "cv::match<16, float>", &found));
  assert_int_equal(found.count, 1); /* float is no side */
  assert_int_equal(found.block[0][0], 16);
  assert_int_equal(found.block[0][1], 8);
  assert_false(bf_source_launches_find(launches, path, "match<2048, 2048>", &found));
  assert_false(bf_source_launches_find(launches, path, "match", &found));
  /* the last arguments may be deduced */
  assert_true(bf_source_launches_find(launches, path, "turn<8, 4, f<int, 3> >", &found));
  assert_true(found.count == 1 && found.block[0][0] == 64);
  /* unsigned ones have letters behind them in names of instances */
  assert_true(bf_source_launches_find(launches, path, "turn<8u, 4ul>", &found));
  assert_true(found.count == 1 && found.block[0][0] == 64);
  assert_true(bf_source_launches_find(launches, path, "cv::match<16u, float>", &found));
  assert_int_equal(found.block[0][0], 16);
  assert_true(bf_source_launches_find(launches, path, "turn<8, 5, double>", &found));
  assert_true(found.count == 1 && found.block[0][0] == 128);
  assert_true(bf_source_launches_find(launches, path, "turn<9, 4>", &found));
  assert_int_equal(found.count, 2);
  bf_source_launches_free(launches);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_those_of_c),
      cmocka_unit_test(bad_ones_are_refused),
      cmocka_unit_test(columns_of_tiles_are_padded),
      cmocka_unit_test(launches_are_found),
      cmocka_unit_test(shapes_are_found),
      cmocka_unit_test(values_of_launches_are_found),
      cmocka_unit_test(sides_of_templates_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
