/* What accesses to shared memory are called in traces: by the rules, and alike by the emulator and
 * the analysis. */
#include "../reference/cases.h"
#include "analyze/analyze.h"
#include "emu.h"

#include <string.h>

/* ---- Rules ---- */

static const char head[] =
    ".version 8.3\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u32 p)\n{\n.shared .align 16 .b8 s[4096];\n"
    ".reg .b16 %h<4>;\n.reg .b32 %r<4>;\n.reg .f32 %f<8>;\n.reg .b64 %d<4>;\n"
    ".reg .f64 %e<4>;\n.reg .b128 %q<4>;\n";

/* A kernel with body behind head. */
static bf_ptx_module *parse(const char *body) {
  bf_text text = {0};
  bf_diagnostic diagnostic;
  bf_ptx_module *module;
  bf_text_addf(&text, "%s%s\nret;\n}\n", head, body);
  if (bf_ptx_parse("test", text.data, text.size, &module, &diagnostic) != BF_OK)
    fail_msg("%s: %s", body, diagnostic.message);
  bf_text_free(&text);
  return module;
}

/* What an instruction is called, "atom 4"; "-" where it has no name. */
static void expect(const char *text, bool is_used, const char *wanted) {
  bf_ptx_module *module = parse(text);
  bf_op op;
  unsigned width;
  char found[32] = "-";
  if (bf_ptx_access_kind(bf_ptx_find(module, "k")->instruction[0], is_used, &op, &width))
    snprintf(found, sizeof found, "%s %u", bf_op_name(op), width);
  if (strcmp(found, wanted) != 0)
    fail_msg("%s: %s, not %s", text, found, wanted);
  bf_ptx_free(module);
}

static void test_loads_and_stores(void **state) {
  (void)state;
  expect("ld.shared.u8 %r0, [s];", true, "ld 1");
  expect("ld.shared.v4.f32 {%f0, %f1, %f2, %f3}, [s];", true, "ld 16");
  expect("st.volatile.shared.v2.b16 [s], {%h0, %h1};", true, "st 4");
  expect("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [s];", true, "ldmatrix1 16");
  expect("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r0, %r1}, [s];", true, "ldmatrix2 16");
  expect("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r0, %r1, %r2, %r3}, [s];", true,
         "ldmatrixt4 16");
  expect("stmatrix.sync.aligned.m8n8.x4.shared.b16 [s], {%r0, %r1, %r2, %r3};", true,
         "stmatrix4 16");
  expect("cp.async.ca.shared.global [s], [%d0], 4;", true, "cp4 4");
  expect("cp.async.cg.shared.global [s], [%d0], 16;", true, "cp16 16");
  expect("cp.async.commit_group;", true, "-");
  expect("add.u32 %r0, %r1, %r2;", true, "-");
}

static void test_atomics(void **state) {
  (void)state;
  expect("atom.shared.add.u32 %r0, [s], 1;", true, "atom 4");
  expect("atom.shared.add.u32 %r0, [s], 1;", false, "red 4");
  expect("red.shared.add.u32 [s], 1;", false, "red 4");
  expect("red.shared.add.s32 [s], 1;", false, "redv 4");
  expect("red.shared.add.u32 [s], 2;", false, "redv 4");
  expect("red.shared.add.u32 [s], %r1;", false, "redv 4");
  expect("atom.shared.min.s32 %r0, [s], %r1;", true, "max 4");
  expect("red.shared.xor.b32 [s], %r1;", false, "redmax 4");
  expect("atom.shared.dec.u32 %r0, [s], %r1;", false, "inc 4");
  expect("atom.shared.exch.b32 %r0, [s], %r1;", false, "exch 4");
  expect("atom.shared.cas.b32 %r0, [s], %r1, %r2;", true, "cas 4");
  expect("atom.shared.add.f32 %f0, [s], %f1;", true, "fatom 4");
  expect("red.shared.add.f32 [s], %f1;", false, "redf 4");
  expect("atom.shared.add.f64 %e0, [s], %e1;", true, "f64 8");
  expect("atom.shared.max.u64 %d0, [s], %d1;", true, "add64 8");
  expect("atom.shared.exch.b64 %d0, [s], %d1;", true, "exch64 8");
  expect("atom.shared.cas.b64 %d0, [s], %d1, %d2;", true, "cas64 8");
}

