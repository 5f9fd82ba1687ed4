/* ptx/link: the PTX of all parts of a program that was compiled separately, made into one module as
 * the device linker does it with machine code (docs/ptx.md). */
#ifndef BF_PTX_LINK_H
#define BF_PTX_LINK_H

#include "ptx/tree.h"

/* Links parts into one module called file, of which the caller gets possession. Names that several
 * parts keep for themselves are told apart; for that the parts are changed, and of no further use
 * but to be freed.
 *
 * A function that no part defines must be one that is_provided says yes to (NULL: none is) and
 * stays extern. BF_BAD_INPUT, with the file and line of the part: a name that is defined twice,
 * nowhere, or not as other parts declare it. */
int bf_ptx_link(const char *file, bf_ptx_module *const *part, unsigned parts,
                bool (*is_provided)(const char *name), bf_ptx_module **linked,
                bf_diagnostic *diagnostic);

#endif
