/* Workloads: accesses in the order of their first occurrence, each kept once with its count, found
 * again through a hash table with linear probing. Accesses stand in blocks that never move. */
#include "access/access.h"
#include "access/intern.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_ACCESSES = 1024, DISTINCT_MAX = 1 << 23 };

/* A slot of the table: number + 1 (0: empty), and bits of the hash that spare most comparisons. */
typedef struct slot {
  uint32_t number;
  uint32_t hash;
} slot;

struct bf_workload {
  bf_access **blocks;
  size_t block_count;
  size_t size;
  slot *slots;
  size_t slot_count;
  bf_sites sites;
  uint64_t executions; /* the sum of all counts */
};

int bf_workload_create(bf_workload **workload) {
  *workload = calloc(1, sizeof **workload);
  return *workload ? BF_OK : BF_NO_MEMORY;
}

void bf_workload_free(bf_workload *workload) {
  if (!workload)
    return;
  for (size_t i = 0; i < workload->block_count; i++)
    free(workload->blocks[i]);
  free(workload->blocks);
  free(workload->slots);
  bf_sites_free(&workload->sites);
  free(workload);
}

size_t bf_workload_size(const bf_workload *workload) { return workload->size; }

static bf_access *entry(const bf_workload *workload, size_t index) {
  return &workload->blocks[index / BLOCK_ACCESSES][index % BLOCK_ACCESSES];
}

const bf_access *bf_workload_get(const bf_workload *workload, size_t index) {
  return index < workload->size ? entry(workload, index) : NULL;
}

/* Bytes of address[] up to the last active lane. */
static size_t address_bytes(const bf_access *access) {
  return (size_t)(64 - __builtin_clzll(access->mask)) * sizeof access->address[0];
}

static uint32_t hash_of(const bf_access *access) {
  uint64_t head[3] = {(uint64_t)access->op << 8 | access->width_bytes, access->mask,
                      (uint64_t)(uintptr_t)access->site};
  uint64_t seed = bf_mix(head, sizeof head, 0);
  return (uint32_t)bf_mix(access->address, address_bytes(access), seed);
}

/* Same operation, width, mask, site (kept once each) and addresses; inactive lanes hold 0. */
static bool is_same(const bf_access *a, const bf_access *b) {
  return a->op == b->op && a->width_bytes == b->width_bytes && a->mask == b->mask &&
         a->site == b->site && memcmp(a->address, b->address, address_bytes(a)) == 0;
}

/* Keeps at least half of the slots empty. */
static int grow_slots(bf_workload *workload) {
  if ((workload->size + 1) * 2 <= workload->slot_count)
    return BF_OK;
  size_t slot_count = workload->slot_count ? workload->slot_count * 2 : 64;
  slot *slots = calloc(slot_count, sizeof *slots);
  if (!slots)
    return BF_NO_MEMORY;
  for (size_t i = 0; i < workload->slot_count; i++) {
    size_t at = workload->slots[i].hash & (slot_count - 1);
    while (workload->slots[i].number && slots[at].number)
      at = (at + 1) & (slot_count - 1);
    if (workload->slots[i].number)
      slots[at] = workload->slots[i];
  }
  free(workload->slots);
  workload->slots = slots;
  workload->slot_count = slot_count;
  return BF_OK;
}

/* Makes room for one more access. */
static int grow_blocks(bf_workload *workload) {
  if (workload->size < workload->block_count * BLOCK_ACCESSES)
    return BF_OK;
  size_t bytes = (workload->block_count + 1) * sizeof *workload->blocks;
  bf_access **blocks = realloc(workload->blocks, bytes);
  if (!blocks)
    return BF_NO_MEMORY;
  workload->blocks = blocks;
  blocks[workload->block_count] = malloc(BLOCK_ACCESSES * sizeof **blocks);
  if (!blocks[workload->block_count])
    return BF_NO_MEMORY;
  workload->block_count++;
  return BF_OK;
}

/* The slot of an access equal to this one, or the empty slot where it belongs. */
static slot *find_slot(const bf_workload *workload, const bf_access *access, uint32_t hash) {
  size_t at = hash & (workload->slot_count - 1);
  for (;; at = (at + 1) & (workload->slot_count - 1)) {
    slot *found = &workload->slots[at];
    if (!found->number ||
        (found->hash == hash && is_same(entry(workload, found->number - 1), access)))
      return found;
  }
}

/* Copies an access with the workload's own site and zeros for inactive lanes. */
static int normalise(bf_workload *workload, const bf_access *access, bf_access *own) {
  *own = *access;
  if (access->mask >> 32 == 0)
    memset(own->address + 32, 0, 32 * sizeof own->address[0]);
  for (uint64_t left = ~access->mask & (access->mask >> 32 ? UINT64_MAX : UINT32_MAX); left;
       left &= left - 1)
    own->address[__builtin_ctzll(left)] = 0;
  if (!access->site)
    return BF_OK;
  uint32_t number;
  int error = bf_sites_intern(&workload->sites, access->site, strlen(access->site), &number);
  if (!error)
    own->site = bf_sites_text(&workload->sites, number);
  return error;
}

static int insert(bf_workload *workload, const bf_access *own, uint32_t hash, slot *place) {
  if (workload->size == DISTINCT_MAX)
    return BF_UNSUPPORTED;
  if (grow_blocks(workload) != BF_OK)
    return BF_NO_MEMORY;
  *entry(workload, workload->size) = *own;
  workload->size++;
  *place = (slot){(uint32_t)workload->size, hash};
  return BF_OK;
}

int bf_workload_add(bf_workload *workload, const bf_access *access) {
  size_t unused;
  return bf_workload_place(workload, access, &unused);
}

void bf_workload_count(bf_workload *workload, size_t index, uint64_t more) {
  entry(workload, index)->count += more;
  workload->executions += more;
}

int bf_workload_place(bf_workload *workload, const bf_access *access, size_t *index) {
  const bf_trace_limits any = {.lanes = BF_MAX_LANES, .allocation_bytes = UINT64_MAX};
  int fault;
  if (bf_access_check(access, &any, &fault, NULL) != BF_OK ||
      access->count > BF_EXECUTIONS_MAX - workload->executions)
    return BF_BAD_INPUT;
  bf_access own;
  int error = normalise(workload, access, &own);
  if (error)
    return error;
  if (grow_slots(workload) != BF_OK)
    return BF_NO_MEMORY;
  uint32_t hash = hash_of(&own);
  slot *place = find_slot(workload, &own, hash);
  if (place->number)
    entry(workload, place->number - 1)->count += own.count;
  else
    error = insert(workload, &own, hash, place);
  if (!error) {
    workload->executions += own.count;
    *index = place->number - 1;
  }
  return error;
}

int bf_workload_write(const bf_workload *workload, const char *path, bf_diagnostic *diagnostic) {
  bf_trace_writer *writer;
  int error = bf_trace_writer_open(path, false, &writer, diagnostic);
  for (size_t i = 0; !error && i < bf_workload_size(workload); i++)
    error = bf_trace_writer_add(writer, bf_workload_get(workload, i), diagnostic);
  if (!error)
    error = bf_trace_writer_commit(writer, diagnostic);
  bf_trace_writer_close(writer);
  return error;
}
