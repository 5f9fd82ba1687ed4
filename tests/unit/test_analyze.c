/* The analysis of shared accesses: expressions and their rules, kernels written by hand with the
 * formulas they must give, and compiled ones (tests/data/analyze) whose accesses are computed here
 * a second time. */
#include "analyze/analyze.h"
#include "analyze/expression.h"
#include "analyze/given.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Expressions ---- */

static const uint32_t block_16x16[3] = {16, 16, 1};

/* Compares and forgets a formula. */
static void expect_text(const bf_expressions *values, bf_expression value, const char *expected) {
  bf_text text = {0};
  bf_expression_print(values, value, &text);
  assert_string_equal(text.data, expected);
  bf_text_free(&text);
}

static bf_expression constant(bf_expressions *values, uint64_t number) {
  return bf_expression_constant(values, 32, number);
}

static bf_expression unknown_atom(bf_expressions *values, const char *name, bool is_uniform) {
  bf_atom atom = {.kind = BF_ATOM_COMPUTED, .bits = 32, .is_uniform = is_uniform};
  snprintf(atom.name, sizeof atom.name, "%s", name);
  snprintf(atom.why, sizeof atom.why, "%s", name);
  return bf_expression_atom(values, &atom);
}

static void sums_are_kept_in_one_form(void **state) {
  (void)state;
  bf_expressions v;
  assert_int_equal(bf_expressions_create(&v, block_16x16), BF_OK);
  bf_expression x = v.thread[0], y = v.thread[1];
  bf_expression sum = bf_expression_add(&v, bf_expression_scale(&v, y, 68), x, 4);
  expect_text(&v, sum, "4*(17*ty + tx)");
  assert_int_equal(bf_expression_add(&v, bf_expression_scale(&v, x, 4), y, 68), sum);
  assert_int_equal(bf_expression_add(&v, sum, sum, -1), constant(&v, 0));
  expect_text(&v, bf_expression_add(&v, sum, constant(&v, UINT32_MAX), 1), "68*ty + 4*tx - 1");
  bf_expressions_free(&v);
}

/* What is affine on the block becomes a sum, whatever it was computed with. */
static void the_block_makes_operations_affine(void **state) {
  (void)state;
  bf_expressions v;
  assert_int_equal(bf_expressions_create(&v, block_16x16), BF_OK);
  bf_expression x = v.thread[0], y = v.thread[1];
  bf_expression linear = bf_expression_add(&v, x, y, 16);
  assert_int_equal(bf_expression_operate(&v, BF_DO_AND, 32, linear, constant(&v, 15), 0), x);
  assert_int_equal(bf_expression_operate(&v, BF_DO_SHR_U, 32, linear, constant(&v, 4), 0), y);
  assert_int_equal(bf_expression_operate(&v, BF_DO_REM_U, 32, linear, constant(&v, 16), 0), x);
  bf_expression high = bf_expression_scale(&v, y, 16);
  assert_int_equal(bf_expression_operate(&v, BF_DO_OR, 32, high, x, 0), linear);
  expect_text(&v, bf_expression_operate(&v, BF_DO_XOR, 32, x, y, 0), "(tx ^ ty)");
  bf_expressions_free(&v);
}

/* Unknown parts that do not touch the bits in question drop out. */
static void unknown_parts_drop_out_of_masks(void **state) {
  (void)state;
  bf_expressions v;
  assert_int_equal(bf_expressions_create(&v, block_16x16), BF_OK);
  bf_expression n = unknown_atom(&v, "n", true);
  bf_expression sum = bf_expression_add(&v, v.thread[0], n, 32);
  assert_int_equal(bf_expression_operate(&v, BF_DO_AND, 32, sum, constant(&v, 31), 0), v.thread[0]);
  bf_expression joined =
      bf_expression_operate(&v, BF_DO_OR, 32, bf_expression_scale(&v, n, 64), v.thread[0], 0);
  expect_text(&v, joined, "64*n + tx");
  bf_expressions_free(&v);
}

/* Widening and cutting off again is nothing; the low half of a wide sum is the sum of low halves.
 */
static void widths_change_without_loss(void **state) {
  (void)state;
  bf_expressions v;
  assert_int_equal(bf_expressions_create(&v, block_16x16), BF_OK);
  bf_expression n = unknown_atom(&v, "n", true);
  bf_expression wide = bf_expression_convert(&v, n, 64, true);
  bf_expression sum = bf_expression_add(&v, bf_expression_scale(&v, wide, 4),
                                        bf_expression_constant(&v, 64, 12), 1);
  expect_text(&v, bf_expression_convert(&v, sum, 32, false), "4*(n + 3)");
  bf_expressions_free(&v);
}

static void choices_are_made_thread_by_thread(void **state) {
  (void)state;
  bf_expressions v;
  assert_int_equal(bf_expressions_create(&v, block_16x16), BF_OK);
  bf_expression x = v.thread[0], n = unknown_atom(&v, "n", false);
  bf_expression is_low = bf_expression_operate(&v, BF_DO_LESS_U, 1, x, constant(&v, 8), 0);
  const bf_lanes *lanes = bf_expression_evaluate(&v, bf_expression_select(&v, is_low, x, n));
  for (unsigned i = 0; i < 256; i++) {
    assert_int_equal(bf_mask_has(lanes->known, i), i % 16 < 8);
    if (i % 16 < 8)
      assert_int_equal(lanes->value[i], i % 16);
  }
  /* false and unknown is false */
  bf_expression open = bf_expression_operate(&v, BF_DO_LESS_U, 1, n, x, 0);
  lanes = bf_expression_evaluate(&v, bf_expression_operate(&v, BF_DO_AND, 1, is_low, open, 0));
  assert_false(bf_mask_has(lanes->known, 0));
  assert_true(bf_mask_has(lanes->known, 8));
  assert_int_equal(lanes->value[8], 0);
  bf_expressions_free(&v);
}

