/* ptx/extract: one kernel of a module as a module of its own. */
#ifndef BF_PTX_EXTRACT_H
#define BF_PTX_EXTRACT_H

#include "ptx/tree.h"

/* Appends PTX with the kernel of that name and all that it names, directly or not: functions and
 * shared variables, in their order; nothing where it cannot stand alone, as *is_alone says. It can
 * where all that it names lasts no longer than a launch, so that it does there what it does in the
 * module: no variables in global or constant memory but texts of the compiler, which nobody writes
 * to, no textures; and no aliases or debug data.
 * text may be NULL. BF_BAD_INPUT where the module has no such kernel. */
int bf_ptx_extract(const bf_ptx_module *module, const char *kernel, bf_text *text, bool *is_alone,
                   bf_diagnostic *diagnostic);

#endif
