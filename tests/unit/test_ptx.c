/* Room ptx: the table of opcodes, what the parser makes of each form, printing back, control flow
 * against a naive reference, summaries, and every error message with its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ptx/block.h"
#include "ptx/extract.h"
#include "ptx/ptx.h"
#include "random.h"

#include <glob.h>

/* ---- Help ---- */

static bf_ptx_module *parse_text(const char *text) {
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  if (bf_ptx_parse("test", text, strlen(text), &module, &diagnostic) != BF_OK)
    fail_msg("%llu:%u: %s\n%s", (unsigned long long)diagnostic.line, diagnostic.column,
             diagnostic.message, diagnostic.excerpt);
  return module;
}

#define HEAD ".version 8.5\n.target sm_90\n.address_size 64\n"
#define BODY HEAD ".entry k(.param .u64 a)\n{\n"

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *data = malloc(*size + 1);
  assert_int_equal(fread(data, 1, *size, file), *size);
  data[*size] = 0;
  fclose(file);
  return data;
}

static bf_ptx_module *parse_file(const char *path) {
  size_t size;
  char *data = read_file(path, &size);
  bf_ptx_module *module = parse_text(data);
  free(data);
  return module;
}

/* ---- Kernels alone ---- */

/* Extracts a kernel: its PTX, which parses, or NULL where it cannot stand alone. */
static char *extract(const char *text, const char *kernel) {
  bf_ptx_module *module = parse_text(text);
  bf_text made = {0};
  bool is_alone;
  assert_int_equal(bf_ptx_extract(module, kernel, &made, &is_alone, NULL), BF_OK);
  bf_ptx_free(module);
  assert_int_equal(is_alone, made.size > 0);
  if (is_alone)
    bf_ptx_free(parse_text(made.data));
  return made.data;
}

static void test_extract(void **state) {
  (void)state;
  static const char text[] =
      HEAD ".global .u32 counter;\n.const .u32 table[4];\n.shared .b8 used[64];\n.shared .b8 "
           "other[64];\n"
           ".func deep()\n{\n\tst.shared.u32 [used], 1;\n\tret;\n}\n"
           ".func middle()\n{\n\tcall deep;\n\tret;\n}\n"
           ".func counts()\n{\n\tred.global.add.u32 [counter], 1;\n\tret;\n}\n"
           ".entry alone()\n{\n\tcall middle;\n\tret;\n}\n"
           ".entry shares()\n{\n\tcall counts;\n\tret;\n}\n"
           ".entry reads()\n{\n\t.reg .u32 %r;\n\tld.const.u32 %r, [table+4];\n\tret;\n}\n"
           ".entry none()\n{\n\tret;\n}\n"
           ".global .b8 $str$1[3] = {104, 105};\n.global .b8 other_text[3] = {104, 105};\n"
           ".entry prints()\n{\n\t.reg .u64 %r;\n\tmov.u64 %r, $str$1;\n\tret;\n}\n"
           ".entry writes()\n{\n\t.reg .u64 %r;\n\tmov.u64 %r, other_text;\n\tret;\n}\n";
  char *made = extract(text, "alone");
  for (const char *const *name =
           (const char *const[]){"deep()", "middle()", "alone()", "used[", NULL};
       *name; name++)
    assert_non_null(strstr(made, *name));
  for (const char *const *name =
           (const char *const[]){"other", "counts", "shares", "none", "counter", NULL};
       *name; name++)
    assert_null(strstr(made, *name));
  free(made);
  free(extract(text, "none"));
  made = extract(text, "prints"); /* text of the compiler, which nobody writes to */
  assert_non_null(strstr(made, "$str$1[3] = "));
  free(made);
  assert_null(extract(text, "writes"));
  assert_null(extract(text, "shares"));
  assert_null(extract(text, "reads"));
  assert_null(extract(
      ".version 8.5\n.target sm_90, debug\n.address_size 64\n.entry k()\n{\n\tret;\n}\n", "k"));
  bf_ptx_module *module = parse_text(text);
  bool is_alone;
  assert_int_equal(bf_ptx_extract(module, "middle", NULL, &is_alone, NULL), BF_BAD_INPUT);
  assert_int_equal(bf_ptx_extract(module, "missing", NULL, &is_alone, NULL), BF_BAD_INPUT);
  bf_ptx_free(module);
}

