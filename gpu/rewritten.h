/* PTX that is rewritten and verified in one go, for the programs in gpu/. */
#ifndef BF_GPU_REWRITTEN_H
#define BF_GPU_REWRITTEN_H

#include "rewrite/rewrite.h"

/* Adds the rewritten module to text. An error where the verifier does not accept it. */
int gpu_rewrite(const bf_ptx_module *module, const bf_rewrite_options *options, bf_text *text,
                bf_diagnostic *diagnostic);

#endif
