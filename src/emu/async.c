/* What asynchronous copies keep of a warp. */
#include "emu/inner.h"

#include <stdlib.h>

void bf_emu_async_free(bf_emu_warp *warp) {
  free(warp->async);
  warp->async = NULL;
}
