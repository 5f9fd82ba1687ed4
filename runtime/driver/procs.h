/* Inside runtime: the table of functions that cuGetProcAddress knows. */
#ifndef DR_PROCS_H
#define DR_PROCS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct dr_proc {
  const char *name;
  int version;        /* of CUDA, since which the name stands for the function */
  bool is_per_thread; /* its default stream is the thread's own */
  void *function;
} dr_proc;

extern const dr_proc dr_proc_table[];
extern const size_t dr_procs;

#endif
