/* Graphs of rgpu without FIFOs and time: results are asked for, iteration by iteration, of one
 * block and one copy. */
#ifndef TEST_RGPU_INTERPRETER_H
#define TEST_RGPU_INTERPRETER_H

#include "rgpu/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_ITERATIONS = 64, BYTES = 16384 };

typedef struct machine {
  const bf_rgpu_graph *graph;
  bf_rgpu_setup *setup;
  uint32_t *result; /* node * MOST_ITERATIONS + iteration */
  bool *is_done;
  unsigned char global[BYTES], shared[BYTES];
} machine;

static inline uint32_t run(machine *m, unsigned node, uint64_t iteration);

/* An operand in an iteration. */
static inline uint32_t operand_value(machine *m, const bf_rgpu_operand *from, bool is_float,
                                     uint64_t iteration) {
  const bf_rgpu_value *value = &from->constant;
  bf_rgpu_where where = {0};
  bf_diagnostic diagnostic;
  uint32_t bits = 0;
  if (from->source == BF_RGPU_FROM_NODE) {
    if (iteration >= from->initial.count)
      return run(m, from->node, iteration - from->initial.count);
    value = &from->initial.value[from->initial.is_repeated ? 0 : iteration];
    where.index = iteration;
  }
  assert_int_equal(
      bf_rgpu_value_bits(m->setup, value, is_float, where, m->global, &bits, &diagnostic), BF_OK);
  return bits;
}

static inline uint32_t access_memory(machine *m, const bf_rgpu_node *node, uint64_t iteration) {
  uint32_t address = operand_value(m, &node->operand[0], false, iteration), offset = 0;
  bf_diagnostic diagnostic;
  if (node->offset)
    assert_int_equal(
        bf_rgpu_term_bits(m->setup, node->offset, (bf_rgpu_where){0}, &offset, &diagnostic), BF_OK);
  address += offset - (node->is_shared ? 0 : BF_RGPU_GLOBAL_BASE);
  assert_true(address + 4 <= BYTES);
  unsigned char *at = (node->is_shared ? m->shared : m->global) + address;
  if (node->op == BF_RGPU_LD)
    return bf_rgpu_load(node->type, at);
  uint32_t data = operand_value(m, &node->operand[1], bf_rgpu_operand_is_float(node, 1), iteration);
  if (node->op == BF_RGPU_RED)
    data = bf_rgpu_reduce(node->type, bf_rgpu_load(node->type, at), data);
  bf_rgpu_store(node->type, data, at);
  return 0;
}

static inline uint32_t compute(machine *m, const bf_rgpu_node *node, uint64_t iteration) {
  uint32_t operand[BF_RGPU_OPERANDS] = {0};
  if (node->op == BF_RGPU_INC && iteration < node->operand[0].initial.count)
    return operand_value(m, &node->operand[0], false, iteration); /* its first results */
  if (bf_rgpu_is_memory(node))
    return access_memory(m, node, iteration);
  for (unsigned i = 0; i < bf_rgpu_op_get(node->op)->operands; i++)
    operand[i] = operand_value(m, &node->operand[i], bf_rgpu_operand_is_float(node, i), iteration);
  return bf_rgpu_operate(node, operand);
}

static inline uint32_t run(machine *m, unsigned number, uint64_t iteration) {
  const bf_rgpu_node *node = &m->graph->node[number];
  uint64_t place = number * MOST_ITERATIONS + iteration;
  if (m->is_done[place])
    return m->result[place];
  m->is_done[place] = true;
  bool runs = true;
  if (node->predicate.source)
    runs = (operand_value(m, &node->predicate, false, iteration) != 0) != node->is_negated;
  uint32_t last = iteration ? run(m, number, iteration - 1) : 0;
  return m->result[place] = runs ? compute(m, node, iteration) : last;
}

/* Runs a graph with parameters; memory is given and left. */
static inline void execute(machine *m, const char *text, unsigned overrides,
                           const char *const *override) {
  bf_rgpu_graph *graph;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_rgpu_parse("graph", text, &graph, &diagnostic), BF_OK);
  m->graph = graph;
  assert_int_equal(bf_rgpu_setup_create(graph, 1, overrides, override, &m->setup, &diagnostic),
                   BF_OK);
  m->result = calloc((size_t)graph->nodes * MOST_ITERATIONS, sizeof *m->result);
  m->is_done = calloc((size_t)graph->nodes * MOST_ITERATIONS, sizeof *m->is_done);
  assert_true(m->result && m->is_done && m->setup->iterations <= MOST_ITERATIONS);
  for (uint64_t i = 0; i < m->setup->iterations; i++)
    for (unsigned n = 0; n < graph->nodes; n++)
      run(m, n, i);
  for (unsigned i = 0; i < graph->finals; i++) {
    const bf_rgpu_final *final = &graph->final[i];
    uint32_t value = run(m, final->node, m->setup->iterations - 1);
    bf_rgpu_store(graph->array[final->array].type, value,
                  m->global + m->setup->array_address[final->array] - BF_RGPU_GLOBAL_BASE);
  }
  free(m->result);
  free(m->is_done);
  bf_rgpu_setup_free(m->setup);
  bf_rgpu_free(graph);
}

#endif
