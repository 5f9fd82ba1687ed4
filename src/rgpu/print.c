/* Graphs as text, which the reader takes back. */
#include "rgpu/graph.h"

#include <string.h>

/* A float so that it reads as the same float. */
static void print_float(uint32_t bits, bf_text *text) {
  float value;
  memcpy(&value, &bits, sizeof value);
  char digits[32];
  for (int precision = 1; precision <= 9; precision++) {
    float again;
    snprintf(digits, sizeof digits, "%.*g", precision, (double)value);
    if (sscanf(digits, "%f", &again) == 1 && again == value)
      break;
  }
  bf_text_puts(text, digits);
}

/* A constant; terms of floats in parentheses, since a digit starts a float there. */
static void print_value(const bf_rgpu_graph *graph, const bf_rgpu_value *value, bool is_float,
                        bf_text *text) {
  if (value->is_element) {
    bf_text_addf(text, "%s[", graph->array[value->array].name);
    bf_rgpu_print_term(graph, value->term, text);
    bf_text_puts(text, "]");
  } else if (value->term) {
    bf_text_puts(text, is_float ? "(" : "");
    bf_rgpu_print_term(graph, value->term, text);
    bf_text_puts(text, is_float ? ")" : "");
  } else {
    print_float(value->bits, text);
  }
}

static void print_initial(const bf_rgpu_graph *graph, const bf_rgpu_initial *initial, bool is_float,
                          bf_text *text) {
  if (!initial->count)
    return;
  bf_text_puts(text, " after [");
  if (initial->is_repeated)
    bf_text_addf(text, "%u x ", initial->count);
  for (unsigned i = 0; i < (initial->is_repeated ? 1 : initial->count); i++) {
    bf_text_puts(text, i ? ", " : "");
    print_value(graph, &initial->value[i], is_float, text);
  }
  bf_text_puts(text, "]");
}

static void print_operand(const bf_rgpu_graph *graph, const bf_rgpu_operand *operand, bool is_float,
                          bf_text *text) {
  if (operand->source == BF_RGPU_FROM_CONSTANT) {
    print_value(graph, &operand->constant, is_float, text);
    return;
  }
  bf_text_puts(text, graph->node[operand->node].name);
  print_initial(graph, &operand->initial, is_float, text);
}

static void print_increment(const bf_rgpu_graph *graph, const bf_rgpu_node *node, bf_text *text) {
  bf_text_puts(text, "inc step ");
  bf_rgpu_print_term(graph, node->step, text);
  bf_text_puts(text, " start ");
  bf_rgpu_print_term(graph, node->start, text);
  bf_text_addf(text, " initial %u", node->operand[0].initial.count);
  if (node->hold > 1)
    bf_text_addf(text, " hold %u", node->hold);
}

/* [ADDRESS + OFFSET] */
static void print_address(const bf_rgpu_graph *graph, const bf_rgpu_node *node, bf_text *text) {
  bf_text_puts(text, "[");
  print_operand(graph, &node->operand[0], false, text);
  if (node->offset) {
    bf_text_puts(text, " + ");
    bf_rgpu_print_term(graph, node->offset, text);
  }
  bf_text_puts(text, "]");
}

static void print_memory(const bf_rgpu_graph *graph, const bf_rgpu_node *node, bf_text *text) {
  bf_rgpu_cache usual = node->op == BF_RGPU_LD ? BF_RGPU_CACHE_CA : BF_RGPU_CACHE_WB;
  bf_text_puts(text, bf_rgpu_op_get(node->op)->name);
  bf_text_puts(text, node->is_shared ? ".shared" : "");
  bf_text_puts(text, node->op == BF_RGPU_RED ? ".add" : "");
  if (node->cache != usual)
    bf_text_addf(text, ".%s", bf_rgpu_cache_name(node->cache));
  bf_text_addf(text, ".%s ", bf_rgpu_type_name(node->type));
  print_address(graph, node, text);
  if (node->operand[1].source) {
    bf_text_puts(text, ", ");
    print_operand(graph, &node->operand[1], bf_rgpu_operand_is_float(node, 1), text);
  }
}

