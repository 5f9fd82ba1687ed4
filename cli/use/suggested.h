/* What suggest has found for the arrays of a module: made, and shown as text, JSON and pictures. */
#ifndef BF_CLI_SUGGESTED_H
#define BF_CLI_SUGGESTED_H

#include "cli/use/arrays.h"
#include "source/patch.h"

enum { CLI_MACRO_NAME = 128 };

/* One array. */
typedef struct cli_suggested_array {
  const cli_array *array;
  const bf_source_array *declared; /* NULL: not found, as missing says */
  char missing[200];
  bf_shared_array shared;
  bf_suggestions result;
  char macro[CLI_MACRO_NAME];
  bool is_patched;
  bf_suggestion patched;                          /* what the patch does */
  char problem[200];                              /* why it is not patched, or empty */
  uint64_t checked_wavefronts, checked_conflicts; /* of the patched source, with is_checked */
  bool is_checked;
} cli_suggested_array;

typedef struct cli_suggested {
  const char *file;   /* the input */
  const char *origin; /* of the accesses: launch, run, trace or analysis */
  const bf_machine *machine;
  const cli_arrays *arrays;
  bf_source *source; /* or NULL */
  cli_suggested_array
      *item; /* of all kernels, also of those not asked for, which may share declarations */
  size_t count;
  const char *patch_file; /* that was written, or NULL */
  size_t edits;
  bool is_checked, is_equal;
  bf_text difference; /* where results differ */
} cli_suggested;

/* Finds the declaration and the shape of every array. list holds the declarations of the source. */
void cli_suggested_declare(cli_suggested *suggested, const bf_source_array *list, size_t count);

/* Writes to problem where an access to an array comes from a line that does not name it, as with a
 * macro of a header; or that this cannot be known. Else problem stays. */
int cli_suggested_find_hidden(const cli_suggested *suggested, const cli_suggested_array *item,
                              char problem[200], bf_diagnostic *diagnostic);

/* The changes of a suggestion to an array, for functions of apply/patch.h. */
bf_patch_array cli_suggested_change(const cli_suggested_array *item,
                                    const bf_suggestion *suggestion);

void cli_suggested_write_text(const cli_suggested *suggested, bool color, bf_text *text);
void cli_suggested_write_json(const cli_suggested *suggested, bf_text *text);

/* The worst access to an array as it is and with its best suggestion that is a picture: both drawn
 * side by side as an SVG document. has_picture is false where there is no conflict. */
int cli_suggested_write_svg(const cli_suggested *suggested, const cli_suggested_array *item,
                            bf_text *text, bool *has_picture, bf_diagnostic *diagnostic);
/* A page with all of them. */
int cli_suggested_write_html(const cli_suggested *suggested, bf_text *text,
                             bf_diagnostic *diagnostic);
/* The suggestions for an array without colour, for the page. */
void cli_suggested_write_array(const cli_suggested *suggested, const cli_suggested_array *item,
                               bool color, bf_text *text);

#endif
