/* The emulator against the reference interpreter of tests/reference, and both against what a GPU
 * has stored (tests/data/h200/opcodes.bin.zst, recorded by tests/gpu/opcodes.c): every form of
 * every instruction with edge values, and random programs.
 *
 * - check_emu: all forms, and random programs for some 15 seconds
 * - check_emu --forms TEXT: the forms that contain the text; says more
 * - check_emu --program SEED [COUNT]: one program, or as many
 * - check_emu --write FOLDER: writes the forms and some programs as PTX files, for ptxas */
#include "../reference/cases.h"
#include "../reference/programs.h"
#include "../reference/reference.h"
#include "emu/emu.h"
#include "emu/isa.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char recorded_path[] = "tests/data/h200/opcodes.bin.zst";

enum {
  BATCH = 100, /* forms in a module */
  MOST_COMPLAINTS = 40,
  MOST_OUTPUT_BYTES = CASE_MOST_RESULTS * CASE_LANES * 8,
  PROGRAM_SECONDS = 15,
  MOST_PROGRAMS = 20000,
  WRITTEN_PROGRAMS = 20,
  MOST_SHRUNK = 3, /* programs made shorter before they are printed */
};

/* ---- What a GPU has stored ---- */

typedef struct recorded {
  uint64_t key;
  uint32_t size;
  const uint8_t *bytes;
} recorded;

typedef struct recording {
  bf_text data;
  recorded *item; /* by key */
  size_t count;
} recording;

static int by_key(const void *a, const void *b) {
  uint64_t x = ((const recorded *)a)->key, y = ((const recorded *)b)->key;
  return x < y ? -1 : x > y;
}

/* Reads a whole file, decompressed. */
static bool read_file(const char *path, bf_text *text) {
  bf_diagnostic diagnostic;
  bf_reader *reader;
  static char buffer[65536];
  size_t got = 0;
  if (bf_reader_open(path, &reader, &diagnostic) != BF_OK)
    return false;
  int error;
  while ((error = bf_reader_read(reader, buffer, sizeof buffer, &got, &diagnostic)) == BF_OK && got)
    bf_text_add(text, buffer, got);
  bf_reader_close(reader);
  return error == BF_OK && !text->failed;
}

/* Finds the records; false where the file is there but broken. */
static bool recording_open(recording *r) {
  enum { HEAD = 64, RECORD_HEAD = 16 };
  if (!read_file(recorded_path, &r->data)) {
    printf("no %s: nothing is compared with a GPU\n", recorded_path);
    return true;
  }
  if (r->data.size < HEAD || memcmp(r->data.data, "BFOPCODE", 8) != 0)
    return false;
  printf("recorded on %s\n", r->data.data + 8);
  r->item = calloc(r->data.size / RECORD_HEAD, sizeof *r->item);
  for (size_t at = HEAD; r->item && at + RECORD_HEAD <= r->data.size;) {
    recorded *item = &r->item[r->count++];
    memcpy(&item->key, r->data.data + at, 8);
    memcpy(&item->size, r->data.data + at + 8, 4);
    item->bytes = (const uint8_t *)r->data.data + at + RECORD_HEAD;
    at += RECORD_HEAD + item->size;
    if (at > r->data.size)
      return false;
  }
  qsort(r->item, r->count, sizeof *r->item, by_key);
  return r->item != NULL;
}

static void recording_close(recording *r) {
  free(r->item);
  bf_text_free(&r->data);
}

static const recorded *recording_find(const recording *r, uint64_t key) {
  recorded wanted = {.key = key};
  return r->count ? bsearch(&wanted, r->item, r->count, sizeof *r->item, by_key) : NULL;
}

/* ---- Those that run ---- */

/* The emulator's instruction sets; those that this machine has are tried. */
enum { MOST_SETS = 3 };
static const char *const set_names[MOST_SETS] = {"avx512", "avx2", "plain"};

typedef struct checker {
  struct {
    const char *name;
    bf_emu *emu;
  } set[MOST_SETS];
  unsigned sets;
  unsigned runs[BF_PTX_OPCODE_COUNT]; /* forms that the emulator runs */
  recording gpu;
  const char *filter; /* or NULL */
  unsigned compared, refused, complaints, shrunk;
  unsigned with_gpu, alone;
  _Alignas(128) uint64_t input[CASE_INPUT_BYTES / 8];
  _Alignas(128) uint64_t scratch[CASE_SCRATCH_BYTES / 8];
  _Alignas(128) uint64_t by_emu[MOST_OUTPUT_BYTES / 8];
  _Alignas(128) uint64_t by_reference[MOST_OUTPUT_BYTES / 8];
} checker;

