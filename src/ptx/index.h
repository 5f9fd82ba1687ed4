/* ptx/index: what is asked about a module again and again, found out once, when it is parsed. */
#ifndef BF_PTX_INDEX_H
#define BF_PTX_INDEX_H

#include "base/table.h"
#include "ptx/tree.h"

typedef struct bf_ptx_index {
  bf_table functions; /* with a body, by name: bf_ptx_find */
  bf_table names;     /* of functions, variables and aliases: the first item */
  /* A function that names a shared variable outside of addresses, or NULL; and whether there are
   * several. */
  const bf_ptx_function *shared_namer;
  bool has_shared_namers;
} bf_ptx_index;

/* The index of a module that bf_ptx_parse has made. */
const bf_ptx_index *bf_ptx_index_of(const bf_ptx_module *module);

#endif
