/* Random kernels with longer rows: what the verifier accepts stores what the original stores.
 *
 * A kernel writes and reads one array at addresses made of rows and columns, in the ways in which
 * compilers write them, with subscripts that stay in their rows and others that do not. Some have
 * rows of another length than the padding is for. */
#include "verify.h"

#include "random.h"
#include "rewrite/rewrite.h"

enum { PROGRAMS = 3000, MOST_BLOCK = 256 };

typedef struct program {
  test_random random;
  bf_text text;
  unsigned registers, labels, predicates;
  unsigned row_words, rows;
  unsigned block[2];
  int counter; /* the register that counts turns of the loop around, or -1 */
} program;

static unsigned pick(program *p, unsigned below) {
  return (unsigned)random_below(&p->random, below);
}

static unsigned new_register(program *p) { return p->registers++; }

/* A column: a register. Most lie in a row. */
static unsigned put_column(program *p) {
  unsigned to = new_register(p), words = p->row_words, more = pick(p, 12) == 0;
  switch (pick(p, p->counter >= 0 ? 6 : 5)) {
  case 0:
    bf_text_addf(&p->text, "mov.u32 %%r%u, %%tid.x;\n", to);
    break;
  case 1:
    bf_text_addf(&p->text, "and.b32 %%r%u, %%r0, %u;\n", to, more ? 2 * words - 1 : words / 2 - 1);
    break;
  case 2:
    bf_text_addf(&p->text, "rem.u32 %%r%u, %%r0, %u;\n", to, words + more);
    break;
  case 3: {
    unsigned low = 1u << pick(p, 5), kept = new_register(p);
    bf_text_addf(&p->text, "and.b32 %%r%u, %%r0, %u;\nsub.s32 %%r%u, %%r0, %%r%u;\n", kept,
                 1023 & ~(low - 1), to, kept);
    break;
  }
  case 4:
    bf_text_addf(&p->text, "mov.u32 %%r%u, %u;\n", to, pick(p, words + more));
    break;
  default:
    bf_text_addf(&p->text, "mov.u32 %%r%u, %%r%d;\n", to, p->counter);
    break;
  }
  return to;
}

/* A row: a register. */
static unsigned put_row(program *p) {
  unsigned to = new_register(p);
  switch (pick(p, p->counter >= 0 ? 9 : 8)) {
  case 5: { /* a field above another, of which the lower may be too large */
    unsigned low = new_register(p), at = 1 + pick(p, 2);
    bf_text_addf(&p->text, "and.b32 %%r%u, %%r0, %u;\nbfi.b32 %%r%u, %%r1, %%r%u, %u, %u;\n", low,
                 (1u << (at + (pick(p, 8) == 0))) - 1, to, low, at, pick(p, 2) ? 32 - at : 2);
    break;
  }
  case 6: { /* backwards from the last row */
    unsigned back = new_register(p);
    bf_text_addf(&p->text, "neg.s32 %%r%u, %%r1;\nadd.s32 %%r%u, %%r%u, %u;\n", back, to, back,
                 p->rows - 1);
    break;
  }
  case 7: {
    unsigned back = new_register(p);
    bf_text_addf(&p->text, "not.b32 %%r%u, %%r1;\nadd.s32 %%r%u, %%r%u, %u;\n", back, to, back,
                 p->rows);
    break;
  }
  case 0:
    bf_text_addf(&p->text, "mov.u32 %%r%u, %%tid.y;\n", to);
    break;
  case 1:
    bf_text_addf(&p->text, "shr.u32 %%r%u, %%r0, %u;\n", to, pick(p, 5));
    break;
  case 2:
    bf_text_addf(&p->text, "and.b32 %%r%u, %%r0, %u;\n", to, pick(p, p->rows));
    break;
  case 3:
    bf_text_addf(&p->text, "mov.u32 %%r%u, %u;\n", to, pick(p, p->rows));
    break;
  case 4:
    bf_text_addf(&p->text, "add.s32 %%r%u, %%r1, %u;\n", to, pick(p, 4));
    break;
  default:
    bf_text_addf(&p->text, "mov.u32 %%r%u, %%r%d;\n", to, p->counter);
    break;
  }
  return to;
}

