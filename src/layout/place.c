/* Where a layout puts the bytes of a tile, and how tensor copies and wgmma are told so. */
#include "layout/layout.h"

#include <string.h>

enum { PIECE_BYTES = 16, BOX_ALIGNMENT_BYTES = 128, MOST_BOX = 256 };

unsigned bf_mode_bytes(bf_mode mode) {
  static const unsigned bytes[] = {PIECE_BYTES, 32, 64, 128, 0};
  return bytes[mode];
}

/* ---- Making layouts ---- */

static void set_panels(const bf_tile *tile, unsigned panel_bytes, unsigned pitch_bytes,
                       bf_tile_layout *layout) {
  unsigned panels = bf_tile_row_bytes(tile) / panel_bytes;
  layout->panel_bytes = panel_bytes;
  layout->pitch_bytes = pitch_bytes;
  layout->panel_stride_bytes = (uint64_t)tile->rows * pitch_bytes + layout->gap_bytes;
  layout->bytes = panels * layout->panel_stride_bytes;
}

bf_tile_layout bf_layout_of_mode(const bf_tile *tile, bf_mode mode, unsigned panel_bytes) {
  bf_tile_layout layout = {.mode = mode, .alignment_bytes = BOX_ALIGNMENT_BYTES};
  if (mode != BF_MODE_NONE) {
    layout.bits = (unsigned)mode;
    layout.base = 4;
    layout.shift = 3;
    layout.alignment_bytes = 128u << layout.bits;
    snprintf(layout.name, sizeof layout.name, "%u", bf_mode_bytes(mode));
  } else if (panel_bytes == bf_tile_row_bytes(tile)) {
    snprintf(layout.name, sizeof layout.name, "none");
  } else {
    snprintf(layout.name, sizeof layout.name, "none:%u", panel_bytes);
  }
  set_panels(tile, panel_bytes, panel_bytes, &layout);
  return layout;
}

bf_tile_layout bf_layout_of_gaps(const bf_tile *tile, unsigned gap_bytes) {
  bf_tile_layout layout = {
      .mode = BF_MODE_NONE, .gap_bytes = gap_bytes, .alignment_bytes = BOX_ALIGNMENT_BYTES};
  snprintf(layout.name, sizeof layout.name, "none:%d+%u", PIECE_BYTES, gap_bytes);
  set_panels(tile, PIECE_BYTES, PIECE_BYTES, &layout);
  return layout;
}

bf_tile_layout bf_layout_of_swizzle(const bf_tile *tile, unsigned bits, unsigned base, int shift) {
  unsigned top = bits + base + (unsigned)(shift < 0 ? -shift : shift);
  bf_tile_layout layout = {.mode = BF_MODE_OTHER,
                           .bits = bits,
                           .base = base,
                           .shift = shift,
                           .alignment_bytes = 1u << top};
  snprintf(layout.name, sizeof layout.name, "cute:%u,%u,%d", bits, base, shift);
  set_panels(tile, bf_tile_row_bytes(tile), bf_tile_row_bytes(tile), &layout);
  return layout;
}

bf_tile_layout bf_layout_of_padding(const bf_tile *tile, unsigned pad_bytes) {
  bf_tile_layout layout = {.mode = BF_MODE_OTHER, .alignment_bytes = PIECE_BYTES};
  unsigned row_bytes = bf_tile_row_bytes(tile);
  snprintf(layout.name, sizeof layout.name, "pad:%u", pad_bytes);
  set_panels(tile, row_bytes, row_bytes + pad_bytes, &layout);
  return layout;
}

/* ---- Reading their names ---- */

static int unknown_layout(const char *text, bf_diagnostic *diagnostic) {
  return bf_fail(diagnostic, BF_BAD_INPUT,
                 "no layout '%.40s'; there are none, none:BYTES, none:16+BYTES, 32, 64, 128 "
                 "(swizzle modes), cute:B,M,S and pad:BYTES",
                 text);
}

/* "B,M,S" as cute has them, S also below 0. */
static int read_swizzle(const char *text, const char *cursor, const bf_tile *tile,
                        bf_tile_layout *layout, bf_diagnostic *diagnostic) {
  uint64_t bits, base, shift;
  if (!bf_parse_number(&cursor, &bits) || *cursor++ != ',' || !bf_parse_number(&cursor, &base) ||
      *cursor++ != ',')
    return unknown_layout(text, diagnostic);
  bool is_down = *cursor == '-';
  cursor += is_down;
  if (!bf_parse_number(&cursor, &shift) || *cursor)
    return unknown_layout(text, diagnostic);
  if (bits > 16 || base > 24 || shift > 24 || bits + base + shift > 24 || shift < bits)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "'%.40s' is no Swizzle<B,M,S>: S is at least B, and B + M + S at most 24 here",
                   text);
  *layout = bf_layout_of_swizzle(tile, (unsigned)bits, (unsigned)base,
                                 is_down ? -(int)shift : (int)shift);
  if (layout->bytes % (1u << (bits + base + (is_down ? shift : 0))))
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s would move bytes out of the tile of %llu bytes",
                   layout->name, (unsigned long long)layout->bytes);
  return BF_OK;
}

