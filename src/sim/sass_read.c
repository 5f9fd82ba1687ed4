/* Reads kernel traces of machine instructions: the head, then blocks, their warps, and for each
 * warp the instructions that it has executed. */
#include "sim/sass_op.h"

#include <stdlib.h>
#include <string.h>

enum { OPCODE_BYTES = 64, MOST_BLOCK = 1024 };
#define MOST_WARPS (UINT64_C(1) << 26)

typedef struct reader {
  bf_sim_sass *trace;
  bf_trace_limits limits;
  bf_sass_line line; /* the current one */
  bool is_in_block, has_block;
  uint64_t block;
  bf_sass_warp *warp; /* whose instructions follow, or NULL */
  uint64_t announced;
  uint64_t blocks; /* read */
} reader;

#define FAIL_AT(where, ...)                                                                        \
  bf_fail_at(own->line.diagnostic, own->line.file, own->line.number, own->line.text, where,        \
             __VA_ARGS__)

static int no_memory(const reader *own) { return bf_no_memory(own->line.diagnostic); }

/* ---- Heads ---- */

/* Whether the line begins with `head`; the cursor stands behind it then. */
static bool begins(reader *own, const char *head) {
  size_t length = strlen(head);
  if (strncmp(own->line.text, head, length) != 0)
    return false;
  own->line.at = own->line.text + length;
  return true;
}

/* Reads three numbers with commas between them and what stands around them. */
static int read_three(reader *own, const char *open, const char *close, uint32_t *value) {
  const char *at = own->line.at;
  const char *between[] = {open, ",", ",", close};
  for (unsigned i = 0; i < 4; i++) {
    at += strspn(at, " ");
    size_t length = strlen(between[i]);
    if (strncmp(at, between[i], length) != 0)
      return FAIL_AT(at, "expected three numbers, as in %s1,1,1%s", open, close);
    at += length;
    uint64_t number = 0;
    at += i < 3 ? strspn(at, " ") : 0;
    if (i < 3 && (!bf_parse_number(&at, &number) || number > UINT32_MAX))
      return FAIL_AT(at, "expected three numbers, as in %s1,1,1%s", open, close);
    if (i < 3)
      value[i] = (uint32_t)number;
  }
  return at[strspn(at, " \t\r")] ? FAIL_AT(at, "more than three numbers") : BF_OK;
}

static uint64_t volume(const uint32_t *size) { return (uint64_t)size[0] * size[1] * size[2]; }

/* The block's size is known: how many warps it has. */
static int set_block(reader *own) {
  uint64_t threads = volume(own->trace->block);
  for (unsigned i = 0; i < 3; i++)
    if (own->trace->block[i] > MOST_BLOCK)
      threads = 0;
  if (threads == 0 || threads > MOST_BLOCK)
    return FAIL_AT(own->line.text, "a block has 1 to %d threads", MOST_BLOCK);
  own->trace->warps = (unsigned)((threads + BF_SASS_LANES - 1) / BF_SASS_LANES);
  return BF_OK;
}

/* The grid's size is known. */
static int set_grid(reader *own) {
  const uint32_t *grid = own->trace->grid;
  uint64_t plane = (uint64_t)grid[0] * grid[1];
  if (!plane || !grid[2] || plane > MOST_WARPS || plane * grid[2] > MOST_WARPS)
    return FAIL_AT(own->line.text, "a grid has 1 to %llu blocks", (unsigned long long)MOST_WARPS);
  own->trace->blocks = plane * grid[2];
  return BF_OK;
}

static int set_kernel(reader *own) {
  const char *name = own->line.at;
  own->trace->kernel = bf_arena_copy(&own->trace->arena, name);
  if (!own->trace->kernel)
    return no_memory(own);
  own->trace->kernel[strcspn(name, "\r")] = 0;
  return *own->trace->kernel ? BF_OK : FAIL_AT(name, "expected the name of the kernel");
}