/* Counts a fault, and says whether it should be printed. */
static bool complain(checker *c) {
  c->complaints++;
  if (c->complaints == MOST_COMPLAINTS + 1)
    puts("and more");
  return c->complaints <= MOST_COMPLAINTS;
}

typedef struct shape {
  const char *kernel;
  uint32_t grid, block;
  uint64_t parameter[3];
  unsigned parameters;
  unsigned workers;
  bool strict; /* with all checks of shared memory */
} shape;

/* Runs a kernel on the emulator; BF_UNSUPPORTED where it refuses to. message says what is wrong. */
static int run_emu(checker *c, unsigned set, bf_emu_module *module, const shape *s,
                   char message[512]) {
  bf_diagnostic diagnostic;
  const bf_emu_kernel *kernel;
  bf_emu_result result;
  int error = bf_emu_kernel_get(module, s->kernel, &kernel, &diagnostic);
  if (error == BF_OK) {
    bf_emu_launch launch = {.kernel = kernel,
                            .grid = {s->grid, 1, 1},
                            .block = {s->block, 1, 1},
                            .parameters = s->parameter,
                            .parameter_bytes = 8 * s->parameters,
                            .workers = s->workers,
                            .check_races = s->strict,
                            .check_uninitialised = s->strict};
    error = bf_emu_run(c->set[set].emu, &launch, &result, &diagnostic);
  }
  if (error != BF_OK) {
    snprintf(message, 512, "%s", diagnostic.message);
    return error;
  }
  if (result.fault.kind != BF_EMU_NO_FAULT) {
    bf_text text = {0};
    bf_emu_fault_explain(&result.fault, &text);
    snprintf(message, 512, "%s", text.data ? text.data : "fault");
    bf_text_free(&text);
    return BF_BAD_INPUT;
  }
  return BF_OK;
}

static bool run_reference(checker *c, const bf_ptx_module *module, const shape *s,
                          char message[REF_MESSAGE_BYTES]) {
  ref_range range[] = {{(uint64_t)(uintptr_t)c->input, sizeof c->input},
                       {(uint64_t)(uintptr_t)c->scratch, sizeof c->scratch},
                       {(uint64_t)(uintptr_t)c->by_reference, sizeof c->by_reference}};
  ref_launch launch = {.module = module,
                       .kernel = s->kernel,
                       .grid = {s->grid, 1, 1},
                       .block = {s->block, 1, 1},
                       .parameters = s->parameter,
                       .parameter_bytes = 8 * s->parameters,
                       .range = range,
                       .ranges = 3};
  return ref_run(&launch, message);
}

/* ---- Comparison of results ---- */

/* A number of a kind of floating point. */
static double number(case_kind kind, uint64_t bits) {
  float f32;
  double f64;
  uint32_t low = (uint32_t)bits;
  switch (kind) {
  case CASE_F64:
    memcpy(&f64, &bits, 8);
    return f64;
  case CASE_BF16:
    low <<= 16;
    break;
  case CASE_F16: {
    double fraction = (double)(bits & 0x3ff), sign = bits & 0x8000 ? -1 : 1;
    unsigned exponent = bits >> 10 & 31;
    if (exponent == 31)
      return fraction != 0 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, (int)exponent - 25) : ldexp(fraction, -24));
  }
  default:
    break;
  }
  memcpy(&f32, &low, 4);
  return f32;
}

/* Whether x may stand where y should: the same, both NaN, or near enough. */
static bool near(case_bound bound, double x, double y) {
  if (isnan(x) || isnan(y))
    return isnan(x) && isnan(y);
  if (isinf(x) || isinf(y))
    return x == y;
  double most = bound.relative * fabs(y);
  return fabs(x - y) <= (most > bound.absolute ? most : bound.absolute);
}

/* Approximations are bounded in a part of their range only; a is the last input. */
static bool is_bounded(const case_form *form, uint64_t a) {
  double x = number(CASE_F32, a);
  if (strncmp(form->body, "sin", 3) == 0 || strncmp(form->body, "cos", 3) == 0)
    return fabs(x) <= 6.3;
  if (strncmp(form->body, "div", 3) == 0)
    return fabs(x) >= 0x1p-126 && fabs(x) <= 0x1p126;
  return true;
}

