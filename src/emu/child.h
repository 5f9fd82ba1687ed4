/* emu/child: kernels that launch kernels. What they ask for is handed to whoever has launched them,
 * who does it when the launch has ended. */
#ifndef BF_EMU_CHILD_H
#define BF_EMU_CHILD_H

#include "emu/emu.h"

/* What a kernel asks the device runtime to do in a stream: to launch a kernel, to copy or to fill
 * rows. */
typedef struct bf_emu_child {
  enum { BF_EMU_CHILD_KERNEL, BF_EMU_CHILD_COPY, BF_EMU_CHILD_FILL } kind;
  uint64_t stream; /* as the kernel names it */
  const bf_ptx_function *function;
  uint32_t grid[3], block[3];
  uint64_t dynamic_shared_bytes;
  const void *parameters; /* to be copied */
  uint64_t parameter_bytes;
  uint64_t to, from, to_pitch_bytes, from_pitch_bytes, width_bytes, rows;
  uint8_t value;
} bf_emu_child;

/* What a kernel may ask about the device. */
typedef enum bf_emu_question {
  BF_EMU_ASK_ATTRIBUTE,
  BF_EMU_ASK_LIMIT,
  BF_EMU_ASK_VERSION,   /* of the runtime, e.g. 13000 */
  BF_EMU_ASK_OCCUPANCY, /* blocks of function on a multiprocessor */
} bf_emu_question;

/* What the launches of a device offer to kernels that launch kernels. */
typedef struct bf_emu_parent {
  /* Keeps it, to be done when the launch has ended; 0, or the number of the CUDA error that the
   * kernel is told. Called from several threads at once. */
  int (*take)(void *context, const bf_emu_child *child);
  /* The name of a CUDA error, or what it means. */
  const char *(*error_text)(int error, bool is_name);
  /* Answers a question; 0, or the number of a CUDA error. given: ATTRIBUTE and LIMIT which one,
   * OCCUPANCY threads of a block and bytes of dynamic shared memory. */
  int (*answer)(void *context, bf_emu_question question, const bf_ptx_function *function,
                const uint64_t given[2], uint64_t *value);
  void *context;
} bf_emu_parent;

/* Sets it for the launches to come, and returns what was set before; NULL: what kernels launch
 * fails, which they are told. The parent is borrowed. */
const bf_emu_parent *bf_emu_set_parent(bf_emu *emu, const bf_emu_parent *parent);

#endif
