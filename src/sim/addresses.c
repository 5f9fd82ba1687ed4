/* Addresses that do not depend on where the host put things. */
#include "sim/addresses.h"

#include <stdlib.h>

enum { FIRST = 1 << 20, ALIGNMENT = 512 };

static int by_serial(const void *a, const void *b) {
  uint64_t x = (*(const bf_emu_range *const *)a)->serial;
  uint64_t y = (*(const bf_emu_range *const *)b)->serial;
  return (x > y) - (x < y);
}

int bf_sim_addresses_create(const bf_emu *emu, bf_sim_addresses *addresses,
                            bf_diagnostic *diagnostic) {
  size_t count = bf_emu_ranges(emu, NULL, 0);
  bf_emu_range *range = calloc(count + 1, sizeof *range);
  bf_emu_range **order = calloc(count + 1, sizeof *order);
  addresses->range = calloc(count + 1, sizeof *addresses->range);
  addresses->count = 0;
  if (range && order && addresses->range) {
    addresses->count = bf_emu_ranges(emu, range, count);
    for (size_t i = 0; i < addresses->count; i++)
      order[i] = &range[i];
    qsort(order, addresses->count, sizeof *order, by_serial);
    uint64_t next = FIRST;
    for (size_t i = 0; i < addresses->count; i++) {
      struct bf_sim_range *own = &addresses->range[order[i] - range];
      own->first = order[i]->address;
      own->end = order[i]->address + order[i]->bytes;
      own->moved = next - own->first; /* modulo 2^64 */
      next = (next + order[i]->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
  }
  bool is_complete = range && order && addresses->range;
  free(range);
  free(order);
  return is_complete ? BF_OK : bf_no_memory(diagnostic);
}

void bf_sim_addresses_free(bf_sim_addresses *addresses) {
  free(addresses->range);
  *addresses = (bf_sim_addresses){0};
}

const struct bf_sim_range *bf_sim_addresses_find(const bf_sim_addresses *addresses,
                                                 uint64_t address) {
  size_t low = 0, high = addresses->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (addresses->range[middle].end <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low < addresses->count && addresses->range[low].first <= address ? &addresses->range[low]
                                                                          : NULL;
}
