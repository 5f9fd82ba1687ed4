/* Bankfold, for CUDA programs: choose the hash of shared memory's banks before a launch.
 *
 * Under `bankfold exec` the calls hold for all launches that follow; on a real GPU, which has no
 * such hardware, they do nothing and return 0. Programs need no library of Bankfold for them.
 *
 *     bankfold_set_hash("xor:0,5,31");
 *     transpose<<<grid, block>>>(in, out);
 *     bankfold_set_hash(NULL);
 *
 * They return a cudaError_t as int: cudaErrorInvalidValue for text that is no hash (docs/hash.md).
 */
#ifndef BANKFOLD_CUDA_H
#define BANKFOLD_CUDA_H

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* What the CUDA runtime of this process has under a name; NULL: nothing. */
static inline void *bankfold_find(const char *name) {
  void *process = dlopen(NULL, RTLD_LAZY);
  return process ? dlsym(process, name) : NULL;
}

/* Calls the function of that name where there is one. */
static inline int bankfold_call(const char *name, const char *text) {
  void *symbol = bankfold_find(name);
  int (*function)(const char *);
  memcpy(&function, &symbol, sizeof function);
  return symbol ? function(text) : 0;
}

/* The hash of the banks; NULL or "none": none. */
static inline int bankfold_set_hash(const char *hash) {
  return bankfold_call("bankfoldSetHash", hash);
}

/* The hash of the table of locks, where atomics use one: "plain" (NULL), "xor" or "add". */
static inline int bankfold_set_lock_hash(const char *hash) {
  return bankfold_call("bankfoldSetLockHash", hash);
}

/* Whether hashes can be chosen: the program runs under bankfold exec. */
static inline int bankfold_is_there(void) { return bankfold_find("bankfoldSetHash") != NULL; }

#endif
