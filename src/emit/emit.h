/* emit: turns a hash into text that other programs use - a C or CUDA header, a CuTe type, a Triton
 * layout, a Verilog module (docs/emit.md). */
#ifndef BF_EMIT_H
#define BF_EMIT_H

#include "base/base.h"
#include "hash/hash.h"

/* The forms bf_emit knows; NULL ends the list. */
extern const char *const bf_emit_forms[];

/* Writes hash in the given form into text. BF_UNSUPPORTED and a diagnostic that starts with "no
 * such form" where the form cannot express the hash. */
int bf_emit(const bf_hash *hash, const char *form, const bf_emit_options *options, bf_text *text,
            bf_diagnostic *diagnostic);

#endif
