/* api: what the public header offers beyond the rooms' own functions, as thin functions over them.
 * This file: text and bytes that belong to the caller. */
#include "base/base.h"

#include <stdlib.h>

void bf_free(void *memory) { free(memory); }
