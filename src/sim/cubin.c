/* Machine code from a cubin: an ELF file with a section .text.NAME for each kernel, 16 bytes an
 * instruction, and in .nv_debug_line_sass a DWARF line program (version 2) from each instruction to
 * its line of PTX, whose addresses relocations bind to kernels. Every offset is checked: the file
 * may be anything. */
#include "sim/machine.h"

#include <string.h>

enum { SECTION_BYTES = 64, SYMBOL_BYTES = 24, RELOCATION_BYTES = 24, INSTRUCTION_BYTES = 16 };

typedef struct range {
  const unsigned char *bytes;
  uint64_t size;
} range;

typedef struct cubin {
  const char *name;
  range file, names, symbols, symbol_names, lines, bindings;
  uint64_t sections_at;
  unsigned sections;
} cubin;

static uint64_t number(const unsigned char *at, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = bytes; i-- > 0;)
    value = value << 8 | at[i];
  return value;
}

static int bad(const cubin *own, bf_diagnostic *diagnostic) {
  return bf_fail(diagnostic, BF_BAD_INPUT,
                 "%s: no cubin with lines of PTX (ptxas --generate-line-info makes one)",
                 own->name);
}

/* A text in a range that ends in it; NULL: none. */
static const char *text_at(const range *own, uint64_t offset) {
  if (offset >= own->size || !memchr(own->bytes + offset, 0, own->size - offset))
    return NULL;
  return (const char *)own->bytes + offset;
}

/* ---- Sections ---- */

static bool section_at(const cubin *own, unsigned index, range *found) {
  const unsigned char *header = own->file.bytes + own->sections_at + index * SECTION_BYTES;
  uint64_t offset = number(header + 24, 8), size = number(header + 32, 8);
  if (offset > own->file.size || size > own->file.size - offset)
    return false;
  *found = (range){own->file.bytes + offset, size};
  return true;
}

static const char *section_name(const cubin *own, unsigned index) {
  const unsigned char *header = own->file.bytes + own->sections_at + index * SECTION_BYTES;
  return text_at(&own->names, number(header, 4));
}

/* The first section of a name, of which there may be none. */
static range section_named(const cubin *own, const char *name) {
  range found;
  for (unsigned i = 0; i < own->sections; i++) {
    const char *has = section_name(own, i);
    if (has && strcmp(has, name) == 0 && section_at(own, i, &found))
      return found;
  }
  return (range){0};
}

static int open_cubin(cubin *own, bf_diagnostic *diagnostic) {
  enum { HEADER_BYTES = 64 };
  const unsigned char *bytes = own->file.bytes;
  if (own->file.size < HEADER_BYTES || memcmp(bytes, "\177ELF\2\1", 6) != 0)
    return bad(own, diagnostic);
  own->sections_at = number(bytes + 40, 8);
  own->sections = (unsigned)number(bytes + 60, 2);
  unsigned names = (unsigned)number(bytes + 62, 2);
  if (own->sections_at > own->file.size || names >= own->sections ||
      own->sections > (own->file.size - own->sections_at) / SECTION_BYTES ||
      !section_at(own, names, &own->names))
    return bad(own, diagnostic);
  own->symbols = section_named(own, ".symtab");
  own->symbol_names = section_named(own, ".strtab");
  own->lines = section_named(own, ".nv_debug_line_sass");
  own->bindings = section_named(own, ".rela.nv_debug_line_sass");
  return own->lines.size && own->bindings.size ? BF_OK : bad(own, diagnostic);
}

/* The name of a symbol; NULL: it has none. */
static const char *symbol_name(const cubin *own, uint64_t symbol) {
  if (symbol >= own->symbols.size / SYMBOL_BYTES)
    return NULL;
  return text_at(&own->symbol_names, number(own->symbols.bytes + symbol * SYMBOL_BYTES, 4));
}

/* The symbol that the word at an offset of the lines is bound to; NULL: none. */
static const char *bound_to(const cubin *own, uint64_t offset) {
  for (uint64_t at = 0; at + RELOCATION_BYTES <= own->bindings.size; at += RELOCATION_BYTES) {
    const unsigned char *entry = own->bindings.bytes + at;
    if (number(entry, 8) == offset)
      return symbol_name(own, number(entry + 12, 4));
  }
  return NULL;
}

