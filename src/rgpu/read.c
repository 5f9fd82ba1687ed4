/* The text of a graph: one statement a line.
 *
 *   graph NAME
 *   parameter NAME NUMBER
 *   array|shared NAME TYPE COUNT [= CONTENT] [present COUNT]
 *   iterations TERM
 *   blocks TERM
 *   NAME = [@[!]NODE] OPERATION ...
 *   final ARRAY[TERM] = [sum] NODE last COUNT
 *
 * A first pass finds what every name stands for, a second reads the statements. */
#include "rgpu/reader.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LINE_BYTES = 4000, MOST_FILE_BYTES = 1 << 20, MOST_FINALS = 64 };

/* ---- Lines ---- */

/* Takes the next line of *text into buffer, cut at its comment; false at the end. */
static int next_line(reader *r, const char **text, char *buffer, bool *done) {
  *done = !**text;
  if (*done)
    return BF_OK;
  size_t length = strcspn(*text, "\n");
  r->number++;
  r->line = r->at = buffer;
  memcpy(buffer, *text, length < MOST_LINE_BYTES ? length : MOST_LINE_BYTES);
  buffer[length < MOST_LINE_BYTES ? length : MOST_LINE_BYTES] = 0;
  if (length > MOST_LINE_BYTES)
    return FAIL_AT(r, buffer + MOST_LINE_BYTES - 1, "a line has at most %d bytes", MOST_LINE_BYTES);
  *text += length + ((*text)[length] == '\n');
  buffer[strcspn(buffer, "#")] = 0;
  rgpu_skip_blanks(r);
  return BF_OK;
}

/* Does `step` for every line that is not empty. */
static int for_each_line(reader *r, const char *text, int (*step)(reader *)) {
  char buffer[MOST_LINE_BYTES + 1];
  r->number = 0;
  for (;;) {
    bool done;
    BF_TRY(next_line(r, &text, buffer, &done));
    if (done)
      return BF_OK;
    if (*r->at)
      BF_TRY(step(r));
  }
}

/* ---- First pass: names ---- */

/* Whether the line is NAME = ...; leaves the reader where it was. */
static bool defines_node(reader *r) {
  const char *before = r->at;
  r->at += rgpu_name_length(r->at);
  bool found = r->at != before && rgpu_take(r, '=');
  r->at = before;
  return found;
}

static int refuse_twice(reader *r, const char *name) {
  size_t length = strlen(name);
  if (rgpu_find_node_part(r->graph, name, length) >= 0 ||
      rgpu_find_array(r->graph, name, length) >= 0 ||
      rgpu_find_parameter(r->graph, name, length) >= 0)
    return FAIL_AT(r, r->at - length, "'%s' is there already", name);
  return BF_OK;
}

static int name_parameter(reader *r) {
  bf_rgpu_graph *graph = r->graph;
  char *name;
  if (graph->parameters == BF_RGPU_MOST_NAMES)
    return FAIL(r, "more than %d parameters", BF_RGPU_MOST_NAMES);
  BF_TRY(rgpu_take_name(r, "the name of a parameter", &name));
  BF_TRY(refuse_twice(r, name));
  graph->parameter[graph->parameters++] = (bf_rgpu_parameter){
      .name = name, .line = r->number, .column = rgpu_column(r) - (uint32_t)strlen(name)};
  return BF_OK;
}

static int name_array(reader *r, bool is_shared) {
  bf_rgpu_graph *graph = r->graph;
  char *name;
  if (graph->arrays == BF_RGPU_MOST_NAMES)
    return FAIL(r, "more than %d arrays", BF_RGPU_MOST_NAMES);
  BF_TRY(rgpu_take_name(r, "the name of an array", &name));
  BF_TRY(refuse_twice(r, name));
  bf_rgpu_array *array = &graph->array[graph->arrays++];
  *array = (bf_rgpu_array){.name = name,
                           .is_shared = is_shared,
                           .line = r->number,
                           .column = rgpu_column(r) - (uint32_t)strlen(name)};
  rgpu_skip_blanks(r);
  for (array->type = 0; array->type < BF_RGPU_TYPE_COUNT; array->type++)
    if (rgpu_take_word(r, bf_rgpu_type_name(array->type)))
      return BF_OK;
  return FAIL(r, "expected the type of the array: u8, s8, u16, s16, u32, s32 or f32");
}

static int name_node(reader *r) {
  bf_rgpu_graph *graph = r->graph;
  char *name;
  if (graph->nodes == BF_RGPU_MOST_NODES)
    return FAIL(r, "more than %d nodes", BF_RGPU_MOST_NODES);
  BF_TRY(rgpu_take_name(r, "the name of a node", &name));
  BF_TRY(refuse_twice(r, name));
  graph->node[graph->nodes++] = (bf_rgpu_node){
      .name = name, .line = r->number, .column = rgpu_column(r) - (uint32_t)strlen(name)};
  return BF_OK;
}

