/* tune/compiling: the PTX of a module on its way through NVIDIA's compilers. Kernels get the hashes
 * that are listed for them or, with auto, what is predicted to win; one that ptxas says would need
 * too much when it is rewritten stays as it is. */
#ifndef BF_TUNE_COMPILING_H
#define BF_TUNE_COMPILING_H

#include "rewrite/listed.h"

/* How PTX is rewritten. */
typedef struct bf_compiling {
  const bf_listed *listed;
  bool is_auto; /* kernels that the list does not name get what is predicted to win */
  /* The path of ptxas, which is asked what kernels need (NULL: it is not asked), and what it
   * compiles for, as sm_90. */
  const char *ptxas, *arch;
} bf_compiling;

/* What became of a module. */
typedef struct bf_compiled {
  bf_text ptx;        /* empty: it stays as it is */
  bf_text remarks;    /* a line about the module, and one about each kernel */
  bool was_rewritten; /* it had been rewritten before, and stays as it is for that */
} bf_compiled;

/* Rewrites PTX, which remarks and diagnostics call name. Free also after an error. */
int bf_compiling_rewrite(const bf_compiling *how, const char *name, const bf_text *ptx,
                         bf_compiled *compiled, bf_diagnostic *diagnostic);
void bf_compiled_free(bf_compiled *compiled);

#endif
