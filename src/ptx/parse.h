/* ptx/parse: text to modules. Names are resolved and opcodes are known afterwards; faults come with
 * file, line and column. */
#ifndef BF_PTX_PARSE_H
#define BF_PTX_PARSE_H

#include "ptx/tree.h"

/* Parses size bytes of text; file is for diagnostics. */
int bf_ptx_parse(const char *file, const char *text, size_t size, bf_ptx_module **module,
                 bf_diagnostic *diagnostic);
void bf_ptx_free(bf_ptx_module *module);

#endif