/* ---- Opcodes ---- */

static void test_opcodes_in_order(void **state) {
  (void)state;
  for (unsigned i = 0; i < BF_PTX_OPCODE_COUNT; i++) {
    const bf_ptx_op *op = bf_ptx_op_get((bf_ptx_opcode)i);
    if (i > 0)
      assert_true(strcmp(bf_ptx_op_get((bf_ptx_opcode)(i - 1))->name, op->name) < 0);
    assert_int_equal(bf_ptx_op_find(op->name), i);
    assert_true(op->meaning[0] != 0);
  }
  assert_int_equal(bf_ptx_op_find("frobnicate"), -1);
  assert_int_equal(bf_ptx_op_find(""), -1);
}

/* The opcodes that real kernels use. */
static void test_common_opcodes(void **state) {
  (void)state;
  static const char *const names[] = {
      "abs",   "activemask", "add",  "addc",     "and",      "atom",  "bar",       "barrier",
      "bfi",   "bfind",      "bmsk", "bra",      "brev",     "call",  "clz",       "copysign",
      "cos",   "cp",         "cvt",  "cvta",     "div",      "dp4a",  "ex2",       "exit",
      "fence", "fma",        "ld",   "lg2",      "mad",      "madc",  "match",     "max",
      "mov",   "mbarrier",   "min",  "membar",   "mul",      "mul24", "nanosleep", "neg",
      "not",   "or",         "popc", "prmt",     "rcp",      "red",   "redux",     "rem",
      "ret",   "rsqrt",      "selp", "setp",     "shf",      "shfl",  "shl",       "shr",
      "sin",   "sqrt",       "st",   "sub",      "subc",     "tex",   "trap",      "vabsdiff4",
      "vote",  "wmma",       "xor",  "ldmatrix", "stmatrix", "mma",   "wgmma",     "elect",
      "brx",   "lop3",       "bfe",  "dp2a",     "tanh",     "testp", "isspacep",  "prefetch",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (bf_ptx_op_find(names[i]) < 0)
      fail_msg("no opcode %s", names[i]);
}

/* ---- Printing back ---- */

static void check_identity(const bf_ptx_module *module, const char *name) {
  bf_text text = {0};
  bool equal;
  bf_ptx_print(module, &text);
  bf_ptx_module *again = parse_text(text.data);
  assert_int_equal(bf_ptx_equal(module, again, &equal), BF_OK);
  if (!equal)
    fail_msg("%s is not the same once printed and parsed", name);
  bf_ptx_free(again);
  bf_text_free(&text);
}

/* An offset of 0 is printed where one was written: in code for the debugger ptxas adds it. */
static void test_offset_of_zero(void **state) {
  (void)state;
  bf_text text = {0};
  bf_ptx_module *module =
      parse_text(".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n"
                 ".reg .u32 %r<3>;\n.reg .u64 %d;\nld.u32 %r1, [%d+0];\n"
                 "ld.u32 %r2, [%d];\nst.u32 [%d+4], %r1;\nret;\n}\n");
  bf_ptx_print(module, &text);
  assert_non_null(strstr(text.data, "%r1, [%d+0];"));
  assert_non_null(strstr(text.data, "%r2, [%d];"));
  assert_non_null(strstr(text.data, "[%d+4], %r1;"));
  bf_ptx_free(module);
  bf_text_free(&text);
}

/* ---- Control flow against a definition: p post-dominates b if the exit cannot be reached from b
 * once p is taken away ---- */

static bool reaches_exit(const bf_ptx_flow *flow, uint32_t from, uint32_t without, bool *visited) {
  if (from == flow->blocks)
    return true;
  if (from == without || visited[from])
    return false;
  visited[from] = true;
  for (uint32_t i = 0; i < flow->block[from].successors; i++)
    if (reaches_exit(flow, flow->block[from].successor[i], without, visited))
      return true;
  return false;
}

static bool reaches(const bf_ptx_flow *flow, uint32_t from, uint32_t without) {
  bool *visited = calloc(flow->blocks + 1, 1);
  bool result = reaches_exit(flow, from, without, visited);
  free(visited);
  return result;
}

static bool all_reach_exit(const bf_ptx_flow *flow) {
  for (uint32_t i = 0; i < flow->blocks; i++)
    if (!reaches(flow, i, UINT32_MAX))
      return false;
  return true;
}

/* The post-dominator given is one, and no block between is. */
static void check_post_dominator(const bf_ptx_flow *flow, uint32_t block) {
  uint32_t given = flow->block[block].post_dominator;
  assert_int_not_equal(given, block);
  for (uint32_t other = 0; other < flow->blocks; other++) {
    if (other == block)
      continue;
    bool dominates = !reaches(flow, block, other);
    if (other == given)
      assert_true(dominates);
    else if (dominates) /* further away: it also post-dominates the one given */
      assert_true(given != flow->blocks && !reaches(flow, given, other));
  }
}

static void check_blocks(const bf_ptx_function *function, const bf_ptx_flow *flow) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < flow->blocks; i++) {
    assert_int_equal(flow->block[i].first, at);
    assert_true(flow->block[i].end > at);
    for (; at < flow->block[i].end; at++)
      assert_int_equal(flow->block_of[at], i);
  }
  assert_int_equal(at, function->instructions);
}