/* "none:16+BYTES": what is behind "none:". */
static int read_gaps(const char *text, const char *cursor, const bf_tile *tile,
                     bf_tile_layout *layout, bf_diagnostic *diagnostic) {
  uint64_t panel, gap;
  if (!bf_parse_number(&cursor, &panel) || panel != PIECE_BYTES || *cursor++ != '+' ||
      !bf_parse_number(&cursor, &gap) || *cursor || gap == 0 || gap > 65536 || gap % PIECE_BYTES)
    return unknown_layout(text, diagnostic);
  if (bf_tile_row_bytes(tile) % PIECE_BYTES)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "layout %.20s: a row of %u bytes is no multiple of %d bytes", text,
                   bf_tile_row_bytes(tile), PIECE_BYTES);
  *layout = bf_layout_of_gaps(tile, (unsigned)gap);
  return BF_OK;
}

static int read_mode(const char *text, const bf_tile *tile, bf_tile_layout *layout,
                     bf_diagnostic *diagnostic) {
  const char *cursor = text;
  uint64_t bytes = 0;
  unsigned row_bytes = bf_tile_row_bytes(tile);
  bool is_plain = strncmp(text, "none", 4) == 0;
  if (strncmp(text, "none:", 5) == 0 && strchr(text, '+'))
    return read_gaps(text, text + 5, tile, layout, diagnostic);
  cursor += is_plain ? 4 + (text[4] == ':') : 0;
  if (is_plain && *cursor == 0 && text[4] == 0) {
    *layout = bf_layout_of_mode(tile, BF_MODE_NONE, row_bytes);
    return BF_OK;
  }
  if (!bf_parse_number(&cursor, &bytes) || *cursor)
    return unknown_layout(text, diagnostic);
  bf_mode mode = BF_MODE_NONE;
  while (!is_plain && ++mode < BF_MODE_OTHER && bf_mode_bytes(mode) != bytes)
    ;
  if (mode == BF_MODE_OTHER || bytes == 0 || bytes % PIECE_BYTES)
    return unknown_layout(text, diagnostic);
  if (row_bytes % bytes)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "layout %.20s: a row of %u bytes is no multiple of %llu bytes", text, row_bytes,
                   (unsigned long long)bytes);
  *layout = bf_layout_of_mode(tile, mode, (unsigned)bytes);
  return BF_OK;
}

int bf_layout_parse(const char *text, const bf_tile *tile, bf_tile_layout *layout,
                    bf_diagnostic *diagnostic) {
  if (strncmp(text, "cute:", 5) == 0)
    return read_swizzle(text, text + 5, tile, layout, diagnostic);
  if (strncmp(text, "pad:", 4) != 0)
    return read_mode(text, tile, layout, diagnostic);
  const char *cursor = text + 4;
  uint64_t pad;
  if (!bf_parse_number(&cursor, &pad) || *cursor || pad == 0 || pad > 65536)
    return unknown_layout(text, diagnostic);
  *layout = bf_layout_of_padding(tile, (unsigned)pad);
  return BF_OK;
}

/* ---- Places ---- */

uint32_t bf_layout_linear(const bf_tile_layout *layout, unsigned row, unsigned byte) {
  return (uint32_t)(byte / layout->panel_bytes * layout->panel_stride_bytes +
                    (uint64_t)row * layout->pitch_bytes + byte % layout->panel_bytes);
}

uint32_t bf_layout_place(const bf_tile_layout *layout, unsigned row, unsigned byte) {
  uint32_t offset = bf_layout_linear(layout, row, byte);
  uint32_t mask = ((1u << layout->bits) - 1) << layout->base;
  if (layout->shift < 0)
    return offset ^ (offset & mask) << -layout->shift;
  return offset ^ (offset >> layout->shift & mask);
}

/* ---- What movers can use ---- */

