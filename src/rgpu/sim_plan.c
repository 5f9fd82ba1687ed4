/* The graph and its copies as flat tables: node n of copy c is number c * nodes + n. */
#include "rgpu/sim_inner.h"

#include <stdlib.h>

bf_rgpu_fabric bf_rgpu_fabric_published(void) {
  return (bf_rgpu_fabric){.cores = 32,
                          .units = 16,
                          .data_fifo = 8,
                          .address_fifo = 256,
                          .two_cycles = 8,
                          .three_cycles = 10,
                          .load_cycles = 8};
}

/* ---- Whether it fits ---- */

unsigned bf_rgpu_copies_at_once(const bf_rgpu_fabric *fabric, unsigned copies) {
  return fabric->folded > 1 ? (copies + fabric->folded - 1) / fabric->folded : copies;
}

/* Operations of a graph that are on cores. */
static unsigned count_operations(const bf_rgpu_graph *graph) {
  unsigned count = 0;
  for (unsigned i = 0; i < graph->nodes; i++)
    count += !bf_rgpu_is_memory(&graph->node[i]);
  return count;
}

static int check_room(const bf_rgpu_sim_settings *settings, const bf_rgpu_setup *setup,
                      bf_diagnostic *diagnostic) {
  const bf_rgpu_fabric *fabric = &settings->fabric;
  const bf_rgpu_graph *graph = setup->graph;
  uint64_t units = graph->nodes - count_operations(graph);
  if (setup->shared_bytes > settings->gpu->shared_bytes_per_sm)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, graph->file,
                        "a block needs %llu bytes of shared memory; an SM has %llu",
                        (unsigned long long)setup->shared_bytes,
                        (unsigned long long)settings->gpu->shared_bytes_per_sm);
  uint64_t cores = (graph->nodes - units) * bf_rgpu_copies_at_once(fabric, (unsigned)setup->copies);
  units *= setup->copies;
  if (cores > fabric->cores || units > fabric->units)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, graph->file,
                        "%llu copies need %llu cores and %llu load/store units; an SM has %u and "
                        "%u",
                        (unsigned long long)setup->copies, (unsigned long long)cores,
                        (unsigned long long)units, fabric->cores, fabric->units);
  return BF_OK;
}

static int check_fifos(const bf_rgpu_sim_settings *settings, const bf_rgpu_graph *graph,
                       bf_diagnostic *diagnostic) {
  const bf_rgpu_fabric *fabric = &settings->fabric;
  bf_text why = {0};
  if (fabric->data_fifo == 0 || fabric->address_fifo == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "a FIFO has at least one entry");
  bool can_run = settings->is_unchecked
                     ? rgpu_initial_fits(graph, fabric->data_fifo, fabric->address_fifo, &why)
                     : bf_rgpu_can_run(graph, fabric->data_fifo, fabric->address_fifo, &why);
  if (can_run)
    return BF_OK;
  int error = bf_fail_file(diagnostic, BF_BAD_INPUT, graph->file,
                           "deadlock with data FIFOs of %u and address FIFOs of %u entries: %s",
                           fabric->data_fifo, fabric->address_fifo, why.failed ? "" : why.data);
  bf_text_free(&why);
  return error;
}

static int check_latencies(const bf_rgpu_fabric *fabric, bf_diagnostic *diagnostic) {
  const unsigned cycles[] = {fabric->two_cycles, fabric->three_cycles, fabric->load_cycles};
  for (unsigned i = 0; i < sizeof cycles / sizeof *cycles; i++)
    if (cycles[i] == 0 || cycles[i] > BF_RGPU_MOST_LATENCY)
      return bf_fail(diagnostic, BF_BAD_INPUT, "a latency is from 1 to %d cycles, not %u",
                     BF_RGPU_MOST_LATENCY, cycles[i]);
  return BF_OK;
}

/* ---- Tables ---- */

