/* access/accelsim: the lines of instructions in a kernel trace of Accel-Sim's tracer (.traceg):
 *
 *   PC mask results [registers] OPCODE sources [registers] bytes [mode addresses] [immediate]
 *
 * PC, mask and addresses are hexadecimal, all else decimal. Mode 0 lists the addresses of the
 * active lanes, 1 gives the first one and a stride, 2 the first one and differences. A number of
 * the source line stands before the PC where the head of the trace says "-enable lineinfo = 1".
 * Facts about the format: the tracer's sources, versions 3 to 5. */
#ifndef BF_ACCESS_ACCELSIM_H
#define BF_ACCESS_ACCELSIM_H

#include "access/access.h"

enum { BF_SASS_REGISTERS = 8, BF_SASS_LANES = 32, BF_SASS_NO_REGISTER = 255 };

/* A line, and how far it has been read. */
typedef struct bf_sass_line {
  const char *file;
  uint64_t number;
  const char *text; /* NUL-terminated */
  const char *at;
  bf_diagnostic *diagnostic;
} bf_sass_line;

/* A machine instruction of a warp. */
typedef struct bf_sass {
  uint64_t pc;
  uint32_t mask; /* active lanes */
  unsigned results, sources;
  uint16_t result[BF_SASS_REGISTERS], source[BF_SASS_REGISTERS];
  const char *opcode; /* with its modifiers; inside the line */
  size_t opcode_length;
  bool has_addresses, is_strided;
  uint64_t address[BF_SASS_LANES]; /* of active lanes */
  const char *where[BF_SASS_LANES];
  uint64_t stride; /* where is_strided, modulo 2^64 */
  uint64_t immediate;
  bool has_immediate;
} bf_sass;

/* Reads a number at the cursor, of which the message says `what` it is. */
int bf_sass_number(bf_sass_line *line, bool is_hexadecimal, const char *what, uint64_t *value);
/* Reads a line up to its opcode. */
int bf_sass_begin(bf_sass_line *line, bool has_source_line, bf_sass *sass);
/* Reads what stands behind the opcode. */
int bf_sass_end(bf_sass_line *line, bf_sass *sass);

/* Whether one of the dot-separated words behind the name of an opcode is, or begins with words that
 * are, `part`; "" always is. */
bool bf_sass_has(const char *opcode, size_t length, const char *part);
/* The bytes of a lane, by the words of an opcode. */
unsigned bf_sass_width(const char *opcode, size_t length);
/* The operation and width of an opcode that uses shared memory; false: it does not. */
bool bf_sass_shared(const char *opcode, size_t length, bf_op *op, unsigned *width_bytes);

#endif