/* The address of a row and column: a register. */
static unsigned put_address(program *p) {
  unsigned row = put_row(p), column = put_column(p), words = p->row_words;
  unsigned a = new_register(p), b = new_register(p), c = new_register(p), to = new_register(p);
  switch (pick(p, 4)) {
  case 0:
    bf_text_addf(&p->text,
                 "mul.lo.s32 %%r%u, %%r%u, %u;\nadd.s32 %%r%u, %%r2, %%r%u;\n"
                 "shl.b32 %%r%u, %%r%u, 2;\nadd.s32 %%r%u, %%r%u, %%r%u;\n",
                 a, row, 4 * words, b, a, c, column, to, b, c);
    break;
  case 1:
    bf_text_addf(&p->text,
                 "mad.lo.s32 %%r%u, %%r%u, %u, %%r%u;\nshl.b32 %%r%u, %%r%u, 2;\n"
                 "add.s32 %%r%u, %%r%u, %%r2;\n",
                 a, row, words, column, b, a, to, b);
    break;
  case 2:
    bf_text_addf(&p->text,
                 "mul.lo.u32 %%r%u, %%r%u, %u;\nadd.u32 %%r%u, %%r%u, %%r%u;\n"
                 "mad.lo.u32 %%r%u, %%r%u, 4, %%r2;\n",
                 a, row, words, b, a, column, to, b);
    break;
  default:
    bf_text_addf(&p->text,
                 "mul.lo.s32 %%r%u, %%r%u, %u;\nshl.b32 %%r%u, %%r%u, 2;\n"
                 "%s %%r%u, %%r%u, %%r%u;\nadd.s32 %%r%u, %%r2, %%r%u;\n",
                 a, row, 4 * words, b, column, (words & (words - 1)) == 0 ? "or.b32" : "add.s32", c,
                 a, b, to, c);
    break;
  }
  return to;
}

/* A store or a load at an address and some offset. */
static void put_access(program *p, unsigned address) {
  unsigned offset = 0;
  if (pick(p, 3) == 0)
    offset = 4 * p->row_words * pick(p, 3);
  if (pick(p, 4) == 0)
    offset += 4 * pick(p, p->row_words);
  if (pick(p, 2))
    bf_text_addf(&p->text, "add.s32 %%r3, %%r3, 77;\nst.shared.u32 [%%r%u+%u], %%r3;\n", address,
                 offset);
  else
    bf_text_addf(&p->text, "ld.shared.u32 %%r4, [%%r%u+%u];\nmad.lo.s32 %%r3, %%r3, 5, %%r4;\n",
                 address, offset);
}

/* Accesses in a loop: of its counter, or by an address that goes on. */
static void put_loop(program *p) {
  unsigned turns = 1 + pick(p, 6), step = 1 + pick(p, 2), label = p->labels++, predicate = 1;
  unsigned counter = new_register(p), address = 0;
  bool goes_on = pick(p, 2);
  if (goes_on)
    address = put_address(p);
  bf_text_addf(&p->text, "mov.u32 %%r%u, 0;\nagain%u:\n", counter, label);
  p->counter = (int)counter;
  put_access(p, goes_on ? address : put_address(p));
  p->counter = -1;
  if (goes_on)
    bf_text_addf(&p->text, "add.s32 %%r%u, %%r%u, %u;\n", address, address,
                 pick(p, 3) ? 4 * p->row_words : 4);
  bf_text_addf(&p->text, "add.s32 %%r%u, %%r%u, %u;\nsetp.%s.s32 %%p%u, %%r%u, %u;\n", counter,
               counter, step, pick(p, 2) ? "lt" : "ne", predicate, counter, turns * step);
  bf_text_addf(&p->text, "@%%p%u bra again%u;\n", predicate, label);
}

/* An access that only some threads make. */
static void put_branch(program *p) {
  static const char *const relation[] = {"lt.u32", "ge.u32", "le.s32", "gt.u32"};
  unsigned label = p->labels++;
  bf_text_addf(&p->text, "setp.%s %%p2, %%r0, %u;\n@%s%%p2 bra over%u;\n", relation[pick(p, 4)],
               pick(p, 2 * p->row_words), pick(p, 2) ? "!" : "", label);
  put_access(p, put_address(p));
  bf_text_addf(&p->text, "over%u:\n", label);
}

/* An address that is one of two. */
static void put_choice(program *p) {
  unsigned label = p->labels++, to = new_register(p);
  bf_text_addf(&p->text, "setp.lt.u32 %%p3, %%r0, %u;\n@%%p3 bra one%u;\n", pick(p, 64), label);
  bf_text_addf(&p->text, "mov.u32 %%r%u, %%r%u;\nbra.uni both%u;\none%u:\n", to, put_address(p),
               label, label);
  unsigned other = put_address(p);
  bf_text_addf(&p->text, "mov.u32 %%r%u, %%r%u;\nboth%u:\n", to, other, label);
  put_access(p, to);
}

