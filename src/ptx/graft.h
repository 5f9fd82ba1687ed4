/* ptx/graft: programs with other device code. A program that nvcc made holds modules of device
 * code, and for each of them a record that names its place: 24 bytes with a magic number, a version
 * and two addresses, the first of which is that of the module. The new modules are put behind the
 * end of the program, as a segment of their own, and the records lead there. Nothing else changes;
 * the old modules stay where they are, and nobody reads them. */
#ifndef BF_PTX_GRAFT_H
#define BF_PTX_GRAFT_H

#include "ptx/fatbin.h"

/* New PTX for an image of a program. */
typedef struct bf_graft {
  const bf_image *image;
  const bf_text *ptx;
} bf_graft;

/* Adds to program the content of fatbin, an ELF program for this kind of machine, in which the
 * modules of the images that are named have PTX only: the new, or the old where none is given for
 * an image. Machine code is left out, so that the driver compiles the PTX. BF_UNSUPPORTED where the
 * program cannot be changed in this way. */
int bf_graft_program(const bf_fatbin *fatbin, const bf_graft *grafts, size_t count,
                     bf_text *program, bf_diagnostic *diagnostic);

#endif
