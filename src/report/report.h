/* report: what other rooms found, shown to people - a warp access as a picture in the terminal, as
 * SVG or as JSON, and a page of HTML about whole workloads.
 *
 * A picture has banks across and wavefronts down; each cell says which lanes a bank serves in a
 * wavefront. It is computed once (picture.c) and drawn by terminal.c and svg.c. */
#ifndef BF_REPORT_H
#define BF_REPORT_H

#include "access/access.h"
#include "base/base.h"
#include "hash/hash.h"
#include "memory/memory.h"
#include "search/ladder.h"

/* ---- The picture of one access ---- */

/* What one bank serves in one wavefront: up to two words, to the lanes in the mask. */
typedef struct bf_picture_cell {
  uint32_t bank;
  uint32_t word[2];
  unsigned words;
  uint64_t lanes;
  unsigned load; /* wavefronts that this bank needs in this phase */
} bf_picture_cell;

/* One row: `times` wavefronts beginning with number `wavefront` (the access's first is 1). A row
 * without cells is overhead of the machine. */
typedef struct bf_picture_row {
  unsigned wavefront, times;
  const bf_picture_cell *cell; /* by ascending bank */
  unsigned cells;
} bf_picture_row;

/* Lanes served together. ideal: rows that the best placement of these words would leave. */
typedef struct bf_picture_phase {
  uint64_t lanes;
  const bf_picture_row *row;
  unsigned rows;
  unsigned ideal;
} bf_picture_phase;

typedef struct bf_picture {
  bf_arena arena;
  const bf_machine *machine; /* borrowed, as are the other two */
  const bf_hash *hash;
  const bf_access *access;
  const char *label; /* what drawings call the placement; NULL: the hash */
  bf_count count;
  bool lock_turns; /* rows are turns at the lock of a bank, not wavefronts */
  unsigned banks;
  bf_picture_phase *phase;
  unsigned phases;
  unsigned rows;    /* of all phases */
  unsigned *column; /* the banks to draw, ascending: all, or the fullest where there are too many */
  unsigned columns;
} bf_picture;

enum { BF_PICTURE_COLUMNS = 64, BF_SEVERITIES = 5 };

/* The picture of access under hash; machine, hash and access must outlive it. */
int bf_picture_create(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                      bf_picture **picture, bf_diagnostic *diagnostic);
void bf_picture_free(bf_picture *picture);
/* Load, store and atomic wavefronts together. */
unsigned bf_picture_wavefronts(const bf_picture *picture);
/* How far a bank's load is above what its phase needs anyway: 0 not at all, 1 by one, 2 by 2-3,
 * 3 by 4-7, 4 by 8 or more. */
unsigned bf_picture_severity(const bf_picture_phase *phase, const bf_picture_cell *cell);
/* True if any cell serves more than one lane. */
bool bf_picture_shares(const bf_picture *picture);
/* Rows of phase to draw: all, unless the picture has more than `most` rows (0: no limit); then the
 * first ones, about half of `most` for all phases together. */
unsigned bf_picture_shown_rows(const bf_picture *picture, const bf_picture_phase *phase,
                               unsigned most);
/* One sentence that says what happens, without a line break. */
void bf_picture_explain(const bf_picture *picture, bf_text *text);
/* "ld of 4 bytes, 32 lanes, line 7, at tile.cu:12"; unprintable bytes of the site become '?'. */
void bf_picture_describe(const bf_access *access, bf_text *text);
/* Which banks a picture with fewer columns than banks leaves out. */
void bf_picture_note_columns(const bf_picture *picture, bf_text *text);
/* Lanes as ranges: "0-15,20". */
void bf_picture_lanes(uint64_t lanes, bf_text *text);
/* Pictures of one access as a JSON object (docs/json.md, draw). */
void bf_pictures_json(const bf_picture *const *pictures, unsigned count, bf_text *text);

/* ---- Drawing ---- */

typedef struct bf_draw_options {
  bool color;             /* terminal: 256 colours */
  unsigned width_columns; /* terminal: characters in a line */
  unsigned most_rows;     /* fold pictures with more wavefronts; 0: never */
} bf_draw_options;

/* Draws one picture, or two as before and after: side by side where the width allows. */
void bf_draw_terminal(const bf_picture *const *pictures, unsigned count,
                      const bf_draw_options *options, bf_text *text);

/* A whole SVG document with its own style. */
void bf_draw_svg(const bf_picture *const *pictures, unsigned count, unsigned most_rows,
                 bf_text *text);
/* The same as an <svg> element for a page that holds bf_svg_style; identifier makes the ids of
 * title and description unique in the page. */
void bf_draw_svg_inline(const bf_picture *const *pictures, unsigned count, unsigned most_rows,
                        unsigned identifier, bf_text *text);
/* Style rules for pictures, light and dark. */
extern const char *const bf_svg_style;

/* ---- Choosing an access ---- */

/* Reads from the trace at path the access of that line, or, with line 0, the first one with the
 * most conflicts under hash. The site is copied into arena. */
int bf_report_pick(const char *path, uint64_t line, const bf_machine *machine, const bf_hash *hash,
                   bf_arena *arena, bf_access *access, bf_diagnostic *diagnostic);

/* ---- Tallies: a workload by site, before and after a hash ---- */

/* One site and operation; accesses without a site are told apart by their pattern. */
typedef struct bf_tally_site {
  const char *site; /* NULL: none */
  bf_op op;
  unsigned width_bytes;
  size_t worst;                  /* index of the access with the most conflicts per execution */
  uint64_t accesses, executions; /* different ones, and with their counts */
  uint64_t wavefronts, ideal, conflicts, conflicts_after;
} bf_tally_site;

typedef struct bf_tally {
  bf_arena arena;
  bf_tally_site *site; /* most conflicts first */
  size_t sites;
  bf_tally_site total;
  uint32_t *conflicts, *conflicts_after; /* per execution of each access */
} bf_tally;

int bf_tally_create(const bf_machine *machine, const bf_workload *workload, const bf_hash *before,
                    const bf_hash *after, bf_tally **tally, bf_diagnostic *diagnostic);
void bf_tally_free(bf_tally *tally);

/* ---- The page ---- */

typedef struct bf_report_part {
  const char *name; /* of the workload, usually its file */
  const bf_workload *workload;
  const bf_ladder *ladder;
} bf_report_part;

typedef struct bf_report_options {
  unsigned pictures; /* worst accesses drawn per workload */
} bf_report_options;

/* Style rules of pages, light and dark. */
extern const char *const bf_page_style;
/* Writes one self-contained HTML page about the workloads on machine. */
int bf_report_html(const bf_machine *machine, const bf_report_part *parts, size_t count,
                   const bf_report_options *options, bf_text *text, bf_diagnostic *diagnostic);
/* The same facts, without pictures, as one JSON object. */
int bf_report_json(const bf_machine *machine, const bf_report_part *parts, size_t count,
                   bf_text *text, bf_diagnostic *diagnostic);

#endif
