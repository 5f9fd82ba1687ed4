/* source/launch_shape: the launches of CUDA source, and the blocks that they have. */
#ifndef BF_SOURCE_LAUNCH_SHAPE_H
#define BF_SOURCE_LAUNCH_SHAPE_H

#include "source/source.h"

typedef struct bf_source_launch {
  char kernel[BF_SOURCE_MOST_NAME];    /* without namespaces and template arguments */
  char arguments[BF_SOURCE_MOST_NAME]; /* of a template, without spaces: "<int,64>"; cut if long */
  uint32_t line;
  bool is_template; /* kernel<...> */
  bool is_known;    /* the block is: numbers, macros and constants, dim3 and names of dim3 that are
                       declared so */
  uint32_t block[3];
  /* Sides of the block that are template arguments of the kernel, whose values its instances tell:
   * 1 and the number of the argument; 0: the side is block's. */
  uint8_t argument[3];
  uint32_t grid[3];                 /* 0: not known */
  char values[BF_SOURCE_MOST_NAME]; /* of arguments that are whole numbers: "2=1024,3=16" */
} bf_source_launch;

/* The next launch behind token *cursor, which moves; false where there is none. */
bool bf_source_next_launch(const bf_source *source, size_t *cursor, bf_source_launch *launch);

/* Blocks that a kernel is launched with. */
typedef struct bf_source_shape {
  char kernel[BF_SOURCE_MOST_NAME]; /* empty: of a template, whose instances have other names */
  char block[40];                   /* "32x8x1" */
} bf_source_shape;

/* The kernels that a file of source launches with blocks that are known, each pair of kernel and
 * block once, up to `most` of them; *is_one: all have one block. */
int bf_source_find_shapes(const char *path, bf_source_shape *shapes, unsigned most, unsigned *count,
                          bool *is_one, bf_diagnostic *diagnostic);

#endif