static void operations_follow_the_isa(void **state) {
  (void)state;
  static const struct {
    bf_operation operation;
    unsigned bits, operand_bits;
    uint64_t a, b, c;
    bool is_defined;
    uint64_t expected;
  } rows[] = {
      {BF_DO_DIV_S, 32, 32, 0xfffffff9, 2, 0, true, 0xfffffffd},
      {BF_DO_REM_S, 32, 32, 0xfffffff9, 2, 0, true, 0xffffffff},
      {BF_DO_DIV_U, 32, 32, 7, 0, 0, false, 0},
      {BF_DO_DIV_S, 32, 32, 0x80000000, 0xffffffff, 0, true, 0x80000000},
      {BF_DO_REM_S, 64, 64, (uint64_t)1 << 63, UINT64_MAX, 0, true, 0},
      {BF_DO_SHL, 32, 32, 1, 32, 0, true, 0},
      {BF_DO_SHR_S, 32, 32, 0x80000000, 40, 0, true, 0xffffffff},
      {BF_DO_SHR_U, 16, 16, 0x8000, 15, 0, true, 1},
      {BF_DO_MUL_HIGH_U, 32, 32, 0xffffffff, 0xffffffff, 0, true, 0xfffffffe},
      {BF_DO_MUL_HIGH_S, 32, 32, 0xffffffff, 2, 0, true, 0xffffffff},
      {BF_DO_BFE_U, 32, 32, 0xabcd1234, 8, 8, true, 0x12},
      {BF_DO_BFE_S, 32, 32, 0x00000800, 8, 4, true, 0xfffffff8},
      {BF_DO_BFE_U, 32, 32, 0xabcd1234, 40, 8, true, 0},
      {BF_DO_PRMT, 32, 32, 0x33221100, 0x77665544, 0x7410, true, 0x77441100},
      {BF_DO_PRMT, 32, 32, 0x80, 0, 0x8, true, 0xff | 0x80808000},
      {BF_DO_CLZ, 32, 32, 1, 0, 0, true, 31},
      {BF_DO_CLZ, 32, 64, 0, 0, 0, true, 64},
      {BF_DO_BFIND_S, 32, 32, 0xffffffff, 0, 0, true, 0xffffffff},
      {BF_DO_BFIND_U, 32, 32, 0x10, 0, 0, true, 4},
      {BF_DO_BREV, 32, 32, 1, 0, 0, true, 0x80000000},
      {BF_DO_LESS_S, 1, 32, 0xffffffff, 0, 0, true, 1},
      {BF_DO_LESS_U, 1, 32, 0xffffffff, 0, 0, true, 0},
      {BF_DO_SIGN_EXTEND, 64, 32, 0x80000000, 0, 0, true, 0xffffffff80000000},
      {BF_DO_ABS, 32, 32, 0xfffffffe, 0, 0, true, 2},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint64_t in[3] = {rows[i].a, rows[i].b, rows[i].c}, out = 0;
    bool is_defined = bf_operate(rows[i].operation, rows[i].bits, rows[i].operand_bits, in, &out);
    if (is_defined != rows[i].is_defined || out != rows[i].expected)
      fail_msg("row %zu: %llx", i, (unsigned long long)out);
  }
}

/* An expression that grows without end is given up or listed, and everything stays finite. */
static void deep_expressions_stay_finite(void **state) {
  (void)state;
  bf_expressions v;
  assert_int_equal(bf_expressions_create(&v, block_16x16), BF_OK);
  bf_expression known = v.thread[0], open = unknown_atom(&v, "n", true);
  uint64_t number = 7;
  for (unsigned i = 0; i < 3000; i++) {
    bf_expression step = constant(&v, i * 2654435761u | 1);
    known = bf_expression_operate(&v, BF_DO_XOR, 32, bf_expression_multiply(&v, known, known),
                                  bf_expression_add(&v, known, step, 1), 0);
    open =
        bf_expression_operate(&v, BF_DO_MIN_U, 32, bf_expression_multiply(&v, open, open), step, 0);
    number = (number * number ^ (number + (i * 2654435761u | 1))) & UINT32_MAX;
  }
  assert_int_equal(bf_expression_evaluate(&v, known)->value[7], number);
  assert_false(bf_node_of(&v, open)->is_known);
  assert_true(bf_node_of(&v, known)->depth <= 201);
  bf_expressions_free(&v);
}

/* ---- Kernels written by hand ---- */

static bf_analysis *analyze(const bf_ptx_module *module, const char *kernel,
                            const bf_analyze_options *options) {
  bf_analysis *analysis;
  bf_diagnostic diagnostic;
  const bf_ptx_function *function = bf_ptx_find(module, kernel);
  assert_non_null(function);
  if (bf_analyze(module, function, options, &analysis, &diagnostic) != BF_OK)
    fail_msg("%s: %s", kernel, diagnostic.message);
  return analysis;
}

static bf_ptx_module *parse(const char *text) {
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  if (bf_ptx_parse("test", text, strlen(text), &module, &diagnostic) != BF_OK)
    fail_msg("%llu: %s", (unsigned long long)diagnostic.line, diagnostic.message);
  return module;
}

#define BEGIN                                                                                      \
  ".version 7.8\n.target sm_80\n.address_size 64\n"                                                \
  ".visible .entry k(.param .u32 n, .param .u64 p)\n{\n"                                           \
  ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .b64 %d<8>; .reg .f32 %f<4>;\n"       \
  ".shared .align 16 .b8 tile[4096];\n"                                                            \
  "mov.u32 %r0, tile; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; ld.param.u32 %r3, [n];\n"

/* What the last site of a kernel must be: its formula, and the unknowns as "what: because", one a
 * line. */
typedef struct hand {
  const char *body, *formula, *unknown;
  size_t accesses;
} hand;

