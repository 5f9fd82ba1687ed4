/* ptx/print: modules to text, as they are or with changes. */
#ifndef BF_PTX_PRINT_H
#define BF_PTX_PRINT_H

#include "ptx/tree.h"

/* Appends PTX that parses to the same module. Check text->failed. */
void bf_ptx_print(const bf_ptx_module *module, bf_text *text);
void bf_ptx_print_instruction(const bf_ptx_instruction *instruction, bf_text *text);

/* What is printed differently. Called in the order of the module; what they return is printed
 * before the next call. */
typedef struct bf_ptx_print_hooks {
  void *context;
  /* Lines at the start of a body, each ending with a line feed; or NULL. */
  const char *(*body)(void *context, const bf_ptx_function *function);
  /* What stands in the place of an instruction, perhaps itself; *before: lines before it. */
  const bf_ptx_instruction *(*instruction)(void *context, const bf_ptx_instruction *instruction,
                                           const char **before);
  /* What stands in the place of a variable in shared memory. */
  bf_ptx_variable (*variable)(void *context, const bf_ptx_variable *variable);
  /* The name of copy `index` of a function, which is printed behind it and the copies before, as a
   * private function, with calls of body and instruction of its own; NULL: no more. May be NULL. */
  const char *(*copy)(void *context, const bf_ptx_function *function, unsigned index);
} bf_ptx_print_hooks;

/* The same with changes; hooks NULL: none. */
void bf_ptx_print_hooked(const bf_ptx_module *module, const bf_ptx_print_hooks *hooks,
                         bf_text *text);
/* Whether both modules hold the same, lines and columns aside; BF_NO_MEMORY where it cannot say. */
int bf_ptx_equal(const bf_ptx_module *a, const bf_ptx_module *b, bool *equal);

#endif
