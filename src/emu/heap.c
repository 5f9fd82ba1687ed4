/* The heap of kernels: malloc and free that they call, and cudaMalloc and cudaFree of the device
 * runtime.
 *
 * Every allocation is a range of device memory of its own, so that an access behind its end is
 * caught. Other threads may remember a range, so that it goes back to the device only when the
 * launch has ended; until then an allocation of the same size takes it, and a kernel whose threads
 * all allocate needs as many ranges as there are allocations at a time. Where races are looked for
 * nothing is taken again: the threads that had it one after the other would seem to race. */
#include "emu/builtin.h"
#include "emu/device.h"

#include <stdlib.h>

/* How many of what was freed last are looked at, and in which units the heap is filled. */
enum { LOOKED_AT = 64, UNIT_BYTES = 16 };

static uint64_t in_units(uint64_t bytes) {
  return (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
}

/* Index of the memory of that size, or else at that address, among what was freed last; -1: none.
 */
static long find_spare(const bf_emu_flight *flight, uint64_t bytes, uint64_t address) {
  size_t first = flight->spares > LOOKED_AT ? flight->spares - LOOKED_AT : 0;
  for (size_t i = flight->spares; i-- > first;)
    if (bytes ? flight->spare[i].bytes == bytes : flight->spare[i].address == address)
      return (long)i;
  return -1;
}

/* Memory of that size that was freed in this launch; 0: none. */
static uint64_t take_spare(bf_emu_flight *flight, uint64_t bytes) {
  uint64_t address = 0;
  pthread_mutex_lock(&flight->lock);
  long at = find_spare(flight, bytes, 0);
  if (at >= 0) {
    address = flight->spare[at].address;
    flight->spare[at] = flight->spare[--flight->spares];
  }
  pthread_mutex_unlock(&flight->lock);
  return address;
}

/* Keeps memory for those that come; false where that cannot be. What is freed twice is kept once.
 */
static bool keep_spare(bf_emu_flight *flight, uint64_t address, uint64_t bytes) {
  pthread_mutex_lock(&flight->lock);
  bool fits = flight->spares < flight->spare_capacity,
       is_there = find_spare(flight, 0, address) >= 0;
  if (!fits) {
    size_t capacity = flight->spare_capacity ? 2 * flight->spare_capacity : 64;
    bf_emu_spare *grown = realloc(flight->spare, capacity * sizeof *grown);
    if (grown) {
      flight->spare = grown;
      flight->spare_capacity = capacity;
      fits = true;
    }
  }
  if (fits && !is_there)
    flight->spare[flight->spares++] = (bf_emu_spare){address, bytes};
  pthread_mutex_unlock(&flight->lock);
  return fits;
}

uint64_t bf_emu_heap_take(bf_emu_flight *flight, uint64_t bytes) {
  bf_emu *emu = flight->emu;
  uint64_t address, most = flight->launch->heap_bytes, own = in_units(bytes + !bytes);
  if (own < bytes)
    return 0;
  __atomic_store_n(&emu->has_heap, true, __ATOMIC_RELAXED);
  uint64_t used = __atomic_add_fetch(&emu->heap_bytes, own, __ATOMIC_RELAXED);
  bool fits = !most || (own <= most && used <= most);
  if (fits && ((address = take_spare(flight, bytes + !bytes)) ||
               bf_emu_alloc_heap(emu, bytes, &address) == BF_OK))
    return address;
  __atomic_sub_fetch(&emu->heap_bytes, own, __ATOMIC_RELAXED);
  return 0;
}

bool bf_emu_has_heap(const bf_emu *emu) {
  return __atomic_load_n(&emu->has_heap, __ATOMIC_RELAXED);
}

void bf_emu_forget_heap(bf_emu *emu) {
  emu->has_heap = false;
  emu->heap_bytes = 0;
}

void bf_emu_heap_give(bf_emu_flight *flight, uint64_t address) {
  bf_emu_entry entry;
  bool is_own = bf_emu_find_entry(flight->emu, address, &entry) && entry.is_heap &&
                entry.public.address == address;
  if (is_own)
    __atomic_sub_fetch(&flight->emu->heap_bytes, in_units(entry.public.bytes), __ATOMIC_RELAXED);
  if (!is_own || flight->races || !keep_spare(flight, address, entry.public.bytes))
    bf_emu_give_back(flight, address);
}

void bf_emu_give_back(bf_emu_flight *flight, uint64_t address) {
  pthread_mutex_lock(&flight->lock);
  if (flight->garbage_count == flight->garbage_capacity) {
    size_t capacity = flight->garbage_capacity ? 2 * flight->garbage_capacity : 64;
    uint64_t *grown = realloc(flight->garbage, capacity * sizeof *grown);
    if (grown) {
      flight->garbage = grown;
      flight->garbage_capacity = capacity;
    }
  }
  if (address && flight->garbage_count < flight->garbage_capacity)
    flight->garbage[flight->garbage_count++] = address;
  pthread_mutex_unlock(&flight->lock);
}

void bf_emu_heap_close(bf_emu_flight *flight) {
  for (size_t i = 0; i < flight->spares; i++)
    bf_emu_give_back(flight, flight->spare[i].address);
  bf_emu_release_all(flight->emu, flight->garbage, flight->garbage_count);
  free(flight->garbage);
  free(flight->spare);
}