static const char *tensor_objection(const bf_tile_layout *layout, const bf_tile *tile,
                                    const bf_move *move, char *why) {
  unsigned element = tile->element->bytes, width = layout->panel_bytes;
  unsigned box_bytes = move->box_columns * element;
  if (layout->mode == BF_MODE_OTHER)
    return "tensor copies write rows without gaps, and swizzle in their own modes only: 32, 64, "
           "128";
  if (box_bytes > width && layout->mode != BF_MODE_NONE)
    snprintf(why, BF_WHY_BYTES,
             "a box of %u elements is %u bytes wide, and with the %u-byte swizzle it can have %u",
             move->box_columns, box_bytes, width, width);
  else if (box_bytes && box_bytes != width)
    snprintf(why, BF_WHY_BYTES, "a box of %u elements is %u bytes wide, and a row here %u",
             move->box_columns, box_bytes, width);
  else if (width / element > MOST_BOX)
    snprintf(why, BF_WHY_BYTES, "a box has at most %d elements in a row, and this one %u", MOST_BOX,
             width / element);
  else if (layout->bytes > layout->panel_stride_bytes &&
           layout->panel_stride_bytes % BOX_ALIGNMENT_BYTES)
    snprintf(why, BF_WHY_BYTES, "boxes begin at multiples of %d bytes, and these are %llu apart",
             BOX_ALIGNMENT_BYTES, (unsigned long long)layout->panel_stride_bytes);
  else
    return NULL;
  return why;
}

static const char *operand_objection(const bf_tile_layout *layout) {
  if (layout->mode == BF_MODE_OTHER)
    return "descriptors of wgmma know the swizzles of 32, 64 and 128 bytes, and none";
  if (layout->mode == BF_MODE_NONE && layout->panel_bytes != PIECE_BYTES)
    return "without a swizzle wgmma wants rows of 16 bytes, eight of them one behind the other as "
           "a "
           "core matrix (none:16)";
  return NULL;
}

static bool is_multiple(unsigned number, unsigned of) { return number % of == 0; }

static const char *lanes_objection(const bf_tile_layout *layout, const bf_move *move, char *why) {
  unsigned width = move->width_bytes;
  if (is_multiple(layout->panel_bytes, width) && is_multiple(layout->pitch_bytes, width) &&
      (layout->bits == 0 || 1u << layout->base >= width))
    return NULL;
  snprintf(why, BF_WHY_BYTES, "the %u bytes that a lane accesses at once would be torn apart",
           width);
  return why;
}

const char *bf_layout_objection(const bf_tile_layout *layout, const bf_tile *tile,
                                const bf_move *move, char why[BF_WHY_BYTES]) {
  switch (move->mover) {
  case BF_MOVER_TMA:
    return tensor_objection(layout, tile, move, why);
  case BF_MOVER_WGMMA:
    return operand_objection(layout);
  default:
    return lanes_objection(layout, move, why);
  }
}

/* ---- Descriptors and boxes ---- */

/* Bits of a descriptor without its start. */
static uint64_t pack(const bf_matrix *m) {
  return (uint64_t)(m->leading_bytes >> 4 & 0x3fff) << 16 |
         (uint64_t)(m->stride_bytes >> 4 & 0x3fff) << 32 | (uint64_t)m->type << 62;
}

bf_matrix bf_layout_matrix(const bf_tile_layout *layout, const bf_tile *tile, const bf_move *move) {
  static const unsigned types[] = {0, 3, 2, 1};
  unsigned element = tile->element->bytes, width = bf_mode_bytes(layout->mode);
  unsigned along_k = move->is_mn_major ? tile->rows : tile->columns;
  unsigned across = move->is_mn_major ? tile->columns : tile->rows;
  bf_matrix m = {.type = types[layout->mode], .depth = 32 / element};
  m.rows = move->operand == 'A' ? 64 : across;
  while (m.rows > 256 || across % m.rows)
    m.rows -= 8;
  m.blocks = across / m.rows;
  m.steps = along_k / m.depth;
  unsigned panel_stride = (unsigned)layout->panel_stride_bytes, eight = 8 * width;
  if (layout->mode == BF_MODE_NONE) {
    m.leading_bytes = move->is_mn_major ? eight : panel_stride;
    m.stride_bytes = move->is_mn_major ? panel_stride : eight;
    m.uses_leading = true;
  } else {
    m.uses_leading = move->is_mn_major && m.rows * element > width;
    m.leading_bytes = m.uses_leading ? panel_stride : PIECE_BYTES;
    m.stride_bytes = eight;
  }
  m.bits = pack(&m);
  return m;
}

uint32_t bf_layout_matrix_start(const bf_tile_layout *layout, const bf_tile *tile,
                                const bf_move *move, unsigned block, unsigned step) {
  bf_matrix m = bf_layout_matrix(layout, tile, move);
  unsigned across = block * m.rows, along_k = step * m.depth, element = tile->element->bytes;
  return move->is_mn_major ? bf_layout_linear(layout, along_k, across * element)
                           : bf_layout_linear(layout, across, along_k * element);
}

bf_boxes bf_layout_boxes(const bf_tile_layout *layout, const bf_tile *tile) {
  bf_boxes boxes = {.columns = layout->panel_bytes / tile->element->bytes, .rows = tile->rows};
  while (boxes.rows > MOST_BOX || tile->rows % boxes.rows)
    boxes.rows--;
  boxes.across = tile->columns / boxes.columns;
  boxes.down = tile->rows / boxes.rows;
  return boxes;
}
