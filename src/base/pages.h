/* base/pages: much memory at once. */
#ifndef BF_PAGES_H
#define BF_PAGES_H

#include <stddef.h>

/* Zeroed memory; that of megabytes is in large pages where the system has them, which takes it
 * hundreds of times fewer steps to give and to take back. NULL: there is none. */
void *bf_pages_get(size_t bytes);
/* Frees what was got by so many bytes; NULL: nothing. */
void bf_pages_free(void *memory, size_t bytes);

#endif
