/* sim/machine: machine code that ptxas has made of PTX, where somebody has it: which instructions
 * of the machine stand for each line of the PTX, in their order, with their stall counts. ptxas
 * --generate-line-info writes the lines into a cubin (section .nv_debug_line_sass). A launch whose
 * settings name it is timed by it instead of by the estimate from PTX (made.c). */
#ifndef BF_SIM_MACHINE_H
#define BF_SIM_MACHINE_H

#include "base/base.h"

#define BF_MACHINE_NO_TARGET UINT32_MAX

/* An instruction of the machine. */
typedef struct bf_machine_op {
  uint32_t line;   /* of the PTX; 0: none */
  uint32_t target; /* of a branch: number of the instruction; else BF_MACHINE_NO_TARGET */
  uint16_t opcode; /* the 12 low bits */
  uint8_t stall;   /* cycles before the next instruction of the warp, as ptxas says */
} bf_machine_op;

typedef struct bf_machine_kernel {
  const char *name;
  unsigned registers; /* of a thread */
  uint32_t count;
  const bf_machine_op *op;
} bf_machine_kernel;

typedef struct bf_machine_code {
  bf_arena arena;
  unsigned kernels;
  bf_machine_kernel *kernel;
} bf_machine_code;

/* Reads a cubin; name is for messages. Free with bf_machine_code_free, also after an error. */
int bf_machine_code_read(const char *name, const void *bytes, size_t size, bf_machine_code *code,
                         bf_diagnostic *diagnostic);
/* The same as text, and back: a line "kernel NAME REGISTERS", then for each instruction "LINE
 * OPCODE STALL", OPCODE in hexadecimal, and for a branch the number of the instruction that it
 * leads to. */
void bf_machine_code_write(const bf_machine_code *code, bf_text *text);
int bf_machine_code_parse(const char *name, const char *text, bf_machine_code *code,
                          bf_diagnostic *diagnostic);
/* NULL: it has no such kernel. */
const bf_machine_kernel *bf_machine_code_find(const bf_machine_code *code, const char *kernel);
void bf_machine_code_free(bf_machine_code *code);

#endif
