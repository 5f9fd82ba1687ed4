/* Maps of element indices. */
#include "source/suggest.h"

static bool is_power(uint64_t number) { return number && (number & (number - 1)) == 0; }

uint64_t bf_index_place(const bf_index_map *map, uint64_t offset_bytes) {
  uint64_t index = offset_bytes / map->element_bytes, placed = index;
  for (unsigned i = 0; i < map->terms; i++)
    placed ^= (index >> map->term[i].shift) & map->term[i].mask;
  if (map->row_elements)
    placed += index / map->row_elements * map->pad_elements;
  return placed * (map->element_bytes + map->element_pad_bytes) + offset_bytes % map->element_bytes;
}

uint64_t bf_index_growth(const bf_index_map *map, uint64_t bytes) {
  uint64_t elements = bytes / map->element_bytes, more = elements * map->element_pad_bytes;
  return map->row_elements
             ? more + elements / map->row_elements * map->pad_elements * map->element_bytes
             : more;
}

bf_access bf_index_move(const bf_index_map *map, const bf_access *access) {
  bf_access moved = *access;
  for (uint64_t left = access->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    moved.address[lane] = (uint32_t)bf_index_place(map, access->address[lane]);
  }
  return moved;
}

/* The row of bank bit `bit`: the bits of the word address that are XORed to it. */
static uint64_t row_of(const bf_index_map *map, unsigned bit, int element_shift) {
  uint64_t row = UINT64_C(1) << bit;
  int index_bit = (int)bit - element_shift;
  for (unsigned i = 0; i < map->terms; i++)
    if (index_bit >= 0 && map->term[i].mask >> index_bit & 1)
      row ^= UINT64_C(1) << (bit + (unsigned)map->term[i].shift);
  return row;
}

bool bf_index_hash(const bf_index_map *map, const bf_geometry *geometry, bf_hash **hash) {
  uint64_t row[BF_HASH_MAX_BANK_BITS];
  if (!is_power(map->element_bytes) || map->row_elements || map->element_pad_bytes)
    return false;
  /* Bit b of the index is bit b + element_shift of the word address. */
  int element_shift = __builtin_ctz(map->element_bytes) - __builtin_ctz(geometry->word_bytes);
  for (unsigned i = 0; i < geometry->bank_bits; i++)
    row[i] = row_of(map, i, element_shift);
  return bf_hash_from_rows(row, geometry, hash, NULL) == BF_OK;
}
