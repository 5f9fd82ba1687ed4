/* Graphs of rgpu: what is read, what is printed, what values terms and operations have. */
#include "rgpu/graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static bf_rgpu_graph *parse(const char *text) {
  bf_rgpu_graph *graph;
  bf_diagnostic diagnostic = {0};
  if (bf_rgpu_parse("test", text, &graph, &diagnostic) != BF_OK)
    fail_msg("%llu:%u: %s", (unsigned long long)diagnostic.line, diagnostic.column,
             diagnostic.message);
  return graph;
}

/* Text that is read and printed, and what was printed is read and printed again. */
static void assert_round_trip(const char *text) {
  bf_text once = {0}, twice = {0};
  bf_rgpu_graph *graph = parse(text);
  bf_rgpu_print(graph, &once);
  bf_rgpu_graph *again = parse(once.data);
  bf_rgpu_print(again, &twice);
  assert_string_equal(once.data, twice.data);
  assert_int_equal(graph->nodes, again->nodes);
  assert_int_equal(graph->edges, again->edges);
  bf_rgpu_free(graph);
  bf_rgpu_free(again);
  bf_text_free(&once);
  bf_text_free(&twice);
}

static void reads_the_examples(void **state) {
  (void)state;
  static const char *const files[] = {"examples/rgpu/conv.df", "examples/rgpu/integral.df"};
  static const unsigned nodes[] = {17, 8}, edges[] = {26, 12};
  for (unsigned i = 0; i < 2; i++) {
    bf_rgpu_graph *graph;
    bf_diagnostic diagnostic;
    assert_int_equal(bf_rgpu_read(files[i], &graph, &diagnostic), BF_OK);
    assert_int_equal(graph->nodes, nodes[i]);
    assert_int_equal(graph->edges, edges[i]);
    bf_text text = {0};
    bf_rgpu_print(graph, &text);
    assert_round_trip(text.data);
    bf_text_free(&text);
    bf_rgpu_free(graph);
  }
}

/* Everything the language has, in one text, which is already as the printer writes it. */
static const char everything[] =
    "graph all\n"
    "parameter n 8\n"
    "parameter low -3\n"
    "array a f32 n*n = random 7 0.5\n"
    "array b u8 4*n = index%5\n"
    "array c f32 n = 1.5\n"
    "array d f32 n = (index - 1)\n"
    "array e s32 n*copies present n - 1\n"
    "shared s u32 256\n"
    "iterations n*(n + 1)\n"
    "blocks (n + copies - 1)/copies\n"
    "\n"
    "i = inc step 4 start a + 4*n*block - 4*low initial 8 hold 8\n"
    "x = ld.cs.f32 [i + -4]\n"
    "y = mad.f32 x after [0.25, c[block]], (n), x after [8 x a[index]]\n"
    "p = lt.f32 y, 1e-05\n"
    "q = @!p mov.f32 y\n"
    "r = cvt.u32.f32 q\n"
    "t = sel.s32 r, -1, p\n"
    "h = red.shared.add.u32 [i], t\n"
    "w = ld.wait.s32 [i after [4 x e + 4*index]]\n"
    "sum2 = add.s32 sum2 after [0], w\n"
    "o = st.wt.s16 [i], sum2\n"
    "final e[block*copies + copy] = sum sum2 last 1\n";

static void prints_what_it_read(void **state) {
  (void)state;
  bf_rgpu_graph *graph = parse(everything);
  bf_text text = {0};
  bf_rgpu_print(graph, &text);
  assert_string_equal(text.data, everything);
  bf_text_free(&text);
  bf_rgpu_free(graph);
}

