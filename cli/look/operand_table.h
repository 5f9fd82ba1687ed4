/* What the hardware reads and writes in shared memory by itself, in tables and as JSON. */
#ifndef BF_CLI_OPERAND_TABLE_H
#define BF_CLI_OPERAND_TABLE_H

#include "cli/cli.h"
#include "emu/costs.h"

/* Rows for the matrices and the copies of a kernel; place writes where a line is. */
void cli_write_operands(const bf_costs_kernel *kernel,
                        void (*place)(const bf_costs_line *line, bf_text *text), bf_text *text);
/* "operands" of an object for a line. */
void cli_write_operands_json(const bf_costs_line *line, bf_json *json);

#endif
