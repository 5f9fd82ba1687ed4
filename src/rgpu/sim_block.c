/* Into R-GPU mode and back. A block starts in normal mode, loads the configuration registers and
 * the values that FIFOs hold at first, and switches at a barrier; at another barrier it switches
 * back, and stores what is left in FIFOs. */
#include "rgpu/sim_inner.h"

#include <string.h>

enum { LANES = BF_EMU_LANES };

/* ---- Cycles ---- */

/* Cycles in which warps hand over so many words, one per lane and instruction. */
static uint64_t hand_over(const bf_sim_gpu *gpu, uint64_t words) {
  return (words + LANES - 1) / LANES * gpu->issue_cycles;
}

/* Cycles of a load from global memory on an idle machine. */
static uint64_t load_cycles(const bf_sim_gpu *gpu) {
  return gpu->l1_cycles + gpu->request_cycles + gpu->return_cycles + gpu->dram_miss_cycles;
}

void rgpu_switch_cycles(const sim_plan *plan, const bf_sim_gpu *gpu, uint64_t *enter,
                        uint64_t *leave) {
  uint64_t finals = 0;
  for (unsigned i = 0; i < plan->graph->finals; i++)
    finals += plan->graph->final[i].count * plan->setup->copies;
  *enter = gpu->int_cycles + hand_over(gpu, plan->nodes + plan->values) + gpu->barrier_cycles;
  if (plan->has_elements)
    *enter += load_cycles(gpu);
  *leave = gpu->barrier_cycles;
  if (finals)
    *leave += gpu->int_cycles + hand_over(gpu, finals);
}

/* ---- Into R-GPU mode ---- */

/* The bits of a value for an operand of a node of the block. */
static int value_of(const sim_sm *sm, const plan_node *plan, unsigned position,
                    const bf_rgpu_value *value, unsigned index, uint32_t *bits) {
  bf_rgpu_where where = {.block = sm->block, .copy = plan->copy, .index = index};
  bool is_float = position != BF_RGPU_PREDICATE && bf_rgpu_operand_is_float(plan->node, position);
  return bf_rgpu_value_bits(sm->chip->plan->setup, value, is_float, where, sm->chip->global, bits,
                            sm->chip->diagnostic);
}

/* What an increment with so many values in its FIFO adds. */
static int find_added(const sim_sm *sm, const plan_node *plan, unsigned count, uint32_t *added) {
  bf_rgpu_where where = {.block = sm->block, .copy = plan->copy};
  BF_TRY(bf_rgpu_term_bits(sm->chip->plan->setup, plan->node->step, where, added,
                           sm->chip->diagnostic));
  *added *= count / plan->node->hold;
  return BF_OK;
}

/* The values that a FIFO holds at first. An increment is an add, whose first results shall be its
 * first values: what it reads is less by what it adds. */
static int fill_fifo(sim_sm *sm, uint32_t node, unsigned position, const bf_rgpu_initial *initial) {
  const plan_node *plan = &sm->chip->plan->node[node];
  unsigned count = sm->chip->plan->fifo[plan->fifo[position]].initial;
  sm_fifo *fifo = &sm->fifo[plan->fifo[position]];
  uint32_t bits, added = 0;
  fifo->head = fifo->count = fifo->arrived = 0;
  if (plan->node->op == BF_RGPU_INC) {
    BF_TRY(find_added(sm, plan, count, &added));
    sm->node[node].constant[1] = added;
  }
  for (unsigned i = 0; i < count; i++) {
    const bf_rgpu_value *value = &initial->value[initial->is_repeated ? 0 : i];
    BF_TRY(value_of(sm, plan, position, value, i, &bits));
    rgpu_fifo_push(sm, plan->fifo[position], bits - added, sm->now);
  }
  return BF_OK;
}

static int fill_node(sim_sm *sm, uint32_t index) {
  const plan_node *plan = &sm->chip->plan->node[index];
  sm_node *own = &sm->node[index];
  bf_rgpu_where where = {.block = sm->block, .copy = plan->copy};
  uint32_t offset = 0;
  *own = (sm_node){.stall = BF_RGPU_STALLS};
  for (unsigned i = INPUTS; i-- > 0;) { /* an increment finds what it adds with its values, last */
    const bf_rgpu_operand *operand =
        i == BF_RGPU_PREDICATE ? &plan->node->predicate : &plan->node->operand[i];
    if (plan->fifo[i] != NO_FIFO)
      BF_TRY(fill_fifo(sm, index, i, &operand->initial));
    else if (operand->source == BF_RGPU_FROM_CONSTANT)
      BF_TRY(value_of(sm, plan, i, &operand->constant, 0, &own->constant[i]));
  }
  if (plan->node->offset)
    BF_TRY(bf_rgpu_term_bits(sm->chip->plan->setup, plan->node->offset, where, &offset,
                             sm->chip->diagnostic));
  own->offset = offset;
  return BF_OK;
}

