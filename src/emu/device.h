/* Inside room emu: the memory and modules of a device. */
#ifndef BF_EMU_DEVICE_H
#define BF_EMU_DEVICE_H

#include "emu/inner.h"

#include <pthread.h>

enum { BF_EMU_FREED = 256 };

typedef struct bf_emu_entry {
  bf_emu_range public;
  bool is_const; /* a variable in constant memory */
  bool is_heap;  /* a kernel has allocated it */
} bf_emu_entry;

/* Memory that was given back; kept: the host has not got it back yet. */
typedef struct bf_emu_freed {
  uint64_t first, end;
  bool is_kept;
} bf_emu_freed;

/* A place for textures. The one that was removed last is kept, so that a handle never stands for
 * two that differ: with its version it is the upper half of handles. */
typedef struct bf_emu_slot {
  bf_emu_texture *texture;
  uint32_t version;
  bool is_used;
} bf_emu_slot;

struct bf_emu {
  pthread_rwlock_t lock;
  bf_emu_entry *range; /* sorted, without overlap */
  size_t ranges, capacity;
  uint64_t next_serial;
  uint64_t used_bytes, heap_bytes; /* the latter of the heap of kernels */
  bool has_heap;                   /* a kernel has asked for some of it */
  bf_emu_freed freed[BF_EMU_FREED];
  unsigned next_freed;
  bf_emu_module *modules;
  bf_emu_slot *texture; /* by the lower half of handle - 1 */
  size_t textures, texture_capacity;
  const struct bf_emu_isa *isa;       /* that kernels are decoded for */
  bf_crew *crew;                      /* threads that help with launches; NULL: none could be had */
  struct bf_race_memory *race_memory; /* what launches did to memory (race.c), or NULL */
  /* Of kernels that launch kernels (device_runtime.c). */
  const struct bf_emu_parent *parent; /* or NULL */
  int device_error;                   /* the last one that a call of the device runtime gave */
  uint64_t device_handles;            /* of streams and events that kernels have made */
  uint64_t passed_ns;                 /* that %globaltimer is ahead of the host's clock (clock.c) */
};

/* Where a variable of a module lies; bytes as declared. */
typedef struct bf_emu_placed {
  const bf_ptx_variable *variable;
  uint64_t address;
} bf_emu_placed;

struct bf_emu_module {
  bf_emu *emu;
  const bf_ptx_module *ptx;
  uint8_t *memory; /* of all its variables */
  uint64_t memory_bytes;
  bf_emu_placed *placed;
  unsigned variables;
  uint64_t const_bytes;
  bf_emu_kernel *kernels;
  pthread_mutex_t lock; /* of kernels */
  bf_emu_module *next;
};

/* Adds a range to the device. */
int bf_emu_add(bf_emu *emu, const bf_emu_entry *entry, bf_diagnostic *diagnostic);
/* Forgets the variables between two addresses. */
void bf_emu_remove_variables(bf_emu *emu, uint64_t first, uint64_t end);
/* Device memory for a kernel, as bf_emu_alloc. */
int bf_emu_alloc_heap(bf_emu *emu, uint64_t bytes, uint64_t *address);
/* Releases what starts at any of the addresses, which are sorted for that. */
void bf_emu_release_all(bf_emu *emu, uint64_t *address, size_t count);
/* The range that holds address; false: none. */
bool bf_emu_find_entry(bf_emu *emu, uint64_t address, bf_emu_entry *entry);
/* Whether address was in device memory that has been freed. */
bool bf_emu_was_freed(bf_emu *emu, uint64_t address);
/* The texture of a handle, or NULL. */
const bf_emu_texture *bf_emu_texture_find(const bf_emu *emu, uint64_t handle);
/* The address of a variable of the module; false where it has none. */
bool bf_emu_place_of(const bf_emu_module *module, const bf_ptx_variable *variable,
                     uint64_t *address);
/* What a pointer to function holds. */
static inline uint64_t bf_emu_function_address(const bf_ptx_function *function) {
  return (uint64_t)(uintptr_t)function;
}
/* What directives leave a thread: .maxnreg, or all registers among .maxntid threads. */
unsigned bf_emu_most_registers(const bf_emu_kernel *kernel);
/* An estimate of the 32-bit registers per thread (pressure.c). */
unsigned bf_emu_estimate_registers(const bf_emu_kernel *kernel);
/* Makes a kernel ready (decode.c). */
int bf_emu_decode(bf_emu_module *module, const bf_ptx_function *function, bf_emu_kernel **kernel,
                  bf_diagnostic *diagnostic);

#endif