static void check_flow(const bf_ptx_function *function) {
  bf_ptx_flow *flow;
  assert_int_equal(bf_ptx_flow_create(function, &flow, NULL), BF_OK);
  check_blocks(function, flow);
  if (all_reach_exit(flow))
    for (uint32_t i = 0; i < flow->blocks; i++)
      check_post_dominator(flow, i);
  bf_ptx_flow_free(flow);
}

static void test_corpus(void **state) {
  (void)state;
  glob_t found;
  assert_int_equal(glob("tests/data/ptx/*.ptx", 0, NULL, &found), 0);
  assert_true(found.gl_pathc >= 20);
  for (size_t i = 0; i < found.gl_pathc; i++) {
    bf_ptx_module *module = parse_file(found.gl_pathv[i]);
    check_identity(module, found.gl_pathv[i]);
    for (const bf_ptx_item *item = module->first; item; item = item->next)
      if (item->kind == BF_PTX_ITEM_FUNCTION)
        check_flow(item->function);
    bf_ptx_free(module);
  }
  globfree(&found);
}

/* Functions of random branches, exits and loops, some of them endless. */
static void test_random_flow(void **state) {
  (void)state;
  test_random random = {7};
  for (int round = 0; round < 300; round++) {
    bf_text text = {0};
    unsigned labels = 2 + (unsigned)(random_below(&random, 12));
    bf_text_puts(&text, BODY ".reg .pred p;\n.reg .u32 i;\n");
    for (unsigned i = 0; i < labels; i++) {
      static const char *const kinds[] = {"bra L%u;",      "@p bra L%u;",       "@!p bra L%u;",
                                          "@p exit; //%u", "add.u32 i, i, %u;", "ret; //%u"};
      unsigned kind = (unsigned)(random_below(&random, 6)),
               to = (unsigned)(random_below(&random, labels));
      bf_text_addf(&text, "L%u: ", i);
      bf_text_addf(&text, kinds[kind], to);
      bf_text_puts(&text, "\n");
    }
    bf_text_puts(&text, "}\n");
    bf_ptx_module *module = parse_text(text.data);
    check_flow(bf_ptx_find(module, "k"));
    bf_ptx_free(module);
    bf_text_free(&text);
  }
}

static void test_branch_table(void **state) {
  (void)state;
  bf_ptx_module *module = parse_text(BODY ".reg .u32 i;\n"
                                          "t: .branchtargets A, B, A, C;\n"
                                          "brx.idx i, t;\n" /* block 0 */
                                          "A: bra.uni C;\n" /* block 1 */
                                          "B: trap;\n"      /* block 2 */
                                          "C: ret;\n}\n");  /* block 3 */
  bf_ptx_flow *flow;
  assert_int_equal(bf_ptx_flow_create(bf_ptx_find(module, "k"), &flow, NULL), BF_OK);
  assert_int_equal(flow->blocks, 4);
  assert_int_equal(flow->block[0].successors, 3);
  assert_int_equal(flow->block[0].successor[1], 2);
  assert_int_equal(flow->block[0].post_dominator, 4);
  assert_int_equal(flow->block[1].post_dominator, 3);
  bf_ptx_flow_free(flow);
  bf_ptx_free(module);
}