/* Halves are accessed with the word that they are in; of 16 bytes no trace can tell; vectors are
 * for global memory. */
static void test_odd_widths(void **state) {
  (void)state;
  expect("atom.shared.add.noftz.f16x2 %r0, [s], %r1;", true, "f16x2 4");
  expect("atom.shared.add.noftz.f16 %h0, [s], %h1;", true, "f16x2 4");
  expect("red.shared.add.noftz.bf16 [s], %h1;", false, "f16x2 4");
  expect("atom.shared.cas.b16 %h0, [s], %h1, %h2;", true, "f16x2 4");
  expect("atom.shared.exch.b128 %q0, [s], %q1;", true, "-");
  expect("atom.shared.cas.b128 %q0, [s], %q1, %q2;", true, "-");
  expect("atom.global.add.v2.f32 {%f0, %f1}, [%d0], {%f2, %f3};", true, "-");
}

/* ---- The emulator and the analysis ---- */

enum { MOST_SITES = 64 };

/* What was told of each instruction, by its line: the first access of warp 0. */
typedef struct told {
  const bf_emu_kernel *kernel;
  unsigned sites;
  struct told_site {
    uint64_t line;
    bf_emu_event event;
    uint32_t address[BF_EMU_LANES];
  } site[MOST_SITES];
} told;

static const struct told_site *find_told(const told *t, uint64_t line) {
  for (unsigned i = 0; i < t->sites; i++)
    if (t->site[i].line == line)
      return &t->site[i];
  return NULL;
}

static void tell(void *context, const bf_emu_event *event) {
  told *t = context;
  uint64_t line = bf_emu_kernel_site(t->kernel, event->site).line;
  const struct told_site *before = find_told(t, line);
  if (before) {
    assert_int_equal(before->event.op, event->op);
    assert_int_equal(before->event.width_bytes, event->width_bytes);
  } else if (event->warp == 0) {
    struct told_site *site = &t->site[t->sites++];
    assert_true(t->sites <= MOST_SITES);
    *site = (struct told_site){.line = line, .event = *event};
    memcpy(site->address, event->shared_address, sizeof site->address);
  }
}

/* Runs a kernel and fills t; false where the emulator refuses it. */
static bool run(bed *at, const char *name, unsigned block, const void *parameters, size_t bytes,
                told *t) {
  *t = (told){0};
  if (bf_emu_kernel_get(at->module, name, &t->kernel, NULL) != BF_OK)
    return false;
  bf_emu_observer observer = {.access = tell, .context = t};
  bf_emu_launch launch = bed_launch(at, name, 1, block, parameters, bytes);
  launch.observer = &observer;
  launch.workers = 1;
  bed_run_well(at, &launch);
  return true;
}

static bf_analysis *analyze(const bed *at, const char *name, unsigned block) {
  bf_analyze_options options = {.block = {block, 1, 1}};
  bf_analysis *analysis;
  assert_int_equal(bf_analyze(at->ptx, bf_ptx_find(at->ptx, name), &options, &analysis, NULL),
                   BF_OK);
  return analysis;
}

static bool has_kind(const bf_ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case BF_PTX_OP_LD:
  case BF_PTX_OP_ST:
  case BF_PTX_OP_ATOM:
  case BF_PTX_OP_RED:
  case BF_PTX_OP_LDMATRIX:
  case BF_PTX_OP_STMATRIX:
    return true;
  case BF_PTX_OP_CP:
    return !bf_ptx_has(instruction, "bulk");
  default:
    return false;
  }
}

/* Compares one site of the analysis with what the emulator told of it; whether it did. */
static bool compare_site(const char *body, const bf_analyze_site *site, const told *t) {
  const struct told_site *seen = find_told(t, site->line);
  if (!seen)
    return false;
  const bf_emu_event *event = &seen->event;
  if (!site->has_op || site->op != event->op || site->width_bytes != event->width_bytes)
    fail_msg("%s: %s %u by the emulator, %s %u by the analysis", body, bf_op_name(event->op),
             event->width_bytes, site->has_op ? bf_op_name(site->op) : "-", site->width_bytes);
  if (!site->is_exact)
    return true;
  const bf_analyze_access *listed = &site->access[0];
  assert_int_equal(listed->warp, 0);
  assert_int_equal(listed->mask, event->mask);
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    if (event->mask >> lane & 1)
      assert_int_equal(listed->address[lane], seen->address[lane]);
  return true;
}