static const hand hands[] = {
    /* the classic: a padded tile */
    {"mad.lo.s32 %r4, %r2, 68, %r0; shl.b32 %r5, %r1, 2; add.s32 %r6, %r4, %r5;"
     "st.shared.u32 [%r6+8], %r1;",
     "tile + 4*(17*ty + tx + 2)", "", 8},
    /* bits joined by or, and a division that is known */
    {"shl.b32 %r4, %r2, 4; or.b32 %r4, %r4, %r1; div.u32 %r5, %r4, 16; shl.b32 %r5, %r5, 7;"
     "add.s32 %r6, %r0, %r5; ld.shared.u32 %r7, [%r6];",
     "tile + 128*ty", "", 8},
    /* bfi puts tx at bit 2 */
    {"mov.u32 %r4, 0; bfi.b32 %r4, %r1, %r4, 2, 4; add.s32 %r4, %r4, %r0;"
     "ld.shared.u32 %r7, [%r4];",
     "tile + 4*tx", "", 8},
    /* lop3 0x96 is a ^ b ^ c */
    {"lop3.b32 %r4, %r1, %r2, 0, 150; shl.b32 %r4, %r4, 2; add.s32 %r4, %r4, %r0;"
     "ld.shared.u32 %r7, [%r4];",
     "tile + 4*(tx ^ ty)", "", 8},
    /* 64-bit and generic addresses */
    {"cvt.u64.u32 %d0, %r0; cvta.shared.u64 %d1, %d0; mul.wide.s32 %d2, %r1, 4;"
     "add.s64 %d3, %d1, %d2; st.u32 [%d3+16], %r1;",
     "tile + 4*(tx + 4)", "", 8},
    /* packed and unpacked */
    {"mov.b64 %d0, {%r1, %r2}; mov.b64 {%r4, %r5}, %d0; mad.lo.u32 %r6, %r5, 64, %r0;"
     "mad.lo.u32 %r6, %r4, 4, %r6; ld.shared.u32 %r7, [%r6];",
     "tile + 4*(16*ty + tx)", "", 8},
    /* 16 bits */
    {"cvt.u16.u32 %h0, %r1; mul.wide.u16 %r4, %h0, 4; add.u32 %r4, %r4, %r0;"
     "ld.shared.u32 %r7, [%r4];",
     "tile + 4*tx", "", 8},
    /* the block index moves all lanes: a row does not matter */
    {"mov.u32 %r4, %ctaid.x; shl.b32 %r4, %r4, 7; mad.lo.u32 %r4, %r1, 4, %r4;"
     "add.u32 %r4, %r4, %r0; ld.shared.u32 %r7, [%r4];",
     "tile + 4*(32*bx + tx)", "offset: block index x\n", 8},
    /* a parameter among the low bits does */
    {"add.u32 %r4, %r1, %r3; and.b32 %r4, %r4, 31; mad.lo.u32 %r4, %r4, 4, %r0;"
     "ld.shared.u32 %r7, [%r4];",
     "tile + 4*((tx + n) & 31)", "address: parameter n\n", 0},
    /* data */
    {"ld.param.u64 %d0, [p]; mul.wide.u32 %d1, %r1, 4; add.u64 %d0, %d0, %d1;"
     "ld.global.u32 %r4, [%d0]; mad.lo.u32 %r4, %r4, 4, %r0; ld.shared.u32 %r7, [%r4];",
     "tile + 4*loaded@12", "address: the value loaded at line 12\n", 0},
    /* the same datum for all lanes is an offset */
    {"ld.param.u64 %d0, [p]; ld.global.u32 %r4, [%d0]; add.u32 %r4, %r4, %r1;"
     "mad.lo.u32 %r4, %r4, 4, %r0; ld.shared.u32 %r7, [%r4];",
     "tile + 4*(tx + loaded@10)", "offset: the value loaded at line 10\n", 8},
    /* a known guard and an unknown one */
    {"setp.lt.u32 %p0, %r1, 4; mad.lo.u32 %r4, %r1, 4, %r0; @%p0 st.shared.u32 [%r4], %r1;",
     "tile + 4*tx", "", 8},
    {"setp.lt.u32 %p0, %r1, %r3; mad.lo.u32 %r4, %r1, 4, %r0; @%p0 st.shared.u32 [%r4], %r1;",
     "tile + 4*tx", "lanes: the condition at line 11, which depends on parameter n\n", 8},
    /* a condition that is the same for all lanes decides whether, not who */
    {"setp.lt.u32 %p0, 5, %r3; mad.lo.u32 %r4, %r1, 4, %r0; @%p0 st.shared.u32 [%r4], %r1;",
     "tile + 4*tx", "count: the condition at line 11, which depends on parameter n\n", 8},
    /* the other side of the same condition is known to be out */
    {"mov.u32 %r5, 0; setp.lt.u32 %p0, %r1, %r3; @%p0 mov.u32 %r5, 64;"
     "mad.lo.u32 %r4, %r1, 4, %r0; @%p0 add.u32 %r4, %r4, %r5; @%p0 st.shared.u32 [%r4], %r1;",
     "tile + 4*(tx + 16)", "lanes: the condition at line 14, which depends on parameter n\n", 8},
    /* a loop of known length, and what its counter is worth behind it */
    {"mov.u32 %r4, 0;l: mad.lo.u32 %r5, %r4, 64, %r0; mad.lo.u32 %r5, %r1, 4, %r5;"
     "st.shared.u32 [%r5], %r1; add.u32 %r4, %r4, 2; setp.lt.u32 %p0, %r4, 6; @%p0 bra l;",
     "tile + 4*(32*k10 + tx)", "", 24},
    /* one of unknown length */
    {"mov.u32 %r4, 0;l: mad.lo.u32 %r5, %r4, 64, %r0; mad.lo.u32 %r5, %r1, 4, %r5;"
     "st.shared.u32 [%r5], %r1; add.u32 %r4, %r4, 2; setp.lt.u32 %p0, %r4, %r3; @%p0 bra l;",
     "tile + 4*(32*k10 + tx)",
     "offset: the number of the iteration of the loop at line 10\n"
     "count: the loop at line 10, whose end depends on parameter n\n",
     8},
    /* one whose counter is halved */
    {"mov.u32 %r4, 32;l: mad.lo.u32 %r5, %r4, 4, %r0; st.shared.u32 [%r5], %r1;"
     "shr.u32 %r4, %r4, 1; setp.ne.u32 %p0, %r4, 0; @%p0 bra l;",
     "tile + 4*(32 >> k10)", "", 48},
    /* lanes that leave a loop one by one */
    {"mov.u32 %r4, 0;l: mad.lo.u32 %r5, %r4, 4, %r0; st.shared.u32 [%r5], %r1;"
     "add.u32 %r4, %r4, 1; setp.le.u32 %p0, %r4, %r2; @%p0 bra l;",
     "tile + 4*k10", "", 8 + 7 + 6 + 5 + 4 + 3 + 2 + 1 + 8 + 7 + 6 + 5 + 4 + 3 + 2 + 1},
    /* threads that return take no part */
    {"setp.ge.u32 %p0, %r2, 8; @%p0 ret; mad.lo.u32 %r4, %r1, 4, %r0; st.shared.u32 [%r4], %r1;",
     "tile + 4*tx", "", 4},
    {"st.shared.f32 [%r0], %f0; bra done; ld.shared.u32 %r7, [%r0];done: ret;", NULL, "", 0},
};

