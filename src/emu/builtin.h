/* Inside room emu: what functions of the device's library share. */
#ifndef BF_EMU_BUILTIN_H
#define BF_EMU_BUILTIN_H

#include "emu/decode.h"

/* Argument index of a call in one lane. */
static inline uint64_t bf_emu_argument(const bf_emu_warp *warp, const bf_emu_call *call,
                                       unsigned index, unsigned lane) {
  uint64_t value = 0;
  if (index < call->arguments) {
    const bf_emu_region *region = &call->argument[index];
    memcpy(&value, warp->registers + region->place + lane * region->stride, 8);
    if (region->variable->bytes < 8)
      value &= (UINT64_C(1) << (8 * region->variable->bytes)) - 1;
  }
  return value;
}

/* Sets what a call returns in one lane. */
static inline void bf_emu_give(bf_emu_warp *warp, const bf_emu_call *call, unsigned lane,
                               uint64_t value) {
  if (call->returns)
    memcpy(warp->registers + call->result[0].place + lane * call->result[0].stride, &value, 8);
}

/* Memory is given back when the launch has ended, because other threads may remember it. */
void bf_emu_give_back(bf_emu_flight *flight, uint64_t address);
/* bytes of the heap of kernels; 0: it is full. */
uint64_t bf_emu_heap_take(bf_emu_flight *flight, uint64_t bytes);
void bf_emu_heap_give(bf_emu_flight *flight, uint64_t address);
/* Gives back what was freed, when the launch has ended. */
void bf_emu_heap_close(bf_emu_flight *flight);
/* The device runtime's function of that name, or NULL (device_runtime.c). */
bf_emu_builtin bf_emu_device_runtime_find(const char *name);

#endif
