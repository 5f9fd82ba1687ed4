/* Workloads: accesses in the order of their first occurrence, each kept once with its count, found
 * again through a hash table with linear probing. Accesses stand in blocks that never move. */
#include "access/access.h"
#include "access/intern.h"
#include "access/lanes.h"
#include "base/pages.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_ACCESSES = 1024, DISTINCT_MAX = 1 << 23 };

/* From so many accesses on, memory is taken for this many blocks at once. */
enum { MANY_ACCESSES = 1 << 14, CHUNK_BLOCKS = 32 };

/* A slot of the table: number + 1 (0: empty), and bits of the hash that spare most comparisons. */
typedef struct slot {
  uint32_t number;
  uint32_t hash;
} slot;

/* An access that is looked for. */
typedef struct wanted {
  bf_access access; /* with the workload's own site, and 0 for lanes that are not active */
  size_t bytes;     /* of it that count: up to the last active lane */
  uint32_t hash;
} wanted;

/* Accesses that are looked for together, so that the memory that each needs is on its way. */
enum { MOST_WAITING = 16 };

struct bf_workload {
  char **blocks;
  size_t entry_bytes; /* of an access: whole, or with the lanes that there are */
  size_t block_count; /* the first MANY_ACCESSES / BLOCK_ACCESSES were taken one by one */
  size_t size;
  slot *slots;
  size_t slot_count;
  bf_sites sites;
  uint64_t executions; /* the sum of all counts, also of those that were left out */
  unsigned thinned;    /* accesses are kept whose hash begins with so many zeros */
  unsigned waiting;    /* accesses that are not in a place yet */
  wanted wanted[MOST_WAITING];
  size_t *index[MOST_WAITING]; /* where their index belongs */
};

int bf_workload_create(bf_workload **workload) {
  *workload = calloc(1, sizeof **workload);
  if (!*workload)
    return BF_NO_MEMORY;
  (*workload)->entry_bytes = sizeof(bf_access);
  return BF_OK;
}

int bf_workload_create_narrow(bf_workload **workload) {
  BF_TRY(bf_workload_create(workload));
  (*workload)->entry_bytes = offsetof(bf_access, address[BF_LANES]);
  return BF_OK;
}

/* Memory for so many blocks. Whoever takes a whole access out of a narrow entry reads behind it:
 * there are as many bytes behind the last one. */
static size_t blocks_bytes(const bf_workload *workload, size_t blocks) {
  return blocks * BLOCK_ACCESSES * workload->entry_bytes + sizeof(bf_access) -
         workload->entry_bytes;
}

/* For how many blocks memory is taken with that of a number. */
static size_t blocks_at_once(size_t block) {
  return block < MANY_ACCESSES / BLOCK_ACCESSES ? 1 : CHUNK_BLOCKS;
}

void bf_workload_free(bf_workload *workload) {
  if (!workload)
    return;
  for (size_t i = 0; i < workload->block_count; i += blocks_at_once(i))
    bf_pages_free(workload->blocks[i], blocks_bytes(workload, blocks_at_once(i)));
  free(workload->blocks);
  bf_pages_free(workload->slots, workload->slot_count * sizeof *workload->slots);
  bf_sites_free(&workload->sites);
  free(workload);
}

size_t bf_workload_size(const bf_workload *workload) { return workload->size; }

static bf_access *entry(const bf_workload *workload, size_t index) {
  char *block = workload->blocks[index / BLOCK_ACCESSES];
  return (bf_access *)(void *)(block + index % BLOCK_ACCESSES * workload->entry_bytes);
}

const bf_access *bf_workload_get(const bf_workload *workload, size_t index) {
  return index < workload->size ? entry(workload, index) : NULL;
}

static uint32_t hash_of(const wanted *own, uint32_t site) {
  const bf_access *access = &own->access;
  uint64_t head[3] = {(uint64_t)access->op << 8 | access->width_bytes, access->mask, site};
  uint64_t seed = bf_mix(head, sizeof head, 0);
  return (uint32_t)bf_mix(access->address, own->bytes - offsetof(bf_access, address), seed);
}

/* Same operation, width, mask, site (kept once each) and addresses; inactive lanes hold 0. */
static bool is_same(const bf_access *a, const wanted *own) {
  const bf_access *b = &own->access;
  return a->op == b->op && a->width_bytes == b->width_bytes && a->mask == b->mask &&
         a->site == b->site &&
         memcmp(a->address, b->address, own->bytes - offsetof(bf_access, address)) == 0;
}

