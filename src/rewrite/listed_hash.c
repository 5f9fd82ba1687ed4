/* Hashes of kernels and arrays from a list, by either of their names. */
#include "rewrite/rewrite.h"

/* A name as in the PTX and as people read it. */
typedef struct names {
  const char *own;
  bf_text readable;
} names;

static names name(const char *own) {
  names made = {.own = own};
  bf_ptx_readable_name(own, &made.readable);
  return made;
}

/* The readable name, or the own one where there is no other. */
static const char *readable(const names *n) { return n->readable.data ? n->readable.data : n->own; }

/* The line of an array under one name of the kernel. */
static const bf_hash *find_array(const bf_hash_list *list, const char *kernel, const names *array) {
  const bf_hash *hash = bf_hash_list_find_array(list, kernel, array->own);
  return hash ? hash : bf_hash_list_find_array(list, kernel, readable(array));
}

/* The line of a kernel, or that of all. */
static const bf_hash *find_kernel(const bf_hash_list *list, const names *kernel) {
  bool is_listed = bf_hash_list_has(list, kernel->own);
  return bf_hash_list_find(list, is_listed ? kernel->own : readable(kernel));
}

int bf_rewrite_listed_hash(const bf_hash_list *list, const char *kernel, const char *array,
                           const bf_hash **hash) {
  names of_kernel = name(kernel), of_array = name(array ? array : "");
  int error = of_kernel.readable.failed || of_array.readable.failed ? BF_NO_MEMORY : BF_OK;
  *hash = NULL;
  if (!error && array) {
    *hash = find_array(list, kernel, &of_array);
    *hash = *hash ? *hash : find_array(list, readable(&of_kernel), &of_array);
    *hash = *hash ? *hash : find_array(list, "*", &of_array);
  }
  if (!error && !*hash)
    *hash = find_kernel(list, &of_kernel);
  bf_text_free(&of_kernel.readable);
  bf_text_free(&of_array.readable);
  return error;
}