/* Shared arrays as they are at first. */
static int fill_shared(sim_sm *sm) {
  const bf_rgpu_setup *setup = sm->chip->plan->setup;
  if (setup->shared_bytes)
    memset(sm->shared, 0, setup->shared_bytes);
  for (unsigned i = 0; i < setup->graph->arrays; i++) {
    const bf_rgpu_array *array = &setup->graph->array[i];
    unsigned bytes = bf_rgpu_type_bytes(array->type);
    if (!array->is_shared || (array->fill == BF_RGPU_FILL_TERM && !array->content))
      continue;
    for (uint64_t j = 0; j < setup->array_count[i]; j++) {
      uint32_t bits;
      BF_TRY(bf_rgpu_array_element(setup, i, j, &bits, sm->chip->diagnostic));
      bf_rgpu_store(array->type, bits, sm->shared + setup->array_address[i] + j * bytes);
    }
  }
  return BF_OK;
}

int rgpu_block_enter(sim_sm *sm) {
  const sim_plan *plan = sm->chip->plan;
  for (uint32_t i = 0; i < plan->nodes; i++)
    BF_TRY(fill_node(sm, i));
  for (unsigned i = 0; i < plan->units; i++)
    sm->unit[i] = (sm_unit){
        .line = NO_LINE, .asked = NO_LINE, .scanned_line = NO_LINE, .store_line = NO_LINE};
  sm->left = plan->setup->iterations ? plan->nodes : 0;
  return fill_shared(sm);
}

/* ---- Back to normal mode ---- */

/* Result number i of the last `count` of a node, oldest first; 0 where there were fewer. */
static uint32_t kept_result(const sim_sm *sm, uint32_t node, unsigned count, unsigned i) {
  const plan_node *plan = &sm->chip->plan->node[node];
  uint64_t fired = sm->node[node].fired;
  if (fired + i < count)
    return 0;
  return sm->kept[plan->kept_from + (fired - count + i) % plan->keeps];
}

/* The sum of the last results, in order. */
static uint32_t sum_of(const sim_sm *sm, uint32_t node, const bf_rgpu_final *final) {
  const plan_node *plan = &sm->chip->plan->node[node];
  bool is_float = bf_rgpu_result_is_float(plan->node);
  uint32_t sum = kept_result(sm, node, final->count, 0);
  for (unsigned i = 1; i < final->count; i++)
    sum = bf_rgpu_reduce(is_float ? BF_RGPU_F32 : BF_RGPU_U32, sum,
                         kept_result(sm, node, final->count, i));
  return sum;
}

/* Stores a final value; the unit sends what it stores line by line. */
static int store_final(sim_sm *sm, const bf_rgpu_final *final, unsigned copy, unsigned index,
                       uint32_t value, sm_unit *unit) {
  const bf_rgpu_setup *setup = sm->chip->plan->setup;
  const bf_rgpu_array *array = &setup->graph->array[final->array];
  bf_rgpu_where where = {.block = sm->block, .copy = copy, .index = index};
  unsigned bytes = bf_rgpu_type_bytes(array->type);
  int64_t element;
  BF_TRY(bf_rgpu_term_value(setup, final->element, where, &element, sm->chip->diagnostic));
  if (element < 0 || (uint64_t)element >= setup->array_count[final->array])
    return bf_fail_file(sm->chip->diagnostic, BF_BAD_INPUT, setup->graph->file,
                        "the final values of block %llu go to element %lld of '%s', which has "
                        "%llu",
                        (unsigned long long)sm->block, (long long)element, array->name,
                        (unsigned long long)setup->array_count[final->array]);
  uint64_t address = setup->array_address[final->array] + (uint64_t)element * bytes;
  bf_rgpu_store(array->type, value, sm->chip->global + (address - BF_RGPU_GLOBAL_BASE));
  if (unit->store_line != address / BF_SIM_LINE_BYTES)
    rgpu_unit_flush(sm, unit);
  unit->store_line = address / BF_SIM_LINE_BYTES;
  unit->store_sectors |= (uint8_t)(1u << address / BF_SIM_SECTOR_BYTES % 4);
  return BF_OK;
}

static int leave_final(sim_sm *sm, const bf_rgpu_final *final, unsigned copy, sm_unit *unit) {
  uint32_t node = copy * sm->chip->plan->graph->nodes + final->node;
  if (final->is_sum)
    return store_final(sm, final, copy, 0, sum_of(sm, node, final), unit);
  for (unsigned i = 0; i < final->count; i++)
    BF_TRY(store_final(sm, final, copy, i, kept_result(sm, node, final->count, i), unit));
  return BF_OK;
}

int rgpu_block_leave(sim_sm *sm) {
  const sim_plan *plan = sm->chip->plan;
  const bf_rgpu_after *after = sm->chip->settings->after;
  sm_unit unit = {.store_line = NO_LINE};
  for (unsigned i = 0; i < plan->graph->finals; i++)
    for (unsigned copy = 0; copy < plan->setup->copies; copy++)
      BF_TRY(leave_final(sm, &plan->graph->final[i], copy, &unit));
  rgpu_unit_flush(sm, &unit);
  if (after)
    after->run(plan->setup, sm->block, sm->shared, sm->chip->global);
  return BF_OK;
}