/* ---- Instructions ---- */

/* The place that a branch leads to, in bytes: 56 bits in two parts, in words of 4 bytes from its
 * end on. */
static int64_t target_of(uint64_t address, uint64_t low, uint64_t high) {
  uint64_t offset = low >> 34 | (high & 0x3ffff) << 30;
  int64_t words = (int64_t)(offset << 16 | (low >> 16 & 0xff) << 8) >> 8;
  return (int64_t)address + INSTRUCTION_BYTES + words * 4;
}

static bool is_branch(unsigned opcode) { return opcode == 0x947; }

/* Instructions of a kernel, without lines yet. */
static int read_kernel(const char *name, const range *code, bf_arena *arena,
                       bf_machine_kernel *kernel) {
  uint32_t count = (uint32_t)(code->size / INSTRUCTION_BYTES);
  bf_machine_op *op = bf_arena_alloc(arena, (count + 1) * sizeof *op);
  kernel->name = bf_arena_copy(arena, name);
  kernel->op = op;
  kernel->count = count;
  if (!op || !kernel->name)
    return BF_NO_MEMORY;
  for (uint32_t i = 0; i < count; i++) {
    const unsigned char *at = code->bytes + (uint64_t)i * INSTRUCTION_BYTES;
    uint64_t low = number(at, 8), high = number(at + 8, 8);
    int64_t target = target_of((uint64_t)i * INSTRUCTION_BYTES, low, high) / INSTRUCTION_BYTES;
    bool leads = is_branch(low & 0xfff) && target >= 0 && target < (int64_t)count;
    op[i] = (bf_machine_op){.opcode = low & 0xfff,
                            .stall = high >> 41 & 15,
                            .target = leads ? (uint32_t)target : BF_MACHINE_NO_TARGET};
  }
  return BF_OK;
}

static int read_kernels(const cubin *own, bf_machine_code *code, bf_diagnostic *diagnostic) {
  code->kernel = bf_arena_alloc(&code->arena, (own->sections + 1) * sizeof *code->kernel);
  if (!code->kernel)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < own->sections; i++) {
    const char *name = section_name(own, i);
    range text;
    if (!name || strncmp(name, ".text.", 6) != 0 || !section_at(own, i, &text))
      continue;
    if (read_kernel(name + 6, &text, &code->arena, &code->kernel[code->kernels++]))
      return bf_no_memory(diagnostic);
  }
  return BF_OK;
}

static bf_machine_kernel *kernel_named(bf_machine_code *code, const char *name) {
  for (unsigned i = 0; name && i < code->kernels; i++)
    if (strcmp(code->kernel[i].name, name) == 0)
      return &code->kernel[i];
  return NULL;
}

/* Registers of kernels, from .nv.info: entries of a format, an attribute and a size, of which those
 * of format 4 have that many bytes behind them; of attribute 0x2f a symbol and its registers. */
static void read_registers(const cubin *own, bf_machine_code *code) {
  range info = section_named(own, ".nv.info");
  for (uint64_t at = 0; at + 4 <= info.size;) {
    const unsigned char *entry = info.bytes + at;
    uint64_t size = entry[0] == 4 ? number(entry + 2, 2) : 0;
    at += 4 + size;
    if (entry[0] != 4 || entry[1] != 0x2f || size < 8 || at > info.size)
      continue;
    uint64_t symbol = number(entry + 4, 4);
    bf_machine_kernel *kernel = kernel_named(code, symbol_name(own, symbol));
    if (kernel)
      kernel->registers = (unsigned)number(entry + 8, 4);
  }
}

/* ---- Lines ---- */

/* The registers of a line program, and where it is. */
typedef struct program {
  const unsigned char *at, *end;
  uint64_t address, line;
  bf_machine_kernel *kernel;
  uint64_t filled; /* instructions of it that have a line */
} program;

/* A number in groups of 7 bits, the lowest first. */
static uint64_t take_number(program *own, bool is_signed) {
  uint64_t value = 0;
  unsigned bits = 0, byte = 0x80;
  while (own->at < own->end && (byte & 0x80)) {
    byte = *own->at++;
    if (bits < 64)
      value |= (uint64_t)(byte & 0x7f) << bits;
    bits += 7;
  }
  if (is_signed && (byte & 0x40) && bits < 64)
    value |= ~UINT64_C(0) << bits;
  return value;
}