/* The unknowns of a site as text, and whether they are what is expected. */
static void expect_unknowns(const bf_analyze_site *site, const char *expected) {
  bf_text text = {0};
  bf_text_puts(&text, "");
  for (unsigned i = 0; i < site->unknowns; i++)
    bf_text_addf(&text, "%s: %s\n", bf_analyze_unknown_name(site->unknown[i].kind),
                 site->unknown[i].because);
  assert_string_equal(text.data ? text.data : "", expected);
  bf_text_free(&text);
}

/* A body with each statement on a line of its own, from line 9 on. */
static bf_ptx_module *parse_body(const char *body) {
  bf_text text = {0};
  bf_text_puts(&text, BEGIN);
  for (const char *at = body; *at; at++) {
    bf_text_add(&text, at, 1);
    if (*at == ';')
      bf_text_puts(&text, "\n");
  }
  bf_text_puts(&text, "ret;\n}\n");
  bf_ptx_module *module = parse(text.data);
  bf_text_free(&text);
  return module;
}

static void written_kernels_give_their_formulas(void **state) {
  (void)state;
  bf_analyze_options options = {.block = {16, 16, 1}};
  for (size_t i = 0; i < sizeof hands / sizeof *hands; i++) {
    bf_ptx_module *module = parse_body(hands[i].body);
    bf_analysis *analysis = analyze(module, "k", &options);
    const bf_analyze_site *site = &analysis->site[analysis->sites - 1];
    assert_true(analysis->sites > 0);
    if (!hands[i].formula)
      assert_null(site->formula);
    else
      assert_string_equal(site->formula, hands[i].formula);
    expect_unknowns(site, hands[i].unknown);
    if (site->accesses != hands[i].accesses)
      fail_msg("%s: %zu accesses", hands[i].body, site->accesses);
    bf_analysis_free(analysis);
    bf_ptx_free(module);
  }
}

/* Bulk copies take no wavefronts, whoever makes them and however often. */
static void copies_cost_nothing(void **state) {
  (void)state;
  bf_analyze_options options = {.block = {16, 16, 1}};
  bf_ptx_module *module = parse_body(
      "ld.shared.u32 %r4, [%r0]; setp.eq.u32 %p1, %r4, 7; @%p1 cp.async.bulk.shared::cluster.global"
      ".mbarrier::complete_tx::bytes [%r4], [%d1], 64, [%r0];");
  bf_analysis *analysis = analyze(module, "k", &options);
  const bf_analyze_site *site = &analysis->site[analysis->sites - 1];
  assert_true(site->is_copy && site->is_reached && site->is_exact);
  assert_int_equal(site->accesses, 0);
  expect_unknowns(site, "");
  bf_analysis_free(analysis);
  bf_ptx_free(module);
}

/* Affine steps, the pattern from them, and conflicts that an unknown offset does not change. */
static void costs_and_patterns_come_from_the_formula(void **state) {
  (void)state;
  bf_ptx_module *module =
      parse_body("mov.u32 %r4, %ctaid.x; mad.lo.u32 %r4, %r4, 4, %r0; mad.lo.u32 %r4, %r1, 64, %r4;"
                 "mad.lo.u32 %r4, %r2, 4, %r4; ld.shared.u32 %r7, [%r4];");
  bf_analyze_options options = {.block = {16, 16, 1}};
  bf_analysis *analysis = analyze(module, "k", &options);
  const bf_analyze_site *site = &analysis->site[0];
  assert_true(site->is_affine && !site->is_exact);
  assert_int_equal(site->step_bytes[0], 64);
  assert_int_equal(site->step_bytes[1], 4);
  assert_int_equal(site->offset_step_bytes, 4);
  bf_machine *machine;
  bf_hash *hash;
  bf_analyze_cost cost;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  bf_geometry geometry = bf_machine_geometry(machine);
  assert_int_equal(bf_hash_parse("none", &geometry, &hash, NULL), BF_OK);
  assert_int_equal(bf_analyze_count(site, machine, hash, &cost, NULL), BF_OK);
  assert_int_equal(cost.accesses, 8);
  assert_int_equal(cost.wavefronts, 8 * 8);
  assert_int_equal(cost.most_wavefronts, 8 * 8);
  bf_pattern pattern = bf_analyze_classify(analysis, site, cost.worst, 32, 16);
  assert_int_equal(pattern.class_, BF_PATTERN_BLOCK);
  assert_int_equal(pattern.m[0][0], 0);
  assert_int_equal(pattern.m[0][1], 1);
  assert_int_equal(pattern.m[1][0], 1);
  assert_int_equal(pattern.m[1][1], 0);
  bf_hash_free(hash);
  bf_machine_free(machine);
  bf_analysis_free(analysis);
  bf_ptx_free(module);
}

