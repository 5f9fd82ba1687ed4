/* Where programs are, and what a program file says about CUDA before it is run. */
#ifndef BF_PROCESS_PROGRAM_H
#define BF_PROCESS_PROGRAM_H

#include "base/base.h"
#include "exchange/cuda_file.h"
#include "exchange/settings.h"

#include <limits.h>

typedef struct bf_process_program {
  char path[4096];       /* where it was found */
  bool is_elf;           /* a program or library for this kind of machine */
  bool has_fatbin;       /* nvcc put device code into it */
  bf_cuda_file cuda;     /* what else is known of its CUDA */
  bool needs_driver;     /* libcuda.so.1, or what compiles for it */
  char cuda_library[64]; /* the libcudart.so.N that it needs, or empty */
  unsigned libraries;    /* of NVIDIA that it needs beside: libcu* */
  char library[8][32];
} bf_process_program;

/* The path of name: itself where it has a slash, else in a folder of PATH; only what accepts takes,
 * unless it is NULL. */
bool bf_process_find(const char *name, bool (*accepts)(const char *path), char *path, size_t bytes);
/* Finds a tool of the CUDA toolkit that is not this program under another name: what the
 * environment variable says, or in PATH, or beside the nvcc in PATH, or in the toolkit of
 * CUDA_HOME, CUDA_PATH or the usual place. */
int bf_process_find_tool(const char *name, bf_variable variable, char path[PATH_MAX],
                         bf_diagnostic *diagnostic);
/* The architecture that nvcc is to compile source for which says none: the first, and the one after
 * that where nvcc said that an instruction is not of it: wgmma is of sm_90a alone, tcgen05 of
 * sm_100a. tried NULL: none yet. NULL: no other would help. */
const char *bf_process_next_architecture(const char *tried, const char *said);
/* Finds name as a shell would, and looks into the file. BF_IO where there is none. */
int bf_process_inspect(const char *name, bf_process_program *program, bf_diagnostic *diagnostic);
/* Refuses programs whose CUDA runtime cannot be replaced by ours, and says what to do. */
int bf_process_can_be_led(const bf_process_program *program, bf_diagnostic *diagnostic);

#endif
