/* Traces that other tools write: the text of NVBit's mem_trace and the kernel traces of Accel-Sim.
 * Both list machine instructions; those that use shared memory become accesses, all others are
 * passed over. Facts about the formats: the tools' own sources and READMEs (NVBit 1.7,
 * Accel-Sim tracer versions 3 to 5). */
#include "access/trace.h"

#include <string.h>

/* ---- Machine instructions ---- */

/* How an opcode such as ATOMS.ADD is called here: the first row whose parts all occur in it. */
static const struct {
  const char *base, *part; /* the name before the first dot, and a modifier or "" */
  bf_op op;
} opcodes[] = {
    {"LDS", "", BF_OP_LD},
    {"STS", "", BF_OP_ST},
    {"ATOMS", "CAST", BF_OP_FATOM}, /* compare-and-swap of a lock loop, float atomics */
    {"ATOMS", "CAS.64", BF_OP_CAS64},
    {"ATOMS", "CAS", BF_OP_CAS},
    {"ATOMS", "POPC", BF_OP_RED}, /* lanes of one word added up first */
    {"ATOMS", "EXCH.64", BF_OP_EXCH64},
    {"ATOMS", "EXCH", BF_OP_EXCH},
    {"ATOMS", "INC", BF_OP_INC},
    {"ATOMS", "ADD", BF_OP_ATOM},
    {"ATOMS", "", BF_OP_MAX}, /* MIN, MAX, AND, OR, XOR and DEC are served alike */
    {"LDSM", "MT88", BF_OP_LDMATRIXT4},
    {"LDSM", "4", BF_OP_LDMATRIX4},
    {"LDSM", "2", BF_OP_LDMATRIX2},
    {"LDSM", "", BF_OP_LDMATRIX1},
    {"STSM", "", BF_OP_STMATRIX4},
};

/* True if the dot-separated opcode has this modifier. */
static bool has_part(const char *opcode, size_t length, const char *part) {
  size_t wanted = strlen(part);
  if (wanted == 0)
    return true;
  for (size_t i = 0; i + wanted < length; i++)
    if (opcode[i] == '.' && strncmp(opcode + i + 1, part, wanted) == 0 &&
        (i + 1 + wanted == length || opcode[i + 1 + wanted] == '.'))
      return true;
  return false;
}

/* The operation and, from its modifiers, the width of an opcode; false if it does not use shared
 * memory. */
static bool decode(const char *opcode, size_t length, bf_op *op, unsigned *width_bytes) {
  size_t base = 0;
  while (base < length && opcode[base] != '.')
    base++;
  for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++) {
    if (strlen(opcodes[i].base) != base || strncmp(opcodes[i].base, opcode, base) != 0 ||
        !has_part(opcode, length, opcodes[i].part))
      continue;
    *op = opcodes[i].op;
    unsigned fixed = bf_op_fixed_width(*op);
    bool byte = has_part(opcode, length, "U8") || has_part(opcode, length, "S8");
    bool half = has_part(opcode, length, "U16") || has_part(opcode, length, "S16");
    bool twice = has_part(opcode, length, "64"), quad = has_part(opcode, length, "128");
    *width_bytes = fixed ? fixed : byte ? 1 : half ? 2 : twice ? 8 : quad ? 16 : 4;
    return true;
  }
  return false;
}

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
  size_t length = token_length(p);
  const char *start = p->at;
  bool good = length && (hex ? bf_parse_hex(&p->at, value) : bf_parse_number(&p->at, value));
  if (!good || p->at != start + length)
    return FAIL_AT(start, "expected %s", what);
  return BF_OK;
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
  if (!decode(opcode, length, &p->access->op, &p->access->width_bytes))
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

/* ---- Accel-Sim: PC mask dests [regs] OPCODE sources [regs] width [mode addresses] ---- */

/* Registers of an operand list: their number, and then so many tokens. */
static int skip_registers(parser *p) {
  uint64_t count;
  int error = number(p, false, "a number of registers", &count);
  for (; !error && count; count--) {
    size_t length = token_length(p);
    if (length == 0)
      return FAIL_AT(p->at, "expected a register");
    p->at += length;
  }
  return error;
}

/* Addresses of the active lanes: 0 all of them, 1 first and stride, 2 first and differences. */
static int accelsim_addresses(parser *p) {
  uint64_t mode, address = 0, stride = 0;
  int error = number(p, false, "how addresses are listed: 0, 1 or 2", &mode);
  if (!error && mode > 2)
    return FAIL_AT(p->at, "addresses are listed as 0, 1 or 2");
  bool first = true;
  for (uint64_t left = p->access->mask; left && !error; left &= left - 1) {
    skip_blanks(p);
    const char *where = p->at;
    if (first || mode == 0) {
      error = number(p, true, "an address", &address);
    } else if (mode == 1) {
      address += stride;
    } else {
      bool negative = *p->at == '-';
      p->at += negative;
      error = number(p, false, "a difference", &stride);
      address = negative ? address - stride : address + stride;
    }
    if (!error && first && mode == 1) {
      skip_blanks(p);
      bool negative = *p->at == '-';
      p->at += negative;
      error = number(p, false, "a stride", &stride);
      stride = negative ? -stride : stride;
    }
    if (!error)
      error = set_address(p, where, (unsigned)__builtin_ctzll(left), address);
    first = false;
  }
  return !error ? 1 : error;
}

static int accelsim_instruction(parser *p) {
  uint64_t pc, width;
  int error = number(p, true, "a program counter", &pc);
  if (!error)
    error = number(p, true, "the mask of active lanes", &p->access->mask);
  if (!error)
    error = skip_registers(p);
  if (error)
    return error;
  size_t length = token_length(p);
  if (length == 0)
    return FAIL_AT(p->at, "expected an opcode");
  int result = take_opcode(p, p->at, length);
  if (result <= 0 || p->access->mask == 0)
    return result < 0 ? result : 0;
  snprintf(p->state->site, sizeof p->state->site, "%s:0x%llx:%.*s", p->state->kernel,
           (unsigned long long)pc, (int)length, p->at);
  p->at += length;
  if (p->limits->lanes < 64 && p->access->mask >> p->limits->lanes)
    return FAIL_AT(p->line->text, "the mask has more than %u lanes", p->limits->lanes);
  error = skip_registers(p);
  if (!error)
    error = number(p, false, "the bytes per lane", &width);
  return !error ? accelsim_addresses(p) : error;
}

/* Heads of kernels, blocks and warps stand between the instructions; of them only the kernel's name
 * and the address at which shared memory begins are of use. */
static int accelsim_line(parser *p) {
  static const char base[] = "-shmem base_addr = ", name[] = "-kernel name = ";
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
