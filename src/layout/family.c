/* Every layout that may be.
 *
 * Tensor copies and wgmma know four modes. Where they are among the movers, these are all: without
 * a swizzle a row can be cut into panels of any power of two of bytes (several boxes), with one the
 * panels are as wide as the swizzle. Where only threads touch the tile, there are all swizzles that
 * keep what a lane accesses at once together and stay inside the tile, and all paddings up to a row
 * of banks. Where wgmma reads what threads write, panels of 16 bytes may have gaps of up to a row
 * of banks between them: a descriptor says how far apart they are. */
#include "layout/layout.h"

#include "gf2/gf2.h"

#include <string.h>

static bool has_mover(const bf_layouts *answers, bf_mover mover) {
  for (unsigned i = 0; i < answers->moves; i++)
    if (answers->move[i].mover == mover)
      return true;
  return false;
}

/* Bytes that must stay together: the widest access, or an element. */
static unsigned granule_bytes(const bf_layouts *answers) {
  unsigned granule = answers->tile.element->bytes;
  for (unsigned i = 0; i < answers->moves; i++)
    if (answers->move[i].width_bytes > granule)
      granule = answers->move[i].width_bytes;
  return granule;
}

static int visit_modes(bf_layouts *answers, bf_diagnostic *diagnostic) {
  unsigned row_bytes = bf_tile_row_bytes(&answers->tile);
  bf_tile_layout layout = bf_layout_of_mode(&answers->tile, BF_MODE_NONE, row_bytes);
  BF_TRY(bf_layouts_consider(answers, &layout, diagnostic));
  unsigned widest = has_mover(answers, BF_MOVER_WGMMA) ? 32 : row_bytes; /* it takes 16 alone */
  for (unsigned panel = 16; panel < widest && panel < row_bytes && row_bytes % panel == 0;
       panel *= 2) {
    layout = bf_layout_of_mode(&answers->tile, BF_MODE_NONE, panel);
    BF_TRY(bf_layouts_consider(answers, &layout, diagnostic));
  }
  for (bf_mode mode = BF_MODE_32; mode <= BF_MODE_128; mode++) {
    unsigned width = bf_mode_bytes(mode);
    layout = bf_layout_of_mode(&answers->tile, mode, row_bytes % width ? row_bytes : width);
    char why[BF_WHY_BYTES];
    snprintf(why, sizeof why, "a row of %u bytes is no multiple of its %u bytes", row_bytes, width);
    BF_TRY(row_bytes % width ? bf_layouts_refuse(answers, layout.name, why)
                             : bf_layouts_consider(answers, &layout, diagnostic));
  }
  return BF_OK;
}

/* The swizzles of that many bits from base on, up and down. */
static int visit_shifts(bf_layouts *answers, unsigned bits, unsigned base, unsigned top,
                        bf_diagnostic *diagnostic) {
  uint64_t bytes = (uint64_t)answers->tile.rows * bf_tile_row_bytes(&answers->tile);
  for (unsigned shift = bits; base + bits + shift <= top; shift++)
    for (int sign = 1; sign >= -1; sign -= 2) {
      unsigned highest = base + bits + (sign < 0 ? shift : 0); /* of those that are changed */
      if (bytes % ((uint64_t)1 << highest))
        continue;
      bf_tile_layout layout = bf_layout_of_swizzle(&answers->tile, bits, base, sign * (int)shift);
      BF_TRY(bf_layouts_consider(answers, &layout, diagnostic));
    }
  return BF_OK;
}

static int visit_swizzles(bf_layouts *answers, bf_diagnostic *diagnostic) {
  uint64_t bytes = (uint64_t)answers->tile.rows * bf_tile_row_bytes(&answers->tile);
  unsigned top = 0, bank_top = answers->machine->bank_bits;
  while ((uint64_t)1 << top < bytes)
    top++;
  for (unsigned base = (unsigned)__builtin_ctz(granule_bytes(answers)); base < top; base++)
    for (unsigned bits = 1; bits <= bank_top && base + 2 * bits <= top; bits++)
      BF_TRY(visit_shifts(answers, bits, base, top, diagnostic));
  return BF_OK;
}

static int visit_paddings(bf_layouts *answers, bf_diagnostic *diagnostic) {
  unsigned most = answers->machine->word_bytes << answers->machine->bank_bits;
  unsigned granule = granule_bytes(answers);
  for (unsigned pad = granule; pad < most; pad += granule) {
    bf_tile_layout layout = bf_layout_of_padding(&answers->tile, pad);
    BF_TRY(bf_layouts_consider(answers, &layout, diagnostic));
  }
  return BF_OK;
}

static int visit_gaps(bf_layouts *answers, bf_diagnostic *diagnostic) {
  unsigned most = answers->machine->word_bytes << answers->machine->bank_bits;
  if (bf_tile_row_bytes(&answers->tile) % 16)
    return BF_OK;
  for (unsigned gap = 16; gap < most; gap += 16) {
    bf_tile_layout layout = bf_layout_of_gaps(&answers->tile, gap);
    BF_TRY(bf_layouts_consider(answers, &layout, diagnostic));
  }
  return BF_OK;
}

int bf_family_visit(bf_layouts *answers, const char *text, bf_diagnostic *diagnostic) {
  if (text) {
    bf_tile_layout layout;
    BF_TRY(bf_layout_parse(text, &answers->tile, &layout, diagnostic));
    return bf_layouts_consider(answers, &layout, diagnostic);
  }
  bool is_fixed = has_mover(answers, BF_MOVER_TMA) || has_mover(answers, BF_MOVER_WGMMA);
  if (is_fixed) {
    bool is_copied = has_mover(answers, BF_MOVER_TMA);
    const char *why = is_copied ? "tensor copies know the modes only"
                                : "wgmma knows the modes, and gaps between panels of 16 bytes "
                                  "(none:16+BYTES)";
    BF_TRY(visit_modes(answers, diagnostic));
    if (!is_copied)
      BF_TRY(visit_gaps(answers, diagnostic));
    BF_TRY(bf_layouts_refuse(answers, "cute:B,M,S", why));
    return bf_layouts_refuse(answers, "pad:BYTES", why);
  }
  bf_tile_layout plain =
      bf_layout_of_mode(&answers->tile, BF_MODE_NONE, bf_tile_row_bytes(&answers->tile));
  BF_TRY(bf_layouts_consider(answers, &plain, diagnostic));
  BF_TRY(visit_swizzles(answers, diagnostic));
  return visit_paddings(answers, diagnostic);
}
