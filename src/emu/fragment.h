/* Inside room emu: matrices of mma and wmma in the registers of a warp.
 *
 * A fragment is a matrix spread over the registers of the 32 lanes. With g = lane / 4 and
 * t = lane % 4, and E elements per register, the layouts of mma in the PTX ISA are all of one kind:
 *   A: a register holds row g of 8 rows and columns tE .. tE+E-1 of 4E columns; the registers of a
 *      tile of 16 rows go down first, then right, and tiles follow each other downwards.
 *   B: the same with rows and columns exchanged; columns of 8, registers down, then right.
 *   C, D: elements 2t and 2t+1 of row g of an 8x8 block; blocks down a tile of 16 rows, tiles
 * right. wmma uses the same layouts, tile after tile; where it has more registers than that needs
 * (f16), the others are copies. Programs see that only through load, store and mma. */
#ifndef BF_EMU_FRAGMENT_H
#define BF_EMU_FRAGMENT_H

#include "emu/element.h"

#include <stdio.h>

enum { BF_FRAGMENT_REGISTERS = 8, BF_FRAGMENT_BLOCKS = 4, BF_FRAGMENT_ELEMENTS = 1024 };

typedef enum bf_fragment_role { BF_ROLE_A, BF_ROLE_B, BF_ROLE_C } bf_fragment_role;

typedef struct bf_fragment {
  bf_fragment_role role;
  bf_ptx_type type;
  unsigned rows, columns;
  unsigned bits;           /* of an element */
  unsigned per_register;   /* elements */
  unsigned register_bytes; /* 4 or 8 */
  unsigned registers;      /* that hold the matrix */
  unsigned copies;         /* how often; the first counts */
  uint32_t place[BF_FRAGMENT_REGISTERS];
  /* Of A the rows of a register, of B its columns, both in eights, and the piece of 16 bytes. */
  struct {
    uint16_t line, piece;
  } part[BF_FRAGMENT_REGISTERS];
  /* Of C, D: the registers that have the even and the odd columns of each 8 x 8 block. */
  uint8_t block[BF_FRAGMENT_BLOCKS][2];
} bf_fragment;

typedef struct bf_spot {
  unsigned row, column;
} bf_spot;

/* Rows of 8 in a tile. */
static inline unsigned bf_fragment_height(const bf_fragment *f) { return f->rows >= 16 ? 2 : 1; }

/* Where element i of register r lies for lane 0. */
static inline bf_spot bf_fragment_spot(const bf_fragment *f, unsigned r, unsigned i) {
  unsigned height = bf_fragment_height(f), span = 4 * f->per_register;
  if (f->role == BF_ROLE_B) {
    unsigned down = f->rows / span;
    return (bf_spot){r % down * span + i, r / down * 8};
  }
  if (f->role == BF_ROLE_A) {
    unsigned per_tile = height * (f->columns / span), in_tile = r % per_tile;
    return (bf_spot){r / per_tile * 16 + in_tile % height * 8, in_tile / height * span + i};
  }
  unsigned element = r * f->per_register + i, per_tile = 2 * height, across = f->columns / 8;
  unsigned tile = element / per_tile, in_tile = element % per_tile;
  return (bf_spot){tile / across * 16 + in_tile / 2 * 8, tile % across * 8 + in_tile % 2};
}

/* How far lane is from lane 0. */
static inline bf_spot bf_fragment_lane(const bf_fragment *f, unsigned lane) {
  unsigned g = lane / 4, t = lane % 4;
  if (f->role == BF_ROLE_B)
    return (bf_spot){t * f->per_register, g};
  return (bf_spot){g, t * (f->role == BF_ROLE_A ? f->per_register : 2)};
}

/* Waits for all lanes of the warp; *lanes are then those that execute op. */
static inline bool bf_fragment_meet(bf_emu_warp *warp, const bf_emu_op *op, uint32_t *lanes) {
  *lanes = BF_MASK();
  if (!*lanes)
    return true;
  if (!bf_emu_meet(warp, op, *lanes, UINT32_MAX))
    return false;
  *lanes = BF_MASK();
  return bf_emu_all_came(warp, op, *lanes, UINT32_MAX);
}