/* The text of a random kernel. */
static void make(program *p, uint64_t seed) {
  static const unsigned words[] = {4, 8, 16, 32, 6, 12};
  static const unsigned blocks[][2] = {{8, 4}, {16, 4}, {32, 2}, {32, 4}, {64, 1}, {4, 8}};
  *p = (program){.random = {seed * 2654435761u + 1}, .registers = 6, .counter = -1};
  p->row_words = words[pick(p, 6)];
  p->rows = 8u << pick(p, 4);
  memcpy(p->block, blocks[pick(p, 6)], sizeof p->block);
  char required[32] = "";
  if (pick(p, 3))
    snprintf(required, sizeof required, ".reqntid %u, %u", p->block[0], p->block[1]);
  bf_text_addf(&p->text,
               ".version 8.0\n.target sm_90\n.address_size 64\n"
               ".visible .entry k(.param .u64 out)%s\n{\n.shared .align 16 .b8 a[%u];\n"
               ".reg .pred %%p<8>;\n.reg .b32 %%r<400>;\n.reg .b64 %%rd<8>;\n"
               "mov.u32 %%r0, %%tid.x;\nmov.u32 %%r1, %%tid.y;\nmov.u32 %%r2, a;\n"
               "mad.lo.s32 %%r3, %%r1, %u, %%r0;\nmov.u32 %%r5, %%r3;\n",
               required, 4 * p->row_words * p->rows, p->block[0]);
  for (unsigned i = 2 + pick(p, 5); i > 0; i--)
    switch (pick(p, 5)) {
    case 0:
      put_loop(p);
      break;
    case 1:
      put_branch(p);
      break;
    case 2:
      put_choice(p);
      break;
    default:
      put_access(p, put_address(p));
      break;
    }
  bf_text_addf(&p->text, "ld.param.u64 %%rd1, [out];\nmul.wide.u32 %%rd2, %%r5, 4;\n"
                         "add.s64 %%rd3, %%rd1, %%rd2;\nst.global.u32 [%%rd3], %%r3;\nret;\n}\n");
  assert_false(p->text.failed);
}

/* Runs a text; false where it leaves its memory. */
static bool run(const program *p, const char *text, uint32_t out[MOST_BLOCK]) {
  bed at;
  bed_open_text(&at, "random", text, strlen(text), NULL);
  uint64_t buffer = bed_alloc(&at, MOST_BLOCK * sizeof *out, 0);
  bf_emu_launch launch = bed_launch(&at, "k", 1, p->block[0], &buffer, sizeof buffer);
  launch.block[1] = p->block[1];
  launch.workers = 1;
  bf_emu_result result = bed_run(&at, &launch);
  memcpy(out, (const void *)(uintptr_t)buffer, MOST_BLOCK * sizeof *out);
  bed_close(&at);
  return !result.fault.kind;
}

/* Rewrites one program and compares; what became of it is counted. */
static void check(uint64_t seed, unsigned *accepted, unsigned *compared) {
  program p;
  make(&p, seed);
  uint32_t before[MOST_BLOCK], after[MOST_BLOCK];
  char text[32];
  unsigned words = pick(&p, 8) ? p.row_words : 2 + pick(&p, 40);
  snprintf(text, sizeof text, "pad:%u+%u", words, 1 + pick(&p, 2));
  bf_hash *hash = hash_from(text);
  bf_ptx_module *module = parse(p.text.data);
  bf_rewrite_options options = {.context = hash, .hash_of = same_for_all};
  bf_rewrite_result result;
  bf_diagnostic diagnostic = {0};
  assert_int_equal(bf_rewrite(module, &options, &result, &diagnostic), BF_OK);
  *accepted += result.is_changed;
  if (result.is_changed && run(&p, p.text.data, before)) {
    ++*compared;
    if (!run(&p, result.text.data, after) || memcmp(before, after, sizeof before))
      fail_msg("seed %llu, %s:\n%s", (unsigned long long)seed, text, result.text.data);
  }
  bf_rewrite_free(&result);
  bf_ptx_free(module);
  bf_hash_free(hash);
  bf_text_free(&p.text);
}

static void what_is_accepted_stores_the_same(void **state) {
  unsigned accepted = 0, compared = 0;
  (void)state;
  for (uint64_t seed = 0; seed < PROGRAMS; seed++)
    check(seed, &accepted, &compared);
  print_message("%u of %u accepted, %u of these compared\n", accepted, PROGRAMS, compared);
  assert_true(compared > PROGRAMS / 10 && accepted < PROGRAMS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_accepted_stores_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
