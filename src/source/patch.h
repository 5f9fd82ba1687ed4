/* source/patch: changes to the text of a source, and the unified diff that makes them. */
#ifndef BF_SOURCE_PATCH_H
#define BF_SOURCE_PATCH_H

#include "source/source.h"
#include "source/suggest.h"

/* size bytes at `at` become text. */
typedef struct bf_edit {
  size_t at, size;
  const char *text;
} bf_edit;

typedef struct bf_patch {
  bf_source *source; /* borrowed */
  bf_arena arena;
  bf_edit *edit; /* in the order of the text once one of the writers was called; none overlap */
  size_t edits, capacity;
} bf_patch;

void bf_patch_free(bf_patch *patch);

/* An array with the place where it is declared and what is to become of it. */
typedef struct bf_patch_array {
  const bf_source_array *declared;
  const bf_shared_array *array;
  const bf_suggestion *suggestion;
  const char *macro; /* name to use where the map is not direct */
  bool is_called;    /* by a function of that name: a subscript must not be computed twice */
  size_t home;       /* first token + 1 of the first function that it is passed to; 0: none */
  /* Rows grow, and pointers to elements are left as they are; or elements are moved, and pointers
   * lead to where they are. */
  bool is_tentative;
} bf_patch_array;

/* Adds the edits for an array. Where one cannot be made with certainty none is, and problem says
 * why; else problem is empty. */
int bf_patch_add(bf_patch *patch, bf_patch_array *array, char problem[200],
                 bf_diagnostic *diagnostic);

/* Sets is_called where one of the uses has a subscript that would be computed twice and must not
 * be, and home. */
void bf_patch_find_effects(const bf_source *source, const bf_source_use *use, size_t uses,
                           bf_patch_array *array);
/* What is defined before the declaration: a macro, a function, or nothing. */
void bf_patch_write_definition(const bf_source *source, const bf_patch_array *array, bf_text *text);
/* An element as it is in the source, on one line, and as it becomes. */
void bf_patch_write_before(const bf_source *source, const bf_source_use *use, bf_text *text);
void bf_patch_write_after(const bf_source *source, const bf_patch_array *array,
                          const bf_source_use *use, bf_text *text);
/* The declaration `name[a][b]` as it becomes. */
void bf_patch_write_declaration(const bf_source *source, const bf_patch_array *array,
                                bf_text *text);

/* The changed source. */
void bf_patch_write_source(bf_patch *patch, bf_text *text);
/* A unified diff for `patch -p0`; path is the name of the file in it. */
int bf_patch_write_diff(bf_patch *patch, const char *path, bf_text *text,
                        bf_diagnostic *diagnostic);

#endif
