/* Inside room api: what the public header offers beyond the rooms' own functions, as thin functions
 * over them. What is handed out owns all it points to. */
#ifndef BF_API_INNER_H
#define BF_API_INNER_H

#include "memory/memory.h"
#include "ptx/ptx.h"

/* Hands the text over to the caller, who frees it with bf_free, or frees it after an error. */
int bf_api_hand_out(bf_text *text, int error, char **out, bf_diagnostic *diagnostic);

/* A copy of text in the arena, into *copy; NULL gives NULL. */
int bf_api_copy(bf_arena *arena, const char *text, const char **copy, bf_diagnostic *diagnostic);

/* ---- Modules ---- */

typedef struct bf_api_kernel {
  bf_kernel_info info;
  bf_parameter_info *parameter;
  const bf_ptx_function *function;
} bf_api_kernel;

struct bf_module {
  bf_arena arena;
  const char *name; /* for messages */
  bf_ptx_module *ptx;
  bf_api_kernel *kernel;
  size_t kernels;
};

/* Parses PTX text; name is copied. */
int bf_api_module_create(const char *name, const bf_text *ptx, bf_module **module,
                         bf_diagnostic *diagnostic);
/* bf_module_find with a message where there is no such kernel. */
int bf_api_kernel_find(const bf_module *module, const char *name, const bf_api_kernel **kernel,
                       bf_diagnostic *diagnostic);

/* ---- Machines for kernels ---- */

/* The machine given, or where that is NULL a new "hopper", which is *own then and freed by the
 * caller. Refuses machines whose warps are not those of CUDA. */
int bf_api_machine(const bf_machine *given, const bf_machine **machine, bf_machine **own,
                   bf_diagnostic *diagnostic);

/* The seconds that a search for a kernel may take: those given, or for 0 ten. */
double bf_api_time_limit(double given_seconds);

#endif