static void print_core(const bf_rgpu_graph *graph, const bf_rgpu_node *node, bf_text *text) {
  bf_text_addf(text, "%s.%s", bf_rgpu_op_get(node->op)->name, bf_rgpu_type_name(node->type));
  if (node->op == BF_RGPU_CVT)
    bf_text_addf(text, ".%s", bf_rgpu_type_name(node->from));
  for (unsigned i = 0; i < bf_rgpu_op_get(node->op)->operands; i++) {
    bf_text_puts(text, i ? ", " : " ");
    print_operand(graph, &node->operand[i], bf_rgpu_operand_is_float(node, i), text);
  }
}

void bf_rgpu_print_node(const bf_rgpu_graph *graph, const bf_rgpu_node *node, bf_text *text) {
  if (node->predicate.source) {
    bf_text_puts(text, node->is_negated ? "@!" : "@");
    print_operand(graph, &node->predicate, false, text);
    bf_text_puts(text, " ");
  }
  if (node->op == BF_RGPU_INC)
    print_increment(graph, node, text);
  else if (bf_rgpu_is_memory(node))
    print_memory(graph, node, text);
  else
    print_core(graph, node, text);
}

static void print_array(const bf_rgpu_graph *graph, const bf_rgpu_array *array, bf_text *text) {
  uint32_t number;
  memcpy(&number, &array->number, sizeof number);
  bf_text_addf(text, "%s %s %s ", array->is_shared ? "shared" : "array", array->name,
               bf_rgpu_type_name(array->type));
  bf_rgpu_print_term(graph, array->count, text);
  if (array->fill == BF_RGPU_FILL_RANDOM) {
    bf_text_addf(text, " = random %llu ", (unsigned long long)array->seed);
    print_float(number, text);
  } else if (array->fill == BF_RGPU_FILL_FLOAT) {
    bf_text_puts(text, " = ");
    print_float(number, text);
  } else if (array->content) {
    bf_text_puts(text, " = ");
    bool bracket = bf_rgpu_type_is_float(array->type); /* else a number would read as a float */
    bf_text_puts(text, bracket ? "(" : "");
    bf_rgpu_print_term(graph, array->content, text);
    bf_text_puts(text, bracket ? ")" : "");
  }
  if (array->present) {
    bf_text_puts(text, " present ");
    bf_rgpu_print_term(graph, array->present, text);
  }
  bf_text_puts(text, "\n");
}

static void print_final(const bf_rgpu_graph *graph, const bf_rgpu_final *final, bf_text *text) {
  bf_text_addf(text, "final %s[", graph->array[final->array].name);
  bf_rgpu_print_term(graph, final->element, text);
  bf_text_addf(text, "] = %s%s last %u\n", final->is_sum ? "sum " : "",
               graph->node[final->node].name, final->count);
}

void bf_rgpu_print(const bf_rgpu_graph *graph, bf_text *text) {
  bf_text_addf(text, "graph %s\n", graph->name);
  for (unsigned i = 0; i < graph->parameters; i++)
    bf_text_addf(text, "parameter %s %lld\n", graph->parameter[i].name,
                 (long long)graph->parameter[i].value);
  for (unsigned i = 0; i < graph->arrays; i++)
    print_array(graph, &graph->array[i], text);
  bf_text_puts(text, "iterations ");
  bf_rgpu_print_term(graph, graph->iterations, text);
  bf_text_puts(text, "\nblocks ");
  bf_rgpu_print_term(graph, graph->blocks, text);
  bf_text_puts(text, "\n\n");
  for (unsigned i = 0; i < graph->nodes; i++) {
    bf_text_addf(text, "%s = ", graph->node[i].name);
    bf_rgpu_print_node(graph, &graph->node[i], text);
    bf_text_puts(text, "\n");
  }
  for (unsigned i = 0; i < graph->finals; i++)
    print_final(graph, &graph->final[i], text);
}
