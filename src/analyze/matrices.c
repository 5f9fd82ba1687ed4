/* Products of wgmma: what they read from shared memory follows from their shape and types alone. */
#include "analyze/walk.h"
#include "ptx/site.h"

#include "ptx/flow.h"

#include <stdio.h>

enum { ROWS = 64, WARPS = 4 }; /* of A, and of a group */

/* The numbers of .m64nNkK. */
static bool read_shape(const bf_ptx_instruction *instruction, bf_analyze_matrix *m) {
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (sscanf(instruction->modifier[i], "m64n%uk%u", &m->columns, &m->depth) == 2)
      return true;
  return false;
}

/* Bits of an element as wgmma reads it. */
static uint64_t bits_of(bf_ptx_type type) {
  return type == BF_PTX_B1 ? 1 : type == BF_PTX_TF32 ? 32 : 8 * (uint64_t)bf_ptx_type_bytes(type);
}

/* What an instruction reads; false: it is no product. */
static bool read_product(const bf_ptx_instruction *instruction, bf_analyze_matrix *m) {
  if (instruction->opcode != BF_PTX_OP_WGMMA || !bf_ptx_has(instruction, "mma_async") ||
      instruction->types < 3 || instruction->operands < 3 || !read_shape(instruction, m))
    return false;
  bool is_sparse = bf_ptx_has(instruction, "sp");
  unsigned kept = is_sparse ? m->depth / 2 : m->depth;
  bf_ptx_type a = instruction->type[1], b = instruction->type[2];
  m->line = instruction->line;
  m->a_type = bf_ptx_type_name(a);
  m->b_type = bf_ptx_type_name(b);
  if (instruction->operand[1].kind != BF_PTX_VECTOR)
    m->a_bytes = ROWS * kept * bits_of(a) / 8;
  m->b_bytes = m->columns * m->depth * bits_of(b) / 8;
  return true;
}

int bf_analyze_matrices(const bf_ptx_module *module, bf_analysis *analysis,
                        const bf_analyze_matrix **list, size_t *count, bf_diagnostic *diagnostic) {
  const bf_ptx_function *kernel = analysis->kernel;
  bf_ptx_flow *flow;
  *count = 0;
  bf_analyze_matrix *found =
      bf_arena_alloc(&analysis->arena, (kernel->instructions + 1) * sizeof *found);
  if (!found)
    return bf_no_memory(diagnostic);
  BF_TRY(bf_ptx_flow_create(kernel, &flow, diagnostic));
  for (uint32_t i = 0; i < kernel->instructions; i++) {
    bf_analyze_matrix m = {.instruction = i};
    if (!read_product(kernel->instruction[i], &m))
      continue;
    const bf_analyze_executed *executed = &analysis->executed[flow->block_of[i]];
    m.times = executed->warps / WARPS;
    m.open_loops = executed->open_loops;
    bf_ptx_user_line(module, kernel->instruction[i], &m.source_file, &m.source_line);
    found[(*count)++] = m;
  }
  bf_ptx_flow_free(flow);
  *list = found;
  return BF_OK;
}
