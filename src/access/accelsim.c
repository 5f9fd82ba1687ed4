/* Lines of instructions of Accel-Sim's kernel traces. */
#include "access/accelsim.h"

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

bool bf_sass_has(const char *opcode, size_t length, const char *part) {
  size_t wanted = strlen(part);
  if (wanted == 0)
    return true;
  for (size_t i = 0; i + wanted < length; i++)
    if (opcode[i] == '.' && strncmp(opcode + i + 1, part, wanted) == 0 &&
        (i + 1 + wanted == length || opcode[i + 1 + wanted] == '.'))
      return true;
  return false;
}

unsigned bf_sass_width(const char *opcode, size_t length) {
  bool byte = bf_sass_has(opcode, length, "U8") || bf_sass_has(opcode, length, "S8");
  bool half = bf_sass_has(opcode, length, "U16") || bf_sass_has(opcode, length, "S16");
  bool twice = bf_sass_has(opcode, length, "64"), quad = bf_sass_has(opcode, length, "128");
  return byte ? 1 : half ? 2 : twice ? 8 : quad ? 16 : 4;
}

bool bf_sass_shared(const char *opcode, size_t length, bf_op *op, unsigned *width_bytes) {
  size_t base = 0;
  while (base < length && opcode[base] != '.')
    base++;
  for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++) {
    if (strlen(opcodes[i].base) != base || strncmp(opcodes[i].base, opcode, base) != 0 ||
        !bf_sass_has(opcode, length, opcodes[i].part))
      continue;
    *op = opcodes[i].op;
    unsigned fixed = bf_op_fixed_width(*op);
    *width_bytes = fixed ? fixed : bf_sass_width(opcode, length);
    return true;
  }
  return false;
}

/* ---- Lines ---- */

#define FAIL_AT(where, ...)                                                                        \
  bf_fail_at(line->diagnostic, line->file, line->number, line->text, where, __VA_ARGS__)

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static void skip_blanks(bf_sass_line *line) {
  while (is_blank(*line->at))
    line->at++;
}

/* The length of the token at the cursor, 0 at the end of the line. */
static size_t token_length(bf_sass_line *line) {
  skip_blanks(line);
  const char *at = line->at;
  while (*at && !is_blank(*at))
    at++;
  return (size_t)(at - line->at);
}

int bf_sass_number(bf_sass_line *line, bool is_hexadecimal, const char *what, uint64_t *value) {
  skip_blanks(line);
  const char *start = line->at;
  bool good = is_hexadecimal ? bf_parse_hex(&line->at, value) : bf_parse_number(&line->at, value);
  bool ends = !*line->at || is_blank(*line->at);
  return good && ends ? BF_OK : FAIL_AT(start, "expected %s", what);
}

/* The same for a number that may be negative, modulo 2^64. */
static int signed_number(bf_sass_line *line, const char *what, uint64_t *value) {
  skip_blanks(line);
  bool is_negative = *line->at == '-';
  line->at += is_negative;
  BF_TRY(bf_sass_number(line, false, what, value));
  *value = is_negative ? -*value : *value;
  return BF_OK;
}

/* Registers of an operand list: their number, and then so many. */
static int read_registers(bf_sass_line *line, unsigned *count, uint16_t *list) {
  uint64_t number;
  BF_TRY(bf_sass_number(line, false, "a number of registers", &number));
  if (number > BF_SASS_REGISTERS)
    return FAIL_AT(line->at, "no instruction names more than %d registers", BF_SASS_REGISTERS);
  for (*count = 0; *count < number; ++*count) {
    size_t length = token_length(line);
    const char *start = line->at, *digits = start + 1;
    uint64_t value;
    if (length < 2 || *start != 'R' || !bf_parse_number(&digits, &value) ||
        digits != start + length || value > BF_SASS_NO_REGISTER)
      return FAIL_AT(start, "expected a register, R0 to R%d", BF_SASS_NO_REGISTER);
    list[*count] = (uint16_t)value;
    line->at = digits;
  }
  return BF_OK;
}

/* Where no lane is active the tracer still writes the first address, 0, and the stride. */
static int pass_no_lanes(bf_sass_line *line, uint64_t mode) {
  uint64_t value;
  if (mode)
    BF_TRY(bf_sass_number(line, true, "an address", &value));
  return mode == 1 ? signed_number(line, "a stride", &value) : BF_OK;
}

/* Addresses of the active lanes, as the mode before them says. */
static int read_addresses(bf_sass_line *line, bf_sass *sass) {
  uint64_t mode, address = 0, step = 0;
  skip_blanks(line);
  const char *start = line->at;
  BF_TRY(bf_sass_number(line, false, "how addresses are listed: 0, 1 or 2", &mode));
  if (mode > 2)
    return FAIL_AT(start, "addresses are listed as 0, 1 or 2");
  if (!sass->mask)
    return pass_no_lanes(line, mode);
  bool is_first = true;
  sass->has_addresses = true;
  sass->is_strided = mode == 1;
  for (uint32_t left = sass->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    skip_blanks(line);
    sass->where[lane] = line->at;
    if (is_first || mode == 0)
      BF_TRY(bf_sass_number(line, true, "an address", &address));
    else if (mode == 2)
      BF_TRY(signed_number(line, "a difference", &step));
    if (is_first && mode == 1)
      BF_TRY(signed_number(line, "a stride", &step));
    else if (!is_first && mode != 0)
      address += step;
    sass->address[lane] = address;
    is_first = false;
  }
  sass->stride = mode == 1 ? step : 0;
  return BF_OK;
}

int bf_sass_begin(bf_sass_line *line, bool has_source_line, bf_sass *sass) {
  uint64_t mask, source_line;
  if (has_source_line)
    BF_TRY(bf_sass_number(line, false, "a line of the source", &source_line));
  BF_TRY(bf_sass_number(line, true, "a program counter", &sass->pc));
  skip_blanks(line);
  const char *start = line->at;
  BF_TRY(bf_sass_number(line, true, "the mask of active lanes", &mask));
  if (mask > UINT32_MAX)
    return FAIL_AT(start, "the mask has more than %d lanes", BF_SASS_LANES);
  sass->mask = (uint32_t)mask;
  BF_TRY(read_registers(line, &sass->results, sass->result));
  sass->opcode_length = token_length(line);
  sass->opcode = line->at;
  line->at += sass->opcode_length;
  return sass->opcode_length ? BF_OK : FAIL_AT(line->at, "expected an opcode");
}

int bf_sass_end(bf_sass_line *line, bf_sass *sass) {
  uint64_t width;
  sass->has_addresses = sass->is_strided = sass->has_immediate = false;
  sass->immediate = 0;
  BF_TRY(read_registers(line, &sass->sources, sass->source));
  BF_TRY(bf_sass_number(line, false, "the bytes per lane", &width));
  if (width)
    BF_TRY(read_addresses(line, sass));
  sass->has_immediate = token_length(line) > 0;
  if (sass->has_immediate)
    BF_TRY(signed_number(line, "an immediate or the end of the line", &sass->immediate));
  return token_length(line) ? FAIL_AT(line->at, "more than an instruction has") : BF_OK;
}
