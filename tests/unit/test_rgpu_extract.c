/* Graphs extracted from PTX: what they compute, iteration by iteration, against the loop in C; and
 * what is refused, where and why. */
#include "rgpu/extract.h"
#include "rgpu_interpreter.h"

static int extract(const char *ptx, uint64_t line, bf_text *text, bf_diagnostic *diagnostic) {
  bf_ptx_module *module;
  if (bf_ptx_parse("test.ptx", ptx, strlen(ptx), &module, diagnostic) != BF_OK)
    fail_msg("%llu: %s", (unsigned long long)diagnostic->line, diagnostic->message);
  int error = bf_rgpu_extract(module, NULL, line, text, diagnostic);
  bf_ptx_free(module);
  return error;
}

/* ---- Loops that become graphs ---- */

#define HEAD                                                                                       \
  ".version 8.0\n.target sm_80\n.address_size 64\n"                                                \
  ".visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u32 k_param_2)\n{\n"    \
  ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<20>;\n.reg .f32 %f<20>;\n"                    \
  ".reg .b64 %d<20>;\n"                                                                            \
  "ld.param.u64 %d1, [k_param_0];\nld.param.u64 %d2, [k_param_1];\nld.param.u32 %r1, "             \
  "[k_param_2];\nmov.u32 %r2, 0;\nmov.f32 %f1, 0f40000000;\nmov.f32 %f2, 0f3F800000;\nL:\n"
/* The next line is line 18. */
#define TAIL                                                                                       \
  "add.s32 %r2, %r2, 1;\nsetp.lt.s32 %p1, %r2, %r1;\n@%p1 bra L;\nst.global.f32 [%d2], %f1;\n"     \
  "ret;\n}\n"

/* y[i] = 2 y[i-1] + x[i] and, where x[i] > 3, the sum of all of those x[i]: values from the
 * iteration before, a guard, addresses before and after their increment, a byte load. */
static const char filter[] = HEAD "ld.global.f32 %f3, [%d1];\n"
                                  "fma.rn.f32 %f1, %f1, 0f40000000, %f3;\n"
                                  "setp.gt.f32 %p2, %f3, 0f40400000;\n"
                                  "@%p2 add.f32 %f2, %f2, %f3;\n"
                                  "add.s64 %d1, %d1, 4;\n"
                                  "ld.global.u8 %h1, [%d1+60];\n"
                                  "cvt.u32.u16 %r3, %h1;\n"
                                  "cvt.rn.f32.u32 %f4, %r3;\n"
                                  "add.f32 %f5, %f4, %f2;\n"
                                  "mul.wide.s32 %d4, %r2, 4;\n"
                                  "add.s64 %d5, %d2, %d4;\n"
                                  "st.global.f32 [%d5], %f1;\n"
                                  "st.global.f32 [%d5+256], %f5;\n" TAIL;

static void computes_what_the_loop_does(void **state) {
  (void)state;
  enum { COUNT = 10, INPUT = 256, OUTPUT = 1024 };
  static machine m;
  bf_text text = {0};
  bf_diagnostic diagnostic;
  if (extract(filter, 0, &text, &diagnostic) != BF_OK)
    fail_msg("%llu: %s", (unsigned long long)diagnostic.line, diagnostic.message);
  for (unsigned i = 0; i < 64; i++) {
    float x = (float)(i * 5 % 7);
    memcpy(m.global + INPUT + 4 * i, &x, 4);
  }
  const char *override[] = {"param_0=4352", "param_1=5120", "loop_count=10"};
  float y = 2, sum = 1, expected[COUNT][2];
  for (unsigned i = 0; i < COUNT; i++) {
    float x;
    memcpy(&x, m.global + INPUT + 4 * i, 4);
    y = 2 * y + x;
    sum += x > 3 ? x : 0;
    expected[i][0] = y;
    expected[i][1] = (float)m.global[INPUT + 4 * (i + 1) + 60] + sum;
  }
  execute(&m, text.data, 3, override);
  for (unsigned i = 0; i < COUNT; i++) {
    float found[2];
    memcpy(&found[0], m.global + OUTPUT + 4 * i, 4);
    memcpy(&found[1], m.global + OUTPUT + 4 * i + 256, 4);
    assert_memory_equal(found, expected[i], sizeof found);
  }
  float last; /* f1 is read behind the loop: the first array of the graph is where it is kept */
  memcpy(&last, m.global, 4);
  assert_memory_equal(&last, &expected[COUNT - 1][0], 4);
  bf_text_free(&text);
}

/* The loop's counter, only used for its end, is not in the graph; an increment that all read as it
 * was before starts where the register did. */
static void writes_increments(void **state) {
  (void)state;
  bf_text text = {0};
  bf_diagnostic diagnostic;
  static const char loop[] = HEAD "ld.global.f32 %f3, [%d1];\nadd.f32 %f1, %f1, %f3;\n"
                                  "add.s64 %d1, %d1, 4;\n" TAIL;
  assert_int_equal(extract(loop, 18, &text, &diagnostic), BF_OK);
  assert_non_null(strstr(text.data, "d1 = inc step 4 start param_0\n"));
  assert_non_null(strstr(text.data, "f1 = add.f32 f1 after [2], f3 # line 19\n"));
  assert_null(strstr(text.data, "r2"));
  bf_text_free(&text);
}

/* ---- Loops that do not ---- */

static const struct {
  const char *body;
  uint64_t wanted, line;
  const char *message;
} refused[] = {
    {"bar.sync 0;\n", 0, 18, "a barrier inside the loop"},
    {"@%p2 bra M;\nadd.f32 %f1, %f1, %f1;\nM:\n", 0, 18,
     "the loop is not straight-line code: it goes different ways from here"},
    {"div.rn.f32 %f1, %f1, %f1;\n", 0, 18, "no node does 'div'"},
    {"ld.global.u32 %r3, [%d1];\nadd.s32 %r2, %r2, %r3;\nadd.f32 %f1, %f1, %f1;\n", 0, 23,
     "how often the loop runs depends on what line 18 loads"},
    {"@%p2 st.global.f32 [%d1], %f1;\n", 0, 18,
     "a store with a guard: a unit has no FIFO for it beside address and data"},
    {"mov.f32 %f3, %f1;\n", 0, 18, "the loop computes nothing that is stored or used behind it"},
    {"shr.u64 %d3, %d1, 4;\nst.global.f32 [%d3], %f1;\n", 0, 18,
     "the upper half of 64-bit values matters here"},
    {"add.f32 %f1, %f1, %f1;\n", 3, 3, "no innermost loop has this line"},
    {"mov.b32 %r3, %f1;\nst.global.u32 [%d1], %r3;\n", 0, 18,
     "bits of a float are taken as an integer"},
    {"ld.volatile.global.f32 %f1, [%d1];\n", 0, 18, "memory in the order that .volatile asks for"},
};

static void says_why_not(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    bf_text ptx = {0}, text = {0};
    bf_diagnostic diagnostic;
    bf_text_addf(&ptx, "%s%s%s", HEAD, refused[i].body, TAIL);
    assert_int_equal(extract(ptx.data, refused[i].wanted, &text, &diagnostic), BF_UNSUPPORTED);
    assert_string_equal(diagnostic.message, refused[i].message);
    assert_int_equal(diagnostic.line, refused[i].line);
    bf_text_free(&ptx);
    bf_text_free(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(computes_what_the_loop_does),
      cmocka_unit_test(writes_increments),
      cmocka_unit_test(says_why_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
