/* rgpu: a graph of the innermost loop of a PTX kernel. */
#ifndef BF_RGPU_EXTRACT_H
#define BF_RGPU_EXTRACT_H

#include "ptx/ptx.h"
#include "rgpu/graph.h"

/* Appends the text of a graph whose iterations are those of the loop, for one thread. kernel NULL:
 * the only one of the module; line 0: its only innermost loop, else the one that has that line.
 * Where the loop cannot be a graph, BF_UNSUPPORTED with the reason and the line. */
int bf_rgpu_extract(const bf_ptx_module *module, const char *kernel, uint64_t line, bf_text *text,
                    bf_diagnostic *diagnostic);

#endif
