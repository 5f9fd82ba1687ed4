/* ptx/ptx_text: PTX text at a glance: enough to know a file of it and the architecture that it is
 * for. */
#ifndef BF_PTX_TEXT_H
#define BF_PTX_TEXT_H

#include "ptx/fatbin.h"

/* Whether text starts, behind space and comments, with a .version directive. */
bool bf_ptx_text_is(const char *text, uint64_t size);
/* Fills version and architecture of image from the .version and .target directives of text. */
int bf_ptx_text_describe(const char *name, const char *text, uint64_t size, bf_image *image,
                         bf_diagnostic *diagnostic);

#endif
