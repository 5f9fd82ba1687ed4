/* Counting what a block does. */
#include "tune/work.h"

#include "emu/emu.h"
#include "ptx/tile.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 32, MERGES_AS = 90, SCHEDULERS = 4, WORD_BYTES = 4 };

/* ---- Versions ---- */

static const bf_ptx_operand *address_of(const bf_ptx_instruction *instruction) {
  if (bf_ptx_op_get(instruction->opcode)->access == BF_PTX_NO_ACCESS)
    return NULL;
  for (unsigned i = 0; i < instruction->operands; i++)
    if (instruction->operand[i].kind == BF_PTX_ADDRESS && instruction->operand[i].count)
      return &instruction->operand[i];
  return NULL;
}

static int list_memories(bf_work_version *version, bf_diagnostic *diagnostic) {
  const bf_ptx_function *function = version->function;
  version->memory = malloc(((size_t)function->instructions + 1) * sizeof *version->memory);
  if (!version->memory)
    return bf_no_memory(diagnostic);
  for (uint32_t i = 0; i < function->instructions; i++)
    if (address_of(function->instruction[i]))
      version->memory[version->memories++] = i;
  return BF_OK;
}

/* Registers of longer rows (rewrite/pad.c). */
static bool is_shadow(const char *name) {
  return strncmp(name, "%bf", 3) == 0 && strstr(name, "_place_row");
}

static bool has_longer_rows(const bf_ptx_function *function) {
  for (const bf_ptx_statement *at = function->body; at; at = at->next)
    if (at->kind == BF_PTX_STATEMENT_REGISTERS && is_shadow(at->registers->name))
      return true;
  return false;
}

int bf_work_version_make(const bf_ptx_module *module, const bf_ptx_function *function,
                         bf_work_version *version, bf_diagnostic *diagnostic) {
  *version = (bf_work_version){.function = function};
  BF_TRY(bf_ptx_flow_create(function, &version->flow, diagnostic));
  BF_TRY(bf_ptx_merges_create(module, function, MERGES_AS, &version->merges, diagnostic));
  BF_TRY(list_memories(version, diagnostic));
  BF_TRY(bf_analyze_layout(module, function, &version->arena, &version->variable,
                           &version->variables, diagnostic));
  for (unsigned i = 0; i < version->variables; i++) {
    uint64_t end = version->variable[i].offset_bytes + version->variable[i].variable->bytes;
    version->shared_bytes = end > version->shared_bytes ? end : version->shared_bytes;
  }
  version->registers = bf_emu_function_registers(function);
  if (has_longer_rows(function) &&
      !(version->is_needed = bf_ptx_live_registers(function, &version->arena)))
    return bf_no_memory(diagnostic);
  return BF_OK;
}

void bf_work_version_free(bf_work_version *version) {
  bf_ptx_flow_free(version->flow);
  bf_ptx_merges_free(version->merges);
  bf_arena_free(&version->arena);
  free(version->memory);
  *version = (bf_work_version){0};
}

bool bf_work_is_version_of(const bf_work_version *rewritten, const bf_work_version *original) {
  if (rewritten->flow->blocks != original->flow->blocks ||
      rewritten->memories != original->memories)
    return false;
  for (uint32_t i = 0; i < original->memories; i++)
    if (rewritten->function->instruction[rewritten->memory[i]]->opcode !=
        original->function->instruction[original->memory[i]]->opcode)
      return false;
  return true;
}

/* ---- Accesses ---- */

/* The variable that a site is known to access: by its name or, where the address is known, by where
 * it lies. */
static const bf_analyze_variable *variable_of(const bf_work_options *options,
                                              const bf_analyze_site *site,
                                              const bf_analyze_access *access) {
  const bf_work_version *original = options->original;
  const char *name = bf_work_array(options, site);
  bool has_address = access && !site->offset_step_bytes;
  for (unsigned i = 0; i < original->variables; i++) {
    const bf_analyze_variable *variable = &original->variable[i];
    uint32_t at = has_address ? access->address[__builtin_ctz(access->mask)] : 0;
    bool is_there =
        has_address && at >= variable->offset_bytes &&
        (!variable->variable->bytes || at < variable->offset_bytes + variable->variable->bytes);
    if (name ? strcmp(variable->variable->name, name) == 0 : is_there || original->variables == 1)
      return variable;
  }
  return NULL;
}

const char *bf_work_array(const bf_work_options *options, const bf_analyze_site *site) {
  const bf_ptx_function *function = options->original->function;
  return bf_rewrite_accessed_array(options->examined, function->instruction[site->instruction]);
}

