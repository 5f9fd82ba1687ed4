/* ptx: PTX assembly as data. Nothing here executes anything.
 *
 * A file of PTX goes through these stages, one header each, in this order:
 * - ops.h lists what instructions are made of; ops.def has a row for each opcode.
 * - tree.h is a module: functions, statements, instructions, operands. It is freed whole.
 * - parse.h makes one of text, which lexer.c cuts into words and parse*.c read.
 * - print.h makes text of it again, with changes where asked for.
 * - link.h makes one module of several.
 * - demangle.h has the names that people are shown.
 * - summary.h, access_kind.h and origin.h tell from the instructions of a function one by one what
 *   it needs, which memory they access and what that is called in traces, and which variables they
 * can address.
 * - flow.h cuts a function into basic blocks.
 * - merge.h tells what ptxas makes of neighbouring accesses.
 * How PTX is found in programs and libraries stands apart, in fatbin.h. */
#ifndef BF_PTX_H
#define BF_PTX_H

#include "ptx/ops.h"

#include "ptx/tree.h"

#include "ptx/parse.h"
#include "ptx/print.h"

#include "ptx/link.h"

#include "ptx/demangle.h"

#include "ptx/summary.h"

#include "ptx/access_kind.h"
#include "ptx/origin.h"

#include "ptx/flow.h"
#include "ptx/merge.h"

#endif