/* What the PTX ISA leaves to the machine: the bits of a NaN, and what comes of a division by 0.
 * Only a recording can tell. */
static bool is_unspecified(const case_form *form, case_kind kind, uint64_t got, uint64_t expected,
                           uint64_t last_input) {
  bool divides = strncmp(form->body, "div.", 4) == 0 || strncmp(form->body, "rem.", 4) == 0;
  unsigned bits = 8 * case_kind_bytes(form->input[form->inputs ? form->inputs - 1 : 0]);
  if (divides && (kind == CASE_B16 || kind == CASE_B32 || kind == CASE_B64))
    return form->inputs == 2 && last_input << (64 - bits) == 0;
  bool is_float = kind == CASE_F16 || kind == CASE_BF16 || kind == CASE_F32 || kind == CASE_F64;
  return is_float && isnan(number(kind, got)) && isnan(number(kind, expected));
}

/* Whether a result is as expected. */
static bool agrees(const case_form *form, case_kind kind, uint64_t got, uint64_t expected) {
  if (got == expected)
    return true;
  if (kind == CASE_F64 && form->bound.relative == 0)
    return isnan(number(kind, got)) && isnan(number(kind, expected));
  if (form->bound.relative == 0 && form->bound.absolute == 0)
    return false;
  if (kind == CASE_F16X2 || kind == CASE_BF16X2) {
    case_kind half = kind == CASE_F16X2 ? CASE_F16 : CASE_BF16;
    return near(form->bound, number(half, got & 0xffff), number(half, expected & 0xffff)) &&
           near(form->bound, number(half, got >> 16), number(half, expected >> 16));
  }
  return near(form->bound, number(kind, got), number(kind, expected));
}

static uint64_t input_of(const checker *c, unsigned operand, unsigned lane) {
  return c->input[operand * CASE_LANES + lane];
}

static uint64_t output_of(const case_form *form, const void *output, unsigned result,
                          unsigned lane) {
  unsigned bytes = case_kind_bytes(form->result[result]);
  uint64_t value = 0;
  memcpy(&value, (const uint8_t *)output + case_output_offset(form, result) + lane * bytes, bytes);
  return value;
}

/* Prints a form, the inputs of a lane and what came of them. */
static void print_difference(const checker *c, const case_form *form, const char *who,
                             const char *whom, unsigned result, unsigned lane, uint64_t got,
                             uint64_t expected, unsigned lanes) {
  printf("%s\n  %s differs from %s in %u lanes; lane %u, result %u: 0x%" PRIx64 ", not 0x%" PRIx64
         "; inputs",
         form->body, who, whom, lanes, lane, result, got, expected);
  for (unsigned i = 0; i < form->inputs; i++)
    printf(" %s:0x%" PRIx64, case_kind_name(form->input[i]), input_of(c, i, lane));
  puts("");
}

/* Compares all results of a form; false where they differ. */
static bool compare(checker *c, const case_form *form, const char *who, const void *got,
                    const recorded *gpu) {
  const char *whom = gpu ? "the GPU" : "the reference";
  const void *expected = gpu ? gpu->bytes : (const uint8_t *)c->by_reference;
  unsigned differences = 0, result = 0, lane = 0;
  for (unsigned r = 0; r < form->results; r++)
    for (unsigned i = 0; i < CASE_LANES; i++) {
      uint64_t x = output_of(form, got, r, i), y = output_of(form, expected, r, i);
      uint64_t last_input = form->inputs ? input_of(c, form->inputs - 1, i) : 0;
      if (agrees(form, form->result[r], x, y) || !is_bounded(form, last_input) ||
          (!gpu && is_unspecified(form, form->result[r], x, y, last_input)))
        continue;
      if (c->filter && c->complaints < MOST_COMPLAINTS)
        print_difference(c, form, who, whom, r, i, x, y, 1);
      if (differences++ == 0) {
        result = r;
        lane = i;
      }
    }
  if (differences && complain(c))
    print_difference(c, form, who, whom, result, lane, output_of(form, got, result, lane),
                     output_of(form, expected, result, lane), differences);
  return differences == 0;
}

/* ---- Forms ---- */

