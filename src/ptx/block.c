/* The block of a kernel. */
#include "ptx/block.h"

#include <string.h>

bool bf_ptx_required_block(const bf_ptx_function *kernel, uint32_t block[3]) {
  block[0] = block[1] = block[2] = 0;
  for (unsigned i = 0; i < kernel->directives.count && !block[0]; i++) {
    const bf_ptx_directive *directive = &kernel->directives.item[i];
    for (unsigned k = 0; k < 3 && strcmp(directive->name, "reqntid") == 0; k++)
      block[k] = k < directive->numbers ? (uint32_t)directive->number[k] : 1;
  }
  return block[0] > 0;
}