/* ---- Selection ---- */

typedef struct bf_matrix_shape {
  unsigned m, n, k;
} bf_matrix_shape;

/* Reads the modifier mMnNkK; false where there is none. */
static inline bool bf_matrix_shape_read(const bf_ptx_instruction *instruction,
                                        bf_matrix_shape *shape) {
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (sscanf(instruction->modifier[i], "m%3un%3uk%3u", &shape->m, &shape->n, &shape->k) == 3)
      return true;
  return false;
}

/* Which part of the matrix each register has. */
static inline void bf_fragment_parts(bf_fragment *f) {
  unsigned span = 4 * f->per_register, height = bf_fragment_height(f), across = f->columns / 8;
  for (unsigned r = 0; r < f->registers && f->role != BF_ROLE_C; r++) {
    bf_spot from = bf_fragment_spot(f, r, 0);
    f->part[r].line = (uint16_t)((f->role == BF_ROLE_B ? from.column : from.row) / 8);
    f->part[r].piece = (uint16_t)((f->role == BF_ROLE_B ? from.row : from.column) / span);
  }
  for (unsigned i = 0; i < f->rows / 8 && f->role == BF_ROLE_C && f->bits != 64; i++)
    for (unsigned j = 0; j < across; j++) {
      unsigned pair = (i / height * across + j) * height + i % height;
      for (unsigned odd = 0; odd < 2; odd++)
        f->block[i * across + j][odd] = (uint8_t)(f->bits == 16 ? pair : 2 * pair + odd);
    }
}

/* The bf_fragment of a role. False where the matrix does not fill whole registers. */
static inline bool bf_fragment_make(bf_fragment_role role, bf_ptx_type type, bf_matrix_shape shape,
                                    bf_fragment *f) {
  *f = (bf_fragment){
      .role = role,
      .type = type,
      .rows = role == BF_ROLE_B ? shape.k : shape.m,
      .columns = role == BF_ROLE_A ? shape.k : shape.n,
      .bits = bf_matrix_bits(type),
  };
  if (!f->bits)
    return false;
  f->register_bytes = f->bits == 64 ? 8 : 4;
  f->per_register = f->register_bytes * 8 / f->bits;
  unsigned elements = f->rows * f->columns, per_register = 32 * f->per_register;
  f->registers = elements / per_register;
  unsigned span = 4 * f->per_register;
  unsigned down = role == BF_ROLE_B ? 8 : f->rows, across = role == BF_ROLE_A ? 8 : f->columns;
  if (elements % per_register || !f->registers || f->registers > BF_FRAGMENT_REGISTERS)
    return false;
  if ((down != 8 && down % 16) || across % 8 || (elements > BF_FRAGMENT_ELEMENTS && f->bits > 1))
    return false;
  if (role == BF_ROLE_C ? f->rows / 8 * (f->columns / 8) > BF_FRAGMENT_BLOCKS
                        : (role == BF_ROLE_A ? f->columns : f->rows) % span != 0)
    return false;
  bf_fragment_parts(f);
  return true;
}

/* Binds the registers of a bf_fragment: a vector, or one register. More registers than needed are
 * copies. */
static inline bool bf_fragment_bind(bf_emu_decoder *decoder, const bf_ptx_operand *operand,
                                    bool is_written, bf_fragment *f) {
  bool is_vector = operand->kind == BF_PTX_VECTOR;
  const bf_ptx_operand *item = is_vector ? operand->item : operand;
  unsigned count = is_vector ? operand->count : 1;
  bf_ptx_type type = f->register_bytes == 8 ? BF_PTX_B64 : BF_PTX_B32;
  if (count > BF_FRAGMENT_REGISTERS || count < f->registers || count % f->registers)
    return false;
  for (unsigned i = 0; i < count; i++) {
    if (item[i].kind != BF_PTX_SINK && bf_emu_register_bytes(&item[i], type) != f->register_bytes)
      return false;
    f->place[i] =
        is_written ? bf_emu_destination(decoder, &item[i]) : bf_emu_source(decoder, &item[i], type);
  }
  f->copies = count / f->registers;
  return true;
}

#endif