/* The version of the tracer: before the third, every line begins with its block and warp. */
static int check_version(reader *own) {
  const char *at = own->line.at;
  uint64_t version;
  if (!bf_parse_number(&at, &version))
    return FAIL_AT(own->line.at, "expected the version of the tracer");
  return version >= 3
             ? BF_OK
             : FAIL_AT(own->line.at, "traces of version 3 of the tracer and later are read");
}

/* A line of the head: "-name = value". Those that say nothing of time are passed over. */
static int read_head(reader *own) {
  bf_sim_sass *trace = own->trace;
  if (begins(own, "-kernel name = "))
    return set_kernel(own);
  if (begins(own, "-grid dim = ")) {
    BF_TRY(read_three(own, "(", ")", trace->grid));
    return set_grid(own);
  }
  if (begins(own, "-block dim = ")) {
    BF_TRY(read_three(own, "(", ")", trace->block));
    return set_block(own);
  }
  if (begins(own, "-shmem = "))
    return bf_sass_number(&own->line, false, "bytes of shared memory", &trace->shared_bytes);
  if (begins(own, "-nregs = "))
    return bf_sass_number(&own->line, false, "registers of a thread", &trace->registers);
  if (begins(own, "-shmem base_addr = "))
    return bf_sass_number(&own->line, true, "the address of shared memory", &trace->shared_base);
  if (begins(own, "-local mem base_addr = "))
    return bf_sass_number(&own->line, true, "the address of local memory", &trace->local_base);
  if (begins(own, "-accelsim tracer version = "))
    return check_version(own);
  if (begins(own, "-enable lineinfo = 1"))
    trace->has_source_lines = true;
  return BF_OK;
}

/* ---- Blocks and warps ---- */

/* The warp that was read has as many instructions as were announced. */
static int end_warp(reader *own) {
  if (own->warp && own->warp->count != own->announced)
    return FAIL_AT(own->line.text, "the warp before this line has %llu instructions, not %llu",
                   (unsigned long long)own->warp->count, (unsigned long long)own->announced);
  own->warp = NULL;
  return BF_OK;
}

static int begin_block(reader *own) {
  bf_sim_sass *trace = own->trace;
  if (own->is_in_block)
    return FAIL_AT(own->line.text, "the block before has no #END_TB");
  if (!trace->kernel || !trace->blocks || !trace->warps)
    return FAIL_AT(own->line.text, "expected '-kernel name', '-grid dim' and '-block dim' before "
                                   "the first block");
  uint64_t warps = trace->blocks * trace->warps;
  if (warps > MOST_WARPS)
    return FAIL_AT(own->line.text, "the grid has more than %llu warps",
                   (unsigned long long)MOST_WARPS);
  if (!trace->warp && !(trace->warp = calloc(warps, sizeof *trace->warp)))
    return no_memory(own);
  own->is_in_block = true;
  own->has_block = false;
  return BF_OK;
}

static int end_block(reader *own) {
  if (!own->is_in_block || !own->has_block)
    return FAIL_AT(own->line.text, "there is no block that could end");
  own->is_in_block = false;
  return end_warp(own);
}

/* "thread block = x,y,z" */
static int name_block(reader *own) {
  const uint32_t *grid = own->trace->grid;
  uint32_t at[3];
  if (!own->is_in_block || own->has_block)
    return FAIL_AT(own->line.text, "expected #BEGIN_TB before each block");
  BF_TRY(read_three(own, "", "", at));
  if (at[0] >= grid[0] || at[1] >= grid[1] || at[2] >= grid[2])
    return FAIL_AT(own->line.text, "the grid has no such block");
  own->block = at[0] + grid[0] * (at[1] + (uint64_t)grid[1] * at[2]);
  if (own->trace->warp[own->block * own->trace->warps].is_there)
    return FAIL_AT(own->line.text, "the block was there before");
  own->has_block = true;
  own->blocks++;
  for (unsigned i = 0; i < own->trace->warps; i++)
    own->trace->warp[own->block * own->trace->warps + i].is_there = true;
  return BF_OK;
}