/* Keeps at least half of the slots empty, also with the accesses that wait. */
static int grow_slots(bf_workload *workload) {
  if ((workload->size + MOST_WAITING) * 2 <= workload->slot_count)
    return BF_OK;
  size_t slot_count = workload->slot_count ? workload->slot_count * 2 : 64;
  slot *slots = bf_pages_get(slot_count * sizeof *slots);
  if (!slots)
    return BF_NO_MEMORY;
  for (size_t i = 0; i < workload->slot_count; i++) {
    size_t at = workload->slots[i].hash & (slot_count - 1);
    while (workload->slots[i].number && slots[at].number)
      at = (at + 1) & (slot_count - 1);
    if (workload->slots[i].number)
      slots[at] = workload->slots[i];
  }
  bf_pages_free(workload->slots, workload->slot_count * sizeof *slots);
  workload->slots = slots;
  workload->slot_count = slot_count;
  return BF_OK;
}

/* Makes room for one more access. */
static int grow_blocks(bf_workload *workload) {
  if (workload->size < workload->block_count * BLOCK_ACCESSES)
    return BF_OK;
  size_t more = blocks_at_once(workload->block_count);
  char **blocks =
      realloc(workload->blocks, (workload->block_count + more) * sizeof *workload->blocks);
  if (!blocks)
    return BF_NO_MEMORY;
  workload->blocks = blocks;
  char *fresh = bf_pages_get(blocks_bytes(workload, more));
  if (!fresh)
    return BF_NO_MEMORY;
  for (size_t i = 0; i < more; i++)
    blocks[workload->block_count + i] = fresh + i * BLOCK_ACCESSES * workload->entry_bytes;
  workload->block_count += more;
  return BF_OK;
}

/* The slot of an access equal to this one, or the empty slot where it belongs. */
static slot *find_slot(const bf_workload *workload, const wanted *own) {
  size_t at = own->hash & (workload->slot_count - 1);
  for (;; at = (at + 1) & (workload->slot_count - 1)) {
    slot *found = &workload->slots[at];
    if (!found->number ||
        (found->hash == own->hash && is_same(entry(workload, found->number - 1), own)))
      return found;
  }
}

/* The addresses of the active ones of 32 lanes, 0 for the others; returns their bits, or-ed. */
static uint32_t take_lanes(const uint32_t *address, uint32_t mask, uint32_t *own) {
  uint32_t bits = 0;
  for (unsigned lane = 0; lane < BF_LANES; lane++) {
    own[lane] = address[lane] & (((mask & bf_lane_bit[lane]) == 0) - 1U);
    bits |= own[lane];
  }
  return bits;
}

/* The workload's own text of a site, and its number + 1. */
static int take_site(bf_sites *sites, const char *site, const char **own, uint32_t *number) {
  if (!bf_sites_find_near(sites, site, number)) {
    BF_TRY(bf_sites_intern(sites, site, strlen(site), number));
    bf_sites_note_near(sites, site, *number);
  }
  *own = bf_sites_text(sites, (*number)++);
  return BF_OK;
}

/* What of an access makes it another one than those that are known; BF_BAD_INPUT where no machine
 * could have it. */
static int take(bf_workload *workload, const bf_access *access, wanted *own) {
  uint32_t high = (uint32_t)(access->mask >> BF_LANES), bits, site = 0;
  bf_access *kept = &own->access;
  if ((unsigned)access->op >= BF_OP_COUNT || !access->mask || !access->count ||
      bf_access_check_width(access->op, access->width_bytes, NULL) != BF_OK ||
      (high && workload->entry_bytes < sizeof(bf_access)))
    return BF_BAD_INPUT;
  memcpy(kept, access, offsetof(bf_access, address));
  own->bytes = offsetof(bf_access, address) +
               (size_t)(64 - __builtin_clzll(access->mask)) * sizeof access->address[0];
  bits = take_lanes(access->address, (uint32_t)access->mask, kept->address);
  if (high)
    bits |= take_lanes(access->address + BF_LANES, high, kept->address + BF_LANES);
  if (bits & (access->width_bytes - 1))
    return BF_BAD_INPUT;
  if (access->site)
    BF_TRY(take_site(&workload->sites, access->site, &kept->site, &site));
  own->hash = hash_of(own, site);
  return BF_OK;
}