static void test_endless_loop(void **state) {
  (void)state;
  bf_ptx_module *module = parse_text(BODY ".reg .pred p;\n@p bra E;\nL: bra L;\nE: ret;\n}\n");
  bf_ptx_flow *flow;
  assert_int_equal(bf_ptx_flow_create(bf_ptx_find(module, "k"), &flow, NULL), BF_OK);
  assert_int_equal(flow->blocks, 3);
  for (uint32_t i = 0; i < 3; i++)
    assert_int_equal(flow->block[i].post_dominator, 3);
  bf_ptx_flow_free(flow);
  bf_ptx_free(module);
}

/* ---- What instructions become ---- */

/* Instruction number index of kernel k in a body of these statements. */
static const bf_ptx_instruction *only(bf_ptx_module *module, uint32_t index) {
  const bf_ptx_function *function = bf_ptx_find(module, "k");
  assert_true(index < function->instructions);
  return function->instruction[index];
}

static void test_instruction(void **state) {
  (void)state;
  bf_ptx_module *module = parse_text(BODY ".reg .pred %p<3>;\n.reg .f32 %f<5>;\n.reg .b32 %r<2>;\n"
                                          ".loc 1 20 3\n"
                                          "  @!%p2 ld.volatile.shared.v4.f32 {%f1, %f2, _, %f4}, "
                                          "[%r1+-16];\n}\n");
  const bf_ptx_instruction *ld = only(module, 0);
  assert_int_equal(ld->opcode, BF_PTX_OP_LD);
  assert_int_equal(ld->line, 10);
  assert_int_equal(ld->column, 9);
  assert_int_equal(ld->location->line, 20);
  assert_true(ld->guard->negated);
  assert_int_equal(ld->guard->index, 2);
  assert_int_equal(ld->modifiers, 4);
  assert_string_equal(ld->modifier[0], "volatile");
  assert_true(bf_ptx_has(ld, "v4") && !bf_ptx_has(ld, "v2"));
  assert_int_equal(ld->space, BF_PTX_SPACE_SHARED);
  assert_int_equal(ld->vector, 4);
  assert_int_equal(ld->types, 1);
  assert_int_equal(ld->type[0], BF_PTX_F32);
  assert_int_equal(ld->operands, 2);
  assert_int_equal(ld->operand[0].kind, BF_PTX_VECTOR);
  assert_int_equal(ld->operand[0].count, 4);
  assert_int_equal(ld->operand[0].item[2].kind, BF_PTX_SINK);
  assert_int_equal(ld->operand[1].kind, BF_PTX_ADDRESS);
  assert_int_equal(ld->operand[1].offset, -16);
  assert_string_equal(ld->operand[1].item[0].registers->name, "%r");
  assert_int_equal(ld->operand[0].item[0].registers->first, 3);
  bf_ptx_free(module);
}

typedef struct constant {
  const char *text;
  bf_ptx_operand_kind kind;
  uint64_t bits;
} constant;

static void test_constants(void **state) {
  (void)state;
  static const constant constants[] = {
      {"0", BF_PTX_INTEGER, 0},
      {"-1", BF_PTX_INTEGER, UINT64_MAX},
      {"0xfF", BF_PTX_INTEGER, 255},
      {"017", BF_PTX_INTEGER, 15},
      {"0b101", BF_PTX_INTEGER, 5},
      {"12U", BF_PTX_INTEGER, 12},
      {"18446744073709551615", BF_PTX_INTEGER, UINT64_MAX},
      {"-9223372036854775808", BF_PTX_INTEGER, (uint64_t)1 << 63},
      {"2+3*4", BF_PTX_INTEGER, 14},
      {"(2+3)*4", BF_PTX_INTEGER, 20},
      {"7 % 4 - 5", BF_PTX_INTEGER, (uint64_t)-2},
      {"-7/2", BF_PTX_INTEGER, (uint64_t)-3},
      {"-1 >> 60", BF_PTX_INTEGER, UINT64_MAX},
      {"(.u64)-1 >> 60", BF_PTX_INTEGER, 15},
      {"-1 < 1", BF_PTX_INTEGER, 1},
      {"-1 < 1U", BF_PTX_INTEGER, 0},
      {"1 << 64", BF_PTX_INTEGER, 1},
      {"3 > 2 ? 10 : 20", BF_PTX_INTEGER, 10},
      {"!3 || 4 && 0", BF_PTX_INTEGER, 0},
      {"~5 & 0xf ^ 1 | 0x20", BF_PTX_INTEGER, 0x2b},
      {"0f3F800000", BF_PTX_FLOAT32, 0x3F800000},
      {"-0f3F800000", BF_PTX_FLOAT32, 0xBF800000},
      {"0d3ff0000000000000", BF_PTX_FLOAT64, 0x3ff0000000000000},
      {"1.5", BF_PTX_DECIMAL, 0x3ff8000000000000},
      {"-2e0", BF_PTX_DECIMAL, 0xc000000000000000},
  };
  for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
    char text[256];
    snprintf(text, sizeof text, BODY ".reg .b64 d;\nmov.b64 d, %s;\n}\n", constants[i].text);
    bf_ptx_module *module = parse_text(text);
    const bf_ptx_operand *operand = &only(module, 0)->operand[1];
    if (operand->kind != constants[i].kind || operand->bits != constants[i].bits)
      fail_msg("%s is kind %d, bits %llx", constants[i].text, operand->kind,
               (unsigned long long)operand->bits);
    check_identity(module, constants[i].text);
    bf_ptx_free(module);
  }
}