/* "warp = n" */
static int begin_warp(reader *own) {
  uint64_t index;
  BF_TRY(end_warp(own));
  if (!own->is_in_block || !own->has_block)
    return FAIL_AT(own->line.text, "expected 'thread block =' before its warps");
  BF_TRY(bf_sass_number(&own->line, false, "the number of a warp", &index));
  if (index >= own->trace->warps)
    return FAIL_AT(own->line.text, "a block has %u warps", own->trace->warps);
  own->warp = &own->trace->warp[own->block * own->trace->warps + index];
  if (own->warp->count)
    return FAIL_AT(own->line.text, "the warp was there before");
  own->warp->first = own->trace->records;
  own->announced = 0;
  return BF_OK;
}

/* ---- Instructions ---- */

/* What tells instructions of a program apart. */
typedef struct key {
  uint64_t pc, immediate;
  uint16_t registers[2 * BF_SASS_REGISTERS], results, sources;
  char opcode[OPCODE_BYTES];
} key;

static int add_op(reader *own, const bf_sass *sass, void **place) {
  bf_sim_sass *trace = own->trace;
  if (trace->ops == trace->op_capacity) {
    size_t capacity = trace->op_capacity ? 2 * trace->op_capacity : 256;
    bf_sass_op *grown = realloc(trace->op, capacity * sizeof *grown);
    if (!grown)
      return no_memory(own);
    trace->op = grown;
    trace->op_capacity = capacity;
  }
  bf_sass_op *op = &trace->op[trace->ops];
  const char *refused;
  memset(op, 0, sizeof *op);
  op->line = own->line.number;
  if (!bf_sass_classify(sass, &trace->arena, op, &refused))
    return FAIL_AT(sass->opcode, "unknown machine instruction '%.*s'", (int)sass->opcode_length,
                   sass->opcode);
  if (refused)
    return FAIL_AT(sass->opcode, "%.*s: %s", (int)sass->opcode_length, sass->opcode, refused);
  bf_diagnostic found;
  bool is_shared = op->space == BF_SASS_SHARED;
  if (is_shared && bf_access_check_op(op->op, &own->limits, &found) != BF_OK)
    return FAIL_AT(sass->opcode, "%s", found.message);
  if (is_shared || op->space == BF_SASS_GENERIC)
    op->site = trace->sites++;
  trace->ops++;
  *place = (void *)(uintptr_t)trace->ops; /* its number and one more */
  return BF_OK;
}

/* The number of an instruction in the program. */
static int find_op(reader *own, const bf_sass *sass, uint32_t *number) {
  key text;
  memset(&text, 0, sizeof text);
  if (sass->opcode_length >= sizeof text.opcode)
    return FAIL_AT(sass->opcode, "an opcode has at most %d bytes", OPCODE_BYTES - 1);
  text.pc = sass->pc;
  text.immediate = sass->immediate;
  text.results = (uint16_t)sass->results;
  text.sources = (uint16_t)sass->sources;
  memcpy(text.registers, sass->result, sass->results * sizeof *sass->result);
  memcpy(text.registers + sass->results, sass->source, sass->sources * sizeof *sass->source);
  memcpy(text.opcode, sass->opcode, sass->opcode_length);
  void **place = bf_table_at(&own->trace->by_text, &text, sizeof text);
  if (!place)
    return no_memory(own);
  if (!*place)
    BF_TRY(add_op(own, sass, place));
  *number = (uint32_t)((uintptr_t)*place - 1);
  return BF_OK;
}