static int take_names(reader *r) {
  if (rgpu_take_word(r, "parameter"))
    return name_parameter(r);
  if (rgpu_take_word(r, "array"))
    return name_array(r, false);
  if (rgpu_take_word(r, "shared"))
    return name_array(r, true);
  return defines_node(r) ? name_node(r) : BF_OK;
}

/* ---- Second pass: statements ---- */

static int take_graph(reader *r) {
  char *name;
  if (r->graph->name)
    return FAIL(r, "the graph has a name already");
  BF_TRY(rgpu_take_name(r, "the name of the graph", &name));
  r->graph->name = name;
  return BF_OK;
}

static int take_parameter(reader *r) {
  rgpu_skip_blanks(r);
  int index = rgpu_find_parameter(r->graph, r->at, rgpu_name_length(r->at));
  r->at += rgpu_name_length(r->at);
  bool negative = rgpu_take(r, '-');
  uint64_t value = 0;
  BF_TRY(rgpu_take_count(r, "the value of a parameter", 0, INT32_MAX, &value));
  r->graph->parameter[index].value = negative ? -(int64_t)value : (int64_t)value;
  return BF_OK;
}

/* random SEED LIMIT | NUMBER | TERM, behind '='. */
static int take_content(reader *r, bf_rgpu_array *array) {
  bool is_float = bf_rgpu_type_is_float(array->type);
  const char *place = r->at;
  if (rgpu_take_word(r, "random")) {
    array->fill = BF_RGPU_FILL_RANDOM;
    BF_TRY(rgpu_take_count(r, "the seed", 0, UINT32_MAX, &array->seed));
    BF_TRY(rgpu_take_float(r, &array->number));
    return array->number > 0 && array->number <= 1 << 24
               ? BF_OK
               : FAIL_AT(r, place, "the limit is above 0 and at most 2^24");
  }
  rgpu_skip_blanks(r);
  if (is_float && *r->at && strchr("0123456789.-", *r->at)) {
    array->fill = BF_RGPU_FILL_FLOAT;
    return rgpu_take_float(r, &array->number);
  }
  return rgpu_take_term(r, SCOPE_INDEX, &array->content);
}

/* NAME TYPE COUNT [= CONTENT] [present COUNT] */
static int take_array(reader *r) {
  rgpu_skip_blanks(r);
  int index = rgpu_find_array(r->graph, r->at, rgpu_name_length(r->at));
  bf_rgpu_array *array = &r->graph->array[index];
  r->at += rgpu_name_length(r->at);
  rgpu_skip_blanks(r);
  r->at += rgpu_name_length(r->at); /* the type */
  BF_TRY(rgpu_take_term(r, SCOPE_KERNEL, &array->count));
  const char *place = r->at;
  if (rgpu_take(r, '=')) {
    if (array->is_shared)
      return FAIL_AT(r, place, "shared memory holds 0 at the start of a block");
    BF_TRY(take_content(r, array));
  }
  place = r->at;
  if (!rgpu_take_word(r, "present"))
    return BF_OK;
  if (array->is_shared)
    return FAIL_AT(r, place, "shared memory has no word that a load could wait for");
  return rgpu_take_term(r, SCOPE_KERNEL, &array->present);
}

/* iterations TERM, blocks TERM */
static int take_total(reader *r, const char *what, const bf_rgpu_term **term) {
  if (*term)
    return FAIL(r, "%s are given already", what);
  return rgpu_take_term(r, SCOPE_KERNEL, term);
}

/* A name that must be an array, or a node. */
static int take_known(reader *r, const char *what,
                      int (*find)(const bf_rgpu_graph *, const char *, size_t), unsigned *index) {
  rgpu_skip_blanks(r);
  size_t length = rgpu_name_length(r->at);
  int found = length ? find(r->graph, r->at, length) : -1;
  if (found < 0)
    return FAIL(r, "expected %s", what);
  r->at += length;
  *index = (unsigned)found;
  return BF_OK;
}

/* final ARRAY[TERM] = [sum] NODE last COUNT */
static int take_final(reader *r) {
  bf_rgpu_graph *graph = r->graph;
  if (graph->finals == MOST_FINALS)
    return FAIL(r, "more than %d lines 'final'", MOST_FINALS);
  bf_rgpu_final *final = &graph->final[graph->finals++];
  uint64_t count = 1;
  *final = (bf_rgpu_final){.line = r->number};
  BF_TRY(take_known(r, "an array", rgpu_find_array, &final->array));
  if (graph->array[final->array].is_shared)
    return FAIL(r, "shared memory is lost at the end of a block");
  BF_TRY(rgpu_expect(r, '[', "behind the array"));
  BF_TRY(rgpu_take_term(r, SCOPE_BLOCK | SCOPE_INDEX, &final->element));
  BF_TRY(rgpu_expect(r, ']', "behind the element"));
  BF_TRY(rgpu_expect(r, '=', "behind the array"));
  final->is_sum = rgpu_take_word(r, "sum");
  rgpu_skip_blanks(r);
  final->column = rgpu_column(r);
  BF_TRY(take_known(r, "a node", rgpu_find_node_part, &final->node));
  if (rgpu_take_word(r, "last"))
    BF_TRY(rgpu_take_count(r, "the number of results", 1, BF_RGPU_MOST_INITIAL, &count));
  final->count = (unsigned)count;
  return BF_OK;
}

