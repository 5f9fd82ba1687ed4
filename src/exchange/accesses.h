/* exchange/accesses: the PTX of modules and the accesses that their kernels made, from the drop-in
 * CUDA runtime (runtime/) to bankfold exec --save-hashes: a file for each process, in a folder of
 * the run (docs/exchange.md). */
#ifndef BF_EXCHANGE_ACCESSES_H
#define BF_EXCHANGE_ACCESSES_H

#include "access/access.h"
#include "memory/memory.h"

/* The launches of a kernel. */
typedef struct bf_accesses_kernel {
  const char *name;
  uint64_t launches;
  bool is_cut; /* some accesses are left out */
  /* As the PTX has them, and as ptxas merges them; sites are names of arrays. */
  bf_workload *written, *merged;
} bf_accesses_kernel;

typedef struct bf_accesses_module {
  const char *ptx;
  bf_accesses_kernel *kernel;
  size_t kernels, kernel_capacity;
} bf_accesses_module;

typedef struct bf_accesses {
  bf_arena arena;
  bf_accesses_module *module;
  size_t modules, module_capacity;
} bf_accesses;

/* Adds a module without kernels, and a kernel without launches and workloads; texts are copied.
 * NULL where memory is exhausted. They stay where they are until another is added. */
bf_accesses_module *bf_accesses_add_module(bf_accesses *accesses, const char *ptx);
bf_accesses_kernel *bf_accesses_add_kernel(bf_accesses *accesses, bf_accesses_module *module,
                                           const char *name);
/* Frees the workloads too. */
void bf_accesses_free(bf_accesses *accesses);

/* Writes the file of this process. */
int bf_accesses_write(const char *folder, const bf_accesses *accesses, bf_diagnostic *diagnostic);
/* Adds the files of all processes; kernels of modules with the same PTX are added up. Accesses that
 * do not fit the machine are left out. Free also after an error. */
int bf_accesses_read(const char *folder, const bf_machine *machine, bf_accesses *accesses,
                     bf_diagnostic *diagnostic);
/* The same for one file. */
int bf_accesses_read_file(const char *path, const bf_machine *machine, bf_accesses *accesses,
                          bf_diagnostic *diagnostic);

#endif