int64_t bf_work_moved(const bf_work_options *options, const bf_work_version *version,
                      const bf_analyze_site *site, const bf_analyze_access *access) {
  const bf_analyze_variable *from = variable_of(options, site, access);
  for (unsigned i = 0; from && i < version->variables; i++)
    if (strcmp(version->variable[i].variable->name, from->variable->name) == 0)
      return (int64_t)version->variable[i].offset_bytes - (int64_t)from->offset_bytes;
  return 0;
}

/* Offsets are sampled in two rows, and across rows where they are whole ones. */
enum { ROW_BYTES = 128, MOST_OFFSETS = 8 };

unsigned bf_work_offsets(const bf_analyze_site *site) {
  return site->offset_step_bytes ? MOST_OFFSETS : 1;
}

uint32_t bf_work_offset(const bf_analyze_site *site, unsigned number) {
  uint32_t step = site->offset_step_bytes;
  /* Small steps: some inside the row, in rows that differ. */
  return step >= ROW_BYTES ? number * step : number * (ROW_BYTES + 5 * step);
}

bool bf_work_is_unknown(const bf_analyze_site *site) {
  for (unsigned i = 0; i < site->unknowns; i++)
    if (site->unknown[i].kind == BF_UNKNOWN_ADDRESS)
      return true;
  return false;
}

/* ---- Wavefronts ---- */

void bf_work_counters_free(bf_work_counters *counters) {
  for (unsigned i = 0; i < BF_WORK_COUNTERS; i++)
    bf_counter_free(counters->counter[i]);
  *counters = (bf_work_counters){0};
}

/* The counter of a hash, in the place of the oldest where it is new. */
static int find_counter(const bf_work_options *options, const bf_hash *hash, bf_counter **counter,
                        bf_diagnostic *diagnostic) {
  bf_work_counters *all = options->counters;
  unsigned at = 0;
  for (at = hash ? 1 : 0; at < BF_WORK_COUNTERS; at++)
    if (all->counter[at] && all->hash[at] == hash)
      break;
  if (at == BF_WORK_COUNTERS || !all->counter[at]) {
    at = hash ? 1 + all->next++ % (BF_WORK_COUNTERS - 1) : 0;
    bf_counter_free(all->counter[at]);
    all->counter[at] = NULL;
    all->hash[at] = hash;
    BF_TRY(bf_counter_create(options->machine, hash, &all->counter[at], diagnostic));
  }
  *counter = all->counter[at];
  return BF_OK;
}

/* Accesses of a site that are counted; of more, every so many. */
enum { MOST_COUNTED = 512 };

/* Shared memory starts here or behind what CUDA reserves for each block. */
static const uint32_t start_bytes[] = {0, 1024};
enum { STARTS = sizeof start_bytes / sizeof *start_bytes };

/* What an access whose address is not known takes, as wavefronts: one without a hash. With one it
 * may be what random banks give: a bank of 32 has 3.4 of 32 words on average. */
static const double unknown_wavefronts = 1, unknown_hashed_wavefronts = 3.4;

typedef struct counting {
  const bf_work_options *options;
  const bf_work_version *version;
  const bf_work_hashes *hashes;
  const bf_hash *padding; /* of the array of the site being counted, or NULL */
  double *passes;  /* per instruction of the version: wavefronts of an access; 0: it is merged */
  double *extra;   /* the same: conflicts */
  bool *is_shared; /* per instruction: it accesses shared memory */
  uint64_t missing_ops;
  bf_diagnostic *diagnostic;
} counting;

/* By how many bytes longer rows move an address of an array. */
static int64_t pushed(const bf_hash *padding, const bf_analyze_variable *array, int64_t address) {
  int64_t offset = array ? address - (int64_t)array->offset_bytes : -1;
  if (!padding || offset < 0)
    return 0;
  int64_t row = (int64_t)padding->row_words * WORD_BYTES;
  return offset / row * (int64_t)padding->pad_words * WORD_BYTES;
}

/* An access at an offset, in an array with longer rows or none (NULL), which was moved, and whether
 * it lies in the memory that the machine has. */
static bool move_access(const bf_work_options *options, const bf_hash *padding,
                        const bf_access *from, int64_t offset, const bf_analyze_variable *array,
                        int64_t moved, bf_access *to) {
  uint64_t end = bf_machine_limits(options->machine).allocation_bytes;
  *to = *from;
  for (uint32_t left = (uint32_t)from->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    int64_t address = (int64_t)from->address[lane] + offset;
    address += moved + pushed(padding, array, address);
    address = (address < 0 ? 0 : address) & ~(int64_t)(from->width_bytes - 1);
    if ((uint64_t)address + from->width_bytes > end)
      return false;
    to->address[lane] = (uint32_t)address;
  }
  return true;
}