/* What is inside so many parentheses and signs that it can just be read is printed with no more. */
static void prints_no_deeper_than_it_read(void **state) {
  (void)state;
  static const struct {
    const char *before, *behind;
  } rows[] = {{"-", ""},         {"(", ")"},    {"-(", ")"},      {"2*-(", ")"}, {"(0 - 2*", ")"},
              {"-(2*", ")"},     {"2*-", ""},   {"0 - (", ")"},   {"(-", ")"},   {"-(1 + ", ")"},
              {"(2 - -(", "))"}, {"-2*(", ")"}, {"2*(0 - ", ")"}, {"- -(", ")"}};
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    unsigned read = 0;
    for (unsigned depth = 1; depth < 80; depth++) {
      char text[2048] = "graph g\nparameter n 8\narray a f32 n\nblocks ";
      for (unsigned k = 0; k < depth; k++)
        strcat(text, rows[i].before);
      strcat(text, "n");
      for (unsigned k = 0; k < depth; k++)
        strcat(text, rows[i].behind);
      strcat(text, "\ni = inc step 4\nx = ld.f32 [i]\n");
      bf_rgpu_graph *graph;
      bf_diagnostic diagnostic;
      if (bf_rgpu_parse("test", text, &graph, &diagnostic) != BF_OK)
        continue;
      bf_rgpu_free(graph);
      assert_round_trip(text);
      read++;
    }
    assert_in_range(read, 20, 79);
  }
}

/* In an address, a minus belongs to what comes next, not to the whole rest. */
static void takes_from_addresses(void **state) {
  (void)state;
  static const struct {
    const char *term;
    int64_t value;
  } rows[] = {{"- 4*n - 4", -36}, {"- 4 + n", 4}, {"+ n - 2 - 3", 3}, {"- (n - 3)", -5}};
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[128];
    int64_t value;
    bf_rgpu_setup *setup;
    bf_diagnostic diagnostic;
    snprintf(text, sizeof text,
             "graph g\nparameter n 8\narray a f32 n\ni = inc step 4\nx = ld.f32 [i %s]\n",
             rows[i].term);
    bf_rgpu_graph *graph = parse(text);
    assert_int_equal(bf_rgpu_setup_create(graph, 1, 0, NULL, &setup, &diagnostic), BF_OK);
    const bf_rgpu_node *load = &graph->node[bf_rgpu_find_node(graph, "x")];
    assert_int_equal(
        bf_rgpu_term_value(setup, load->offset, (bf_rgpu_where){0}, &value, &diagnostic), BF_OK);
    assert_int_equal(value, rows[i].value);
    assert_round_trip(text);
    bf_rgpu_setup_free(setup);
    bf_rgpu_free(graph);
  }
}

static void sets_up_what_it_read(void **state) {
  (void)state;
  bf_rgpu_graph *graph = parse(everything);
  bf_rgpu_setup *setup;
  bf_diagnostic diagnostic;
  const char *override[] = {"n=16"};
  assert_int_equal(bf_rgpu_setup_create(graph, 3, 1, override, &setup, &diagnostic), BF_OK);
  assert_int_equal(setup->iterations, 16 * 17);
  assert_int_equal(setup->blocks, 6);
  assert_int_equal(setup->array_address[0], BF_RGPU_GLOBAL_BASE);
  assert_int_equal(setup->array_address[1], BF_RGPU_GLOBAL_BASE + 1024);
  assert_int_equal(setup->array_address[5], 0);
  assert_int_equal(setup->array_present[4], 15);
  assert_int_equal(setup->shared_bytes, 1024);
  const bf_rgpu_node *i = &graph->node[bf_rgpu_find_node(graph, "i")];
  bf_rgpu_where where = {.block = 2, .index = 7};
  uint32_t bits;
  assert_int_equal(bf_rgpu_value_bits(setup, i->operand[0].initial.value, false, where, NULL, &bits,
                                      &diagnostic),
                   BF_OK);
  assert_int_equal(bits, BF_RGPU_GLOBAL_BASE + 4 * 16 * 2 + 12);
  assert_int_equal(
      bf_rgpu_value_bits(setup, &i->operand[1].constant, false, where, NULL, &bits, &diagnostic),
      BF_OK);
  assert_int_equal(bits, 4);
  assert_int_equal(bf_rgpu_array_element(setup, 1, 8, &bits, &diagnostic), BF_OK);
  assert_int_equal(bits, 3);
  for (uint64_t element = 0; element < 256; element++) {
    float value;
    assert_int_equal(bf_rgpu_array_element(setup, 0, element, &bits, &diagnostic), BF_OK);
    memcpy(&value, &bits, sizeof value);
    assert_true(value >= 0 && value < 0.5f);
  }
  bf_rgpu_setup_free(setup);
  bf_rgpu_free(graph);
}