static bf_rgpu_class class_of(const bf_rgpu_node *node) {
  if (bf_rgpu_is_memory(node))
    return BF_RGPU_MEMORY;
  return bf_rgpu_type_is_float(node->type) ? BF_RGPU_FLOAT : BF_RGPU_INT;
}

static unsigned latency_of(const bf_rgpu_fabric *fabric, const bf_rgpu_node *node) {
  if (bf_rgpu_is_memory(node))
    return fabric->load_cycles;
  return node->operand[2].source ? fabric->three_cycles : fabric->two_cycles;
}

/* The operand at a position, the predicate being the last. */
static const bf_rgpu_operand *operand_at(const bf_rgpu_node *node, unsigned position) {
  return position == BF_RGPU_PREDICATE ? &node->predicate : &node->operand[position];
}

unsigned rgpu_initial_count(const bf_rgpu_node *node, unsigned position, unsigned capacity) {
  unsigned asked = operand_at(node, position)->initial.count;
  if (node->op != BF_RGPU_INC || position != 0 || asked <= capacity || capacity < node->hold)
    return asked;
  return capacity / node->hold * node->hold;
}

/* One node of one copy, without its receivers; operations counts those of the copy that are on
 * cores, the first of which has number first_core. */
static void place_node(const bf_rgpu_fabric *fabric, unsigned index, unsigned copy,
                       unsigned first_core, unsigned *operations, sim_plan *plan) {
  plan_node *at = &plan->node[copy * plan->graph->nodes + index];
  const bf_rgpu_node *node = &plan->graph->node[index];
  *at = (plan_node){.node = node, .index = index, .copy = copy, .kind = class_of(node)};
  at->has_result = bf_rgpu_has_result(node);
  at->latency = latency_of(fabric, node);
  if (at->kind == BF_RGPU_MEMORY)
    at->unit = plan->units++;
  else
    at->core = first_core + (*operations)++;
  plan->has_wait |= at->kind == BF_RGPU_MEMORY && node->cache == BF_RGPU_CACHE_WAIT;
  for (unsigned i = 0; i < INPUTS; i++) {
    const bf_rgpu_operand *operand = operand_at(node, i);
    at->fifo[i] = NO_FIFO;
    if (operand->source == BF_RGPU_FROM_CONSTANT) {
      plan->values++;
      plan->has_elements |= operand->constant.is_element;
    }
  }
}

/* The FIFO of an edge in one copy. */
static void place_fifo(const bf_rgpu_fabric *fabric, const bf_rgpu_edge *edge, unsigned copy,
                       sim_plan *plan) {
  unsigned first = copy * plan->graph->nodes;
  plan_node *reader = &plan->node[first + edge->to];
  bool is_address = reader->kind == BF_RGPU_MEMORY && edge->position == 0;
  unsigned capacity = is_address ? fabric->address_fifo : fabric->data_fifo;
  unsigned initial = rgpu_initial_count(reader->node, edge->position, capacity);
  const bf_rgpu_value *value = operand_at(reader->node, edge->position)->initial.value;
  plan->fifo[plan->fifos] =
      (plan_fifo){.writer = first + edge->from,
                  .reader = first + edge->to,
                  .position = edge->position,
                  .initial = initial,
                  .capacity = capacity,
                  .places = capacity + plan->node[first + edge->from].latency + 1};
  plan->node[first + edge->from].receivers++;
  plan->values += initial;
  plan->has_elements |= initial && value->is_element;
  reader->input[reader->inputs++] = plan->fifos;
  reader->fifo[edge->position] = plan->fifos++;
}

/* Lists the receivers of every node; they are counted. */
static int list_receivers(sim_plan *plan, bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < plan->nodes; i++) {
    plan_node *at = &plan->node[i];
    at->receiver = bf_arena_alloc(&plan->arena, (at->receivers + 1) * sizeof *at->receiver);
    if (!at->receiver)
      return bf_no_memory(diagnostic);
    at->receivers = 0;
  }
  for (unsigned i = 0; i < plan->fifos; i++) {
    plan_node *writer = &plan->node[plan->fifo[i].writer];
    writer->receiver[writer->receivers++] = i;
  }
  return BF_OK;
}

