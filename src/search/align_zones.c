/* The symmetry of conflicts in the base address: zones, representatives, and the way back. */
#include "search/align.h"

#include <stdlib.h>
#include <string.h>

/* Adds a zone unless it is empty. */
static void add_zone(bf_align_zones *zones, bf_align_zone zone) {
  if (zone.low <= zone.high)
    zones->zone[zones->count++] = zone;
}

/* Patterns inside the allocation, extent < 2^address_bits. The smallest block that can hold a
 * pattern has 2^K > extent words; in larger blocks only the bases around the middle 2^(K-1) are
 * new; bases around the end of the allocation wrap, which again is a mirror about that end. */
static void add_block_zones(bf_align_zones *zones, unsigned address_bits, uint64_t extent) {
  unsigned smallest = 0;
  while ((uint64_t)1 << smallest <= extent)
    smallest++;
  uint64_t block = (uint64_t)1 << smallest;
  add_zone(zones, (bf_align_zone){.period = block,
                                  .high = block - 1 - extent,
                                  .split = extent ? block / 2 : 0,
                                  .mirrored = true});
  if (extent == 0)
    return;
  for (unsigned bits = smallest; bits <= address_bits; bits++) {
    uint64_t split = (uint64_t)1 << bits;
    add_zone(zones, (bf_align_zone){.period = bits < address_bits ? 2 * split : split,
                                    .low = split - extent,
                                    .high = split - 1,
                                    .split = split,
                                    .mirrored = true});
  }
}

/* Patterns that wrap at every base. Complementing all address bits takes word a to -1 - a modulo
 * the allocation, hence base b to -1 - extent - b: a mirror on the circle, with two centres. */
static void add_wrapped_zones(bf_align_zones *zones, uint64_t allocation, uint64_t extent) {
  uint64_t turn = (allocation - 1 - extent % allocation) % allocation;
  add_zone(zones, (bf_align_zone){.period = allocation, .high = turn, .mirrored = true});
  add_zone(zones,
           (bf_align_zone){
               .period = allocation, .low = turn + 1, .high = allocation - 1, .mirrored = true});
}

bf_align_zones bf_align_find_zones(const bf_hash *hash, uint64_t extent, bool use_symmetry) {
  bf_align_zones zones = {0};
  uint64_t allocation = (uint64_t)1 << hash->geometry.address_bits;
  if (!use_symmetry || hash->kind != BF_HASH_LINEAR)
    add_zone(&zones, (bf_align_zone){.high = INT64_MAX});
  else if (extent < allocation)
    add_block_zones(&zones, hash->geometry.address_bits, extent);
  else
    add_wrapped_zones(&zones, allocation, extent);
  return zones;
}

uint64_t bf_align_residue(const bf_align_zone *zone, uint64_t base) {
  return zone->period ? base & (zone->period - 1) : base;
}

uint64_t bf_align_middle(const bf_align_zone *zone) {
  return zone->mirrored ? zone->low + (zone->high - zone->low) / 2 : zone->high;
}

/* The residue on the other side of the zone's centre. */
static uint64_t mirror(const bf_align_zone *zone, uint64_t residue) {
  return zone->low + (zone->high - residue);
}

/* Marks the representatives of residues from..to, clipped to the zone. What is marked stays one
 * interval: parts of a range in different blocks meet at a border of the zone, which is folded
 * onto low. */
static void need_residues(bf_align_zone *zone, uint64_t from, uint64_t to) {
  uint64_t middle = bf_align_middle(zone);
  if (from < zone->low)
    from = zone->low;
  if (to > zone->high)
    to = zone->high;
  if (from > to)
    return;
  uint64_t first = from, last = to;
  if (from > middle) {
    first = mirror(zone, to);
    last = mirror(zone, from);
  } else if (to > middle) {
    first = mirror(zone, to) < from ? mirror(zone, to) : from;
    last = middle;
  }
  zone->first = zone->needed && zone->first < first ? zone->first : first;
  zone->last = zone->needed && zone->last > last ? zone->last : last;
  zone->needed = true;
}

void bf_align_need(bf_align_zones *zones, uint64_t from, uint64_t to) {
  for (unsigned i = 0; i < zones->count; i++) {
    bf_align_zone *zone = &zones->zone[i];
    uint64_t first = bf_align_residue(zone, from), last = bf_align_residue(zone, to);
    uint64_t blocks = zone->period ? to / zone->period - from / zone->period : 0;
    if (blocks == 0) {
      need_residues(zone, first, last);
      continue;
    }
    need_residues(zone, first, zone->high);
    need_residues(zone, zone->low, last);
    if (blocks > 1)
      need_residues(zone, zone->low, zone->high);
  }
}

/* Number of representatives needed of one zone. */
static uint64_t needed_of(const bf_align_zone *zone) {
  return zone->needed ? zone->last - zone->first + 1 : 0;
}

uint64_t bf_align_needed(const bf_align_zones *zones) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < zones->count; i++)
    sum += needed_of(&zones->zone[i]);
  return sum;
}

int bf_align_zones_allocate(bf_align_zones *zones) {
  for (unsigned i = 0; i < zones->count; i++) {
    bf_align_zone *zone = &zones->zone[i];
    if (!zone->needed)
      continue;
    zone->conflicts = calloc(needed_of(zone), sizeof *zone->conflicts);
    if (!zone->conflicts)
      return BF_NO_MEMORY;
  }
  return BF_OK;
}

void bf_align_zones_free(bf_align_zones *zones) {
  for (unsigned i = 0; i < zones->count; i++) {
    free(zones->zone[i].conflicts);
    zones->zone[i].conflicts = NULL;
  }
}

const bf_align_zone *bf_align_zone_of(const bf_align_zones *zones, uint64_t base) {
  const bf_align_zone *zone = zones->zone;
  for (;; zone++) {
    uint64_t residue = bf_align_residue(zone, base);
    if (residue >= zone->low && residue <= zone->high)
      return zone;
  }
}

/* out[i] = conflicts at residue + i, all inside the zone. */
static void read_zone(const bf_align_zone *zone, uint64_t residue, uint64_t length, uint32_t *out) {
  uint64_t middle = bf_align_middle(zone);
  uint64_t below = residue > middle ? 0 : middle - residue + 1;
  if (below > length)
    below = length;
  if (below)
    memcpy(out, zone->conflicts + (residue - zone->first), below * sizeof *out);
  if (below == length)
    return;
  const uint32_t *mirrored = zone->conflicts + (mirror(zone, residue + below) - zone->first);
  for (uint64_t i = below; i < length; i++)
    out[i] = *mirrored--;
}

void bf_align_read(const bf_align_zones *zones, uint64_t base, uint64_t length, uint32_t *out) {
  while (length) {
    const bf_align_zone *zone = bf_align_zone_of(zones, base);
    uint64_t residue = bf_align_residue(zone, base);
    uint64_t left = zone->high - residue;
    uint64_t part = left < length - 1 ? left + 1 : length;
    read_zone(zone, residue, part, out);
    base += part;
    out += part;
    length -= part;
  }
}
