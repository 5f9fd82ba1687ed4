/* Inside room access: the shapes of accesses that a packed trace remembers, so that an access can
 * be told by the number of its shape and its first address. Reader and writer of a trace number
 * them alike: each access whose addresses are listed becomes the next shape, and the shape of
 * BF_SHAPES such accesses ago is forgotten. */
#ifndef BF_ACCESS_SHAPE_H
#define BF_ACCESS_SHAPE_H

#include "access/access.h"
#include "access/lanes.h"

enum { BF_SHAPES = 256 };

/* An access but for where its first active lane is, its count and its line. */
typedef struct bf_shape {
  bf_op op;
  unsigned width_bytes;
  uint64_t mask;
  const char *site;
  uint32_t site_number;    /* in the trace, 0: none; reader only */
  int64_t lowest, highest; /* of the addresses less the first */
  uint32_t bits;           /* of all its addresses when it was listed, or-ed */
  bool is_unsettled;       /* relative has the addresses themselves, and lowest and highest
                              are not known: bf_shape_settle; reader only */
  _Alignas(64) uint32_t relative[BF_MAX_LANES]; /* the address less that of the first active lane,
                                      or 0; past lane 31 only where the mask has such lanes */
} bf_shape;

typedef struct bf_shapes {
  bf_shape shape[BF_SHAPES];
  unsigned number;                /* of the shape of the access before */
  uint32_t first;                 /* address of its first active lane */
  uint64_t made;                  /* shapes that were made; the next is number made % BF_SHAPES */
  uint64_t id[BF_SHAPES];         /* how many were made before it */
  uint16_t of_key[4 * BF_SHAPES]; /* writer: a shape's number + 1 by bits of its content, or 0 */
} bf_shapes;

/* Fills shape from access. */
void bf_shape_take(bf_shape *shape, const bf_access *access, const bf_lanes_kernel *kernel);
/* The addresses of 32 lanes, or-ed: none of them is above that. */
static inline uint32_t bf_shape_bits(const uint32_t *address) {
  uint32_t bits = 0;
  for (unsigned lane = 0; lane < BF_LANES; lane++)
    bits |= address[lane];
  return bits;
}
/* As bf_shape_take, but for what is only of use where the shape occurs again; inactive lanes have
 * address 0. */
void bf_shape_list(bf_shape *shape, const bf_access *access);
/* Finds out what bf_shape_list has left open. */
void bf_shape_settle(bf_shape *shape, const bf_lanes_kernel *kernel);
/* Gives access the addresses of shape with its first lane at first; those of lanes that are not
 * active become 0. Lanes from `lanes` on are left alone. */
void bf_shape_place(const bf_shape *shape, uint32_t first, unsigned lanes,
                    const bf_lanes_kernel *kernel, bf_access *access);
/* Whether first is aligned for width_bytes and all addresses of shape are inside allocation. */
bool bf_shape_fits(const bf_shape *shape, int64_t first, unsigned width_bytes,
                   uint64_t allocation_bytes);
/* Whether two shapes have the same lanes and distances. */
bool bf_shape_equal(const bf_shape *a, const bf_shape *b);
/* Whether a shape of four active lanes or more is a line: each address is that of the first active
 * lane and *stride for every lane behind it. */
bool bf_shape_stride(const bf_shape *shape, const bf_lanes_kernel *kernel, int64_t *stride);
/* The number of a remembered shape with the operation, width, lanes and distances of shape, or -1;
 * *key is by which such a shape is found. */
int bf_shapes_find(const bf_shapes *shapes, const bf_shape *shape, unsigned *key);
/* The next shape, to be filled; its number becomes that of the access before. */
bf_shape *bf_shapes_next(bf_shapes *shapes);
/* Lets bf_shapes_find find the shape of the access before, which has that key. */
void bf_shapes_index(bf_shapes *shapes, unsigned key);

#endif