static void bad_launches_are_refused(void **state) {
  (void)state;
  static const bf_analyze_options bad[] = {
      {.block = {0, 1, 1}},
      {.block = {1024, 2, 1}},
      {.block = {1, 1, 65}},
      {.block = {UINT32_MAX, UINT32_MAX, 1}},
      {.block = {16, 1, 1}, .grid = {4, 1, 1}, .has_block_index = true, .block_index = {4, 0, 0}},
  };
  bf_ptx_module *module = parse_body("");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    bf_analysis *analysis;
    bf_diagnostic diagnostic = {0};
    assert_int_equal(bf_analyze(module, bf_ptx_find(module, "k"), &bad[i], &analysis, &diagnostic),
                     BF_BAD_INPUT);
    assert_null(analysis);
    assert_true(diagnostic.message[0]);
  }
  bf_ptx_free(module);
}

static void jumps_into_loops_are_refused(void **state) {
  (void)state;
  bf_ptx_module *module = parse_body("setp.eq.u32 %p0, %r1, 0; @%p0 bra b;a: add.u32 %r1, %r1, 1;"
                                     "b: add.u32 %r1, %r1, 2; setp.lt.u32 %p0, %r1, 9;"
                                     "@%p0 bra a;");
  bf_analyze_options options = {.block = {16, 1, 1}};
  bf_analysis *analysis;
  bf_diagnostic diagnostic = {0};
  assert_int_equal(bf_analyze(module, bf_ptx_find(module, "k"), &options, &analysis, &diagnostic),
                   BF_UNSUPPORTED);
  assert_string_equal(diagnostic.file, "test");
  assert_true(diagnostic.line > 0);
  bf_ptx_free(module);
}

/* A loop of 2^31 iterations is not gone through, and is said to be too long. */
static void long_loops_are_cut_short(void **state) {
  (void)state;
  bf_ptx_module *module =
      parse_body("mov.u32 %r4, 0;l: and.b32 %r5, %r4, 1020; add.u32 %r5, %r5, %r0;"
                 "st.shared.u32 [%r5], %r1; add.u32 %r4, %r4, 1; setp.lt.u32 %p0, %r4, 2147483647;"
                 "@%p0 bra l;");
  bf_analyze_options options = {.block = {32, 32, 1}};
  bf_analysis *analysis = analyze(module, "k", &options);
  expect_unknowns(&analysis->site[0],
                  "offset: the number of the iteration of the loop at line 10\n"
                  "count: the loop at line 10, which is too long to go through\n");
  bf_analysis_free(analysis);
  bf_ptx_free(module);
}

/* A kernel that has too many steps for the limit is gone through once more with its loops as a
 * whole: addresses stay known, and what is outside of loops stays exact. */
static void long_kernels_keep_their_addresses(void **state) {
  (void)state;
  bf_text body = {0};
  bf_text_puts(&body, "mov.u32 %r6, %tid.x; shl.b32 %r5, %r6, 3; st.shared.u32 [%r5], %r1;");
  for (unsigned i = 0; i < 20; i++)
    bf_text_addf(&body,
                 "mov.u32 %%r4, 0;l%u: st.shared.u32 [%%r5+%u], %%r1; add.u32 %%r4, %%r4, 1;"
                 "setp.lt.u32 %%p0, %%r4, 30; @%%p0 bra l%u;",
                 i, 4 * i, i);
  bf_ptx_module *module = parse_body(body.data);
  bf_analyze_options options = {.block = {32, 1, 1}, .most_steps = 400};
  bf_analysis *analysis = analyze(module, "k", &options);
  assert_true(analysis->is_cut);
  assert_int_equal(analysis->sites, 21);
  assert_true(analysis->site[0].is_exact);
  expect_unknowns(&analysis->site[20],
                  "count: the loop at line 108, which is too long to go through\n");
  assert_int_equal(analysis->site[20].access[0].address[3], 24 + 76);
  bf_analysis_free(analysis);
  bf_ptx_free(module);
  bf_text_free(&body);
}

/* ---- Compiled kernels ---- */

static bf_ptx_module *patterns(void) {
  FILE *file = fopen("tests/data/analyze/patterns.ptx", "rb");
  assert_non_null(file);
  static char text[1 << 16];
  size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = '\0';
  return parse(text);
}

/* Goes through the accesses of a site in order. */
typedef struct cursor {
  const bf_analyze_site *site;
  size_t at;
  unsigned threads;
} cursor;

/* The next accesses are those of one execution: element(thread) where it is not negative, in
 * elements of 4 bytes from base on. */
static void expect_execution(cursor *c, uint32_t base, const int64_t *element) {
  for (unsigned warp = 0; warp * 32 < c->threads; warp++) {
    uint32_t mask = 0;
    for (unsigned i = 0; i < 32 && warp * 32 + i < c->threads; i++)
      if (element[warp * 32 + i] >= 0)
        mask |= 1u << i;
    if (mask == 0)
      continue;
    assert_true(c->at < c->site->accesses);
    const bf_analyze_access *access = &c->site->access[c->at++];
    assert_int_equal(access->warp, warp);
    assert_int_equal(access->mask, mask);
    for (unsigned i = 0; i < 32; i++)
      if (mask >> i & 1)
        assert_int_equal(access->address[i], base + 4 * element[warp * 32 + i]);
  }
}

static void expect_end(const cursor *c) { assert_int_equal(c->at, c->site->accesses); }

static void a_reduction_is_fully_known(void **state) {
  (void)state;
  bf_ptx_module *module = patterns();
  bf_analyze_options options = {.block = {256, 1, 1}};
  bf_analysis *analysis = analyze(module, "reduce", &options);
  assert_int_equal(analysis->sites, 5);
  cursor low = {&analysis->site[1], 0, 256}, high = {&analysis->site[2], 0, 256};
  for (int64_t stride = 1; stride < 256; stride *= 2) {
    int64_t first[256], second[256];
    for (int64_t t = 0; t < 256; t++) {
      bool is_active = 2 * stride * t < 256;
      first[t] = is_active ? 2 * stride * t : -1;
      second[t] = is_active ? 2 * stride * t + stride : -1;
    }
    expect_execution(&low, 0, first);
    expect_execution(&high, 0, second);
  }
  expect_end(&low);
  expect_end(&high);
  for (uint32_t i = 0; i < analysis->sites; i++)
    assert_true(analysis->site[i].is_exact);
  bf_analysis_free(analysis);
  bf_ptx_free(module);
}

