/* Inside room emit: one function per form. name is a valid identifier. */
#ifndef BF_EMIT_FORMS_H
#define BF_EMIT_FORMS_H

#include "emit/emit.h"

int bf_emit_c(const bf_hash *hash, const bf_emit_options *options, bf_text *text,
              bf_diagnostic *diagnostic);
int bf_emit_cuda(const bf_hash *hash, const bf_emit_options *options, bf_text *text,
                 bf_diagnostic *diagnostic);
int bf_emit_cute(const bf_hash *hash, const bf_emit_options *options, bf_text *text,
                 bf_diagnostic *diagnostic);
int bf_emit_triton(const bf_hash *hash, const bf_emit_options *options, bf_text *text,
                   bf_diagnostic *diagnostic);
int bf_emit_verilog(const bf_hash *hash, const bf_emit_options *options, bf_text *text,
                    bf_diagnostic *diagnostic);

/* name in upper case, for macros; upper has at least BF_EMIT_NAME_MAX + 1 characters. */
enum { BF_EMIT_NAME_MAX = 60 };
void bf_emit_upper(const char *name, char *upper);

#endif
