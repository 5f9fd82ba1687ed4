/* layout: where the elements of a tile lie in shared memory, and which way of laying them costs
 * whom what.
 *
 * A question is a tile (rows of columns of elements; a row's elements are neighbours in global
 * memory) and who writes and reads it, each as text: "tma", "wgmma:A", "ldmatrix.trans*2",
 * "ld:4@8x4" (spec.c). The answer is all layouts that the hardware allows for all of them together
 * (family.c), with the exact wavefronts of every access under each (choose.c), best first, and code
 * for each (code.c). docs/hopper.md explains the layouts, docs/layout.md the command.
 *
 * A layout cuts a row into panels, which lie one behind the other; in a panel a row follows the
 * next at a pitch; and an XOR of address bits, CuTe's Swizzle<bits, base, shift> on byte offsets,
 * moves pieces within their line. The tile begins at a multiple of alignment_bytes, so that bits of
 * offsets and of addresses are the same. */
#ifndef BF_LAYOUT_H
#define BF_LAYOUT_H

#include "base/base.h"
#include "memory/memory.h"

/* ---- Elements ---- */

typedef struct bf_element {
  const char *name;
  unsigned bytes;
  bool has_wgmma;        /* wgmma takes it */
  const char *map_type;  /* behind CU_TENSOR_MAP_DATA_TYPE_; NULL: none */
  const char *cute_type; /* as CUTLASS calls it */
} bf_element;

/* The element of a name, or NULL with a diagnostic that says what may be meant. */
const bf_element *bf_element_find(const char *name, bf_diagnostic *diagnostic);
/* One by one; NULL behind the last. */
const bf_element *bf_element_get(unsigned index);

typedef struct bf_tile {
  const bf_element *element;
  unsigned rows, columns;
} bf_tile;

/* Reads "64x128". */
int bf_tile_parse(const char *text, bf_tile *tile, bf_diagnostic *diagnostic);
static inline unsigned bf_tile_row_bytes(const bf_tile *tile) {
  return tile->columns * tile->element->bytes;
}

/* ---- Who writes and reads ---- */

typedef enum bf_mover {
  BF_MOVER_TMA,
  BF_MOVER_COPY,   /* cp.async */
  BF_MOVER_MATRIX, /* ldmatrix, stmatrix */
  BF_MOVER_LANES,  /* ld.shared, st.shared: a thread map says which lane has what */
  BF_MOVER_WGMMA
} bf_mover;

enum { BF_MOVE_TEXT = 128 };

/* One who writes or reads the whole tile. Movers with lanes do so step by step: in a step lane l
 * accesses width_bytes from element (row[l], column[l]) on, behind the step's corner; the corners
 * are step_rows and step_columns apart. */
typedef struct bf_move {
  char text[BF_MOVE_TEXT]; /* without the weight */
  bool is_write;
  uint64_t weight;
  bf_mover mover;
  bf_op op;
  unsigned width_bytes;
  unsigned lanes;
  unsigned row[BF_MAX_LANES], column[BF_MAX_LANES];
  unsigned step_rows, step_columns;
  unsigned box_columns; /* tma: elements that a box is wide; 0: as the layout has it */
  char operand;         /* wgmma: 'A' or 'B' */
  bool is_mn_major;     /* wgmma: rows of the tile are along K */
} bf_move;

/* The option that a move is given by, for messages. */
static inline const char *bf_move_option(const bf_move *move) {
  return move->is_write ? "--write" : "--read";
}

/* Reads what writes (or reads) the tile; faults are at their column of the text. */
int bf_move_parse(const char *text, bool is_write, const bf_tile *tile, const bf_machine *machine,
                  bf_move *move, bf_diagnostic *diagnostic);
/* Reads a thread map, "8x4", "8x4t" or "(l/4, l%4*2)", into row, column and steps of move; text is
 * the whole of it, for messages. */
int bf_map_parse(const char *text, const char *map, unsigned lanes, const bf_tile *tile,
                 bf_move *move, bf_diagnostic *diagnostic);

/* ---- Layouts ---- */

/* The swizzle modes of tensor copies and of wgmma; BF_MODE_OTHER: only threads can write so. */
typedef enum bf_mode { BF_MODE_NONE, BF_MODE_32, BF_MODE_64, BF_MODE_128, BF_MODE_OTHER } bf_mode;

typedef struct bf_tile_layout {
  char name[64];
  bf_mode mode;
  unsigned bits, base; /* Swizzle<bits, base, shift>; 0, 0, 0: none */
  int shift;
  unsigned panel_bytes, pitch_bytes;
  unsigned gap_bytes;          /* unused, behind each panel */
  uint64_t panel_stride_bytes; /* from panel to panel */
  uint64_t bytes;              /* of the whole tile */
  unsigned alignment_bytes;
} bf_tile_layout;