/* Adds wavefronts and conflicts of an access, on average over the offsets that it may have. Offsets
 * that do not fit into memory are left out; where it fills the memory, that starts at 0. */
static int count_one(const counting *c, bf_counter *counter, const bf_analyze_site *site,
                     const bf_analyze_access *access, const bf_ptx_merged *merged, uint32_t start,
                     double *sum, double *conflicts) {
  bf_access whole = bf_analyze_as_access(site, access, NULL);
  const bf_analyze_variable *array = c->padding ? variable_of(c->options, site, access) : NULL;
  int64_t moved = bf_work_moved(c->options, c->version, site, access), inside = 0;
  if (merged->width_bytes > whole.width_bytes) {
    whole.width_bytes = merged->width_bytes;
    inside = merged->offset_bytes;
  }
  unsigned counted = 0;
  double own = 0, own_conflicts = 0, times = merged->times ? merged->times : 1;
  for (unsigned k = 0; k < bf_work_offsets(site); k++) {
    bf_access at;
    bf_count count = {0};
    int64_t offset = inside + bf_work_offset(site, k);
    if (!move_access(c->options, c->padding, &whole, offset, array, moved + start, &at) &&
        !move_access(c->options, c->padding, &whole, offset, array, moved, &at))
      continue;
    BF_TRY(bf_counter_count(counter, &at, &count, c->diagnostic));
    own += (double)bf_count_wavefronts(&count);
    own_conflicts += (double)count.conflicts;
    counted++;
  }
  if (!counted)
    return bf_fail(c->diagnostic, BF_BAD_INPUT, "an address lies outside of shared memory");
  *sum += own / counted * times;
  *conflicts += own_conflicts / counted * times;
  return BF_OK;
}

/* Wavefronts of an access of a site on average, where shared memory starts at the worse place. */
static int count_known(const counting *c, const bf_analyze_site *site, const bf_hash *hash,
                       const bf_ptx_merged *merged, double *average, double *conflicts) {
  size_t step = site->accesses / MOST_COUNTED + 1, counted = 0;
  *average = *conflicts = 0;
  bf_counter *counter;
  BF_TRY(find_counter(c->options, hash, &counter, c->diagnostic));
  for (unsigned s = 0; s < (hash ? STARTS : 1); s++) {
    double sum = 0, sum_conflicts = 0;
    int error = BF_OK;
    counted = 0;
    for (size_t i = 0; i < site->accesses && !error; i += step, counted++)
      error = count_one(c, counter, site, &site->access[i], merged, start_bytes[s], &sum,
                        &sum_conflicts);
    /* Outside of shared memory: the block has another shape than the kernel is for. */
    BF_TRY(error);
    if (counted && sum / (double)counted > *average) {
      *average = sum / (double)counted;
      *conflicts = sum_conflicts / (double)counted;
    }
  }
  return BF_OK;
}

/* The instruction of the version that a site became; -1: there is none. */
static int64_t find_instruction(const counting *c, const bf_analyze_site *site) {
  const bf_work_version *original = c->options->original;
  uint32_t low = 0, high = original->memories;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (original->memory[middle] < site->instruction)
      low = middle + 1;
    else
      high = middle;
  }
  return low < original->memories && original->memory[low] == site->instruction
             ? (int64_t)c->version->memory[low]
             : -1;
}

static int count_site(counting *c, const bf_analyze_site *site, double *unknown) {
  int64_t at = find_instruction(c, site);
  if (at < 0 || !site->is_reached)
    return BF_OK;
  bf_ptx_merged merged = c->version->merges->instruction[at];
  const bf_hash *hash =
      c->hashes ? c->hashes->hash_of(c->hashes->context, bf_work_array(c->options, site)) : NULL;
  bool is_moved = hash;
  c->padding = hash && hash->kind == BF_HASH_PAD ? hash : NULL;
  hash = c->padding ? NULL : hash;
  c->is_shared[at] = true;
  if (merged.dropped || merged.leader != at) {
    c->passes[at] = 0;
    return BF_OK;
  }
  bool is_counted = site->has_op && !(c->missing_ops >> site->op & 1) && site->accesses;
  c->passes[at] = is_moved ? unknown_hashed_wavefronts : unknown_wavefronts;
  if (is_counted)
    BF_TRY(count_known(c, site, hash, &merged, &c->passes[at], &c->extra[at]));
  c->passes[at] *= site->pieces;
  c->extra[at] *= site->pieces;
  bool is_unknown = bf_work_is_unknown(site) || !is_counted;
  if (is_unknown && is_counted && is_moved)
    c->passes[at] += unknown_hashed_wavefronts - unknown_wavefronts;
  uint32_t block = c->options->original->flow->block_of[site->instruction];
  *unknown += is_unknown ? (double)c->options->analysis->executed[block].warps : 0;
  return BF_OK;
}