static int take_node_line(reader *r) {
  size_t length = rgpu_name_length(r->at);
  int index = rgpu_find_node_part(r->graph, r->at, length);
  r->at += length;
  BF_TRY(rgpu_expect(r, '=', "behind the name"));
  return rgpu_take_node(r, &r->graph->node[index]);
}

static int take_statement(reader *r) {
  if (defines_node(r))
    return take_node_line(r);
  if (rgpu_take_word(r, "graph"))
    BF_TRY(take_graph(r));
  else if (rgpu_take_word(r, "parameter"))
    BF_TRY(take_parameter(r));
  else if (rgpu_take_word(r, "array") || rgpu_take_word(r, "shared"))
    BF_TRY(take_array(r));
  else if (rgpu_take_word(r, "iterations"))
    BF_TRY(take_total(r, "iterations", &r->graph->iterations));
  else if (rgpu_take_word(r, "blocks"))
    BF_TRY(take_total(r, "blocks", &r->graph->blocks));
  else if (rgpu_take_word(r, "final"))
    BF_TRY(take_final(r));
  else
    return FAIL(r, "expected graph, parameter, array, shared, iterations, blocks, final, or "
                   "NAME = OPERATION");
  return rgpu_expect_end(r);
}

/* ---- The whole text ---- */

/* Room for as much as the text can hold. */
static int make_room(bf_rgpu_graph *graph, const char *text) {
  size_t lines = 1;
  for (const char *at = text; *at; at++)
    lines += *at == '\n';
  size_t nodes = lines < BF_RGPU_MOST_NODES ? lines : BF_RGPU_MOST_NODES;
  size_t names = lines < BF_RGPU_MOST_NAMES ? lines : BF_RGPU_MOST_NAMES;
  graph->node = bf_arena_alloc(&graph->arena, nodes * sizeof *graph->node);
  graph->parameter = bf_arena_alloc(&graph->arena, names * sizeof *graph->parameter);
  graph->array = bf_arena_alloc(&graph->arena, names * sizeof *graph->array);
  graph->final = bf_arena_alloc(&graph->arena, MOST_FINALS * sizeof *graph->final);
  return graph->node && graph->parameter && graph->array && graph->final ? BF_OK : BF_NO_MEMORY;
}

/* What the text may leave out. */
static int complete(bf_rgpu_graph *graph) {
  if (!graph->name)
    graph->name = "unnamed";
  if (!graph->iterations)
    graph->iterations = rgpu_term_number(&graph->arena, 1);
  if (!graph->blocks)
    graph->blocks = rgpu_term_number(&graph->arena, 1);
  return graph->iterations && graph->blocks ? BF_OK : BF_NO_MEMORY;
}

static int parse_into(bf_rgpu_graph *graph, const char *file, const char *text,
                      bf_diagnostic *diagnostic) {
  reader r = {.graph = graph, .diagnostic = diagnostic};
  if (!(graph->file = bf_arena_copy(&graph->arena, file)) || make_room(graph, text) != BF_OK)
    return rgpu_no_memory(&r);
  BF_TRY(for_each_line(&r, text, take_names));
  BF_TRY(for_each_line(&r, text, take_statement));
  if (graph->nodes == 0)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, file, "no node in the graph");
  if (complete(graph) != BF_OK)
    return rgpu_no_memory(&r);
  BF_TRY(rgpu_list_edges(graph, diagnostic));
  return rgpu_check(graph, text, diagnostic);
}

int bf_rgpu_parse(const char *file, const char *text, bf_rgpu_graph **graph,
                  bf_diagnostic *diagnostic) {
  *graph = calloc(1, sizeof **graph);
  if (!*graph)
    return bf_no_memory(diagnostic);
  int error = parse_into(*graph, file, text, diagnostic);
  if (error) {
    bf_rgpu_free(*graph);
    *graph = NULL;
  }
  return error;
}

/* Everything in the file, without bytes that a text does not have. */
static int read_all(const char *path, const char *name, bf_text *text, bf_diagnostic *diagnostic) {
  BF_TRY(bf_read_file(path, MOST_FILE_BYTES, text, diagnostic));
  if (memchr(text->data, 0, text->size))
    return bf_fail_file(diagnostic, BF_BAD_INPUT, name, "no text: it holds a byte 0");
  if (text->size > MOST_FILE_BYTES)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, name, "more than %d bytes", MOST_FILE_BYTES);
  return BF_OK;
}

int bf_rgpu_read(const char *path, bf_rgpu_graph **graph, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  const char *name = bf_input_name(path);
  *graph = NULL;
  int error = read_all(path, name, &text, diagnostic);
  if (!error)
    error = bf_rgpu_parse(name, text.data, graph, diagnostic);
  bf_text_free(&text);
  return error;
}

void bf_rgpu_free(bf_rgpu_graph *graph) {
  if (!graph)
    return;
  bf_arena arena = graph->arena;
  bf_arena_free(&arena);
  free(graph);
}