static int check_addresses(reader *own, const bf_sass_op *op, const bf_sass *sass) {
  bf_diagnostic found;
  for (uint32_t left = sass->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    uint64_t address = sass->address[lane], base = own->trace->shared_base;
    if (bf_sass_space_of(own->trace, op, address) != BF_SASS_SHARED)
      continue;
    address -= base && address >= base ? base : 0;
    if (bf_access_check_address(address, op->width_bytes, &own->limits, &found) != BF_OK)
      return FAIL_AT(sass->where[lane], "%s", found.message);
  }
  return BF_OK;
}

/* Keeps the addresses of an instruction: the first and the stride, or all of them. */
static int pool(reader *own, const bf_sass *sass, uint64_t *at) {
  bf_sim_sass *trace = own->trace;
  if (trace->pool_capacity - trace->pooled < BF_SASS_LANES + 1) {
    size_t capacity = trace->pool_capacity ? 2 * trace->pool_capacity : 4096;
    uint64_t *grown = realloc(trace->pool, capacity * sizeof *grown);
    if (!grown)
      return no_memory(own);
    trace->pool = grown;
    trace->pool_capacity = capacity;
  }
  *at = 2 * trace->pooled + sass->is_strided;
  for (uint32_t left = sass->mask; left; left = sass->is_strided ? 0 : left & (left - 1))
    trace->pool[trace->pooled++] = sass->address[__builtin_ctz(left)];
  if (sass->is_strided)
    trace->pool[trace->pooled++] = sass->stride;
  return BF_OK;
}

static int add_record(reader *own, const bf_sass_record *record) {
  bf_sim_sass *trace = own->trace;
  if (trace->records == trace->record_capacity) {
    size_t capacity = trace->record_capacity ? 2 * trace->record_capacity : 4096;
    bf_sass_record *grown = realloc(trace->record, capacity * sizeof *grown);
    if (!grown)
      return no_memory(own);
    trace->record = grown;
    trace->record_capacity = capacity;
  }
  trace->record[trace->records++] = *record;
  own->warp->count++;
  return BF_OK;
}

static int read_instruction(reader *own) {
  bf_sass sass;
  bf_sass_record record = {0};
  if (!own->is_in_block)
    return FAIL_AT(own->line.text,
                   "an instruction outside of #BEGIN_TB and #END_TB: the tracer's post-processing "
                   "makes a .traceg, grouped by block, of a .trace");
  if (!own->warp)
    return FAIL_AT(own->line.text, "expected 'warp =' before instructions");
  own->line.at = own->line.text;
  BF_TRY(bf_sass_begin(&own->line, own->trace->has_source_lines, &sass));
  BF_TRY(bf_sass_end(&own->line, &sass));
  BF_TRY(find_op(own, &sass, &record.op));
  const bf_sass_op *op = &own->trace->op[record.op];
  record.mask = sass.mask;
  bool touches = op->space && op->space != BF_SASS_LOCAL && sass.mask;
  if (touches && !sass.has_addresses)
    return FAIL_AT(own->line.at, "expected addresses");
  if (touches) {
    BF_TRY(check_addresses(own, op, &sass));
    BF_TRY(pool(own, &sass, &record.at));
  }
  return add_record(own, &record);
}

/* ---- Files ---- */

static int read_line(reader *own) {
  const char *text = own->line.text;
  if (!text[strspn(text, " \t\r")])
    return BF_OK;
  if (*text == '-')
    return read_head(own);
  if (begins(own, "#BEGIN_TB"))
    return begin_block(own);
  if (begins(own, "#END_TB"))
    return end_block(own);
  if (begins(own, "thread block = "))
    return name_block(own);
  if (begins(own, "warp = "))
    return begin_warp(own);
  if (begins(own, "insts = "))
    return bf_sass_number(&own->line, false, "a number of instructions", &own->announced);
  if (*text == '#' || strchr(text, '=')) /* comments, and what says nothing of time */
    return BF_OK;
  return read_instruction(own);
}

