/* Inside room ptx: what the files of the linker share. Parts are numbered from 0 in the order in
 * which they are given. */
#ifndef BF_PTX_LINKER_H
#define BF_PTX_LINKER_H

#include "base/table.h"
#include "ptx/link.h"

/* What the parts say of a name that they share. */
typedef struct bf_ptx_linked {
  const char *name;
  const bf_ptx_item *definition; /* that counts, or NULL */
  unsigned part;                 /* of it */
  const bf_ptx_item *declared;   /* the first that says what it is */
  unsigned declared_part;
  unsigned alignment_bytes; /* the largest that a declaration asks for */
} bf_ptx_linked;

typedef struct bf_ptx_linker {
  bf_arena arena;
  bf_ptx_module *const *part;
  unsigned parts;
  bf_table shared; /* name to bf_ptx_linked */
  bf_diagnostic *diagnostic;
} bf_ptx_linker;

/* The name of a variable, function or alias; NULL: the item has none. */
const char *bf_ptx_item_name(const bf_ptx_item *item);
uint64_t bf_ptx_item_line(const bf_ptx_item *item);
/* Whether the name of an item is the part's own. */
bool bf_ptx_item_is_private(const bf_ptx_item *item);
/* Whether an item only says that there is something of its name. */
bool bf_ptx_item_declares(const bf_ptx_item *item);
/* A fault of an item. */
int bf_ptx_link_fail(const bf_ptx_linker *linker, unsigned part, const bf_ptx_item *item,
                     const char *format, ...) BF_PRINTF(4, 5);

/* Gathers the shared names of all parts and lets one definition of each count (link_names.c). */
int bf_ptx_link_names(bf_ptx_linker *linker, bool (*is_provided)(const char *name));
/* Gives private names that other parts have as well, source files and texts of debug data numbers
 * of their own (link_rename.c). */
int bf_ptx_link_rename(bf_ptx_linker *linker);

#endif