/* With its length given, a Walsh transform is known; without, its address is not. */
static void a_walsh_transform_needs_its_length(void **state) {
  (void)state;
  bf_ptx_module *module = patterns();
  const bf_ptx_function *kernel = bf_ptx_find(module, "walsh");
  uint64_t offset, bytes;
  assert_true(bf_analyze_parameter(kernel, 1, &offset, &bytes));
  assert_false(bf_analyze_parameter(kernel, 2, &offset, &bytes));
  assert_true(bf_analyze_parameter(kernel, 1, &offset, &bytes));
  assert_int_equal(offset, 8);
  assert_int_equal(bytes, 4);
  uint8_t parameter[16] = {[8] = 9}, is_known[16] = {[8] = 1, [9] = 1, [10] = 1, [11] = 1};
  bf_analyze_options options = {.block = {128, 1, 1}};
  options.parameter = parameter;
  options.is_known = is_known;
  options.parameter_bytes = sizeof parameter;
  bf_analysis *analysis = analyze(module, "walsh", &options);
  assert_int_equal(analysis->sites, 6);
  cursor low = {&analysis->site[2], 0, 128}, high = {&analysis->site[1], 0, 128};
  for (int64_t stride = 256; stride >= 1; stride >>= 1)
    for (int64_t round = 0; round < 2; round++) {
      int64_t first[128], second[128];
      for (int64_t t = 0; t < 128; t++) {
        int64_t p = t + 128 * round, bottom = p & (stride - 1);
        first[t] = 2 * (p - bottom) + bottom;
        second[t] = first[t] + stride;
      }
      expect_execution(&low, 0, first);
      expect_execution(&high, 0, second);
    }
  expect_end(&low);
  expect_end(&high);
  bf_analysis_free(analysis);
  options.parameter = NULL;
  analysis = analyze(module, "walsh", &options);
  assert_false(analysis->site[1].is_exact);
  assert_int_equal(analysis->site[1].accesses, 0);
  assert_int_equal(analysis->site[1].unknown[0].kind, BF_UNKNOWN_ADDRESS);
  bf_analysis_free(analysis);
  bf_ptx_free(module);
}

static void diagonals_have_their_lanes(void **state) {
  (void)state;
  bf_ptx_module *module = patterns();
  bf_analyze_options options = {.block = {16, 1, 1}};
  bf_analysis *analysis = analyze(module, "diagonals", &options);
  assert_int_equal(analysis->sites, 6);
  cursor store = {&analysis->site[4], 0, 16};
  for (int64_t k = 0; k < 16; k++) {
    int64_t element[16];
    for (int64_t t = 0; t < 16; t++)
      element[t] = t <= k ? 17 * (k - t + 1) + t + 1 : -1;
    expect_execution(&store, 0, element);
  }
  expect_end(&store);
  bf_analysis_free(analysis);
  bf_ptx_free(module);
}

static void swizzles_are_evaluated(void **state) {
  (void)state;
  bf_ptx_module *module = patterns();
  bf_analyze_options options = {.block = {128, 1, 1}};
  bf_analysis *analysis = analyze(module, "swizzle", &options);
  assert_int_equal(analysis->sites, 2);
  cursor load = {&analysis->site[1], 0, 128};
  assert_false(load.site->is_affine);
  for (int64_t round = 0; round < 8; round++) {
    int64_t element[128];
    for (int64_t t = 0; t < 128; t++)
      element[t] = t % 32 * 32 + (t % 32 ^ (t / 32 + 4 * round));
    expect_execution(&load, 0, element);
  }
  expect_end(&load);
  bf_analysis_free(analysis);
  bf_ptx_free(module);
}

/* Votes on data are unknown; calls are noted; a choice of buffers is an offset. */
static void what_is_not_known_is_named(void **state) {
  (void)state;
  bf_ptx_module *module = patterns();
  bf_analyze_options options = {.block = {128, 1, 1}};
  bf_analysis *analysis = analyze(module, "votes", &options);
  assert_int_equal(analysis->sites, 3);
  assert_true(analysis->site[0].is_exact && analysis->site[2].is_exact);
  assert_int_equal(analysis->site[1].op, BF_OP_RED);
  assert_int_equal(analysis->site[1].unknown[0].kind, BF_UNKNOWN_ADDRESS);
  bf_analysis_free(analysis);
  analysis = analyze(module, "choose", &options);
  assert_int_equal(analysis->notes, 1);
  assert_non_null(strstr(analysis->note[0], "sum16"));
  expect_unknowns(&analysis->site[0], "offset: parameter 1\n");
  bf_analysis_free(analysis);
  bf_ptx_free(module);
}

/* Accesses to shared memory may be missed in functions that are not followed, and behind generic
 * addresses that nothing is known of. */
static void what_may_be_missed_is_said(void **state) {
  (void)state;
  static const struct {
    const char *function, *kernel;
    bool is_blind;
  } cases[] = {{"add.u64 %rd1, %rd1, 1;", "call f, (%rd1);", false},
               {"ld.u32 %r1, [%rd1];", "call f, (%rd1);", true},
               {"ld.global.u32 %r1, [%rd1];", "call f, (%rd1);", false},
               {"ld.u32 %r1, [%rd1];", "ld.global.u32 %r1, [%rd1];", false},
               {"", "ld.u32 %r1, [%rd1];", true}};
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_text text = {0};
    bf_ptx_module *module;
    bf_diagnostic diagnostic;
    bf_text_addf(&text,
                 ".version 8.0\n.target sm_90\n.address_size 64\n.shared .b8 s[64];\n"
                 ".func f(.param .b64 p)\n{\n.reg .b32 %%r<2>;\n.reg .b64 %%rd<2>;\n"
                 "ld.param.u64 %%rd1, [p];\n%s\nret;\n}\n"
                 ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %%r<2>;\n.reg .b64 %%rd<2>;\n"
                 "ld.param.u64 %%rd1, [p];\nst.shared.u32 [s], 0;\n%s\nret;\n}\n",
                 cases[i].function, cases[i].kernel);
    int error = bf_ptx_parse("k.ptx", text.data, text.size, &module, &diagnostic);
    if (error)
      fail_msg("%s", diagnostic.message);
    bf_analyze_options options = {.block = {32, 1, 1}};
    bf_analysis *analysis = analyze(module, "k", &options);
    assert_int_equal(analysis->is_blind, cases[i].is_blind);
    bf_analysis_free(analysis);
    bf_ptx_free(module);
    bf_text_free(&text);
  }
}