static void assert_setup_fails(const char *text, const char *override, const char *message) {
  bf_rgpu_graph *graph = parse(text);
  bf_rgpu_setup *setup;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_rgpu_setup_create(graph, 1, override != NULL, &override, &setup, &diagnostic),
                   BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, message);
  bf_rgpu_free(graph);
}

static void refuses_bad_numbers(void **state) {
  (void)state;
  assert_setup_fails("parameter n 0\niterations 4/n\na = mov.u32 1\n", NULL, "division by 0");
  assert_setup_fails("parameter n 1\niterations n\na = mov.u32 1\n", "n=0",
                     "from 1 to 2^40 iterations");
  assert_setup_fails("parameter n 1\na = mov.u32 1\n", "m=0", "no parameter 'm'");
  assert_setup_fails("parameter n 1\na = mov.u32 1\n", "n", "expected NAME=NUMBER, not 'n'");
  assert_setup_fails("array a u32 0\nb = mov.u32 1\n", NULL,
                     "an array has from 1 to 2^30 elements");
}

/* operation on three operands of that type. */
static uint32_t compute(bf_rgpu_op op, bf_rgpu_type type, uint32_t a, uint32_t b, uint32_t c) {
  bf_rgpu_node node = {.op = op, .type = type, .from = type};
  uint32_t operand[3] = {a, b, c};
  return bf_rgpu_operate(&node, operand);
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static void computes(void **state) {
  (void)state;
  assert_int_equal(compute(BF_RGPU_ADD, BF_RGPU_U32, UINT32_MAX, 2, 0), 1);
  assert_int_equal(compute(BF_RGPU_SHR, BF_RGPU_S32, 0x80000000u, 31, 0), UINT32_MAX);
  assert_int_equal(compute(BF_RGPU_SHR, BF_RGPU_U32, 0x80000000u, 31, 0), 1);
  assert_int_equal(compute(BF_RGPU_SHL, BF_RGPU_U32, 1, 32, 0), 0);
  assert_int_equal(compute(BF_RGPU_SHR, BF_RGPU_S32, 0x80000000u, 77, 0), UINT32_MAX);
  assert_int_equal(compute(BF_RGPU_MIN, BF_RGPU_S32, UINT32_MAX, 1, 0), UINT32_MAX);
  assert_int_equal(compute(BF_RGPU_MIN, BF_RGPU_U32, UINT32_MAX, 1, 0), 1);
  assert_int_equal(compute(BF_RGPU_MAD, BF_RGPU_S32, 3, 5, 7), 22);
  assert_int_equal(compute(BF_RGPU_SEL, BF_RGPU_F32, 3, 5, 0), 5);
  assert_int_equal(compute(BF_RGPU_MAD, BF_RGPU_F32, bits_of(1.5f), bits_of(2), bits_of(0.25f)),
                   bits_of(3.25f));
  assert_int_equal(compute(BF_RGPU_LT, BF_RGPU_F32, bits_of(NAN), bits_of(1), 0), 0);
  assert_int_equal(compute(BF_RGPU_NE, BF_RGPU_F32, bits_of(NAN), bits_of(NAN), 0), 1);
  bf_rgpu_node to_int = {.op = BF_RGPU_CVT, .type = BF_RGPU_S32, .from = BF_RGPU_F32};
  uint32_t operand[3] = {bits_of(-2.75f), 0, 0};
  assert_int_equal(bf_rgpu_operate(&to_int, operand), (uint32_t)-2);
  operand[0] = bits_of(3e9f);
  assert_int_equal(bf_rgpu_operate(&to_int, operand), INT32_MAX);
}

static void loads_and_stores(void **state) {
  (void)state;
  unsigned char bytes[4] = {0xfe, 0xff, 1, 0};
  assert_int_equal(bf_rgpu_load(BF_RGPU_S8, bytes), (uint32_t)-2);
  assert_int_equal(bf_rgpu_load(BF_RGPU_U16, bytes), 0xfffe);
  assert_int_equal(bf_rgpu_load(BF_RGPU_U32, bytes), 0x1fffe);
  bf_rgpu_store(BF_RGPU_U16, 0x12345678, bytes);
  assert_int_equal(bytes[0], 0x78);
  assert_int_equal(bytes[1], 0x56);
  assert_int_equal(bytes[2], 1);
  assert_int_equal(bf_rgpu_reduce(BF_RGPU_F32, bits_of(1), bits_of(2)), bits_of(3));
}

/* Text that is refused: at which place, and in which words. */
static const struct {
  const char *text;
  unsigned line, column;
  const char *message;
} bad[] = {
    {"", 0, 0, "no node in the graph"},
    {"a = add.s32 1\n", 1, 14, "'add' has 2 operands"},
    {"a = add 1, 2\n", 1, 8, "expected a type: add.u32, s32 or f32"},
    {"a = and.f32 1, 2\n", 1, 9, "the type of 'and' is u32 or s32"},
    {"a = foo.f32 1, 2\n", 1, 5, "unknown operation 'foo'"},
    {"a = add.s32 b, 2\n", 1, 13, "unknown name 'b'"},
    {"a = mov.f32 1\nb = add.s32 a, 2\n", 2, 13, "'a' is a float, but an integer is wanted here"},
    {"a = mov.u32 1\na = mov.u32 2\n", 2, 1, "'a' is there already"},
    {"a = add.s32 b, 1\nb = mov.s32 a\n", 1, 1,
     "no initial value on the cycle a <- b <- a: none of them can start"},
    {"a = ld.wt.f32 [a]\n", 1, 7, "'wt' is no cache operator of 'ld'"},
    {"a = mov.u32 1\ns = st.u32 [a], a\nt = mov.u32 s\n", 3, 13,
     "'s' is a store and hands on nothing"},
    {"a = mov.u32 1\ns = @a st.u32 [a], a\n", 2, 1,
     "3 inputs from nodes, counting the predicate; a load/store unit has 2 FIFOs"},
    {"a = inc step 4 initial 6 hold 4\n", 1, 25,
     "6 initial values cannot be held for 4 iterations each"},
    {"iterations block\na = mov.u32 1\n", 1, 12, "'block' has no value here"},
    {"step = mov.u32 1\n", 1, 1, "'step' is a word of the language and cannot be a name"},
    {"a = ld.u32 [4]\n", 1, 13,
     "an address comes from a node; 'inc step 0' gives one that stays the same"},
    {"array x f64 4\n", 1, 9, "expected the type of the array: u8, s8, u16, s16, u32, s32 or f32"},
};

static void refuses_bad_text(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    bf_rgpu_graph *graph;
    bf_diagnostic diagnostic = {0};
    assert_int_equal(bf_rgpu_parse("test", bad[i].text, &graph, &diagnostic), BF_BAD_INPUT);
    assert_null(graph);
    assert_string_equal(diagnostic.message, bad[i].message);
    assert_int_equal(diagnostic.line, bad[i].line);
    assert_int_equal(diagnostic.column, bad[i].column);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_the_examples),
      cmocka_unit_test(prints_what_it_read),
      cmocka_unit_test(prints_no_deeper_than_it_read),
      cmocka_unit_test(takes_from_addresses),
      cmocka_unit_test(sets_up_what_it_read),
      cmocka_unit_test(refuses_bad_numbers),
      cmocka_unit_test(computes),
      cmocka_unit_test(loads_and_stores),
      cmocka_unit_test(refuses_bad_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