/* What ptxas merges an access of the original to, where a padding may have taken that apart: no
 * access is wider than what the padding keeps aligned. False where it is part of another one. */
static bool merge_padded(const bf_ptx_merged *of, uint32_t instruction, unsigned own_bytes,
                         const bf_hash *padding, bf_ptx_merged *merged) {
  uint64_t pad_bytes = padding ? WORD_BYTES * padding->pad_words : 0;
  uint64_t aligned = pad_bytes ? pad_bytes & (0 - pad_bytes) : of->width_bytes;
  *merged = *of;
  if (of->dropped || of->leader != instruction)
    return false;
  aligned = aligned > own_bytes ? aligned : own_bytes;
  if (of->width_bytes > aligned) {
    merged->times = (of->times ? of->times : 1) * (unsigned)(of->width_bytes / aligned);
    merged->width_bytes = (unsigned)aligned;
  }
  return true;
}

int bf_work_count_array(const bf_work_options *options, const char *array, const bf_hash *padding,
                        bf_work_array_cost *cost, bf_diagnostic *diagnostic) {
  enum { MOST_OF_SITE = 4, MOST_SITES = 128 };
  counting c = {.options = options,
                .version = options->original,
                .padding = padding,
                .missing_ops = bf_machine_limits(options->machine).missing_ops,
                .diagnostic = diagnostic};
  uint32_t every = options->analysis->sites / MOST_SITES + 1;
  bf_counter *counter;
  *cost = (bf_work_array_cost){0};
  BF_TRY(find_counter(options, NULL, &counter, diagnostic));
  for (uint32_t i = 0; i < options->analysis->sites; i += every) {
    const bf_analyze_site *site = &options->analysis->site[i];
    const char *own = bf_work_array(options, site);
    size_t step = site->accesses / MOST_OF_SITE + 1;
    bf_ptx_merged merged = {0};
    if (!own || strcmp(own, array) || !site->has_op || c.missing_ops >> site->op & 1)
      continue;
    if (every == 1 && !merge_padded(&options->original->merges->instruction[site->instruction],
                                    site->instruction, site->width_bytes, padding, &merged))
      continue;
    for (size_t k = 0; k < site->accesses; k += step) {
      cost->accesses += merged.times ? merged.times : 1;
      BF_TRY(count_one(&c, counter, site, &site->access[k], &merged, 0, &cost->wavefronts,
                       &cost->conflicts));
    }
  }
  return BF_OK;
}

/* ---- Accesses for the search of hashes ---- */

/* How often an access stands for others: iterations of open loops, and those left out. */
static uint64_t weight_of(const bf_work_options *options, double trips, const bf_analyze_site *site,
                          size_t step) {
  uint32_t block = options->original->flow->block_of[site->instruction];
  double times = (double)step;
  for (unsigned i = 0; i < options->analysis->executed[block].open_loops; i++)
    times *= trips;
  return times < 1e6 ? (uint64_t)(times + 0.5) : 1000000;
}

/* Adds one access at an offset, as the rewritten kernel makes it. */
static int add_access(const bf_work_options *options, const bf_analyze_site *site,
                      const bf_analyze_access *access, const bf_ptx_merged *merged, uint64_t weight,
                      uint32_t offset, bf_workload *to) {
  bf_access own = bf_analyze_as_access(site, access, bf_work_array(options, site));
  int64_t moved = offset;
  own.count = weight;
  if (merged) {
    own.width_bytes = merged->width_bytes > own.width_bytes ? merged->width_bytes : own.width_bytes;
    own.count *= merged->times ? merged->times : 1;
    moved += merged->offset_bytes;
  }
  const bf_analyze_variable *variable = variable_of(options, site, access);
  if (variable) /* arrays begin with rows */
    moved += (int64_t)((0 - variable->offset_bytes) % BF_REWRITE_ROW_BYTES);
  bf_access at;
  return move_access(options, NULL, &own, 0, NULL, moved, &at) ? bf_workload_add(to, &at) : BF_OK;
}