/* What is known of an address stays in it where an offset is not known: it is still in its array.
 */
static void addresses_stay_in_their_arrays(void **state) {
  (void)state;
  static const char text[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n"
      ".shared .b8 first[4096];\n.shared .b8 second[4096];\n.reg .b32 %r<8>;\n"
      "st.shared.u32 [first], 0;\nmov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nmov.u32 %r3, "
      "second;\n"
      "mad.lo.u32 %r4, %r2, 4, %r3;\nmad.lo.u32 %r4, %r1, 4, %r4;\nld.shared.u32 %r5, [%r4];\n"
      "add.u32 %r4, %r4, -8192;\nld.shared.u32 %r5, [%r4];\nret;\n}\n";
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_ptx_parse("k.ptx", text, strlen(text), &module, &diagnostic), BF_OK);
  bf_analyze_options options = {.block = {32, 1, 1}};
  bf_analysis *analysis = analyze(module, "k", &options);
  assert_int_equal(analysis->sites, 3);
  assert_int_equal(analysis->site[1].access[0].address[3], 4096 + 12);
  assert_int_equal(analysis->site[2].access[0].address[3], 12); /* not negative */
  bf_analysis_free(analysis);
  bf_ptx_free(module);
}

/* The certainty of site number `site` of a kernel of the patterns, as much as can be said. */
static bf_analyze_certainty certainty(const bf_ptx_module *module, const char *kernel,
                                      const bf_analyze_options *options, uint32_t site,
                                      size_t *accesses, uint32_t *strays) {
  bf_analysis *analysis;
  assert_int_equal(
      bf_analyze_assuming(module, bf_ptx_find(module, kernel), options, &analysis, NULL), BF_OK);
  bf_analyze_certainty found = analysis->site[site].certainty;
  assert_int_equal(analysis->site[site].is_exact, found <= BF_CERTAIN_LAUNCH);
  *accesses = analysis->site[site].accesses;
  *strays = bf_analysis_strays(analysis);
  bf_analysis_free(analysis);
  return found;
}

/* What holds for all values, what a launch tells, and what is assumed; a block that is too large
 * leaves arrays. */
static void as_much_is_said_as_can_be(void **state) {
  (void)state;
  bf_ptx_module *module = patterns();
  uint8_t parameter[16] = {[8] = 9}, known[16];
  size_t accesses;
  uint32_t strays;
  memset(known, 1, sizeof known);
  bf_analyze_options options = {.block = {128, 1, 1}};
  assert_int_equal(certainty(module, "votes", &options, 0, &accesses, &strays), BF_CERTAIN_FOR_ALL);
  assert_int_equal(certainty(module, "votes", &options, 1, &accesses, &strays), BF_CERTAIN_ASSUMED);
  assert_true(accesses > 0 && strays == 0);
  assert_int_equal(certainty(module, "walsh", &options, 2, &accesses, &strays), BF_CERTAIN_ASSUMED);
  assert_int_equal(strays, 0);
  options.parameter = parameter;
  options.is_known = known;
  options.parameter_bytes = sizeof parameter;
  assert_int_equal(certainty(module, "walsh", &options, 2, &accesses, &strays), BF_CERTAIN_LAUNCH);
  options = (bf_analyze_options){.block = {1024, 1, 1}};
  certainty(module, "diagonals", &options, 0, &accesses, &strays);
  assert_true(strays > 0);
  bf_ptx_free(module);
}

/* What each access costs can hold for all values although it is not known how often it is executed,
 * at which offset or by which lanes: strides without conflicts in any lanes; 8 bytes by the first
 * or the last lanes, which a comparison tells, but not by those that data tells, as lanes 0 and 16
 * would meet in one bank; a column, in a loop, by all lanes, but not by some. */
