/* source/launches: how the kernels of a project are launched, as far as its sources tell. */
#ifndef BF_SOURCE_LAUNCHES_H
#define BF_SOURCE_LAUNCHES_H

#include "base/base.h"

enum { BF_MOST_LAUNCHED = 4 };

/* The blocks that a kernel is launched with. */
typedef struct bf_launched {
  unsigned count;
  uint32_t block[BF_MOST_LAUNCHED][3];
  uint8_t argument[BF_MOST_LAUNCHED][3]; /* of a template that a side is; all 0 once found */
  uint32_t grid[BF_MOST_LAUNCHED][3];    /* 0: not known */
  const char *from[BF_MOST_LAUNCHED];    /* "launch at app.cu:12" */
  const char *values[BF_MOST_LAUNCHED];  /* of parameters: "2=1024", or NULL */
  /* There are launches that are none of these: their blocks are not known, or they are more than
   * fit; or they have one of these blocks and other values. */
  bool is_cut, is_varied;
} bf_launched;

typedef struct bf_source_launches bf_source_launches;

/* Reads the launches of sources. */
int bf_source_launches_read(const char *const *source, size_t count, bf_source_launches **launches,
                            bf_diagnostic *diagnostic);
/* Those of the kernel that is called so, readable, and is in that file: launches of the same file
 * go before those of its folder, and these before all others. False: none is known. */
bool bf_source_launches_find(const bf_source_launches *launches, const char *file,
                             const char *readable, bf_launched *found);
/* A number that stands for all of them. */
uint64_t bf_source_launches_key(const bf_source_launches *launches);
void bf_source_launches_free(bf_source_launches *launches);

#endif
