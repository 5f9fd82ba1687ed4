/* Bulk copies between global memory and shared memory of the block. They know of no hash: where
 * arrays have hashes of their own, the array that one is proven to be of must have none, and so
 * must that of the mbarrier which it signals. All operands stay as they were. */
#include "verify/inner.h"

#include <string.h>

bool bf_verify_copy_find(const bf_ptx_instruction *instruction, bf_verify_copy *copy) {
  const char *first = NULL, *second = NULL;
  if (instruction->opcode != BF_PTX_OP_CP || !bf_ptx_has(instruction, "bulk") ||
      bf_ptx_has(instruction, "prefetch") || bf_ptx_has(instruction, "commit_group") ||
      bf_ptx_has(instruction, "wait_group"))
    return false;
  for (unsigned i = 0; i < instruction->modifiers; i++) {
    const char *modifier = instruction->modifier[i];
    if (!strncmp(modifier, "multicast", 9) || !strncmp(modifier, "cta_group", 9))
      return false; /* it works on other blocks, too */
    if (strcmp(modifier, "global") != 0 && strncmp(modifier, "shared", 6) != 0)
      continue;
    if (second)
      return false;
    second = first ? modifier : NULL;
    first = first ? first : modifier;
  }
  if (!first || !second || !strcmp(first, "global") == !strcmp(second, "global"))
    return false;
  bool loads = strcmp(first, "global") != 0, is_tensor = bf_ptx_has(instruction, "tensor");
  copy->shared = loads ? 0 : 1;
  copy->barrier = !loads ? instruction->operands : is_tensor ? 2 : 3;
  if (loads && copy->barrier >= instruction->operands)
    return false;
  return instruction->operands > copy->shared &&
         instruction->operand[copy->shared].kind == BF_PTX_ADDRESS &&
         (!loads || instruction->operand[copy->barrier].kind == BF_PTX_ADDRESS);
}

/* Whether an operand is surely an address in an array that nothing moves. */
static bool is_left_alone(const bf_verify_body *body, const bf_ptx_operand *address) {
  const bf_verify_scheme *scheme = body->scheme;
  uint32_t home = bf_verify_home_of(scheme, &body->homes, address);
  return home != BF_VERIFY_NO_HOME && home != BF_VERIFY_MANY_HOMES && !scheme->array[home].hash;
}

void bf_verify_copy_judge(bf_verify_body *body, uint32_t number) {
  const bf_ptx_instruction *original = body->partner[number];
  const bf_ptx_instruction *rewritten = body->rewritten->instruction[number];
  bf_verify_copy copy;
  const char *why = NULL;
  if (!bf_verify_copy_find(original, &copy) || !body->scheme->by_array)
    why = "a bulk copy";
  else if (!bf_verify_same_instruction(original, rewritten))
    why = "another bulk copy";
  else if (!is_left_alone(body, &original->operand[copy.shared]))
    why = "a bulk copy that is not proven to be of an array without a hash";
  else if (copy.barrier < original->operands &&
           !is_left_alone(body, &original->operand[copy.barrier]))
    why = "a bulk copy whose mbarrier is not proven to be in an array without a hash";
  if (why)
    bf_verify_fail_instruction(body, why, rewritten, rewritten->line);
  else
    body->exempt++;
}