/* Runs a form on the reference, into by_reference; false where it does not know how. */
static bool form_on_reference(checker *c, const bf_ptx_module *ptx, const case_form *form,
                              shape *s) {
  char message[REF_MESSAGE_BYTES];
  memset(c->scratch, 0, sizeof c->scratch);
  memset(c->by_reference, 0, sizeof c->by_reference);
  s->parameter[1] = (uint64_t)(uintptr_t)c->by_reference;
  bool known = run_reference(c, ptx, s, message);
  if (!known && complain(c))
    printf("%s\n  reference: %s\n", form->body, message);
  return known;
}

/* Runs a form on the emulator, into by_emu; false where it is refused or goes wrong. */
static bool form_on_emu(checker *c, unsigned set, bf_emu_module *module, const case_form *form,
                        shape *s) {
  char message[512];
  memset(c->scratch, 0, sizeof c->scratch);
  memset(c->by_emu, 0, sizeof c->by_emu);
  s->parameter[1] = (uint64_t)(uintptr_t)c->by_emu;
  int error = run_emu(c, set, module, s, message);
  if (error == BF_UNSUPPORTED) {
    c->refused += set == 0;
    if (c->filter)
      printf("refused: %s\n  %s\n", form->body, message);
  } else if (error != BF_OK && complain(c)) {
    printf("%s\n  emulator, %s: %s\n", form->body, c->set[set].name, message);
  }
  return error == BF_OK;
}

/* Whether what a thread gets depends on the other threads of its warp or block, or on its number.
 */
