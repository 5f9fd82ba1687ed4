/* CUDA source: words, declarations of shared arrays, their uses, and hostile text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "source/source.h"

static bf_source *read_text(const char *text, size_t size) {
  bf_diagnostic diagnostic;
  bf_source *source;
  if (bf_source_read("a.cu", text, size, &source, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return source;
}

static bf_source *read_string(const char *text) { return read_text(text, strlen(text)); }

/* The tokens of a text, separated by blanks. */
static void assert_tokens(const char *text, const char *expected) {
  bf_source *source = read_string(text);
  bf_text found = {0};
  for (size_t i = 0; i < source->tokens; i++) {
    bf_text_puts(&found, i ? " " : "");
    bf_text_add(&found, text + source->token[i].at, source->token[i].size);
  }
  assert_string_equal(found.data ? found.data : "", expected);
  bf_text_free(&found);
  bf_source_free(source);
}

static void test_words(void **state) {
  (void)state;
  assert_tokens("a[b]->c<<=2", "a [ b ] -> c <<= 2");
  assert_tokens("x /* tile[0] */ y // tile[1]\nz", "x y z");
  assert_tokens("// joined \\\n comment\nz", "z");
  assert_tokens("\"a /* \\\" b\" 'c' 1'000u 0x1fULL 1e-3f",
                "\"a /* \\\" b\" 'c' 1'000u 0x1fULL 1e-3f");
  assert_tokens("R\"x( \" )\" )x\" y", "R\"x( \" )\" )x\" y");
  assert_tokens("\"not closed\nx", "\"not closed x");
  assert_tokens("", "");
  assert_tokens("\r\n\r\n", "");
  assert_tokens("a \\\n b", "a b");
  assert_tokens("\"", "\"");
  assert_tokens("R\"(", "R\"(");
  assert_tokens("'\\", "'\\");
}

static void test_lines(void **state) {
  (void)state;
  bf_source *source = read_string("a\r\n/* x\r\n y */ b\n#define c \\\n d\ne");
  static const uint32_t lines[] = {1, 3, 4, 4, 4, 5, 6};
  assert_int_equal(source->tokens, 7);
  for (size_t i = 0; i < 7; i++) {
    assert_int_equal(source->token[i].line, lines[i]);
    assert_int_equal(source->token[i].in_directive, i >= 2 && i <= 5);
  }
  bf_source_free(source);
}