/* Bytes of memory that a mode's rows have: 16, 32, 64, 128. */
unsigned bf_mode_bytes(bf_mode mode);
/* A mode with panels of panel_bytes; panels of 16 bytes with unused bytes behind each, which a
 * descriptor of wgmma can tell; a layout without panels; rows with unused bytes behind them. */
bf_tile_layout bf_layout_of_mode(const bf_tile *tile, bf_mode mode, unsigned panel_bytes);
bf_tile_layout bf_layout_of_gaps(const bf_tile *tile, unsigned gap_bytes);
bf_tile_layout bf_layout_of_swizzle(const bf_tile *tile, unsigned bits, unsigned base, int shift);
bf_tile_layout bf_layout_of_padding(const bf_tile *tile, unsigned pad_bytes);
/* Reads "none", "none:16", "none:16+16", "32", "64", "128", "cute:B,M,S" or "pad:BYTES". */
int bf_layout_parse(const char *text, const bf_tile *tile, bf_tile_layout *layout,
                    bf_diagnostic *diagnostic);

/* The offset of a byte of a row before its bits are exchanged, and after. */
uint32_t bf_layout_linear(const bf_tile_layout *layout, unsigned row, unsigned byte);
uint32_t bf_layout_place(const bf_tile_layout *layout, unsigned row, unsigned byte);

/* Why the move cannot use the layout, in words, or NULL. why has room for them. */
enum { BF_WHY_BYTES = 256 };
const char *bf_layout_objection(const bf_tile_layout *layout, const bf_tile *tile,
                                const bf_move *move, char why[BF_WHY_BYTES]);

/* The matrix descriptor with which wgmma reads the tile, without the start: its offsets in bytes,
 * the layout as its field has it, and all of it as bits. A base offset is never needed: the tile
 * begins at a multiple of alignment_bytes. */
typedef struct bf_matrix {
  unsigned leading_bytes, stride_bytes;
  bool uses_leading;
  unsigned type;
  uint64_t bits;
  unsigned rows;   /* of M or N that one instruction reads from here on: 64, or N */
  unsigned depth;  /* elements along K of one instruction */
  unsigned steps;  /* of them along K */
  unsigned blocks; /* of rows */
} bf_matrix;
bf_matrix bf_layout_matrix(const bf_tile_layout *layout, const bf_tile *tile, const bf_move *move);
/* Where the matrix of an instruction starts in the tile: block along M or N, step along K. */
uint32_t bf_layout_matrix_start(const bf_tile_layout *layout, const bf_tile *tile,
                                const bf_move *move, unsigned block, unsigned step);

/* Boxes in which tensor copies bring the tile, and the elements and rows of one. */
typedef struct bf_boxes {
  unsigned columns, rows;
  unsigned across, down; /* how many of them */
} bf_boxes;
bf_boxes bf_layout_boxes(const bf_tile_layout *layout, const bf_tile *tile);

/* ---- Answers ---- */

typedef struct bf_move_cost {
  uint64_t wavefronts, ideal; /* of one pass over the tile, without the weight */
  bool estimated;
} bf_move_cost;

typedef struct bf_layout_found {
  bf_tile_layout layout;
  bf_move_cost *cost; /* by move */
  bf_layout_choice choice;
} bf_layout_found;

typedef struct bf_layout_refused {
  const char *name, *why;
} bf_layout_refused;

/* What was asked, and all that is known of it; found is ordered, best first. */
struct bf_layouts {
  bf_arena arena;
  bf_tile tile;
  bf_machine *own_machine; /* where the caller gave none */
  const bf_machine *machine;
  bf_counter *counter;
  bf_move *move;
  unsigned moves;
  bf_layout_found *found;
  size_t count, capacity;
  bf_layout_refused *refused;
  size_t refused_count, refused_capacity;
};

/* Adds every layout that may be to answers: the modes, and where only threads touch the tile every
 * swizzle and every padding; one alone where text names it. */
int bf_family_visit(bf_layouts *answers, const char *text, bf_diagnostic *diagnostic);
/* Counts a layout and keeps it, or why it cannot be. */
int bf_layouts_consider(bf_layouts *answers, const bf_tile_layout *layout,
                        bf_diagnostic *diagnostic);
/* Keeps why a whole kind of layouts cannot be. */
int bf_layouts_refuse(bf_layouts *answers, const char *name, const char *why);

#endif