int bf_work_accesses(const bf_work_options *options, bool as_merged, double trips, bf_workload *to,
                     bf_diagnostic *diagnostic) {
  enum { MOST_KEPT = 16, EVERY_OFFSET = 2 }; /* accesses of a site, and samples of offsets */
  uint64_t missing = bf_machine_limits(options->machine).missing_ops;
  for (uint32_t i = 0; i < options->analysis->sites; i++) {
    const bf_analyze_site *site = &options->analysis->site[i];
    const bf_ptx_merged *merged = &options->original->merges->instruction[site->instruction];
    if (!site->has_op || missing >> site->op & 1 ||
        (as_merged && (merged->dropped || merged->leader != site->instruction)))
      continue;
    size_t step = site->accesses / MOST_KEPT + 1;
    uint64_t weight = weight_of(options, trips, site, step);
    for (size_t k = 0; k < site->accesses; k += step)
      for (unsigned n = 0; n < bf_work_offsets(site); n += EVERY_OFFSET)
        if (add_access(options, site, &site->access[k], as_merged ? merged : NULL, weight,
                       bf_work_offset(site, n), to) == BF_NO_MEMORY)
          return bf_no_memory(diagnostic);
  }
  return BF_OK;
}

/* ---- Instructions ---- */

/* Which unit executes an instruction, how many of its cycles a warp takes on one of four
 * schedulers, and until its result is there. Numbers: machines/h200.gpu, measured. */
typedef enum unit { NOTHING, INTEGER, FLOAT, OTHER, SHARED, GLOBAL, BARRIER } unit;

typedef struct cost {
  unit unit;
  double unit_cycles, latency_cycles, issues;
} cost;

static bool is_double(bf_ptx_type type) { return type == BF_PTX_F64; }
static bool is_float(bf_ptx_type type) { return type >= BF_PTX_F16 && type <= BF_PTX_F32X2; }

static cost arithmetic_cost(bf_ptx_type type, bool multiplies) {
  double words = bf_ptx_type_bytes(type) == 8 ? 2 : 1;
  if (is_double(type))
    return (cost){OTHER, 2, 8, 1};
  if (is_float(type))
    return (cost){FLOAT, 1, 4, 1};
  return (cost){INTEGER, 2 * words, 4 * words, multiplies && words == 2 ? 3 : words};
}

static cost memory_cost(const counting *c, uint32_t index) {
  const bf_ptx_instruction *instruction = c->version->function->instruction[index];
  bf_ptx_access access = bf_ptx_op_get(instruction->opcode)->access;
  unsigned bytes = (instruction->types ? bf_ptx_type_bytes(instruction->type[0]) : 4) *
                   (instruction->vector ? instruction->vector : 1);
  bf_ptx_tile tile;
  if (bf_ptx_tile_read(instruction, &tile)) {
    bytes = tile.lines * tile.line_elements * tile.element_bytes / LANES;
    access = tile.is_store ? BF_PTX_STORE : BF_PTX_LOAD;
  }
  if (instruction->space == BF_PTX_SPACE_PARAM || instruction->space == BF_PTX_SPACE_CONST)
    return (cost){NOTHING, 0, 0, 0};
  if (c->is_shared[index]) {
    double passes = c->passes[index];
    double latency = access == BF_PTX_STORE ? 2 * passes : 24 + 2 * (passes - 1);
    if (passes == 0)
      return (cost){NOTHING, 0, 24, 0};
    return (cost){SHARED, passes, access == BF_PTX_ATOMIC ? latency + 20 : latency, 1};
  }
  double lines = bytes * LANES / 128.0;
  return (cost){GLOBAL, lines < 1 ? 1 : lines, access == BF_PTX_STORE ? 4 : 500, 1};
}

/* Whether ptxas joins a logic instruction with the next one, which reads its result: LOP3. */
static bool is_joined(const bf_ptx_function *function, uint32_t index) {
  if (index + 1 >= function->instructions)
    return false;
  const bf_ptx_instruction *one = function->instruction[index];
  const bf_ptx_instruction *next = function->instruction[index + 1];
  bool are_logic = (one->opcode == BF_PTX_OP_AND || one->opcode == BF_PTX_OP_OR ||
                    one->opcode == BF_PTX_OP_XOR) &&
                   (next->opcode == BF_PTX_OP_AND || next->opcode == BF_PTX_OP_OR ||
                    next->opcode == BF_PTX_OP_XOR);
  if (!are_logic || one->operand[0].kind != BF_PTX_REGISTER)
    return false;
  for (unsigned i = 1; i < next->operands; i++)
    if (next->operand[i].kind == BF_PTX_REGISTER &&
        next->operand[i].registers == one->operand[0].registers &&
        next->operand[i].index == one->operand[0].index)
      return true;
  return false;
}