/* Compares all sites of a kernel; how many atomics among them were told of. */
static unsigned compare(const bed *at, const char *name, const char *body, unsigned block,
                        const told *t) {
  const bf_ptx_function *function = bf_ptx_find(at->ptx, name);
  bf_analysis *analysis = analyze(at, name, block);
  unsigned atomics = 0;
  for (uint32_t i = 0; i < analysis->sites; i++) {
    const bf_analyze_site *site = &analysis->site[i];
    const bf_ptx_instruction *instruction = function->instruction[site->instruction];
    if (has_kind(instruction) && compare_site(body, site, t))
      atomics += bf_ptx_op_get(instruction->opcode)->access == BF_PTX_ATOMIC;
  }
  bf_analysis_free(analysis);
  return atomics;
}

/* Every form of loads, stores, atomics, copies and matrices that the emulator runs. */
static void test_forms(void **state) {
  (void)state;
  case_list list = {0};
  bed at;
  told t;
  unsigned atomics = 0;
  case_memory_forms(&list);
  case_atomic_forms(&list);
  case_matrix_forms(&list);
  char *text = case_module(&list, 0, list.count);
  bed_open_text(&at, "forms", text, strlen(text), NULL);
  uint64_t parameters[] = {bed_alloc(&at, CASE_INPUT_BYTES, 0),
                           bed_alloc(&at, CASE_MOST_RESULTS * CASE_LANES * 8, 0),
                           bed_alloc(&at, CASE_SCRATCH_BYTES, 0)};
  for (size_t i = 0; i < list.count; i++) {
    char name[32];
    snprintf(name, sizeof name, "k%zu", i);
    case_fill_input(&list.form[i], (uint8_t *)(uintptr_t)parameters[0]);
    if (run(&at, name, CASE_LANES, parameters, sizeof parameters, &t))
      atomics += compare(&at, name, list.form[i].body, CASE_LANES, &t);
  }
  assert_true(atomics >= 62); /* as many there are in shared memory */
  bed_close(&at);
  case_list_free(&list);
  free(text);
}

/* Two lanes go to the halves of each word. */
static void test_halves_are_words(void **state) {
  (void)state;
  static const char body[] = "mov.u32 %r0, %tid.x;\nshl.b32 %r0, %r0, 1;\nmov.u32 %r1, s;\n"
                             "add.u32 %r0, %r0, %r1;\nmov.b16 %h1, 0;\n"
                             "red.shared.add.noftz.f16 [%r0+6], %h1;";
  bf_text text = {0};
  bf_text_addf(&text, "%s%s\nret;\n}\n", head, body);
  bed at;
  told t;
  uint32_t parameter = 0;
  bed_open_text(&at, "halves", text.data, text.size, NULL);
  assert_true(run(&at, "k", 32, &parameter, sizeof parameter, &t));
  assert_int_equal(t.sites, 1);
  for (unsigned lane = 0; lane < 32; lane++)
    assert_int_equal(t.site[0].address[lane], (6 + 2 * lane) & ~3u);
  assert_int_equal(compare(&at, "k", body, 32, &t), 1);
  bf_analysis *analysis = analyze(&at, "k", 32);
  assert_true(analysis->site[0].is_exact);
  bf_analysis_free(analysis);
  bed_close(&at);
  bf_text_free(&text);
}

/* Which words halves lie in is not known where they are moved by an unknown number of halves; it is
 * where they are moved by words. */