static void what_each_access_costs_is_settled(void **state) {
  (void)state;
  static const char text[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".entry k(.param .u32 n, .param .u64 p) {\n"
      ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<4>; .shared .align 8 .b8 s[16384];\n"
      "ld.param.u32 %r1, [n]; ld.param.u64 %d1, [p]; mov.u32 %r2, %tid.x; mov.u32 %r3, s;\n"
      "mad.lo.u32 %r4, %r2, 4, %r3; mad.lo.u32 %r5, %r2, 8, %r3; mad.lo.u32 %r6, %r2, 128, %r3;\n"
      "cvt.u64.u32 %d2, %r4; add.u64 %d1, %d1, %d2; ld.global.u32 %r7, [%d1];\n"
      "setp.lt.s32 %p1, %r2, %r1; setp.lt.s32 %p2, %r7, %r2;\n"
      "@%p1 ld.shared.u32 %r0, [%r4];\n"
      "@%p1 ld.shared.u64 %d0, [%r5];\n"
      "@!%p1 ld.shared.u64 %d0, [%r5];\n"
      "@%p2 ld.shared.u64 %d0, [%r5];\n"
      "loop: ld.shared.u32 %r0, [%r6];\n"
      "@%p1 ld.shared.u32 %r0, [%r6];\n"
      "add.u32 %r6, %r6, 4; sub.u32 %r1, %r1, 1; setp.ne.u32 %p3, %r1, 0; @%p3 bra loop; ret; }\n";
  static const bool is_settled[] = {true, true, true, false, true, false};
  bf_machine *machine;
  bf_ptx_module *module;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  assert_int_equal(bf_ptx_parse("test", text, strlen(text), &module, NULL), BF_OK);
  bf_analyze_options options = {.block = {32, 1, 1}, .machine = machine};
  bf_analysis *analysis = analyze(module, "k", &options);
  assert_int_equal(analysis->sites, 6);
  for (unsigned i = 0; i < 6; i++) {
    assert_int_equal(analysis->site[i].is_settled, is_settled[i]);
    assert_false(analysis->site[i].is_exact);
    assert_int_equal(analysis->site[i].certainty,
                     is_settled[i] ? BF_CERTAIN_FOR_ALL : BF_CERTAIN_ASSUMED);
  }
  bf_analysis_free(analysis);
  options.machine = NULL;
  analysis = analyze(module, "k", &options);
  assert_false(analysis->site[0].is_settled);
  bf_analysis_free(analysis);
  bf_ptx_free(module);
  bf_machine_free(machine);
}

/* Values of parameters, by name and by number; what is no value is refused. */
static void given_parameters_are_read(void **state) {
  (void)state;
  static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                             ".entry k(.param .u32 n, .param .u64 p, .param .b8 s[12]) { ret; }\n";
  static const char *const bad[] = {"n", "n=", "n=x", "m=1", "3=1", "s=1", "n=1;p=2"};
  bf_ptx_module *module;
  bf_analyze_given given = {0};
  bf_diagnostic diagnostic;
  assert_int_equal(bf_ptx_parse("test", text, strlen(text), &module, &diagnostic), BF_OK);
  const bf_ptx_function *kernel = bf_ptx_find(module, "k");
  assert_int_equal(bf_analyze_read_given(kernel, "n=258,1=-2", &given, &diagnostic), BF_OK);
  assert_int_equal(given.size, 28);
  assert_true(given.bytes[0] == 2 && given.bytes[1] == 1 && given.is_known[3]);
  assert_true(!given.is_known[4] && given.bytes[8] == 254 && given.bytes[15] == 255);
  assert_false(given.is_known[16]);
  bf_analyze_given_free(&given);
  assert_int_equal(bf_analyze_read_given(kernel, NULL, &given, &diagnostic), BF_OK);
  assert_false(given.is_known[0]);
  bf_analyze_given_free(&given);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(bf_analyze_read_given(kernel, bad[i], &given, &diagnostic), BF_BAD_INPUT);
    bf_analyze_given_free(&given);
  }
  bf_ptx_free(module);
}

/* Those that branches and addresses of shared memory are computed from, and no others. */
static void deciding_parameters_are_found(void **state) {
  (void)state;
  static const char text[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u32 n, .param .f32 scale, .param .align 8 .b8 "
      "both[16], .param .u64 length) {\n"
      ".reg .b32 %r<6>; .reg .b64 %rd<5>; .reg .f32 %f<4>; .reg .pred %p<4>;\n"
      ".shared .align 4 .b8 s[4096];\n"
      "ld.param.u64 %rd1, [in]; cvta.to.global.u64 %rd2, %rd1;\n"
      "ld.param.u32 %r1, [n]; ld.param.f32 %f1, [scale]; ld.param.u32 %r2, [both+4];\n"
      "ld.param.u64 %rd3, [length]; ld.global.u32 %r3, [%rd2]; setp.eq.u32 %p1, %r3, 0;\n"
      "@%p1 bra done;\n"                                  /* data, by a pointer */
      "setp.lt.u64 %p2, %rd3, 100; @%p2 bra done;\n"      /* length */
      "shl.b32 %r4, %r2, 2; st.shared.u32 [%r4], %r3;\n"  /* the second half of both */
      "cvt.rn.f32.u32 %f2, %r1; mul.f32 %f3, %f1, %f2;\n" /* n and scale are data */
      "st.global.f32 [%rd2], %f3;\n"
      "done: ret;\n}\n";
  bf_diagnostic diagnostic = {.caret = -1};
  bf_analyze_given given = {0};
  bf_ptx_module *module;
  uint8_t expected[40] = {0};
  memset(expected + 20, 1, 4);
  memset(expected + 32, 1, 8);
  assert_int_equal(bf_ptx_parse("test", text, strlen(text), &module, &diagnostic), BF_OK);
  assert_int_equal(bf_analyze_find_deciding(bf_ptx_find(module, "k"), &given, &diagnostic), BF_OK);
  assert_int_equal(given.size, sizeof expected);
  assert_memory_equal(given.is_known, expected, sizeof expected);
  bf_analyze_given_free(&given);
  bf_ptx_free(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_are_kept_in_one_form),
      cmocka_unit_test(the_block_makes_operations_affine),
      cmocka_unit_test(unknown_parts_drop_out_of_masks),
      cmocka_unit_test(widths_change_without_loss),
      cmocka_unit_test(choices_are_made_thread_by_thread),
      cmocka_unit_test(operations_follow_the_isa),
      cmocka_unit_test(deep_expressions_stay_finite),
      cmocka_unit_test(written_kernels_give_their_formulas),
      cmocka_unit_test(costs_and_patterns_come_from_the_formula),
      cmocka_unit_test(bad_launches_are_refused),
      cmocka_unit_test(jumps_into_loops_are_refused),
      cmocka_unit_test(long_loops_are_cut_short),
      cmocka_unit_test(long_kernels_keep_their_addresses),
      cmocka_unit_test(a_reduction_is_fully_known),
      cmocka_unit_test(a_walsh_transform_needs_its_length),
      cmocka_unit_test(diagonals_have_their_lanes),
      cmocka_unit_test(swizzles_are_evaluated),
      cmocka_unit_test(what_is_not_known_is_named),
      cmocka_unit_test(what_may_be_missed_is_said),
      cmocka_unit_test(addresses_stay_in_their_arrays),
      cmocka_unit_test(as_much_is_said_as_can_be),
      cmocka_unit_test(copies_cost_nothing),
      cmocka_unit_test(what_each_access_costs_is_settled),
      cmocka_unit_test(given_parameters_are_read),
      cmocka_unit_test(deciding_parameters_are_found),
  };
  return cmocka_run_group_tests_name("analyze", tests, NULL, NULL);
}