/* Whether only the units of integers do it, whatever the type is: comparisons, and choices by them.
 * Nothing of it can be moved to other units. */
static bool is_choice(const bf_ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case BF_PTX_OP_MAX:
  case BF_PTX_OP_MIN:
  case BF_PTX_OP_SELP:
  case BF_PTX_OP_SET:
  case BF_PTX_OP_SETP:
  case BF_PTX_OP_SLCT:
    return !is_double(instruction->types ? instruction->type[instruction->types - 1]
                                         : BF_PTX_TYPE_NONE);
  default:
    return false;
  }
}

static cost choice_cost(const bf_ptx_instruction *instruction) {
  double words =
      instruction->types && bf_ptx_type_bytes(instruction->type[instruction->types - 1]) == 8 ? 2
                                                                                              : 1;
  return (cost){INTEGER, 2 * words, 4 * words, words};
}

/* Conversions between integers are moves, or as cheap as logic; others have a unit of their own. */
static cost conversion_cost(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->types; i++)
    if (is_float(instruction->type[i]) || is_double(instruction->type[i]))
      return (cost){OTHER, 4, 11, 1};
  return (cost){INTEGER, 2, 4, 1};
}

/* Values that lanes exchange go the way of shared memory; votes do not. */
static cost exchange_cost(const bf_ptx_instruction *instruction) {
  if (instruction->opcode == BF_PTX_OP_SHFL)
    return (cost){SHARED, 1, 24, 1};
  return instruction->opcode == BF_PTX_OP_VOTE ? (cost){INTEGER, 2, 12, 1}
                                               : (cost){OTHER, 8, 24, 1};
}

/* A product of wmma is two of mma; its loads and stores are accesses. */
static cost matrix_cost(const counting *c, uint32_t index) {
  const bf_ptx_instruction *instruction = c->version->function->instruction[index];
  if (instruction->opcode != BF_PTX_OP_WMMA)
    return (cost){OTHER, 8, 24, 1};
  if (bf_ptx_has(instruction, "mma"))
    return (cost){OTHER, 16, 32, 2};
  return memory_cost(c, index);
}

static cost written_cost(const counting *c, uint32_t index) {
  const bf_ptx_instruction *instruction = c->version->function->instruction[index];
  bf_ptx_type type = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
  if (is_choice(instruction))
    return choice_cost(instruction);
  switch (bf_ptx_op_get(instruction->opcode)->work) {
  case BF_PTX_WORK_NOTHING:
  case BF_PTX_WORK_MOVE:
    return (cost){NOTHING, 0, 0, 0};
  case BF_PTX_WORK_LOGIC:
  case BF_PTX_WORK_FENCE:
    if (is_joined(c->version->function, index))
      return (cost){NOTHING, 0, 0, 0};
    return (cost){INTEGER, 2, 4, 1};
  case BF_PTX_WORK_ARITHMETIC:
    return arithmetic_cost(type, false);
  case BF_PTX_WORK_MULTIPLY:
    return arithmetic_cost(type, true);
  case BF_PTX_WORK_DIVIDE:
    return (cost){OTHER, 30, 100, 12};
  case BF_PTX_WORK_SPECIAL:
    return (cost){OTHER, 8, 17, 1};
  case BF_PTX_WORK_CONVERT:
    return conversion_cost(instruction);
  case BF_PTX_WORK_VIDEO:
    return (cost){INTEGER, 4, 8, 2};
  case BF_PTX_WORK_MATRIX:
    return matrix_cost(c, index);
  case BF_PTX_WORK_EXCHANGE:
    return exchange_cost(instruction);
  case BF_PTX_WORK_BRANCH:
    return (cost){INTEGER, 1, 4, 1};
  case BF_PTX_WORK_BARRIER:
    return (cost){BARRIER, 0, 12, 1};
  case BF_PTX_WORK_MEMORY:
    return memory_cost(c, index);
  }
  return (cost){INTEGER, 2, 4, 1};
}

/* Of what a compiler wrote, ptxas makes fewer instructions: it folds address arithmetic into
 * accesses, joins what the GPU does at once, and moves part of the work on integers to the units of
 * floats. What is added by the rewriter stays, though not all of it on the same units. Chosen with
 * half A of the corpus (tests/check/check_predict.c). */
static const double issued_share = 0.65, integer_share = 0.5, added_integer_share = 0.75;

/* Whether an instruction was added by the rewriter: its result has such a name. */
static bool is_added(const bf_ptx_instruction *instruction) {
  return instruction->operands && instruction->operand[0].kind == BF_PTX_REGISTER &&
         strncmp(instruction->operand[0].registers->name, "%bf", 3) == 0 &&
         !is_shadow(instruction->operand[0].registers->name);
}

