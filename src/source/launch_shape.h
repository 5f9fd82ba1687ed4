/* source/launch_shape: the launches of CUDA source, and the blocks that they have. */
#ifndef BF_SOURCE_LAUNCH_SHAPE_H
#define BF_SOURCE_LAUNCH_SHAPE_H

#include "source/source.h"

typedef struct bf_source_launch {
  char kernel[BF_SOURCE_MOST_NAME]; /* without namespaces and template arguments */
  uint32_t line;
  bool is_template; /* kernel<...> */
  bool is_known;    /* the block is: numbers, macros and constants, dim3 and names of dim3 that are
                       declared so */
  uint32_t block[3];
} bf_source_launch;

/* The next launch behind token *cursor, which moves; false where there is none. */
bool bf_source_next_launch(const bf_source *source, size_t *cursor, bf_source_launch *launch);

#endif
