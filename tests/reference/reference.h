/* A slow interpreter of PTX, to compare the emulator with: one thread after the other, one value
 * per register, every instruction written down as the PTX ISA describes it. It shares nothing with
 * src/emu. Threads run until they must wait for others; when none can go on, those that wait at the
 * same place together are served. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "ptx/ptx.h"

/* Memory of the process that a kernel may use. */
typedef struct ref_range {
  uint64_t address, bytes;
} ref_range;

enum { REF_MESSAGE_BYTES = 300 };

typedef struct ref_launch {
  const bf_ptx_module *module;
  const char *kernel;
  uint32_t grid[3], block[3];
  const void *parameters;
  size_t parameter_bytes;
  uint64_t dynamic_shared_bytes;
  const ref_range *range;
  unsigned ranges;
} ref_launch;

/* Runs a kernel on global and constant variables of its own. False, with a sentence in message,
 * where the kernel does something wrong or something that the interpreter does not know. */
bool ref_run(const ref_launch *launch, char message[REF_MESSAGE_BYTES]);

#endif
