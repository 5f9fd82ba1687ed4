/* ptx/summary: what a function needs and does, in a few numbers. */
#ifndef BF_PTX_SUMMARY_H
#define BF_PTX_SUMMARY_H

#include "ptx/tree.h"

/* Shared memory counts what the function declares and the module's variables that its instructions
 * name, each at its alignment; open arrays ([]) make has_dynamic_shared true and count nothing.
 * shared_accesses counts instructions that say .shared; generic ones are not known here. */
typedef struct bf_ptx_summary {
  uint32_t parameters;
  uint64_t parameter_bytes;
  uint64_t shared_bytes;
  bool has_dynamic_shared;
  uint32_t instructions;
  uint32_t shared_loads, shared_stores, shared_atomics, shared_copies;
  uint32_t shared_accesses; /* the four together */
} bf_ptx_summary;

bf_ptx_summary bf_ptx_summarise(const bf_ptx_module *module, const bf_ptx_function *function);
/* Where a parameter is that comes behind `offset` bytes of others. */
uint64_t bf_ptx_parameter_offset(uint64_t offset, const bf_ptx_variable *parameter);

#endif
