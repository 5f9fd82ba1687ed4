/* Inside room emu: instruction sets of the host that the emulator has code for. */
#ifndef BF_EMU_ISA_H
#define BF_EMU_ISA_H

#include "emu/alone.h"

typedef struct bf_emu_isa {
  const char *name;         /* plain, avx2, avx512 */
  bf_emu_select select[32]; /* ending with NULL */
  bf_alone_run run_alone;
  const bf_alone_row *alone[16]; /* ending with NULL */
} bf_emu_isa;

/* The set called name, or the best one for NULL; NULL where this host cannot run it. */
const bf_emu_isa *bf_emu_isa_find(const char *name);
/* Decodes kernels for that set from now on; false where this host cannot run it. For tests. */
bool bf_emu_choose(bf_emu *emu, const char *name);

#endif
