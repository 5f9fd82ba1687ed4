/* What the matrix units read by themselves. */
#include "memory/memory.h"

uint64_t bf_memory_operand_wavefronts(const bf_machine *machine, uint64_t bytes) {
  uint64_t row_bytes = (uint64_t)machine->word_bytes << machine->bank_bits;
  return (bytes + row_bytes - 1) / row_bytes;
}
