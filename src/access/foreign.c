/* Traces that other tools write: the text of NVBit's mem_trace and the kernel traces of Accel-Sim.
 * Both list machine instructions; those that use shared memory become accesses, all others are
 * passed over. Facts about the formats: the tools' own sources and READMEs (NVBit 1.7; for
 * Accel-Sim accelsim.h). */
#include "access/accelsim.h"
#include "access/trace.h"

#include <string.h>

/* ---- Lines ---- */

typedef struct parser {
  const bf_line *line;
  const char *at;
  bf_access *access;
  bf_foreign *state;
  const bf_trace_limits *limits;
  bf_diagnostic *diagnostic;
} parser;

#define FAIL_AT(where, ...)                                                                        \
  bf_fail_at(p->diagnostic, p->line->file, p->line->number, p->line->text, where, __VA_ARGS__)

static void skip_blanks(parser *p) {
  while (*p->at == ' ' || *p->at == '\t' || *p->at == '\r')
    p->at++;
}

/* The length of the token at the cursor, 0 at the end of the line. */
static size_t token_length(parser *p) {
  skip_blanks(p);
  return strcspn(p->at, " \t\r");
}

static int number(parser *p, bool hex, const char *what, uint64_t *value) {
  bf_sass_line line = {p->line->file, p->line->number, p->line->text, p->at, p->diagnostic};
  int error = bf_sass_number(&line, hex, what, value);
  p->at = line.at;
  return error;
}

/* Stores one lane's address, counted from the start of shared memory. */
static int set_address(parser *p, const char *where, unsigned lane, uint64_t address) {
  if (p->state->shared_base && address >= p->state->shared_base)
    address -= p->state->shared_base;
  bf_diagnostic found;
  if (bf_access_check_address(address, p->access->width_bytes, p->limits, &found) != BF_OK)
    return FAIL_AT(where, "%s", found.message);
  p->access->address[lane] = (uint32_t)address;
  return BF_OK;
}

/* 1 if the opcode of length bytes uses shared memory, with op and width set; 0 if not. */
static int take_opcode(parser *p, const char *opcode, size_t length) {
  bf_diagnostic found;
  if (!bf_sass_shared(opcode, length, &p->access->op, &p->access->width_bytes))
    return 0;
  if (bf_access_check_op(p->access->op, p->limits, &found) != BF_OK)
    return FAIL_AT(opcode, "%s", found.message);
  return 1;
}

/* ---- NVBit: MEMTRACE: CTX c - grid_launch_id g - CTA x,y,z - warp w - OPCODE - 32 addresses ----
 */

/* The tool prints no mask, so all lanes count as active. Other lines are the program's own. */
static int nvbit_line(parser *p) {
  static const char start[] = "MEMTRACE:";
  if (strncmp(p->at, start, sizeof start - 1) != 0)
    return 0;
  for (unsigned field = 0; field < 4; field++) {
    const char *next = strstr(p->at, " - ");
    if (!next)
      return FAIL_AT(p->at + strlen(p->at), "the line ends before its opcode");
    p->at = next + 3;
  }
  const char *opcode = p->at, *end = strstr(opcode, " -");
  if (!end)
    return FAIL_AT(opcode, "expected ' - ' and addresses behind the opcode");
  int result = take_opcode(p, opcode, (size_t)(end - opcode));
  p->at = end + 2;
  if (result <= 0)
    return result;
  snprintf(p->state->site, sizeof p->state->site, "%.*s", (int)(end - opcode), opcode);
  for (unsigned lane = 0; lane < 32; lane++) {
    uint64_t address;
    skip_blanks(p);
    const char *where = p->at;
    result = number(p, true, "an address", &address);
    if (result == BF_OK)
      result = set_address(p, where, lane, address);
    if (result != BF_OK)
      return result;
  }
  p->access->mask = 0xffffffff;
  return 1;
}

/* ---- Accel-Sim ---- */

static int accelsim_instruction(parser *p) {
  bf_sass sass;
  bf_sass_line line = {p->line->file, p->line->number, p->line->text, p->at, p->diagnostic};
  BF_TRY(bf_sass_begin(&line, p->state->has_source_lines, &sass));
  int result = take_opcode(p, sass.opcode, sass.opcode_length);
  if (result <= 0 || sass.mask == 0)
    return result < 0 ? result : 0;
  p->access->mask = sass.mask;
  snprintf(p->state->site, sizeof p->state->site, "%s:0x%llx:%.*s", p->state->kernel,
           (unsigned long long)sass.pc, (int)sass.opcode_length, sass.opcode);
  if (p->limits->lanes < 64 && p->access->mask >> p->limits->lanes)
    return FAIL_AT(p->line->text, "the mask has more than %u lanes", p->limits->lanes);
  BF_TRY(bf_sass_end(&line, &sass));
  if (!sass.has_addresses)
    return FAIL_AT(line.at, "expected addresses");
  for (uint32_t left = sass.mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    BF_TRY(set_address(p, sass.where[lane], lane, sass.address[lane]));
  }
  return 1;
}

/* Heads of kernels, blocks and warps stand between the instructions; of them only the kernel's name
 * and the address at which shared memory begins are of use. */
static int accelsim_line(parser *p) {
  static const char base[] = "-shmem base_addr = ", name[] = "-kernel name = ";
  static const char lines[] = "-enable lineinfo = 1";
  skip_blanks(p);
  if (strncmp(p->at, name, sizeof name - 1) == 0) {
    p->at += sizeof name - 1;
    snprintf(p->state->kernel, sizeof p->state->kernel, "%.*s", (int)token_length(p), p->at);
    return 0;
  }
  if (strncmp(p->at, base, sizeof base - 1) == 0) {
    p->at += sizeof base - 1;
    return number(p, true, "the address of shared memory", &p->state->shared_base);
  }
  if (strncmp(p->at, lines, sizeof lines - 1) == 0)
    p->state->has_source_lines = true;
  bool head = *p->at == 0 || *p->at == '-' || *p->at == '#' || strchr(p->at, '=') != NULL;
  return head ? 0 : accelsim_instruction(p);
}

int bf_foreign_parse(const bf_line *line, bf_foreign *state, const bf_trace_limits *limits,
                     bf_access *access, const char **site, size_t *site_length,
                     bf_diagnostic *diagnostic) {
  parser p = {.line = line,
              .at = line->text,
              .access = access,
              .state = state,
              .limits = limits,
              .diagnostic = diagnostic};
  memset(access, 0, sizeof *access);
  access->count = 1;
  access->line = line->number;
  int result = state->form == BF_TRACE_NVBIT ? nvbit_line(&p) : accelsim_line(&p);
  *site = state->site;
  *site_length = strlen(state->site);
  return result;
}