/* Whether nobody needs what an instruction computes. */
static bool is_dropped(const bf_work_version *version, const bf_ptx_instruction *instruction) {
  const bf_ptx_operand *to = instruction->operands ? &instruction->operand[0] : NULL;
  return version->is_needed && to && to->kind == BF_PTX_REGISTER && bf_ptx_is_pure(instruction) &&
         !version->is_needed[to->registers->first + to->index];
}

static cost cost_of(const counting *c, uint32_t index) {
  if (is_dropped(c->version, c->version->function->instruction[index]))
    return (cost){NOTHING, 0, 0, 0};
  cost own = written_cost(c, index);
  bool was_added = is_added(c->version->function->instruction[index]);
  if (own.unit == INTEGER && !is_choice(c->version->function->instruction[index]))
    own.unit_cycles *= was_added ? added_integer_share : integer_share;
  if (was_added || is_choice(c->version->function->instruction[index]))
    return own;
  if (own.unit == INTEGER || own.unit == FLOAT)
    own.issues *= issued_share;
  return own;
}

/* ---- Basic blocks ---- */

/* One pass of one warp through a basic block. */
typedef struct pass {
  bf_work work;        /* of the warp */
  double chain_cycles; /* until all results are there, if only dependences mattered */
} pass;

/* When registers have their values. */
typedef struct ready {
  double *at; /* per register, in cycles since the block began; of those that are stamped: */
  uint32_t *stamp, now;
} ready;

static double ready_at(const ready *r, const bf_ptx_operand *operand) {
  double latest = 0;
  if (operand->kind == BF_PTX_REGISTER) {
    uint32_t number = operand->registers->first + operand->index;
    return r->stamp[number] == r->now ? r->at[number] : 0;
  }
  if (operand->kind >= BF_PTX_ADDRESS && operand->kind <= BF_PTX_ARGUMENTS)
    for (uint32_t i = 0; i < operand->count; i++) {
      double own = ready_at(r, &operand->item[i]);
      latest = own > latest ? own : latest;
    }
  return latest;
}

static void set_ready(ready *r, const bf_ptx_operand *operand, double at) {
  if (operand->kind == BF_PTX_REGISTER) {
    uint32_t number = operand->registers->first + operand->index;
    r->stamp[number] = r->now;
    r->at[number] = at;
  } else if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
             operand->kind == BF_PTX_ARGUMENTS) {
    for (uint32_t i = 0; i < operand->count; i++)
      set_ready(r, &operand->item[i], at);
  }
}

/* When the operands of an instruction are there. */
static double start_of(const ready *r, const bf_ptx_instruction *instruction, bool writes) {
  double start = instruction->guard ? ready_at(r, instruction->guard) : 0;
  for (unsigned i = writes ? 1 : 0; i < instruction->operands; i++) {
    double own = ready_at(r, &instruction->operand[i]);
    start = own > start ? own : start;
  }
  return start;
}

static void add_cost(const cost *own, pass *p) {
  bf_work *work = &p->work;
  work->instructions += own->issues;
  work->issue_cycles += own->issues / SCHEDULERS;
  work->integer += own->unit == INTEGER ? own->issues : 0;
  work->integer_cycles += own->unit == INTEGER ? own->unit_cycles / SCHEDULERS : 0;
  work->other_cycles += own->unit == OTHER ? own->unit_cycles / SCHEDULERS : 0;
  work->shared_cycles += own->unit == SHARED || own->unit == GLOBAL ? own->unit_cycles : 0;
  work->barriers += own->unit == BARRIER;
  work->global_bytes += own->unit == GLOBAL ? own->unit_cycles * 128 : 0;
}

static void walk_block(const counting *c, uint32_t block, ready *r, pass *p) {
  const bf_work_version *version = c->version;
  double after = 0; /* the last barrier */
  *p = (pass){0};
  r->now++;
  for (uint32_t i = version->flow->block[block].first; i < version->flow->block[block].end; i++) {
    const bf_ptx_instruction *instruction = version->function->instruction[i];
    bool writes =
        instruction->operands > 0 && bf_ptx_op_get(instruction->opcode)->operands[0] == 'd';
    cost own = cost_of(c, i);
    double start = start_of(r, instruction, writes);
    start = own.unit == BARRIER ? p->chain_cycles : start > after ? start : after;
    double end = start + own.latency_cycles;
    add_cost(&own, p);
    if (c->is_shared[i] && c->passes[i] > 0) {
      p->work.accesses++;
      p->work.wavefronts += c->passes[i];
      p->work.conflicts += c->extra[i];
    }
    if (writes)
      set_ready(r, &instruction->operand[0], end);
    p->chain_cycles = end > p->chain_cycles ? end : p->chain_cycles;
    after = own.unit == BARRIER ? end : after;
  }
}

