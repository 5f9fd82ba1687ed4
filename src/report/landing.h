/* Where the pieces of a tile land in shared memory, as a picture: lines of 128 bytes down, banks
 * across, in each cell the 16 bytes of the tile that lie there. */
#ifndef BF_REPORT_LANDING_H
#define BF_REPORT_LANDING_H

#include "layout/layout.h"

typedef struct bf_landing {
  const bf_machine *machine; /* whose banks are drawn */
  const bf_tile *tile;
  const bf_tile_layout *layout; /* several, side by side */
  unsigned count;
  unsigned most_lines; /* of memory that are drawn; 0: all */
  bool cores;          /* colours tell 8x16-byte core matrices apart, not columns */
} bf_landing;

/* BF_BAD_INPUT: rows that are not made of pieces of 16 bytes. */
int bf_landing_check(const bf_landing *landing, bf_diagnostic *diagnostic);
/* A whole SVG document: the tile, then where it lands under each layout. */
void bf_landing_svg(const bf_landing *landing, bf_text *text);
/* The same as lines of text. */
void bf_landing_terminal(const bf_landing *landing, bool color, bf_text *text);

#endif
