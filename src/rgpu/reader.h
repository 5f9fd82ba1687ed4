/* Inside room rgpu: what the reader's files share. The text is read line by line; a first pass over
 * all lines collects names, so that a node can be used before the line that defines it. */
#ifndef BF_RGPU_READER_H
#define BF_RGPU_READER_H

#include "rgpu/graph.h"

typedef struct reader {
  bf_rgpu_graph *graph;
  const char *line; /* the line being read, without its comment */
  const char *at;   /* how far */
  uint32_t number;  /* of the line */
  bf_diagnostic *diagnostic;
} reader;

/* Fails at a place in the line, or where the reader is. */
#define FAIL_AT(r, place, ...)                                                                     \
  bf_fail_at((r)->diagnostic, (r)->graph->file, (r)->number, (r)->line, (place), __VA_ARGS__)
#define FAIL(r, ...) FAIL_AT(r, (r)->at, __VA_ARGS__)

/* ---- Words (words.c) ---- */

void rgpu_skip_blanks(reader *r);
/* Takes one character or one whole word, behind blanks, if it is there. */
bool rgpu_take(reader *r, char wanted);
bool rgpu_take_word(reader *r, const char *word);
int rgpu_expect(reader *r, char wanted, const char *where);
int rgpu_expect_word(reader *r, const char *word);
int rgpu_expect_end(reader *r);
/* The name that starts here, of length 0 if there is none. */
size_t rgpu_name_length(const char *text);
/* A name for something new: no keyword. */
int rgpu_take_name(reader *r, const char *what, char **name);
/* A whole number between least and most. */
int rgpu_take_count(reader *r, const char *what, uint64_t least, uint64_t most, uint64_t *count);
/* A finite number such as -1.5e3. */
int rgpu_take_float(reader *r, float *value);
bool rgpu_is_keyword(const char *text, size_t length);
uint32_t rgpu_column(const reader *r);
int rgpu_no_memory(reader *r);

/* ---- Names ---- */

int rgpu_find_parameter(const bf_rgpu_graph *graph, const char *name, size_t length);
int rgpu_find_array(const bf_rgpu_graph *graph, const char *name, size_t length);
int rgpu_find_node_part(const bf_rgpu_graph *graph, const char *name, size_t length);

/* ---- Terms (term.c) ---- */

/* What a term may refer to besides numbers, parameters and copies. */
typedef enum term_scope {
  SCOPE_KERNEL = 0, /* nothing */
  SCOPE_BLOCK = 1,  /* block, blocks, copy, addresses of arrays */
  SCOPE_INDEX = 2,  /* index; may be joined with the one above */
} term_scope;
int rgpu_take_term(reader *r, unsigned scope, const bf_rgpu_term **term);
/* left KIND right; NULL where memory is short. */
const bf_rgpu_term *rgpu_term_join(bf_arena *arena, bf_rgpu_term_kind kind,
                                   const bf_rgpu_term *left, const bf_rgpu_term *right);
const bf_rgpu_term *rgpu_term_number(bf_arena *arena, int64_t number);

/* ---- Nodes (read_node.c) and what a whole graph must fulfil (check.c) ---- */

/* The rest of a line NAME = ..., into the node, which has its name already. */
int rgpu_take_node(reader *r, bf_rgpu_node *node);
/* Lists the edges of a graph, all nodes being there. */
int rgpu_list_edges(bf_rgpu_graph *graph, bf_diagnostic *diagnostic);
int rgpu_check(const bf_rgpu_graph *graph, const char *text, bf_diagnostic *diagnostic);
/* The five fields that make an increment an add that reads itself. */
int rgpu_expand_increment(bf_arena *arena, bf_rgpu_node *node, unsigned self, unsigned initial);

#endif