/* Appends an access, whose memory is zeroed. */
static int insert(bf_workload *workload, const wanted *own, slot *place) {
  if (workload->size == DISTINCT_MAX)
    return BF_UNSUPPORTED;
  if (grow_blocks(workload) != BF_OK)
    return BF_NO_MEMORY;
  memcpy(entry(workload, workload->size), &own->access, own->bytes);
  workload->size++;
  *place = (slot){(uint32_t)workload->size, own->hash};
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

/* Finds or makes the place of an access that waited; *index becomes its number. */
static int settle_one(bf_workload *workload, const wanted *own, size_t *index) {
  slot *place = find_slot(workload, own);
  if (place->number)
    entry(workload, place->number - 1)->count += own->access.count;
  else
    BF_TRY(insert(workload, own, place));
  *index = place->number - 1;
  return BF_OK;
}

int bf_workload_settle(bf_workload *workload) {
  unsigned waiting = workload->waiting;
  workload->waiting = 0;
  for (unsigned i = 0; i < waiting; i++) {
    const wanted *own = &workload->wanted[i];
    const slot *place = &workload->slots[own->hash & (workload->slot_count - 1)];
    if (place->number && place->hash == own->hash)
      __builtin_prefetch(entry(workload, place->number - 1));
  }
  for (unsigned i = 0; i < waiting; i++)
    BF_TRY(settle_one(workload, &workload->wanted[i], workload->index[i]));
  return BF_OK;
}

/* ---- Thinning out ---- */

/* Half of the hashes of before, for each time that accesses were left out. */
static bool is_kept(const bf_workload *workload, uint32_t hash) {
  return workload->thinned == 0 || hash >> (32 - workload->thinned) == 0;
}

/* Moves the accesses that are to be kept together, in their order; to[i] is 1 for each that is, and
 * becomes its new number + 1. The memory behind them is zero again. */
static void close_up(bf_workload *workload, uint32_t *to) {
  uint32_t kept = 0;
  for (size_t i = 0; i < workload->size; i++) {
    if (!to[i])
      continue;
    if (i != kept)
      memcpy(entry(workload, kept), entry(workload, i), workload->entry_bytes);
    to[i] = ++kept;
  }
  for (size_t i = kept; i < workload->size; i++)
    memset(entry(workload, i), 0, workload->entry_bytes);
  workload->size = kept;
}

int bf_workload_thin(bf_workload *workload) {
  enum { MOST_THINNED = 31 };
  BF_TRY(bf_workload_settle(workload));
  if (workload->thinned == MOST_THINNED)
    return BF_UNSUPPORTED;
  uint32_t *to = calloc(workload->size + 1, sizeof *to);
  slot *before = workload->slots;
  slot *slots = bf_pages_get(workload->slot_count * sizeof *slots);
  if (!to || !slots) {
    free(to);
    bf_pages_free(slots, workload->slot_count * sizeof *slots);
    return BF_NO_MEMORY;
  }
  workload->thinned++;
  workload->slots = slots;
  for (size_t i = 0; i < workload->slot_count; i++)
    if (before[i].number)
      to[before[i].number - 1] = is_kept(workload, before[i].hash);
  close_up(workload, to);
  for (size_t i = 0; i < workload->slot_count; i++) {
    uint32_t number = before[i].number ? to[before[i].number - 1] : 0;
    size_t at = before[i].hash & (workload->slot_count - 1);
    while (number && slots[at].number)
      at = (at + 1) & (workload->slot_count - 1);
    if (number)
      slots[at] = (slot){number, before[i].hash};
  }
  bf_pages_free(before, workload->slot_count * sizeof *slots);
  free(to);
  return BF_OK;
}

double bf_workload_kept(const bf_workload *workload) {
  return 1 / (double)((uint64_t)1 << workload->thinned);
}

/* ---- Adding ---- */

int bf_workload_place_later(bf_workload *workload, const bf_access *access, size_t *index) {
  if (workload->waiting == MOST_WAITING)
    BF_TRY(bf_workload_settle(workload));
  if (access->count > BF_EXECUTIONS_MAX - workload->executions)
    return BF_BAD_INPUT;
  if (grow_slots(workload) != BF_OK)
    return BF_NO_MEMORY;
  wanted *own = &workload->wanted[workload->waiting];
  BF_TRY(take(workload, access, own));
  workload->executions += access->count;
  if (!is_kept(workload, own->hash)) {
    *index = BF_WORKLOAD_LEFT_OUT;
    return BF_OK;
  }
  __builtin_prefetch(&workload->slots[own->hash & (workload->slot_count - 1)], 1);
  workload->index[workload->waiting++] = index;
  return BF_OK;
}

int bf_workload_place(bf_workload *workload, const bf_access *access, size_t *index) {
  BF_TRY(bf_workload_place_later(workload, access, index));
  return bf_workload_settle(workload);
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