static void test_halves_at_offsets(void **state) {
  (void)state;
  static const struct {
    const char *shift;
    bf_analyze_unknown_kind unknown;
  } rows[] = {{"1", BF_UNKNOWN_ADDRESS}, {"2", BF_UNKNOWN_OFFSET}};
  for (unsigned i = 0; i < 2; i++) {
    bf_text body = {0};
    bf_text_addf(&body,
                 "ld.param.u32 %%r2, [p];\nshl.b32 %%r2, %%r2, %s;\nmov.u32 %%r0, %%tid.x;\n"
                 "shl.b32 %%r0, %%r0, 1;\nadd.u32 %%r0, %%r0, %%r2;\nmov.u32 %%r1, s;\n"
                 "add.u32 %%r0, %%r0, %%r1;\nred.shared.add.noftz.f16 [%%r0], %%h1;",
                 rows[i].shift);
    bed at = {.ptx = parse(body.data)};
    bf_analysis *analysis = analyze(&at, "k", 32);
    assert_int_equal(analysis->sites, 1);
    assert_int_equal(analysis->site[0].unknowns, 1);
    assert_int_equal(analysis->site[0].unknown[0].kind, rows[i].unknown);
    bf_analysis_free(analysis);
    bf_ptx_free(at.ptx);
    bf_text_free(&body);
  }
}

/* Nothing is told of 16 bytes in shared memory, as nothing could be read back. */
static void test_wide_atomics(void **state) {
  (void)state;
  static const char body[] = "atom.shared.exch.b128 %q0, [s], %q1;\nmov.b128 {%d0, %d1}, %q0;\n"
                             "st.shared.b64 [s+16], %d0;";
  bf_text text = {0};
  bf_text_addf(&text, "%s%s\nret;\n}\n", head, body);
  bed at;
  told t;
  uint32_t parameter = 0;
  bed_open_text(&at, "wide", text.data, text.size, NULL);
  assert_true(run(&at, "k", 32, &parameter, sizeof parameter, &t));
  assert_int_equal(t.sites, 1);
  assert_int_equal(t.site[0].event.op, BF_OP_ST);
  bf_analysis *analysis = analyze(&at, "k", 32);
  assert_int_equal(analysis->sites, 2);
  assert_false(analysis->site[0].has_op);
  bf_analysis_free(analysis);
  bed_close(&at);
  bf_text_free(&text);
}

/* ---- Names of variables without a space ---- */

/* Forms of accesses; @ stands for a space, $ for the address. */
static const char *const named_forms[] = {
    "ld@.u32 %r0, $;",
    "ld@.v2.u32 {%r0, %r1}, $;",
    "ld@.v4.u32 {%r0, %r1, %r2, %r3}, $;",
    "ld.volatile@.u32 %r0, $;",
    "ld.relaxed.cta@.u32 %r0, $;",
    "ldu@.u32 %r0, $;",
    "st@.u32 $, %r1;",
    "st@.v4.u32 $, {%r3, %r2, %r1, %r0};",
    "st.volatile@.u32 $, %r1;",
    "atom@.add.u32 %r0, $, %r1;",
    "atom@.cas.b32 %r0, $, %r1, %r2;",
    "atom@.exch.b64 %d0, $, %d1;",
    "atom@.add.f32 %f0, $, %f1;\nmov.b32 %r0, %f0;",
    "red@.add.u32 $, %r1;",
    "ldmatrix.sync.aligned.m8n8.x1@.b16 {%r0}, $;",
    "stmatrix.sync.aligned.m8n8.x1@.b16 $, {%r0};",
};

/* The form with a space and an address. */
static void put_form(bf_text *text, const char *form, const char *space, const char *address) {
  for (; *form; form++)
    if (*form == '@' || *form == '$')
      bf_text_puts(text, *form == '@' ? space : address);
    else
      bf_text_add(text, form, 1);
}

