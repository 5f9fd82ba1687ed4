/* Distinct strings in a hash table with linear probing, numbered in the order of first use. */
#include "access/intern.h"

#include <stdlib.h>
#include <string.h>

typedef struct bf_site {
  const char *text;
  uint32_t length;
  uint32_t hash;
} bf_site;

/* Whole pieces of 32 bytes, four numbers beside each other, which do not wait for one another. */
static uint64_t mix_lines(const unsigned char **bytes, size_t *size) {
  uint64_t hash[4] = {1, 2, 3, 4}, piece[4];
  for (; *size >= sizeof piece; *bytes += sizeof piece, *size -= sizeof piece) {
    memcpy(piece, *bytes, sizeof piece);
    for (unsigned i = 0; i < 4; i++) {
      hash[i] = (hash[i] ^ piece[i]) * 0xD6E8FEB86659FD93u;
      hash[i] ^= hash[i] >> 32;
    }
  }
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; i++)
    result = (result ^ hash[i]) * 0x9E3779B97F4A7C15u;
  return result ^ result >> 32;
}

uint64_t bf_mix(const void *bytes, size_t size, uint64_t seed) {
  const unsigned char *at = bytes;
  uint64_t hash = (seed ^ size) * 0x9E3779B97F4A7C15u;
  if (size >= 64)
    hash ^= mix_lines(&at, &size);
  for (; size >= 8; at += 8, size -= 8) {
    uint64_t piece;
    memcpy(&piece, at, 8);
    hash = (hash ^ piece) * 0xD6E8FEB86659FD93u;
    hash ^= hash >> 32;
  }
  uint64_t rest = 0;
  memcpy(&rest, at, size);
  hash = (hash ^ rest) * 0xD6E8FEB86659FD93u;
  return hash ^ hash >> 32;
}

/* Makes room for one more entry. */
static int grow_entries(bf_sites *sites) {
  if (sites->count < sites->capacity)
    return BF_OK;
  uint32_t capacity = sites->capacity ? sites->capacity * 2 : 16;
  bf_site *entries = realloc(sites->entries, capacity * sizeof *entries);
  if (!entries)
    return BF_NO_MEMORY;
  sites->entries = entries;
  sites->capacity = capacity;
  return BF_OK;
}

/* Keeps at least half of the slots empty, so that probing ends soon. */
static int grow_slots(bf_sites *sites) {
  if ((sites->count + 1) * 2 <= sites->slot_count)
    return BF_OK;
  uint32_t slot_count = sites->slot_count ? sites->slot_count * 2 : 32;
  uint32_t *slots = calloc(slot_count, sizeof *slots);
  if (!slots)
    return BF_NO_MEMORY;
  for (uint32_t number = 0; number < sites->count; number++) {
    uint32_t slot = sites->entries[number].hash & (slot_count - 1);
    while (slots[slot])
      slot = (slot + 1) & (slot_count - 1);
    slots[slot] = number + 1;
  }
  free(sites->slots);
  sites->slots = slots;
  sites->slot_count = slot_count;
  return BF_OK;
}

static bool matches(const bf_site *site, const char *bytes, size_t length, uint32_t hash) {
  return site->hash == hash && site->length == length && memcmp(site->text, bytes, length) == 0;
}

static int add(bf_sites *sites, const char *bytes, size_t length, uint32_t hash) {
  if (sites->count == BF_SITES_MAX || length >= BF_SITES_MAX_BYTES - sites->bytes)
    return BF_UNSUPPORTED;
  char *text = bf_arena_alloc(&sites->arena, length + 1);
  if (!text || grow_entries(sites) != BF_OK)
    return BF_NO_MEMORY;
  memcpy(text, bytes, length);
  sites->bytes += length + 1;
  sites->entries[sites->count++] = (bf_site){text, (uint32_t)length, hash};
  return BF_OK;
}

int bf_sites_intern(bf_sites *sites, const char *bytes, size_t length, uint32_t *number) {
  if (grow_slots(sites) != BF_OK)
    return BF_NO_MEMORY;
  uint32_t hash = (uint32_t)bf_mix(bytes, length, 0);
  uint32_t slot = hash & (sites->slot_count - 1);
  while (sites->slots[slot]) {
    *number = sites->slots[slot] - 1;
    if (matches(&sites->entries[*number], bytes, length, hash))
      return BF_OK;
    slot = (slot + 1) & (sites->slot_count - 1);
  }
  BF_TRY(add(sites, bytes, length, hash));
  *number = sites->count - 1;
  sites->slots[slot] = sites->count;
  return BF_OK;
}

static size_t near_place(const char *text) {
  return (uintptr_t)text * 0x9E3779B97F4A7C15u >> (64 - BF_SITES_NEAR_BITS);
}

bool bf_sites_find_near(const bf_sites *sites, const char *text, uint32_t *number) {
  uint32_t known = sites->near[near_place(text)];
  *number = known - 1;
  return known && strcmp(sites->entries[known - 1].text, text) == 0;
}

void bf_sites_note_near(bf_sites *sites, const char *text, uint32_t number) {
  sites->near[near_place(text)] = number + 1;
}

const char *bf_sites_text(const bf_sites *sites, uint32_t number) {
  return sites->entries[number].text;
}

void bf_sites_free(bf_sites *sites) {
  bf_arena_free(&sites->arena);
  free(sites->entries);
  free(sites->slots);
  *sites = (bf_sites){0};
}

const char *bf_site_fault(const char *bytes, size_t length, size_t *at) {
  *at = 0;
  if (length == 0)
    return "the site is empty";
  if (length > BF_SITE_MAX_BYTES)
    return "the site is longer than 4096 bytes";
  for (; *at < length; ++*at) {
    unsigned char byte = (unsigned char)bytes[*at];
    if (byte <= ' ' || byte == 127)
      return "a site holds no white space and no control characters";
  }
  return NULL;
}