/* ---- The whole block ---- */

/* Of how many schedulers the first warps of blocks can be. An H200 lets blocks start at another
 * scheduler each, so that first warps are spread over all of them, but those of two warps always at
 * an even place (bench/results/2026-11-16-h200-lonely.md). */
static double schedulers_of_first(unsigned warps) { return warps == 2 ? 2 : SCHEDULERS; }

/* Adds what all warps do in a basic block. Warps that go through it together share the units; where
 * they are few, they may leave schedulers idle, in all blocks the same ones. The pass is over when
 * the last result is there, or the busiest unit is done. */
static void add_block(const bf_analyze_executed *executed, unsigned block_warps, double trips,
                      const pass *p, bf_work *work) {
  double times = 1;
  for (unsigned i = 0; i < executed->open_loops; i++)
    times *= trips;
  double warps = times * (double)executed->warps, passes = times * (double)executed->passes;
  const bf_work *own = &p->work;
  double together = passes > 0 ? warps / passes : 0;
  double used = together * schedulers_of_first(block_warps);
  double idle = used < SCHEDULERS ? SCHEDULERS / used : 1;
  work->instructions += warps * own->instructions;
  work->lonely += idle > 1 ? warps * own->instructions : 0;
  work->integer += warps * own->integer;
  work->accesses += warps * own->accesses;
  work->wavefronts += warps * own->wavefronts;
  work->conflicts += warps * own->conflicts;
  work->barriers += passes * own->barriers;
  work->global_bytes += warps * own->global_bytes;
  work->issue_cycles += idle * warps * own->issue_cycles;
  work->integer_cycles += idle * warps * own->integer_cycles;
  work->other_cycles += idle * warps * own->other_cycles;
  work->shared_cycles += warps * own->shared_cycles;
  double spread = together < SCHEDULERS ? SCHEDULERS : together; /* a warp has one scheduler */
  double busy =
      spread * (own->issue_cycles > own->integer_cycles ? own->issue_cycles : own->integer_cycles);
  busy = busy > spread * own->other_cycles ? busy : spread * own->other_cycles;
  busy = busy > together * own->shared_cycles ? busy : together * own->shared_cycles;
  work->latency_cycles += passes * (p->chain_cycles > busy ? p->chain_cycles : busy);
}

static int count_blocks(counting *c, const double *trips, unsigned count, bf_work *work) {
  size_t registers = (size_t)c->version->function->registers + 1;
  ready r = {.at = calloc(registers, sizeof *r.at), .stamp = calloc(registers, sizeof *r.stamp)};
  const bf_analysis *analysis = c->options->analysis;
  bool fine = r.at && r.stamp;
  for (uint32_t i = 0; fine && i < analysis->blocks; i++) {
    pass p;
    if (!analysis->executed[i].warps)
      continue;
    walk_block(c, i, &r, &p);
    for (unsigned k = 0; k < count; k++)
      add_block(&analysis->executed[i], analysis->warps, trips[k], &p, &work[k]);
  }
  free(r.at);
  free(r.stamp);
  return fine ? BF_OK : bf_no_memory(c->diagnostic);
}

int bf_work_count(const bf_work_options *options, const bf_work_version *version,
                  const bf_work_hashes *hashes, const double *trips, unsigned count, bf_work *work,
                  bf_diagnostic *diagnostic) {
  double unknown = 0;
  size_t instructions = (size_t)version->function->instructions + 1;
  counting c = {.options = options,
                .version = version,
                .hashes = hashes,
                .passes = calloc(instructions, sizeof *c.passes),
                .extra = calloc(instructions, sizeof *c.extra),
                .is_shared = calloc(instructions, sizeof *c.is_shared),
                .missing_ops = bf_machine_limits(options->machine).missing_ops,
                .diagnostic = diagnostic};
  int error = c.passes && c.extra && c.is_shared ? BF_OK : bf_no_memory(diagnostic);
  for (uint32_t i = 0; i < options->analysis->sites && !error; i++)
    error = count_site(&c, &options->analysis->site[i], &unknown);
  if (!error)
    for (unsigned i = 0; i < count; i++)
      work[i] = (bf_work){.unknown = unknown};
  if (!error)
    error = count_blocks(&c, trips, count, work);
  free(c.passes);
  free(c.extra);
  free(c.is_shared);
  return error;
}
