/* Which parameters decide what a kernel does to shared memory: those that its branches and the
 * addresses of its shared accesses are computed from. */
#include "analyze/given.h"
#include "analyze/walk.h"

#include <stdlib.h>
#include <string.h>

/* Whether a register that an instruction loads a parameter to is taken for an address. */
static bool is_address(const bf_ptx_function *kernel, const bf_ptx_instruction *load) {
  uint32_t number, other;
  bool is_scalar = bf_operand_register(&load->operand[0], &number);
  for (uint32_t i = 0; is_scalar && i < kernel->instructions; i++) {
    const bf_ptx_instruction *at = kernel->instruction[i];
    if (at->opcode == BF_PTX_OP_CVTA && at->operands > 1 &&
        bf_operand_register(&at->operand[1], &other) && other == number)
      return true;
  }
  return false;
}

/* Marks the bytes of a parameter that an instruction loads: numbers that whoever launches the
 * kernel passes. */
static void mark_loaded(const bf_walk *walk, const bf_ptx_instruction *load,
                        bf_analyze_given *given) {
  unsigned index;
  int64_t offset;
  uint64_t start, bytes;
  if (!bf_walk_is_parameter(walk, load, &index, &offset))
    return;
  const bf_ptx_variable *own = &walk->function->parameters.item[index];
  uint64_t loaded = load->types ? bf_ptx_type_bytes(load->type[0]) * load->vector : 0;
  bf_analyze_parameter(walk->function, index, &start, &bytes);
  bool is_number = !own->is_pointer && own->linkage != BF_PTX_HIDDEN &&
                   !(loaded == 8 && is_address(walk->function, load));
  if (is_number && offset >= 0 && (uint64_t)offset + loaded <= bytes)
    memset(given->is_known + start + offset, 1, loaded);
}

int bf_analyze_find_deciding(const bf_ptx_function *kernel, bf_analyze_given *given,
                             bf_diagnostic *diagnostic) {
  bf_walk walk = {.function = kernel};
  BF_TRY(bf_analyze_read_given(kernel, NULL, given, diagnostic));
  walk.is_needed = calloc((size_t)kernel->instructions + 1, sizeof *walk.is_needed);
  int error = walk.is_needed ? bf_walk_mark(&walk) : BF_NO_MEMORY;
  for (uint32_t i = 0; !error && i < kernel->instructions; i++)
    if (walk.is_needed[i])
      mark_loaded(&walk, kernel->instruction[i], given);
  free(walk.is_needed);
  return error ? bf_no_memory(diagnostic) : BF_OK;
}

void bf_analyze_assume_number(const bf_ptx_function *kernel, uint32_t number,
                              bf_analyze_given *given) {
  uint64_t start, bytes;
  for (unsigned i = 0; i < kernel->parameters.count; i++) {
    bf_analyze_parameter(kernel, i, &start, &bytes);
    for (uint64_t k = 0; k < bytes; k++)
      given->bytes[start + k] = (uint8_t)((uint64_t)number >> 8 * (k % (bytes == 8 ? 8 : 4)));
  }
}

/* Whether something is not known of a site because of parameters, which values of these would tell.
 */
static bool needs_values(const bf_analyze_site *site) {
  for (unsigned i = 0; i < site->unknowns; i++) {
    const bf_analyze_unknown *unknown = &site->unknown[i];
    bool counts = unknown->kind == BF_UNKNOWN_ADDRESS || unknown->kind == BF_UNKNOWN_COUNT;
    if (counts && strstr(unknown->because, "parameter ") &&
        !strstr(unknown->because, "block index"))
      return true;
  }
  return false;
}

bool bf_analyze_needs_values(const bf_analysis *analysis) {
  for (uint32_t i = 0; i < analysis->sites; i++)
    if (needs_values(&analysis->site[i]))
      return true;
  return false;
}
