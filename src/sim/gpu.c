/* Parameters of GPUs: the table of gpu.def, values as text, and which values cannot work together.
 * Files are read in gpu_file.c. */
#include "sim/gpu.h"

#include <stdlib.h>
#include <string.h>

/* ---- The table ---- */

#define ROW_NUMBER(name, value, least, most, meaning)                                              \
  {#name, meaning, NULL, BF_SIM_NUMBER, offsetof(bf_sim_gpu, name), value, least, most},
#define ROW_REAL(name, value, least, most, meaning)                                                \
  {#name, meaning, NULL, BF_SIM_REAL, offsetof(bf_sim_gpu, name), value, least, most},
#define ROW_CHOICE(name, value, least, words, meaning)                                             \
  {#name, meaning, words, BF_SIM_CHOICE, offsetof(bf_sim_gpu, name), value, 0, 0},

const bf_sim_parameter bf_sim_parameters[] = {
#define X(kind, name, value, least, most, meaning) ROW_##kind(name, value, least, most, meaning)
#include "sim/gpu.def"
#undef X
    {NULL, NULL, NULL, BF_SIM_NUMBER, 0, 0, 0, 0}};
enum { PARAMETERS = sizeof bf_sim_parameters / sizeof *bf_sim_parameters - 1 };

static void *value_of(bf_sim_gpu *gpu, const bf_sim_parameter *parameter) {
  return (char *)gpu + parameter->offset;
}

/* Numbers up to 2^53 are exact in a double; gpu.def has none beyond. */
static void put(bf_sim_gpu *gpu, const bf_sim_parameter *parameter, double value) {
  if (parameter->kind == BF_SIM_NUMBER)
    *(uint64_t *)value_of(gpu, parameter) = (uint64_t)value;
  else if (parameter->kind == BF_SIM_REAL)
    *(double *)value_of(gpu, parameter) = value;
  else
    *(unsigned *)value_of(gpu, parameter) = (unsigned)value;
}

static double value_as_double(const bf_sim_gpu *gpu, const bf_sim_parameter *parameter) {
  const void *value = (const char *)gpu + parameter->offset;
  if (parameter->kind == BF_SIM_NUMBER)
    return (double)*(const uint64_t *)value;
  return parameter->kind == BF_SIM_REAL ? *(const double *)value : *(const unsigned *)value;
}

void bf_sim_gpu_reset(bf_sim_gpu *gpu) {
  for (const bf_sim_parameter *p = bf_sim_parameters; p->name; p++)
    put(gpu, p, p->value);
}

void bf_sim_gpu_copy_values(bf_sim_gpu *to, const bf_sim_gpu *from) {
  for (const bf_sim_parameter *p = bf_sim_parameters; p->name; p++)
    put(to, p, value_as_double(from, p));
}

/* ---- Names that are near ---- */

enum { MOST_NAME = 40, MOST_NEAR = 4 };

static unsigned least_of(unsigned a, unsigned b) { return a < b ? a : b; }

/* How many letters must be put in, left out or changed to make one word the other: each row of the
 * usual table from the row above it. Words beyond MOST_NAME letters are far from everything. */
static unsigned edits(const char *left, const char *right) {
  size_t right_length = strlen(right);
  if (strlen(left) > MOST_NAME || right_length > MOST_NAME)
    return MOST_NAME;
  unsigned row[MOST_NAME + 1];
  for (unsigned j = 0; j <= right_length; j++)
    row[j] = j;
  for (unsigned i = 0; left[i]; i++) {
    unsigned diagonal = row[0];
    row[0] = i + 1;
    for (unsigned j = 0; j < right_length; j++) {
      unsigned changed = diagonal + (left[i] != right[j]);
      diagonal = row[j + 1];
      row[j + 1] = least_of(changed, least_of(row[j], diagonal) + 1);
    }
  }
  return row[right_length];
}

/* Near: two edits away, or the one begins with the other. */
static bool is_near(const char *name, const char *known) {
  size_t length = least_of((unsigned)strlen(name), (unsigned)strlen(known));
  return edits(name, known) <= 2 || (length >= 2 && strncmp(name, known, length) == 0);
}

const bf_sim_parameter *bf_sim_gpu_find(const char *name, char problem[BF_SIM_GPU_PROBLEM]) {
  unsigned near = 0;
  int used = snprintf(problem, BF_SIM_GPU_PROBLEM, "unknown key '%.40s'", name);
  for (const bf_sim_parameter *p = bf_sim_parameters; p->name; p++) {
    if (strcmp(p->name, name) == 0)
      return p;
    if (near < MOST_NEAR && is_near(name, p->name))
      used += snprintf(problem + used, (size_t)(BF_SIM_GPU_PROBLEM - used), "%s %s",
                       near++ ? "," : "; near it:", p->name);
  }
  return NULL;
}

/* ---- Values as text ---- */

/* The length of the word at *words, behind blanks, to which *words is moved; 0 at the end. */
static size_t next_word(const char **words) {
  *words += strspn(*words, " ");
  return strcspn(*words, " ");
}

static bool assign_choice(bf_sim_gpu *gpu, const bf_sim_parameter *p, const char *text,
                          char problem[BF_SIM_GPU_PROBLEM]) {
  unsigned index = 0;
  const char *at = p->words;
  for (size_t length; (length = next_word(&at)); at += length, index++)
    if (strlen(text) == length && memcmp(text, at, length) == 0) {
      put(gpu, p, index);
      return true;
    }
  snprintf(problem, BF_SIM_GPU_PROBLEM, "%s must be one of: %s", p->name, p->words);
  return false;
}

static bool parse_real(const char *text, double *value) {
  char *end;
  if (!*text || strspn(text, "0123456789.eE+-") != strlen(text))
    return false;
  *value = strtod(text, &end);
  return !*end;
}

/* Whole numbers beyond 2^53 may round, but are then out of every range all the same. */
static bool parse_whole(const char *text, double *value) {
  uint64_t whole;
  if (!bf_parse_number(&text, &whole) || *text)
    return false;
  *value = (double)whole;
  return true;
}

bool bf_sim_gpu_assign(bf_sim_gpu *gpu, const bf_sim_parameter *p, const char *text,
                       char problem[BF_SIM_GPU_PROBLEM]) {
  if (p->kind == BF_SIM_CHOICE)
    return assign_choice(gpu, p, text, problem);
  double value;
  bool is_whole = p->kind == BF_SIM_NUMBER;
  if (!(is_whole ? parse_whole(text, &value) : parse_real(text, &value))) {
    snprintf(problem, BF_SIM_GPU_PROBLEM, "%s must be a %s, not '%.40s'", p->name,
             is_whole ? "whole number" : "number", text);
    return false;
  }
  if (!(value >= p->least && value <= p->most)) {
    snprintf(problem, BF_SIM_GPU_PROBLEM, "%s must be from %.10g to %.10g", p->name, p->least,
             p->most);
    return false;
  }
  put(gpu, p, value);
  return true;
}

void bf_sim_gpu_get(const bf_sim_gpu *gpu, const bf_sim_parameter *p, bf_text *text) {
  double value = value_as_double(gpu, p);
  if (p->kind != BF_SIM_CHOICE) {
    bf_text_addf(text, "%.10g", value);
    return;
  }
  const char *at = p->words;
  size_t length = next_word(&at);
  for (unsigned index = (unsigned)value; index; index--) {
    at += length;
    length = next_word(&at);
  }
  bf_text_add(text, at, length);
}

/* ---- Where values come from ---- */

int bf_sim_gpu_keep_fact(bf_sim_gpu *gpu, const bf_machine_fact *fact, bf_diagnostic *diagnostic) {
  if (!gpu->facts)
    gpu->facts = bf_arena_alloc(&gpu->arena, PARAMETERS * sizeof *gpu->facts);
  bf_machine_fact copy = {.key = bf_arena_copy(&gpu->arena, fact->key),
                          .value = bf_arena_copy(&gpu->arena, fact->value),
                          .basis = bf_arena_copy(&gpu->arena, fact->basis),
                          .source = bf_arena_copy(&gpu->arena, fact->source)};
  if (!gpu->facts || !copy.key || !copy.value || !copy.basis || !copy.source)
    return bf_no_memory(diagnostic);
  size_t index = 0;
  while (index < gpu->fact_count && strcmp(gpu->facts[index].key, copy.key) != 0)
    index++;
  gpu->facts[index] = copy;
  gpu->fact_count += index == gpu->fact_count;
  return BF_OK;
}

/* ---- Overrides ---- */

static int override_machine(bf_sim_gpu *gpu, const char *name, bf_diagnostic *diagnostic) {
  bf_machine *machine;
  BF_TRY(bf_machine_load(name, NULL, &machine, diagnostic));
  bf_machine_free(gpu->machine);
  gpu->machine = machine;
  return BF_OK;
}

static int override_parameter(bf_sim_gpu *gpu, char *key, char *value, bf_diagnostic *diagnostic) {
  char problem[BF_SIM_GPU_PROBLEM], basis[] = "override", source[] = "-";
  const bf_sim_parameter *parameter = bf_sim_gpu_find(key, problem);
  if (!parameter || !bf_sim_gpu_assign(gpu, parameter, value, problem))
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s", problem);
  bf_machine_fact fact = {.key = key, .value = value, .basis = basis, .source = source};
  return bf_sim_gpu_keep_fact(gpu, &fact, diagnostic);
}

int bf_sim_gpu_set(bf_sim_gpu *gpu, const char *assignment, bf_diagnostic *diagnostic) {
  const char *equals = strchr(assignment, '=');
  if (!equals || equals == assignment)
    return bf_fail(diagnostic, BF_BAD_INPUT, "expected key=value, not '%.64s'", assignment);
  char *copy = strdup(assignment);
  if (!copy)
    return bf_no_memory(diagnostic);
  char *value = copy + (equals - assignment) + 1;
  value[-1] = 0;
  int error = strcmp(copy, "machine") == 0 ? override_machine(gpu, value, diagnostic)
                                           : override_parameter(gpu, copy, value, diagnostic);
  free(copy);
  return error;
}

/* ---- What cannot work together ---- */

#define REFUSE(...) return bf_fail(diagnostic, BF_BAD_INPUT, __VA_ARGS__)
#define AS_LONG(value) ((unsigned long long)(value))

/* The pipelines of gou13 have one scheduler, one instruction at a time, and parts of warps
 * that follow each other. Beside the memory stages there are at least fetch, execution and
 * writeback. */
static int check_in_order(const bf_sim_gpu *gpu, bf_diagnostic *diagnostic) {
  if (gpu->schedulers != 1 || gpu->dispatch != 1)
    REFUSE("an in-order pipeline has schedulers=1 and dispatch=1, not %llu and %llu",
           AS_LONG(gpu->schedulers), AS_LONG(gpu->dispatch));
  if (gpu->scheduler == BF_SIM_TWO_LEVEL)
    REFUSE("scheduler=two-level needs pipeline=scoreboard");
  if (gpu->lookahead)
    REFUSE("lookahead=%llu needs pipeline=scoreboard", AS_LONG(gpu->lookahead));
  if (BF_EMU_LANES % gpu->simd_width)
    REFUSE("simd_width=%llu does not divide a warp of %d lanes", AS_LONG(gpu->simd_width),
           BF_EMU_LANES);
  if (gpu->memory_stages + 3 > gpu->stages)
    REFUSE("memory_stages=%llu leave fewer than 3 of %llu stages for the rest",
           AS_LONG(gpu->memory_stages), AS_LONG(gpu->stages));
  return BF_OK;
}

static int check_scheduling(const bf_sim_gpu *gpu, bf_diagnostic *diagnostic) {
  if (gpu->warps_per_sm < gpu->schedulers)
    REFUSE("warps_per_sm=%llu leave some of %llu schedulers without warps",
           AS_LONG(gpu->warps_per_sm), AS_LONG(gpu->schedulers));
  if (gpu->pipeline != BF_SIM_SCOREBOARD)
    BF_TRY(check_in_order(gpu, diagnostic));
  if (gpu->let_through && gpu->scheduler != BF_SIM_CONFLICT_AWARE)
    REFUSE("let_through=yes needs scheduler=conflict-aware");
  return BF_OK;
}

/* A warp of threads with as many registers as a thread can have, its lanes, and a row of all banks
 * fit. */
static int check_room(const bf_sim_gpu *gpu, bf_diagnostic *diagnostic) {
  uint64_t registers = gpu->registers_per_thread * BF_EMU_LANES;
  uint64_t given =
      (registers + gpu->register_granule - 1) / gpu->register_granule * gpu->register_granule;
  if (given > gpu->registers_per_sm)
    REFUSE("registers_per_sm=%llu are fewer than the %llu of a warp with registers_per_thread=%llu",
           AS_LONG(gpu->registers_per_sm), AS_LONG(given), AS_LONG(gpu->registers_per_thread));
  if (gpu->machine->lanes < BF_EMU_LANES)
    REFUSE("machine %s has %u lanes, fewer than the %d of a warp", gpu->machine->name,
           gpu->machine->lanes, BF_EMU_LANES);
  uint64_t row_bytes = (uint64_t)gpu->machine->word_bytes << gpu->machine->bank_bits;
  if (gpu->shared_bytes_per_sm < row_bytes)
    REFUSE("shared_bytes_per_sm=%llu is less than one row of the banks of %s, %llu bytes",
           AS_LONG(gpu->shared_bytes_per_sm), gpu->machine->name, AS_LONG(row_bytes));
  return BF_OK;
}

/* Caches are sets of ways of lines of 128 bytes, the second level as many of them as slices. */
static int check_caches(const bf_sim_gpu *gpu, bf_diagnostic *diagnostic) {
  enum { LINE_BYTES = 128 };
  uint64_t l1_step = gpu->l1_ways * LINE_BYTES,
           l2_step = gpu->l2_slices * gpu->l2_ways * LINE_BYTES;
  if (gpu->l1_bytes % l1_step)
    REFUSE("l1_bytes=%llu is no multiple of l1_ways * 128 = %llu", AS_LONG(gpu->l1_bytes),
           AS_LONG(l1_step));
  if (gpu->l2_bytes % l2_step)
    REFUSE("l2_bytes=%llu is no multiple of l2_slices * l2_ways * 128 = %llu",
           AS_LONG(gpu->l2_bytes), AS_LONG(l2_step));
  if (gpu->dram_row_bytes % LINE_BYTES)
    REFUSE("dram_row_bytes=%llu is no multiple of 128", AS_LONG(gpu->dram_row_bytes));
  if (gpu->dram_miss_cycles < gpu->dram_hit_cycles)
    REFUSE("dram_miss_cycles=%llu are fewer than dram_hit_cycles=%llu",
           AS_LONG(gpu->dram_miss_cycles), AS_LONG(gpu->dram_hit_cycles));
  return BF_OK;
}

int bf_sim_gpu_check(const bf_sim_gpu *gpu, bf_diagnostic *diagnostic) {
  BF_TRY(check_scheduling(gpu, diagnostic));
  BF_TRY(check_room(gpu, diagnostic));
  return check_caches(gpu, diagnostic);
}

void bf_sim_gpu_free(bf_sim_gpu *gpu) {
  if (!gpu)
    return;
  bf_machine_free(gpu->machine);
  bf_arena_free(&gpu->arena);
  free(gpu);
}