/* Instructions from the last row on, up to this address, have the line of the last row. */
static void fill(program *own, uint64_t line) {
  uint64_t end = own->address / INSTRUCTION_BYTES;
  bf_machine_op *op = own->kernel ? (bf_machine_op *)own->kernel->op : NULL;
  for (; op && own->filled < end && own->filled < own->kernel->count; own->filled++)
    op[own->filled].line = line <= UINT32_MAX ? (uint32_t)line : 0;
}

/* An extended operation: the end of a kernel's rows, or the address where they begin. */
static void run_extended(const cubin *file, bf_machine_code *code, program *own,
                         uint64_t *row_line) {
  uint64_t length = take_number(own, false);
  if (!length || length > (uint64_t)(own->end - own->at)) {
    own->at = own->end;
    return;
  }
  const unsigned char *next = own->at + length;
  unsigned operation = *own->at;
  if (operation == 2 && length == 9) {
    own->kernel = kernel_named(code, bound_to(file, (uint64_t)(own->at + 1 - file->lines.bytes)));
    own->address = number(own->at + 1, 8);
    own->filled = 0;
    *row_line = 0;
  } else if (operation == 1) {
    own->address = UINT64_MAX;
    fill(own, *row_line);
    own->kernel = NULL;
    own->address = 0;
    own->line = 1;
  }
  own->at = next;
}

/* One unit of the section: a header and its operations. */
static bool run_program(const cubin *file, bf_machine_code *code, program *own) {
  enum { HEADER_BYTES = 6, LEAST_BYTES = HEADER_BYTES + 5 };
  if (own->end - own->at < LEAST_BYTES)
    return false;
  uint64_t header = number(own->at + 2, 4), left = (uint64_t)(own->end - own->at) - HEADER_BYTES;
  const unsigned char *settings = own->at + HEADER_BYTES;
  unsigned least = settings[0], base = settings[4], span = settings[3];
  int line_base = (signed char)settings[2];
  if (header > left || !span || !base)
    return false;
  own->at = settings + header;
  own->line = 1;
  for (uint64_t row_line = 0; own->at < own->end;) {
    unsigned operation = *own->at++;
    bool is_row = operation >= base || operation == 1;
    if (operation >= base) {
      own->address += (operation - base) / span * least;
      own->line += (uint64_t)(int64_t)(line_base + (int)((operation - base) % span));
    } else if (operation == 0)
      run_extended(file, code, own, &row_line);
    else if (operation == 2)
      own->address += take_number(own, false) * least;
    else if (operation == 3)
      own->line += take_number(own, true);
    else if (operation == 8)
      own->address += (255 - base) / span * least;
    else if (operation == 9 && own->end - own->at >= 2) {
      own->address += number(own->at, 2);
      own->at += 2;
    } else if (operation == 4 || operation == 5)
      take_number(own, false);
    if (is_row) {
      fill(own, row_line);
      row_line = own->line;
    }
  }
  return true;
}

static int read_lines(const cubin *own, bf_machine_code *code, bf_diagnostic *diagnostic) {
  for (uint64_t at = 0; at + 4 <= own->lines.size;) {
    uint64_t size = number(own->lines.bytes + at, 4);
    at += 4;
    if (size > own->lines.size - at)
      return bad(own, diagnostic);
    program unit = {.at = own->lines.bytes + at, .end = own->lines.bytes + at + size};
    if (!run_program(own, code, &unit))
      return bad(own, diagnostic);
    at += size;
  }
  return BF_OK;
}

int bf_machine_code_read(const char *name, const void *bytes, size_t size, bf_machine_code *code,
                         bf_diagnostic *diagnostic) {
  cubin own = {.name = name, .file = {.bytes = bytes, .size = size}};
  *code = (bf_machine_code){0};
  BF_TRY(open_cubin(&own, diagnostic));
  BF_TRY(read_kernels(&own, code, diagnostic));
  read_registers(&own, code);
  return read_lines(&own, code, diagnostic);
}