/* Inner scopes hide outer names; labels are looked for from the inside out, also further down. */
static void test_scopes(void **state) {
  (void)state;
  bf_ptx_module *module = parse_text(BODY ".reg .b32 r;\n.reg .pred p;\n"
                                          "{ .reg .b32 r; mov.b32 r, 1; L: @p bra L; bra M; }\n"
                                          "L: mov.b32 r, 2; bra L; M: ret;\n}\n");
  assert_int_equal(only(module, 0)->operand[0].registers->first, 2);
  assert_int_equal(only(module, 3)->operand[0].registers->first, 0);
  assert_int_equal(only(module, 1)->operand[0].symbol->instruction, 1);
  assert_int_equal(only(module, 2)->operand[0].symbol->instruction, 5);
  assert_int_equal(only(module, 4)->operand[0].symbol->instruction, 3);
  bf_ptx_free(module);
}

static void test_calls(void **state) {
  (void)state;
  bf_ptx_module *module = parse_file("tests/data/ptx/hand.ptx");
  const bf_ptx_function *forms = bf_ptx_find(module, "forms");
  unsigned calls = 0, prototypes = 0, targets = 0;
  for (uint32_t i = 0; i < forms->instructions; i++) {
    const bf_ptx_instruction *call = forms->instruction[i];
    if (call->opcode != BF_PTX_OP_CALL)
      continue;
    calls++;
    assert_int_equal(call->operands, 3);
    if (call->call_prototype) {
      prototypes += call->call_prototype->symbol->kind == BF_PTX_SYMBOL_PROTOTYPE;
      targets += call->call_prototype->symbol->kind == BF_PTX_SYMBOL_TARGETS;
    } else {
      assert_true(call->operand[1].symbol->function->has_body);
    }
  }
  assert_int_equal(calls, 3);
  assert_int_equal(prototypes, 1);
  assert_int_equal(targets, 1);
  bf_ptx_free(module);
}

/* ---- Summaries ---- */

static void test_summary(void **state) {
  (void)state;
  bf_ptx_module *module = parse_file("tests/data/ptx/hand.ptx");
  bf_ptx_summary summary = bf_ptx_summarise(module, bf_ptx_find(module, "forms"));
  assert_int_equal(summary.parameters, 3);
  assert_int_equal(summary.parameter_bytes, 36);
  assert_int_equal(summary.shared_bytes, 128);
  assert_true(summary.has_dynamic_shared);
  assert_int_equal(summary.shared_loads, 3);
  assert_int_equal(summary.shared_stores, 1);
  assert_int_equal(summary.shared_atomics, 2);
  assert_int_equal(summary.shared_copies, 1);
  assert_int_equal(summary.shared_accesses, 7);
  summary = bf_ptx_summarise(module, bf_ptx_find(module, "bare"));
  assert_int_equal(summary.instructions, 1);
  assert_int_equal(summary.shared_bytes, 0);
  assert_false(summary.has_dynamic_shared);
  bf_ptx_free(module);
}

#include "ptx_errors.h"

