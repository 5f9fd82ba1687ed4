/* What suggest prints: a review of the arrays of a module as text, JSON and pictures. */
#ifndef BF_CLI_SUGGEST_TABLE_H
#define BF_CLI_SUGGEST_TABLE_H

#include "cli/cli.h"
#include "source/review.h"

typedef struct cli_suggest_table {
  const char *file;   /* the input */
  const char *origin; /* of the accesses: launch, run, trace or analysis */
  const bf_review *review;
  const char *patch_file;    /* that the patch goes to, or NULL */
  bool is_checked, is_equal; /* the patched source was run, and does the same */
  bf_text difference;        /* where it does not */
} cli_suggest_table;

void cli_suggest_table_write_text(const cli_suggest_table *suggested, bool color, bf_text *text);
void cli_suggest_table_write_json(const cli_suggest_table *suggested, bf_text *text);

/* The worst access to each array as it is and with its best suggestion that is a picture, drawn
 * side by side: an SVG file for each in a folder, which is made. */
int cli_suggest_table_write_pictures(const cli_suggest_table *suggested, const char *folder,
                                     bf_diagnostic *diagnostic);
/* A page with all of them: the explorer, or, where that is not there or a still one is wanted, text
 * and pictures. */
int cli_suggest_table_write_page(const cli_suggest_table *suggested, bool is_still,
                                 const char *path, bf_diagnostic *diagnostic);
/* The suggestions for an array, for the page without colour. */
void cli_suggest_table_write_array(const bf_review *review, const bf_review_array *item, bool color,
                                   bf_text *text);

#endif