/* A kernel in which one access stands between stores of values and of all registers and memory. */
static void put_named(bf_text *text, const char *form, const char *space, const char *variable) {
  char address[32];
  snprintf(address, sizeof address, "[%s+16]", variable);
  bf_text_addf(text,
               ".version 8.3\n.target sm_90\n.address_size 64\n.global .align 16 .b8 g[128];\n"
               ".visible .entry k(.param .u64 out)\n{\n.shared .align 16 .b8 s[1024];\n"
               ".local .align 16 .b8 l[1024];\n.reg .b32 %%r<8>;\n.reg .f32 %%f<4>;\n"
               ".reg .b64 %%d<6>;\nmov.b32 %%r1, 0x3f800000;\nmov.b32 %%r2, 7;\n"
               "mov.b32 %%r3, 5;\nmov.b64 %%d1, 9;\nmov.b32 %%f1, %%r1;\nmov.b32 %%r0, 3;\n"
               "mov.b64 %%d0, 4;\n");
  const char *own = strcmp(variable, "s") == 0   ? ".shared"
                    : strcmp(variable, "l") == 0 ? ".local"
                                                 : ".global";
  for (unsigned at = 16; at < 128; at += 4)
    bf_text_addf(text, "st%s.u32 [%s+%u], %u;\n", own, variable, at, 1000 + at);
  put_form(text, form, space, address);
  bf_text_puts(text, "\nld.param.u64 %d2, [out];\nst.global.v4.u32 [%d2], {%r0, %r1, %r2, %r3};\n"
                     "st.global.u64 [%d2+16], %d0;\n");
  for (unsigned at = 16; at < 32; at += 4)
    bf_text_addf(text, "ld%s.u32 %%r4, [%s+%u];\nst.global.u32 [%%d2+%u], %%r4;\n", own, variable,
                 at, at + 16);
  bf_text_puts(text, "ret;\n}\n");
}

enum { NAMED_BYTES = 48 };

/* What the kernel leaves and, in shared memory, the analysis of the access: its name and address.
 */
static void run_named(const char *form, const char *space, const char *variable,
                      uint8_t out[NAMED_BYTES], bf_text *said) {
  bf_text text = {0};
  bed at;
  told t;
  put_named(&text, form, space, variable);
  bed_open_text(&at, form, text.data, text.size, NULL);
  uint64_t parameter = bed_alloc(&at, NAMED_BYTES, 0);
  assert_true(run(&at, "k", 32, &parameter, sizeof parameter, &t));
  memcpy(out, (void *)(uintptr_t)parameter, NAMED_BYTES);
  for (unsigned i = 0; i < t.sites; i++)
    if (t.site[i].event.space == BF_PTX_SPACE_SHARED)
      bf_text_addf(said, "%llu %s %u %u\n", (unsigned long long)t.site[i].line,
                   bf_op_name(t.site[i].event.op), t.site[i].event.width_bytes,
                   t.site[i].address[0]);
  bf_analysis *analysis = analyze(&at, "k", 32);
  for (uint32_t i = 0; i < analysis->sites; i++)
    bf_text_addf(said, "%llu %s %u %u\n", (unsigned long long)analysis->site[i].line,
                 bf_op_name(analysis->site[i].op), analysis->site[i].width_bytes,
                 analysis->site[i].is_exact ? analysis->site[i].access[0].address[0] : UINT32_MAX);
  bf_analysis_free(analysis);
  bed_close(&at);
  bf_text_free(&text);
}

/* An access by the name of a variable is the same with its space and without. */
static void test_names_without_space(void **state) {
  (void)state;
  static const char *const variables[][2] = {{"s", ".shared"}, {"g", ".global"}, {"l", ".local"}};
  for (size_t i = 0; i < sizeof named_forms / sizeof *named_forms; i++)
    for (unsigned v = 0; v < 3; v++) {
      const char *form = named_forms[i], *name = variables[v][0];
      bool is_shared_only = strstr(form, "matrix") != NULL;
      bool has_no_local = strstr(form, "atom") || strstr(form, "red") || strstr(form, "ldu");
      if ((v > 0 && is_shared_only) || (v == 2 && has_no_local))
        continue;
      uint8_t with[NAMED_BYTES], without[NAMED_BYTES];
      bf_text said = {0}, said_without = {0};
      run_named(form, variables[v][1], name, with, &said);
      run_named(form, "", name, without, &said_without);
      if (memcmp(with, without, sizeof with) != 0)
        fail_msg("%s of %s: other results without a space", form, name);
      if (said.size != said_without.size ||
          (said.size && memcmp(said.data, said_without.data, said.size) != 0))
        fail_msg("%s of %s: %s, not %s", form, name, said_without.data, said.data);
      bf_text_free(&said);
      bf_text_free(&said_without);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_loads_and_stores), cmocka_unit_test(test_atomics),
      cmocka_unit_test(test_odd_widths),       cmocka_unit_test(test_forms),
      cmocka_unit_test(test_halves_are_words), cmocka_unit_test(test_halves_at_offsets),
      cmocka_unit_test(test_wide_atomics),     cmocka_unit_test(test_names_without_space),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