static void test_errors(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    const bad *e = &errors[i];
    bf_ptx_module *module;
    bf_diagnostic d;
    int error = bf_ptx_parse("test", e->text, strlen(e->text), &module, &d);
    if (error != BF_BAD_INPUT || d.line != e->line || d.column != e->column ||
        strcmp(d.message, e->message) != 0)
      fail_msg("error %d, %llu:%u: %s\nfor\n%s\nnot %llu:%u: %s", error, (unsigned long long)d.line,
               d.column, d.message, e->text, (unsigned long long)e->line, e->column, e->message);
    assert_null(module);
  }
}

static void test_zero_byte(void **state) {
  (void)state;
  bf_ptx_module *module;
  bf_diagnostic d;
  assert_int_equal(bf_ptx_parse("test", ".version 8.5\n.ta\0rget", 20, &module, &d), BF_BAD_INPUT);
  assert_int_equal(d.line, 2);
  assert_int_equal(d.column, 4);
}

/* Every beginning of a file parses or is refused with a place. */
static void test_truncated(void **state) {
  (void)state;
  size_t size;
  char *data = read_file("tests/data/ptx/hand.ptx", &size);
  for (size_t length = 0; length < size; length++) {
    bf_ptx_module *module;
    bf_diagnostic d = {0};
    char *part = malloc(length ? length : 1); /* exact, so that reading past the end shows */
    memcpy(part, data, length);
    if (bf_ptx_parse("test", part, length, &module, &d) != BF_OK)
      assert_true(d.line > 0 && d.column > 0 && d.message[0]);
    bf_ptx_free(module);
    free(part);
  }
  free(data);
}

/* Nesting is bounded, whatever nests. */
static void test_nesting(void **state) {
  (void)state;
  static const struct {
    const char *before, *open;
  } forms[] = {
      {BODY, "{"},
      {BODY ".reg .b32 r;\nmov.b32 r, ", "("},
      {BODY ".reg .b32 r;\nmov.b32 r, ", "-"},
      {BODY ".reg .b32 r;\nmov.b32 r, ", "{"},
      {BODY ".reg .b32 r;\nmov.b32 r, ", "["},
      {BODY ".reg .b32 r;\nmov.b32 r, ", "1?"},
      {BODY ".reg .b32 r;\nmov.b32 r, ", "1?2:"},
      {HEAD ".global .u32 a[1] = ", "{"},
      {HEAD ".global .u32 a = ", "~"},
  };
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    bf_text text = {0};
    bf_ptx_module *module;
    bf_diagnostic d;
    bf_text_puts(&text, forms[i].before);
    for (int k = 0; k < 100000; k++)
      bf_text_puts(&text, forms[i].open);
    assert_int_equal(bf_ptx_parse("test", text.data, text.size, &module, &d), BF_BAD_INPUT);
    assert_string_equal(d.message, "more than 64 levels of nesting");
    bf_text_free(&text);
  }
}

/* The block that a kernel requires, in as many parts as it names. */
static void test_required_block(void **state) {
  (void)state;
  bf_ptx_module *module = parse_text(HEAD ".entry a() .reqntid 32, 8 { ret; }\n"
                                          ".entry b() .maxntid 64 { ret; }\n");
  uint32_t block[3];
  assert_true(bf_ptx_required_block(bf_ptx_find(module, "a"), block));
  assert_true(block[0] == 32 && block[1] == 8 && block[2] == 1);
  assert_false(bf_ptx_required_block(bf_ptx_find(module, "b"), block));
  assert_true(block[0] == 0 && block[1] == 0 && block[2] == 0);
  bf_ptx_free(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_extract),        cmocka_unit_test(test_opcodes_in_order),
      cmocka_unit_test(test_common_opcodes), cmocka_unit_test(test_corpus),
      cmocka_unit_test(test_random_flow),    cmocka_unit_test(test_branch_table),
      cmocka_unit_test(test_endless_loop),   cmocka_unit_test(test_instruction),
      cmocka_unit_test(test_constants),      cmocka_unit_test(test_scopes),
      cmocka_unit_test(test_calls),          cmocka_unit_test(test_summary),
      cmocka_unit_test(test_errors),         cmocka_unit_test(test_zero_byte),
      cmocka_unit_test(test_truncated),      cmocka_unit_test(test_nesting),
      cmocka_unit_test(test_offset_of_zero), cmocka_unit_test(test_required_block),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