static bool needs_others(const char *text) {
  static const char *const parts[] = {"sync",   "bar",  "activemask", "elect", "vote", "mma",
                                      "matrix", "shfl", "tid",        "ctaid", "lane"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (strstr(text, parts[i]))
      return true;
  return false;
}

/* Runs a form again in blocks of one thread, where one lane is alone. module has kernels that take
 * the number of the block for that of the thread. */
static void check_alone(checker *c, unsigned set, bf_emu_module *module, const case_form *form,
                        const shape *whole, const recorded *gpu) {
  shape s = *whole;
  char who[32];
  s.grid = CASE_LANES;
  s.block = 1;
  snprintf(who, sizeof who, "%s, a lane alone", c->set[set].name);
  if (!needs_others(form->body) && form_on_emu(c, set, module, form, &s)) {
    compare(c, form, who, c->by_emu, gpu);
    c->alone++;
  }
}

/* Counts the opcodes of a kernel that runs. */
static void count_opcodes(checker *c, const bf_ptx_module *ptx, const char *kernel) {
  const bf_ptx_function *function = bf_ptx_find(ptx, kernel);
  for (uint32_t i = 0; function && i < function->instructions; i++)
    c->runs[function->instruction[i]->opcode]++;
}

/* Video instructions of whole words are software on sm_90, which does not follow the PTX ISA where
 * results need more than 32 bits, are compared with c, or go to a part of d. The emulator follows
 * it: these are compared with the reference only. */
static bool is_like_gpu(const char *text) {
  static const char *const opcodes[] = {"vadd.", "vsub.", "vabsdiff.", "vmin.", "vmax.",
                                        "vshl.", "vshr.", "vmad.",     "vset."};
  for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
    if (strstr(text, opcodes[i]))
      return false;
  return true;
}

static void check_form(checker *c, const bf_ptx_module *ptx, bf_emu_module *const *module,
                       bf_emu_module *const *alone, const case_form *form, size_t index) {
  char name[24];
  shape s = {.kernel = name, .grid = 1, .block = CASE_LANES, .parameters = 3, .workers = 1};
  snprintf(name, sizeof name, "k%zu", index);
  case_fill_input(form, (uint8_t *)c->input);
  s.parameter[0] = (uint64_t)(uintptr_t)c->input;
  s.parameter[2] = (uint64_t)(uintptr_t)c->scratch;
  const recorded *gpu = recording_find(&c->gpu, case_key(form));
  if (gpu && (gpu->size != case_output_bytes(form) || !is_like_gpu(form->body)))
    gpu = NULL;
  bool known = form_on_reference(c, ptx, form, &s);
  if (known && gpu)
    compare(c, form, "reference", c->by_reference, gpu);
  for (unsigned set = 0; set < c->sets; set++) {
    if (!form_on_emu(c, set, module[set], form, &s))
      continue;
    if (set == 0)
      count_opcodes(c, ptx, name);
    if ((gpu || known) && !compare(c, form, c->set[set].name, c->by_emu, gpu))
      break;
    if (gpu || known)
      check_alone(c, set, alone[set], form, &s, gpu);
  }
  c->with_gpu += gpu != NULL;
  c->compared++;
}

/* Parses a text and loads it for every instruction set; false with a complaint. */
static bool load(checker *c, const char *text, bf_ptx_module **ptx, bf_emu_module **module) {
  bf_diagnostic diagnostic;
  bool fine = text && bf_ptx_parse("check", text, strlen(text), ptx, &diagnostic) == BF_OK;
  for (unsigned set = 0; set < c->sets; set++)
    fine = fine && bf_emu_load(c->set[set].emu, *ptx, &module[set], &diagnostic) == BF_OK;
  if (!fine && complain(c))
    printf("line %" PRIu64 ": %s\n", diagnostic.line, diagnostic.message);
  return fine;
}

static void unload(const checker *c, bf_ptx_module *ptx, bf_emu_module *const *module) {
  for (unsigned set = 0; set < c->sets; set++)
    bf_emu_unload(module[set]);
  bf_ptx_free(ptx);
}

static void check_batch(checker *c, const case_list *list, size_t first) {
  static const char from[] = "mov.u32 %lane, %tid.x;", to[] = "mov.u32 %lane, %ctaid.x;";
  char *text = case_module(list, first, BATCH);
  bf_ptx_module *ptx = NULL, *alone_ptx = NULL;
  bf_emu_module *module[MOST_SETS] = {NULL}, *alone[MOST_SETS] = {NULL};
  bf_text blocks = {0};
  for (const char *rest = text, *next; rest && *rest; rest = next) {
    next = strstr(rest, from);
    bf_text_add(&blocks, rest, next ? (size_t)(next - rest) : strlen(rest));
    bf_text_add(&blocks, to, next ? sizeof to - 1 : 0);
    next = next ? next + sizeof from - 1 : rest + strlen(rest);
  }
  bf_text_add(&blocks, "", 1);
  if (load(c, text, &ptx, module) && load(c, blocks.data, &alone_ptx, alone)) {
    for (size_t i = first; i < first + BATCH && i < list->count; i++)
      if (!c->filter || strstr(list->form[i].body, c->filter))
        check_form(c, ptx, module, alone, &list->form[i], i);
  }
  unload(c, ptx, module);
  unload(c, alone_ptx, alone);
  bf_text_free(&blocks);
  free(text);
}

/* ---- Programs ---- */

/* Whether by_emu is by_reference; says where not. */
static bool same_output(checker *c, const char *set, char message[512]) {
  const uint32_t *x = (uint32_t *)c->by_emu, *y = (uint32_t *)c->by_reference;
  program_same_nan((uint8_t *)c->by_emu);
  for (unsigned i = 0; i < PROGRAM_OUTPUT_BYTES / 4; i++)
    if (x[i] != y[i]) {
      snprintf(message, 512, "%s: thread %u, byte %u: 0x%x, reference 0x%x", set, i / 32,
               i % 32 * 4, x[i], y[i]);
      return false;
    }
  return true;
}

/* Whether the emulator, with one of its instruction sets, and the reference do the same with a
 * program; says what is wrong if not. */
static bool same_program(checker *c, uint64_t seed, const char *text, char message[512]) {
  bf_ptx_module *ptx = NULL;
  bf_emu_module *module[MOST_SETS] = {NULL};
  shape s = {.kernel = "program",
             .grid = PROGRAM_BLOCKS,
             .block = PROGRAM_BLOCK_THREADS,
             .parameters = 2,
             .workers = 1 + seed % 2,
             .strict = seed % 8 > 5,
             .parameter = {(uint64_t)(uintptr_t)c->input, (uint64_t)(uintptr_t)c->by_reference}};
  snprintf(message, 512, "does not load");
  bool fine = load(c, text, &ptx, module);
  program_fill_input(seed, (uint8_t *)c->input);
  memset(c->by_reference, 0, PROGRAM_OUTPUT_BYTES);
  fine = fine && run_reference(c, ptx, &s, message);
  program_same_nan((uint8_t *)c->by_reference);
  s.parameter[1] = (uint64_t)(uintptr_t)c->by_emu;
  unsigned set = (unsigned)(seed % c->sets);
  memset(c->by_emu, 0, PROGRAM_OUTPUT_BYTES);
  fine = fine && run_emu(c, set, module[set], &s, message) == BF_OK &&
         same_output(c, c->set[set].name, message);
  unload(c, ptx, module);
  return fine;
}

/* Leaves out statements one by one as long as the two still differ, and prints what is left. */
static void shrink(checker *c, uint64_t seed) {
  static bool skip[PROGRAM_MOST_STATEMENTS];
  char message[512];
  unsigned statements, limit;
  memset(skip, 0, sizeof skip);
  free(program_make(seed, NULL, &limit));
  for (unsigned i = 0; i < limit && i < PROGRAM_MOST_STATEMENTS; i++) {
    skip[i] = true;
    char *text = program_make(seed, skip, &statements);
    skip[i] = text && !same_program(c, seed, text, message);
    free(text);
  }
  char *text = program_make(seed, skip, &statements);
  if (text && !same_program(c, seed, text, message))
    printf("%s\nseed %" PRIu64 ": %s\n", text, seed, message);
  free(text);
}

/* Whether min or max has the same register twice. */
static bool has_twin_operands(const char *instruction) {
  const char *operands = strchr(instruction, ' ');
  unsigned a, b;
  return (strncmp(instruction, "min.", 4) == 0 || strncmp(instruction, "max.", 4) == 0) &&
         operands && sscanf(operands, " %%f%*u, %%f%u, %%f%u", &a, &b) == 2 && a == b;
}

/* Whether a bit field has a constant position or length of 32 or more. */
static bool has_wide_field(const char *instruction) {
  unsigned commas = 0, count;
  if (strncmp(instruction, "bfe.", 4) != 0 && strncmp(instruction, "bfi.", 4) != 0)
    return false;
  for (const char *at = instruction; *at && *at != '\n'; at++)
    if (*at == ',' && ++commas > 1 && sscanf(at, ", %u", &count) == 1 && count >= 32)
      return true;
  return false;
}

/* Whether the driver's assembler makes something else of a line than of the instruction alone. It
 * forgets the guard of testp, does not treat that of set as it should either, takes min(x, x) for x
 * even if x is NaN, and counts constant lengths of bfi, and somehow those of bfe, modulo 32. */
static bool is_assembled_otherwise(const char *line) {
  const char *instruction = line[0] == '@' && strchr(line, ' ') ? strchr(line, ' ') + 1 : line;
  bool guarded = instruction != line;
  if (guarded && (strncmp(instruction, "testp.", 6) == 0 || strncmp(instruction, "set.", 4) == 0))
    return true;
  return has_twin_operands(instruction) || has_wide_field(instruction);
}

/* Whether a GPU does with a program what its instructions say. */
static bool is_program_like_gpu(const char *text) {
  if (!is_like_gpu(text))
    return false;
  for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
    if (is_assembled_otherwise(line))
      return false;
  return true;
}

static void check_program(checker *c, uint64_t seed) {
  unsigned statements;
  char message[512];
  char *text = program_make(seed, NULL, &statements);
  if (!text || !same_program(c, seed, text, message)) {
    c->complaints++;
    if (c->shrunk++ < MOST_SHRUNK)
      shrink(c, seed);
    else if (c->shrunk < MOST_COMPLAINTS)
      printf("seed %" PRIu64 ": %s\n", seed, message);
  }
  const recorded *gpu =
      text ? recording_find(&c->gpu, case_hash(CASE_HASH_START, text, strlen(text))) : NULL;
  uint64_t hash = case_hash(CASE_HASH_START, c->by_emu, PROGRAM_OUTPUT_BYTES);
  if (gpu && is_program_like_gpu(text)) {
    c->with_gpu++;
    if (memcmp(gpu->bytes, &hash, 8) != 0 && complain(c))
      printf("seed %" PRIu64 ": differs from the GPU\n", seed);
  }
  free(text);
}

static void check_programs(checker *c) {
  double end = bf_seconds() + PROGRAM_SECONDS;
  uint64_t seed = 0;
  for (; seed < MOST_PROGRAMS && bf_seconds() < end; seed++)
    check_program(c, seed);
  printf("%" PRIu64 " programs\n", seed);
}

/* ---- PTX files ---- */

static bool write_text(const char *folder, const char *name, unsigned number, char *text) {
  char path[1024];
  bf_diagnostic diagnostic;
  snprintf(path, sizeof path, "%s/%s%u.ptx", folder, name, number);
  bool fine = text && bf_write_file(path, text, strlen(text), &diagnostic) == BF_OK;
  free(text);
  return fine;
}

static bool write_all(const case_list *list, const char *folder) {
  unsigned statements;
  bool fine = true;
  for (size_t i = 0; fine && i < list->count; i += BATCH)
    fine = write_text(folder, "forms", (unsigned)i, case_module(list, i, BATCH));
  for (unsigned i = 0; fine && i < WRITTEN_PROGRAMS; i++) {
    unsigned seed = PROGRAM_RECORDED - WRITTEN_PROGRAMS / 2 + i; /* of both kinds */
    fine = write_text(folder, "program", seed, program_make(seed, NULL, &statements));
  }
  return fine;
}

/* ---- Rows of ops.def ---- */

/* Rows of which no form runs: they end the launch, are there for a debugger, or the emulator
 * refuses them. */
static const char *const left_out[] = {"brkpt",    "clusterlaunchcontrol",
                                       "discard",  "istypep",
                                       "multimem", "setmaxnreg",
                                       "suld",     "suq",
                                       "sured",    "sust",
                                       "tcgen05",  "tensormap",
                                       "tex",      "tld4",
                                       "trap",     "txq",
                                       "wgmma"};

/* Every row has a form that runs, or is left out for a reason. */
static void check_rows(checker *c) {
  for (unsigned row = 0; row < BF_PTX_OPCODE_COUNT; row++) {
    const char *name = bf_ptx_op_get(row)->name;
    bool is_left_out = false;
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
      is_left_out |= strcmp(left_out[i], name) == 0;
    if ((c->runs[row] > 0) != is_left_out)
      continue;
    c->complaints++;
    printf("%s: %s\n", name,
           is_left_out ? "runs, and is listed as left out" : "no form of it runs");
  }
}

static bool open_set(checker *c, const char *name) {
  bf_diagnostic diagnostic;
  bf_emu *emu;
  if (bf_emu_create(&emu, &diagnostic) != BF_OK)
    return false;
  if (!bf_emu_choose(emu, name)) {
    bf_emu_free(emu);
    return true;
  }
  c->set[c->sets].name = name;
  c->set[c->sets++].emu = emu;
  return bf_emu_register(emu, c->input, sizeof c->input, 0, &diagnostic) == BF_OK &&
         bf_emu_register(emu, c->scratch, sizeof c->scratch, 0, &diagnostic) == BF_OK &&
         bf_emu_register(emu, c->by_emu, sizeof c->by_emu, 0, &diagnostic) == BF_OK;
}

static bool open_checker(checker *c) {
  bool fine = recording_open(&c->gpu);
  for (unsigned i = 0; fine && i < MOST_SETS; i++)
    fine = open_set(c, set_names[i]);
  return fine;
}

int main(int count, char **argument) {
  static checker c;
  case_list list;
  bool write = count == 3 && strcmp(argument[1], "--write") == 0;
  bool program = count >= 3 && strcmp(argument[1], "--program") == 0;
  if (count == 3 && strcmp(argument[1], "--forms") == 0)
    c.filter = argument[2];
  case_list_make(&list);
  if (list.failed || (!write && !open_checker(&c))) {
    puts("no memory, or a broken recording");
    return 1;
  }
  if (write)
    return write_all(&list, argument[2]) ? 0 : 1;
  for (size_t i = 0; !program && i < list.count; i += BATCH)
    check_batch(&c, &list, i);
  printf("%u forms, %u of them refused by the emulator\n", c.compared, c.refused);
  if (program) {
    uint64_t first = strtoull(argument[2], NULL, 0);
    uint64_t programs = count > 3 ? strtoull(argument[3], NULL, 0) : 1;
    for (uint64_t i = 0; i < programs; i++)
      check_program(&c, first + i);
  }
  if (!program && !c.filter) {
    check_rows(&c);
    check_programs(&c);
  }
  printf("%u compared with the GPU, %u runs of a lane alone; %u faults\n", c.with_gpu, c.alone,
         c.complaints);
  for (unsigned i = 0; i < c.sets; i++)
    bf_emu_free(c.set[i].emu);
  recording_close(&c.gpu);
  case_list_free(&list);
  return c.complaints ? 1 : 0;
}