/* The trace is read: all blocks must be there. */
static int check_whole(const reader *own, bf_diagnostic *diagnostic) {
  const bf_sim_sass *trace = own->trace;
  if (own->is_in_block)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, trace->file, "the last block has no #END_TB");
  if (!own->blocks)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, trace->file, "the trace holds no block");
  if (own->blocks == trace->blocks)
    return BF_OK;
  uint64_t missing = 0;
  while (trace->warp[missing * trace->warps].is_there)
    missing++;
  return bf_fail_file(
      diagnostic, BF_BAD_INPUT, trace->file,
      "only %llu of the %llu blocks of the grid are in the trace; the first that is "
      "not is number %llu",
      (unsigned long long)own->blocks, (unsigned long long)trace->blocks,
      (unsigned long long)missing);
}

static int read_all(reader *own, bf_trace *lines, bf_diagnostic *diagnostic) {
  char *text;
  int result;
  while ((result = bf_trace_line(lines, &text, &own->line.number, diagnostic)) > 0) {
    own->line.text = own->line.at = text;
    BF_TRY(read_line(own));
  }
  return result < 0 ? result : check_whole(own, diagnostic);
}

/* Reads the lines of a trace, which are closed then. */
static int read_trace(const char *name, bf_trace *lines, const bf_trace_limits *limits,
                      bf_sim_sass **trace, bf_diagnostic *diagnostic) {
  reader own = {.limits = *limits, .trace = calloc(1, sizeof *own.trace)};
  int error = own.trace ? BF_OK : bf_no_memory(diagnostic);
  if (!error) {
    snprintf(own.trace->file, sizeof own.trace->file, "%s", name);
    own.trace->by_text.arena = &own.trace->arena;
    own.line.file = own.trace->file;
    own.line.diagnostic = diagnostic;
    error = read_all(&own, lines, diagnostic);
  }
  bf_trace_close(lines);
  if (error)
    bf_sim_sass_free(own.trace);
  else
    *trace = own.trace;
  return error;
}

int bf_sim_sass_read(const char *path, const bf_machine *machine, bf_sim_sass **trace,
                     bf_diagnostic *diagnostic) {
  bf_trace *lines;
  bf_trace_limits limits = bf_machine_limits(machine);
  *trace = NULL;
  BF_TRY(bf_trace_open_form(path, BF_TRACE_ACCELSIM, &limits, &lines, diagnostic));
  return read_trace(bf_input_name(path), lines, &limits, trace, diagnostic);
}

int bf_sim_sass_parse(const char *name, const char *text, size_t size, const bf_machine *machine,
                      bf_sim_sass **trace, bf_diagnostic *diagnostic) {
  bf_trace *lines;
  bf_trace_limits limits = bf_machine_limits(machine);
  *trace = NULL;
  BF_TRY(bf_trace_open_memory(name, text, size, BF_TRACE_ACCELSIM, &limits, &lines, diagnostic));
  return read_trace(name, lines, &limits, trace, diagnostic);
}

void bf_sim_sass_free(bf_sim_sass *trace) {
  if (!trace)
    return;
  free(trace->op);
  free(trace->record);
  free(trace->pool);
  free(trace->warp);
  bf_arena_free(&trace->arena);
  free(trace);
}

const char *bf_sim_sass_kernel(const bf_sim_sass *trace) { return trace->kernel; }

const char *bf_sim_sass_file(const bf_sim_sass *trace) { return trace->file; }

uint64_t bf_sim_sass_site_line(const bf_sim_sass *trace, unsigned site) {
  for (size_t i = 0; i < trace->ops; i++)
    if (trace->op[i].site == site)
      return trace->op[i].line;
  return 0;
}

bf_emu_launch bf_sim_sass_launch(const bf_sim_sass *trace) {
  bf_emu_launch launch = {0};
  memcpy(launch.grid, trace->grid, sizeof launch.grid);
  memcpy(launch.block, trace->block, sizeof launch.block);
  return launch;
}