static void assert_refused(const char *text, size_t size, uint64_t line, const char *message) {
  bf_diagnostic diagnostic = {.caret = -1};
  bf_source *source;
  assert_int_equal(bf_source_read("a.cu", text, size, &source, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, message);
  assert_int_equal(diagnostic.line, line);
}

static void test_refused(void **state) {
  (void)state;
  assert_refused("x\n /* no end", 12, 2, "a comment that does not end");
  assert_refused("/*/", 3, 1, "a comment that does not end");
  assert_refused("a\nb\0c", 5, 2, "a NUL byte; source is text");
  assert_refused("\0", 1, 1, "a NUL byte; source is text");
}

/* A long line, and brackets that do not match, take no longer than they must. */
static void test_huge(void **state) {
  (void)state;
  size_t size = 1 << 20;
  char *text = malloc(size);
  assert_non_null(text);
  for (size_t i = 0; i < size; i++)
    text[i] = "s[("[i % 3];
  bf_source *source = read_text(text, size);
  assert_int_equal(source->tokens, size);
  for (size_t i = 0; i < size; i++)
    assert_int_equal(source->token[i].partner, size);
  bf_source_free(source);
  free(text);
}

static bf_source_array *arrays_of(bf_source *source, size_t count) {
  bf_diagnostic diagnostic;
  bf_source_array *list;
  size_t found;
  assert_int_equal(bf_source_arrays(source, &list, &found, &diagnostic), BF_OK);
  assert_int_equal(found, count);
  return list;
}

static void test_declarations(void **state) {
  (void)state;
  bf_source *source =
      read_string("template <typename T, int N> __global__ void __launch_bounds__(256) k(T *p) {\n"
                  "  __shared__ __align__(16) float a[N][32], b[4 * N + 1];\n"
                  "  extern __shared__ unsigned char c[];\n"
                  "  if (p) { volatile __shared__ ns::pair<int, 2> d[8]; }\n"
                  "  __shared__ int scalar;\n"
                  "  // __shared__ float not_here[2];\n"
                  "}\n"
                  "__shared__ struct { float x[2]; } no_array;\n"
                  "#define HIDDEN __shared__ float e[3]\n");
  bf_source_array *list = arrays_of(source, 4);
  static const char *const names[] = {"a", "b", "c", "d"};
  static const char *const types[] = {"float", "float", "unsigned char", "ns::pair<int,2>"};
  static const unsigned dimensions[] = {2, 1, 1, 1};
  for (unsigned i = 0; i < 4; i++) {
    uint32_t first = 0, last = 0;
    assert_string_equal(list[i].name, names[i]);
    assert_string_equal(list[i].type, types[i]);
    assert_int_equal(list[i].dimensions, dimensions[i]);
    assert_int_equal(list[i].is_open, i == 2);
    assert_true(bf_source_is(source, list[i].function, "k"));
    assert_true(bf_source_function_lines(source, &list[i], &first, &last));
    assert_int_equal(first, 1);
    assert_int_equal(last, 7);
    assert_int_equal(source->token[list[i].scope_end].line, i == 3 ? 4 : 7);
  }
  bf_source_free(source);
}

/* The value of the first dimension of the first array. */
static bool value_of(const char *text, const char *readable, uint64_t *value) {
  bf_source *source = read_string(text);
  bf_source_array *list = arrays_of(source, 1);
  size_t open = list[0].dimension[0];
  bool known =
      bf_source_value(source, &list[0], readable, open + 1, source->token[open].partner, value);
  bf_source_free(source);
  return known;
}

static void test_values(void **state) {
  (void)state;
  static const struct {
    const char *text, *readable;
    uint64_t value; /* 0: not known */
  } cases[] = {
      {"__shared__ float s[32];", NULL, 32},
      {"__shared__ float s[2 * (3 + 4) - 1 << 2];", NULL, 52},
      {"__shared__ float s[0x20u];", NULL, 32},
      {"__shared__ float s[1'024];", NULL, 1024},
      {"#define N (M / 2) // half\n#define M 64\n__shared__ float s[N];", NULL, 32},
      {"static constexpr int N = 8, M = 3;\n__shared__ float s[N * N];", NULL, 64},
      {"enum { A = 3, N = A + 1 };\n__shared__ float s[N];", NULL, 4},
      {"template <typename T, int N> __global__ void k() { __shared__ T s[N]; }", "k<float, 16>",
       16},
      {"template <int N> __global__ void k() { __shared__ int s[N + 1]; }", "ns::k<4>", 5},
      {"template <int N> __global__ void k() { __shared__ int s[N]; }", NULL, 0},
      {"#define N N\n__shared__ float s[N];", NULL, 0},
      {"#define A B * B\n#define B C * C\n#define C D * D\n#define D A\n__shared__ int s[A];", NULL,
       0},
      {"#define N 1\n#define N 2\n__shared__ float s[N];", NULL, 0},
      {"#define N(x) x\n__shared__ float s[N(2)];", NULL, 0},
      {"__shared__ float s[4 / 0];", NULL, 0},
      {"__shared__ float s[1 - 2];", NULL, 0},
      {"__shared__ float s[n];", NULL, 0},
      {"__shared__ float s[];", NULL, 0},
      {"__shared__ float s[8 +];", NULL, 0},
      {"int N = 4;\n__shared__ float s[N];", NULL, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint64_t value = 0;
    bool known = value_of(cases[i].text, cases[i].readable, &value);
    if (known != (cases[i].value != 0) || (known && value != cases[i].value))
      fail_msg("%s: %d %llu", cases[i].text, known, (unsigned long long)value);
  }
}

/* Constants behind others of one declaration, and of one enum; what a function is given is none. */
static void test_lists(void **state) {
  (void)state;
  static const char text[] =
      "constexpr int A = 2, B = 8, C = A * B, D = C + 1; enum kinds { E = 3, F = 5 };\n"
      "void f(const int g) { int h = 4; x[D] = x[F] + x[h]; }\n";
  static const char *const names[] = {"D", "F", "h"};
  static const uint64_t values[] = {17, 5, 0};
  static const bf_source_array nowhere = {.function = SIZE_MAX};
  bf_source *source = read_string(text);
  for (unsigned i = 0; i < 3; i++) {
    size_t last = source->tokens;
    uint64_t value = 0;
    while (!bf_source_is(source, --last, names[i]))
      ;
    assert_int_equal(bf_source_value(source, &nowhere, NULL, last, last + 1, &value), i < 2);
    assert_int_equal(value, values[i]);
  }
  bf_source_free(source);
}

static void test_types(void **state) {
  (void)state;
  assert_int_equal(bf_source_type_bytes("float"), 4);
  assert_int_equal(bf_source_type_bytes("unsigned long long"), 8);
  assert_int_equal(bf_source_type_bytes("float4"), 16);
  assert_int_equal(bf_source_type_bytes("float3"), 12);
  assert_int_equal(bf_source_type_bytes("uchar4"), 4);
  assert_int_equal(bf_source_type_bytes("half"), 2);
  assert_int_equal(bf_source_type_bytes("float5"), 0);
  assert_int_equal(bf_source_type_bytes("point"), 0);
  assert_int_equal(bf_source_type_bytes(""), 0);
}

/* Types by other names, and pointers into memory whose size the launch gives. */
static void test_carved(void **state) {
  (void)state;
  static const char text[] =
      "using real = double; typedef unsigned short tiny; extern __shared__ float all[];\n"
      "template <typename T, int N> __global__ void k(int n) {\n"
      "  T *a = (T *)all; const real *b = (real *)&a[n], *c = b + n; tiny *d = d0; int *e = 0;\n"
      "  { tiny *f = (tiny *)(c + 2); f[1] = b[0]; } }\n";
  static const char *const names[] = {"a", "b", "c", "f"};
  static const unsigned bytes[] = {4, 8, 8, 2};
  bf_source *source = read_string(text);
  bf_source_array list[8];
  size_t function = 0, count;
  while (!bf_source_is(source, function, "k"))
    function++;
  assert_int_equal(bf_source_carved(source, function, "all", list, 8, &count), BF_OK);
  assert_int_equal(count, 4);
  for (size_t i = 0; i < count; i++) {
    assert_string_equal(list[i].name, names[i]);
    assert_int_equal(bf_source_element_bytes(source, &list[i], "k<float, 3>"), bytes[i]);
  }
  assert_true(list[3].scope_end < list[0].scope_end);
  bf_source_free(source);
}

/* Pointers that may lead elsewhere in other threads. */
static void test_varying(void **state) {
  (void)state;
  static const char text[] =
      "extern __shared__ float all[];\n__global__ void k(int n) {\n"
      "  int half = n / 2, w; half += 3; if (half <= threadIdx.x) n++; w = half; w <<= "
      "threadIdx.y;\n"
      "  float *a = all, *b = a + half, *c = &all[threadIdx.x * 64], *d = c + n, *e = all + w;\n"
      "  float *f = (float *)(all + n), *g = all + rank(), *h = (float *)&f[sizeof(int) * n]; }\n";
  static const bool is_varying[] = {false, false, true, true, true, false, true, false};
  bf_source *source = read_string(text);
  bf_source_array list[8];
  size_t function = 0, count;
  while (!bf_source_is(source, function, "k"))
    function++;
  assert_int_equal(bf_source_carved(source, function, "all", list, 8, &count), BF_OK);
  assert_int_equal(count, 8);
  for (size_t i = 0; i < count; i++)
    if (list[i].is_varying != is_varying[i])
      fail_msg("%s is%s found to vary", list[i].name, list[i].is_varying ? "" : " not");
  bf_source_free(source);
}

/* The problem with the uses of the first array, and how many elements are found. */
static void assert_uses(const char *body, size_t count, const char *problem) {
  bf_text text = {0};
  bf_diagnostic diagnostic;
  bf_source_array *list;
  bf_source_use *use;
  size_t arrays, uses;
  char found[200];
  bf_text_addf(&text, "__global__ void k() {\n__shared__ int s[4][8];\n%s\n}\nint s;\n", body);
  bf_source *source = read_string(text.data);
  assert_int_equal(bf_source_arrays(source, &list, &arrays, &diagnostic), BF_OK);
  assert_int_equal(bf_source_uses(source, &list[0], &use, &uses, found, &diagnostic), BF_OK);
  assert_string_equal(found, problem);
  assert_int_equal(uses, count);
  bf_source_free(source);
  bf_text_free(&text);
}

static void test_uses(void **state) {
  (void)state;
  assert_uses("s[1][2] = s[3][x.s + y->s[0]]; // s[0][0]", 2, "");
  assert_uses("return s[0][0];", 1, "");
  assert_uses("x = a & s[0][0]; y = b[1] & s[0][1];", 2, "");
  assert_uses("atomicAdd(&s[0][1], 2);", 1, "");
  assert_uses("f(&s[0][1]);", 0, "the address of an element is taken in line 3");
  assert_uses("p = &s[0][1];", 0, "the address of an element is taken in line 3");
  assert_uses("f(s);", 0, "it is used as a pointer in line 3");
  assert_uses("f(s[1]);", 1, "");
  assert_uses("n = sizeof(s[0]) / sizeof(int);", 0, "the length of a row is taken in line 3");
  assert_uses("n = sizeof(s[0]); m = sizeof(s[0][1]);", 1,
              "the length of a row is taken in line 3");
  assert_uses("for (int v : s[1]) x += v;", 0, "the length of a row is taken in line 3");
  assert_uses("auto &row = s[1];", 0, "the length of a row is taken in line 3");
  assert_uses("int *row = s[1];", 1, "");
  assert_uses("reinterpret_cast<int4 *>(&s[0][4])[0] = x; y = *(int4 *)&s[1][4];", 2, "");
  assert_uses("reinterpret_cast<int4 *>(&s[0][4])[1] = x;", 0,
              "the address of an element is taken in line 3");
  assert_uses("int s = 2;", 0, "its name is declared again in line 3");
  assert_uses("#define AT(x) s[0][x]", 0, "a directive names it in line 3");
  assert_uses("s[0][\n#if 1\n1\n#endif\n];", 0, "a directive stands in a subscript in line 3");
  assert_uses("s[0][1", 0, "the braces around it do not match");
}

/* Arrays whose type has their dimensions. */
static void test_aliases(void **state) {
  (void)state;
  static const struct {
    const char *text;
    unsigned arrays, dimensions;
    const char *type;
  } cases[] = {
      {"typedef const float tile[4][8]; __shared__ tile s;", 1, 2, "float"},
      {"using tile = float[4][8]; __shared__ tile s, t;", 2, 2, "float"},
      {"using tile = float; __shared__ tile s;", 0, 0, ""},
      {"typedef float tile[4]; typedef int tile[4]; __shared__ tile s;", 0, 0, ""},
      {"typedef float tile[4]; __shared__ tile *s;", 0, 0, ""},
      {"typedef float tile[4]; __shared__ tile s[2];", 1, 1, "tile"},
      {"float tile[4]; __shared__ tile s;", 0, 0, ""},
      {"__shared__ float s, t[3];", 1, 1, "float"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_source *source = read_string(cases[i].text);
    bf_source_array *list;
    size_t arrays;
    bf_diagnostic diagnostic;
    assert_int_equal(bf_source_arrays(source, &list, &arrays, &diagnostic), BF_OK);
    if (arrays != cases[i].arrays || (arrays && (list[0].dimensions != cases[i].dimensions ||
                                                 strcmp(list[0].type, cases[i].type) != 0)))
      fail_msg("%s: %zu", cases[i].text, arrays);
    bf_source_free(source);
  }
}

/* The members of a struct, where it has no other use than one object. */
static void test_members(void **state) {
  (void)state;
#define OBJECT " __global__ void k() { __shared__ S s; }"
#define OBJECT_OF(arguments)                                                                       \
  " template <class T, int N> __global__ void k() { __shared__ S<" arguments "> s; }"
  static const struct {
    const char *text;
    size_t members; /* 0: not understood */
  } cases[] = {
      {"struct S { float a[2][3], b; unsigned int c[4]; };" OBJECT, 3},
      {"template <class T, int N> struct S { T a[N]; };" OBJECT_OF("T, N"), 1},
      {"template <class T, int M> struct S { T a[M]; };" OBJECT_OF("T, N"), 0},
      {"template <int N, class T> struct S { T a[N]; };" OBJECT_OF("T, N"), 0},
      {"template <class T, int N> struct S { T a[N]; };" OBJECT_OF("T, 2 * N"), 0},
      {"template <class T> struct S { T a[2]; };" OBJECT_OF("T, N"), 0},
      {"struct S { float a[2]; x; };" OBJECT, 0},
      {"struct S { float a[2]; ; };" OBJECT, 0},
      {"struct S { float a[2]; float f() { return a[0]; } };" OBJECT, 0},
      {"struct S { float a[2]; int b : 3; };" OBJECT, 0},
      {"struct S { float *a; };" OBJECT, 0},
      {"struct S : R { float a[2]; };" OBJECT, 0},
      {"struct S { float a[2]; }; size_t n = sizeof(S);" OBJECT, 0},
      {"struct S { float a[2]; } t;" OBJECT, 0},
      {"union S { float a[2]; };" OBJECT, 0},
      {OBJECT, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_source *source = read_string(cases[i].text);
    bf_source_array list[8];
    size_t function = 0, count;
    while (!bf_source_is(source, function, "k"))
      function++;
    if (bf_source_members(source, function, "s", list, 8, &count) != (cases[i].members > 0) ||
        count != cases[i].members)
      fail_msg("%s: %zu", cases[i].text, count);
    bf_source_free(source);
  }
}

/* A row that is lent to a reference has a length there, and none where it is lent to a pointer. */
static void test_lent_rows(void **state) {
  (void)state;
  static const char *const parameters[] = {"const float *v", "const float (&v)[N]", "T &v", "T v"};
  for (unsigned i = 0; i < 4; i++) {
    char text[400], found[200];
    bf_diagnostic diagnostic;
    bf_source_array *list;
    bf_source_use *use;
    size_t arrays, uses;
    snprintf(text, sizeof text,
             "template <class T, int N> __device__ float sum(%s) { return v[0]; }\n"
             "__global__ void k() { __shared__ float s[4][8]; out[0] = sum(s[threadIdx.x]); }\n",
             parameters[i]);
    bf_source *source = read_string(text);
    assert_int_equal(bf_source_arrays(source, &list, &arrays, &diagnostic), BF_OK);
    assert_int_equal(bf_source_uses(source, &list[0], &use, &uses, found, &diagnostic), BF_OK);
    assert_int_equal(found[0] != 0, i == 1 || i == 2);
    bf_source_free(source);
  }
}

/* The elements of an array of one dimension in a source, and what is wrong with its uses. */
static void assert_passed(const char *text, size_t count, const char *problem) {
  bf_diagnostic diagnostic;
  bf_source_array *list;
  bf_source_use *use;
  size_t arrays, uses;
  char found[200];
  bf_source *source = read_string(text);
  assert_int_equal(bf_source_arrays(source, &list, &arrays, &diagnostic), BF_OK);
  assert_int_equal(bf_source_uses(source, &list[0], &use, &uses, found, &diagnostic), BF_OK);
  if (strcmp(found, problem) != 0 || (!problem[0] && uses != count))
    fail_msg("%s: %zu, %s", text, uses, found);
  bf_source_free(source);
}

/* A function that is given the array, and nothing else, has elements of it; functions in it too. */
static void test_passed(void **state) {
  (void)state;
#define KERNEL "__global__ void k() { __shared__ float s[64]; s[0] = 1;"
  static const char refused[] = "it is used as a pointer in line 1";
  assert_passed("__device__ void f(float *v, int i) { v[i] = v[i + 1]; } " KERNEL
                "f(s, 2); f(s, a[3]); }",
                3, "");
  assert_passed(
      "template <int N> __device__ void f(int i, const float *__restrict__ v) { a = v[N]; } " KERNEL
      "f<3>(g(1, 2), s); }",
      2, "");
  assert_passed("__device__ int h(float *w) { return w[2]; } "
                "__device__ void f(float *v) { v[0] = h(v); } " KERNEL "f(s); }",
                3, "");
  /* other shared arrays, and pointers into shared memory, are members of the family */
  assert_passed("template <class T> __device__ void f(const Map<T, 2> &m, T *v) { v[0]++; } " KERNEL
                "f(a, s); } __global__ void l() { __shared__ float t[32]; t[1] = 2; f(b, t); }",
                3, "");
  assert_passed("__device__ void f(float *v) { v[0]++; } " KERNEL
                "f(s); } __global__ void l() { extern __shared__ char all[]; "
                "float *a = (float *)all, *b = a + 8; f(b); b[2] = a[1]; }",
                3, "");
  assert_passed("__device__ void g(float *w) { w[3]++; } __device__ void f(float *v) { g(v); } "
                "__device__ void h(float *u) { g(u); u[1]--; } " KERNEL
                "f(s); } __global__ void l() { __shared__ float t[8]; h(t); }",
                3, "");
  /* functions of other numbers of parameters, and those that call themselves */
  assert_passed("__device__ void f(float *v) { v[0]++; } __device__ void f(float *v, int i) { v++; "
                "} " KERNEL "f(s); f(global, 2); }",
                2, "");
  assert_passed(
      "__device__ void f(float *v); __device__ void f(float *v) { f(v); v[1] = 2; } " KERNEL
      "f(s); }",
      2, "");
  /* others are passed as well, it is not known what, or it is more than an element */
  static const char else_too[] =
      "a function that it is passed to is given something else in line 1";
  assert_passed("__device__ void f(float *v) { v[0]++; } " KERNEL "f(s); f(global); }", 0,
                else_too);
  assert_passed("__device__ void f(float *v) { v[0]++; } " KERNEL "f(s); f(s + 1); }", 0, else_too);
  assert_passed(
      "__device__ void f(float *v) { v[0]++; } __device__ void h(float *u) { f(u); } " KERNEL
      "f(s); h(global); }",
      0, else_too);
  static const char strange[] =
      "a function that it is passed to is used in line 1 in a way that is not understood";
  assert_passed("__device__ void f(float *v) { v[0]++; } " KERNEL "f(s); p = f; }", 0, strange);
  assert_passed("__device__ void f(float *v); " KERNEL "f(s); }", 0, refused);
  assert_passed("__device__ void f(float *v) {} __device__ void f(int *v) {} " KERNEL "f(s); }", 0,
                refused);
  assert_passed("__device__ void f(float *v) { v[0]++; } " KERNEL "x.f(s); }", 0, refused);
  assert_passed("__device__ void f(float *v) { v[0]++; } " KERNEL "f(s); x.f(s); }", 0, strange);
  assert_passed("__device__ void f(float *v) { v++; } " KERNEL "f(s); }", 0, refused);
  assert_passed("__device__ void f(float **v) { v[0][1]++; } " KERNEL "f(s); }", 0, refused);
#undef KERNEL
}

static void test_expressions(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool is_pure, is_operand;
  } cases[] = {
      {"x", true, true},          {"threadIdx.x", true, true}, {"a[i]", true, true},
      {"(a + b)", true, true},    {"a + b", true, false},      {"i++", false, false},
      {"x = 2", false, false},    {"f(x)", false, true},       {"min(a, b)", true, true},
      {"-x", true, false},        {"p->x", true, true},        {"(int)x", true, true},
      {"a ? b : c", true, false}, {"i += 2", false, false},    {"", true, true},
      {"a, b", false, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_source *source = read_string(cases[i].text);
    if (bf_source_is_pure(source, 0, source->tokens) != cases[i].is_pure ||
        bf_source_is_operand(source, 0, source->tokens) != cases[i].is_operand)
      fail_msg("%s", cases[i].text);
    bf_source_free(source);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_words),        cmocka_unit_test(test_lines),
      cmocka_unit_test(test_refused),      cmocka_unit_test(test_huge),
      cmocka_unit_test(test_declarations), cmocka_unit_test(test_values),
      cmocka_unit_test(test_types),        cmocka_unit_test(test_lists),
      cmocka_unit_test(test_carved),       cmocka_unit_test(test_varying),
      cmocka_unit_test(test_uses),         cmocka_unit_test(test_lent_rows),
      cmocka_unit_test(test_members),      cmocka_unit_test(test_aliases),
      cmocka_unit_test(test_passed),       cmocka_unit_test(test_expressions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