/* Results that final values need. */
static void keep_results(sim_plan *plan) {
  const bf_rgpu_graph *graph = plan->graph;
  for (unsigned i = 0; i < graph->finals; i++)
    for (uint64_t copy = 0; copy < plan->setup->copies; copy++) {
      plan_node *at = &plan->node[copy * graph->nodes + graph->final[i].node];
      at->keeps = graph->final[i].count > at->keeps ? graph->final[i].count : at->keeps;
    }
  for (unsigned i = 0; i < plan->nodes; i++) {
    plan->node[i].kept_from = plan->kept;
    plan->kept += plan->node[i].keeps;
  }
}

/* ---- Order ---- */

/* Puts a node behind all that read from it in the same iteration. */
static void put_in_order(sim_plan *plan, uint32_t node, bool *is_placed, unsigned *count) {
  const plan_node *at = &plan->node[node];
  is_placed[node] = true;
  for (unsigned i = 0; i < at->receivers; i++) {
    const plan_fifo *fifo = &plan->fifo[at->receiver[i]];
    if (fifo->initial == 0 && !is_placed[fifo->reader])
      put_in_order(plan, fifo->reader, is_placed, count);
  }
  plan->order[(*count)++] = node;
}

static int find_order(sim_plan *plan, bf_diagnostic *diagnostic) {
  bool *is_placed = calloc(plan->nodes + 1, sizeof *is_placed);
  unsigned count = 0;
  if (!is_placed)
    return bf_no_memory(diagnostic);
  for (uint32_t i = 0; i < plan->nodes; i++)
    if (!is_placed[i])
      put_in_order(plan, i, is_placed, &count);
  free(is_placed);
  return BF_OK;
}

/* ---- All of it ---- */

static int fill(const bf_rgpu_sim_settings *settings, sim_plan *plan, bf_diagnostic *diagnostic) {
  const bf_rgpu_graph *graph = plan->graph;
  unsigned copies = (unsigned)plan->setup->copies;
  unsigned at_once = bf_rgpu_copies_at_once(&settings->fabric, copies);
  plan->cores = at_once * count_operations(graph);
  plan->nodes = copies * graph->nodes;
  plan->node = bf_arena_alloc(&plan->arena, (plan->nodes + 1) * sizeof *plan->node);
  plan->fifo = bf_arena_alloc(&plan->arena, (copies * graph->edges + 1) * sizeof *plan->fifo);
  plan->order = bf_arena_alloc(&plan->arena, (plan->nodes + 1) * sizeof *plan->order);
  if (!plan->node || !plan->fifo || !plan->order)
    return bf_no_memory(diagnostic);
  for (unsigned copy = 0; copy < copies; copy++) {
    unsigned operations = 0, first_core = copy % at_once * (plan->cores / at_once);
    for (unsigned i = 0; i < graph->nodes; i++)
      place_node(&settings->fabric, i, copy, first_core, &operations, plan);
    for (unsigned i = 0; i < graph->edges; i++)
      place_fifo(&settings->fabric, &graph->edge[i], copy, plan);
  }
  BF_TRY(list_receivers(plan, diagnostic));
  keep_results(plan);
  return find_order(plan, diagnostic);
}

int rgpu_plan_create(const bf_rgpu_sim_settings *settings, const bf_rgpu_setup *setup,
                     sim_plan **plan, bf_diagnostic *diagnostic) {
  BF_TRY(check_room(settings, setup, diagnostic));
  BF_TRY(check_latencies(&settings->fabric, diagnostic));
  BF_TRY(check_fifos(settings, setup->graph, diagnostic));
  sim_plan *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->setup = setup;
  made->graph = setup->graph;
  int error = fill(settings, made, diagnostic);
  if (error) {
    rgpu_plan_free(made);
    return error;
  }
  *plan = made;
  return BF_OK;
}

void rgpu_plan_free(sim_plan *plan) {
  if (plan)
    bf_arena_free(&plan->arena);
  free(plan);
}
