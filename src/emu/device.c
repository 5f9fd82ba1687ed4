/* Memory that kernels may use: ranges of the host's address space, sorted by address. Small blocks
 * are kept for a while after they are freed, so that a kernel that still uses one is caught. */
#include "emu/device.h"
#include "emu/isa.h"
#include "emu/race.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { SMALL_BYTES = 1 << 20 };

int bf_emu_create(bf_emu **emu, bf_diagnostic *diagnostic) {
  bf_emu *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  pthread_rwlock_init(&made->lock, NULL);
  made->isa = bf_emu_isa_find(NULL);
  made->crew = bf_crew_create();
  *emu = made;
  return BF_OK;
}

bool bf_emu_choose(bf_emu *emu, const char *name) {
  const bf_emu_isa *isa = bf_emu_isa_find(name);
  if (isa)
    emu->isa = isa;
  return isa != NULL;
}

void bf_emu_free(bf_emu *emu) {
  if (!emu)
    return;
  bf_crew_free(emu->crew);
  while (emu->modules)
    bf_emu_unload(emu->modules);
  bf_race_forget(emu);
  for (size_t i = 0; i < emu->ranges; i++)
    if (emu->range[i].public.memory == BF_EMU_DEVICE)
      free((void *)(uintptr_t)emu->range[i].public.address);
  for (unsigned i = 0; i < BF_EMU_FREED; i++)
    if (emu->freed[i].is_kept)
      free((void *)(uintptr_t)emu->freed[i].first);
  for (size_t i = 0; i < emu->textures; i++)
    free(emu->texture[i].texture);
  free(emu->texture);
  free(emu->range);
  pthread_rwlock_destroy(&emu->lock);
  free(emu);
}

/* Index of the first range that ends behind address. */
static size_t search(const bf_emu *emu, uint64_t address) {
  size_t low = 0, high = emu->ranges;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const bf_emu_range *range = &emu->range[middle].public;
    if (range->address + range->bytes <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Adds a range; the lock is held. */
static int add_range(bf_emu *emu, const bf_emu_entry *entry, bf_diagnostic *diagnostic) {
  size_t at = search(emu, entry->public.address);
  if (at < emu->ranges &&
      emu->range[at].public.address < entry->public.address + entry->public.bytes)
    return bf_fail(diagnostic, BF_BAD_INPUT, "the memory overlaps memory that is known already");
  if (emu->ranges == emu->capacity) {
    size_t capacity = emu->capacity ? 2 * emu->capacity : 64;
    bf_emu_entry *grown = realloc(emu->range, capacity * sizeof *grown);
    if (!grown)
      return bf_no_memory(diagnostic);
    emu->range = grown;
    emu->capacity = capacity;
  }
  memmove(emu->range + at + 1, emu->range + at, (emu->ranges - at) * sizeof *emu->range);
  emu->range[at] = *entry;
  emu->range[at].public.serial = emu->next_serial++;
  emu->ranges++;
  return BF_OK;
}

/* Forgets that [first, first + bytes) was freed: it is in use again. */
static void forget_freed(bf_emu *emu, uint64_t first, uint64_t bytes) {
  for (unsigned i = 0; i < BF_EMU_FREED; i++)
    if (!emu->freed[i].is_kept && emu->freed[i].first < first + bytes && first < emu->freed[i].end)
      emu->freed[i] = (bf_emu_freed){0};
}

int bf_emu_add(bf_emu *emu, const bf_emu_entry *entry, bf_diagnostic *diagnostic) {
  pthread_rwlock_wrlock(&emu->lock);
  int error = add_range(emu, entry, diagnostic);
  if (!error) {
    forget_freed(emu, entry->public.address, entry->public.bytes);
    if (entry->public.memory == BF_EMU_DEVICE)
      emu->used_bytes += entry->public.bytes;
  }
  pthread_rwlock_unlock(&emu->lock);
  return error;
}

/* Allocations from PAGED_BYTES on have whole pages for themselves, so that these can be shared with
 * another process. From HUGE_BYTES on they ask for large pages: kernels reach into them at random,
 * and the host can remember few small pages. */
enum { PAGED_BYTES = 1 << 14, PAGE_BYTES = 4096, HUGE_BYTES = 1 << 21 };

static int allocate(bf_emu *emu, uint64_t bytes, unsigned flags, bool is_heap, uint64_t *address,
                    bf_diagnostic *diagnostic) {
  void *memory = NULL;
  if (bytes == 0)
    bytes = 1;
  size_t unit = bytes < PAGED_BYTES ? 512 : PAGE_BYTES, whole = (bytes + unit - 1) & ~(unit - 1);
  if (bytes > (UINT64_C(1) << 46) ||
      posix_memalign(&memory, bytes < HUGE_BYTES ? unit : HUGE_BYTES, whole))
    return bf_fail(diagnostic, BF_NO_MEMORY, "no %llu bytes of device memory",
                   (unsigned long long)bytes);
#ifdef MADV_HUGEPAGE /* of Linux, and a wish: nothing depends on it */
  if (bytes >= HUGE_BYTES)
    madvise(memory, whole, MADV_HUGEPAGE);
#endif
  bf_emu_entry entry = {.public = {(uintptr_t)memory, bytes, BF_EMU_DEVICE, flags, 0, false},
                        .is_heap = is_heap};
  int error = bf_emu_add(emu, &entry, diagnostic);
  if (error)
    free(memory);
  else
    *address = (uintptr_t)memory;
  return error;
}

int bf_emu_alloc(bf_emu *emu, uint64_t bytes, unsigned flags, uint64_t *address,
                 bf_diagnostic *diagnostic) {
  return allocate(emu, bytes, flags, false, address, diagnostic);
}

int bf_emu_alloc_heap(bf_emu *emu, uint64_t bytes, uint64_t *address) {
  return allocate(emu, bytes, 0, true, address, NULL);
}

int bf_emu_register(bf_emu *emu, void *memory, uint64_t bytes, unsigned flags,
                    bf_diagnostic *diagnostic) {
  if (!memory || bytes == 0 || (uintptr_t)memory + bytes < (uintptr_t)memory)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no memory to register");
  bf_emu_entry entry = {.public = {(uintptr_t)memory, bytes, BF_EMU_HOST, flags, 0, false}};
  return bf_emu_add(emu, &entry, diagnostic);
}

size_t bf_emu_ranges(const bf_emu *emu, bf_emu_range *list, size_t most) {
  pthread_rwlock_t *lock = (pthread_rwlock_t *)(uintptr_t)&emu->lock;
  pthread_rwlock_rdlock(lock);
  size_t count = emu->ranges;
  for (size_t i = 0; i < count && i < most; i++)
    list[i] = emu->range[i].public;
  pthread_rwlock_unlock(lock);
  return count;
}

/* Remembers freed device memory; returns what should really be freed now. */
static void *remember_freed(bf_emu *emu, const bf_emu_range *range) {
  bf_emu_freed *slot = &emu->freed[emu->next_freed++ % BF_EMU_FREED];
  void *old = slot->is_kept ? (void *)(uintptr_t)slot->first : NULL;
  bool is_small = range->bytes <= SMALL_BYTES;
  *slot = (bf_emu_freed){range->address, range->address + range->bytes, is_small};
  if (is_small)
    return old;
  free(old);
  return (void *)(uintptr_t)range->address;
}

int bf_emu_release(bf_emu *emu, uint64_t address, bf_diagnostic *diagnostic) {
  pthread_rwlock_wrlock(&emu->lock);
  size_t at = search(emu, address);
  void *garbage = NULL;
  int error = BF_OK;
  if (at == emu->ranges || emu->range[at].public.address != address ||
      emu->range[at].public.memory == BF_EMU_VARIABLE) {
    error = bf_fail(diagnostic, BF_BAD_INPUT, "no memory starts at 0x%llx",
                    (unsigned long long)address);
  } else {
    bf_emu_range range = emu->range[at].public;
    emu->ranges--;
    memmove(emu->range + at, emu->range + at + 1, (emu->ranges - at) * sizeof *emu->range);
    if (range.memory == BF_EMU_DEVICE) {
      emu->used_bytes -= range.bytes;
      garbage = remember_freed(emu, &range);
    }
  }
  pthread_rwlock_unlock(&emu->lock);
  free(garbage);
  return error;
}

static int compare_addresses(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

void bf_emu_release_all(bf_emu *emu, uint64_t *address, size_t count) {
  if (!count)
    return;
  qsort(address, count, sizeof *address, compare_addresses);
  pthread_rwlock_wrlock(&emu->lock);
  size_t kept = 0, next = 0;
  for (size_t i = 0; i < emu->ranges; i++) {
    const bf_emu_range range = emu->range[i].public;
    while (next < count && address[next] < range.address)
      next++;
    if (next == count || address[next] != range.address || range.memory != BF_EMU_DEVICE) {
      emu->range[kept++] = emu->range[i];
      continue;
    }
    emu->used_bytes -= range.bytes;
    free(remember_freed(emu, &range));
  }
  emu->ranges = kept;
  pthread_rwlock_unlock(&emu->lock);
}

void bf_emu_remove_variables(bf_emu *emu, uint64_t first, uint64_t end) {
  pthread_rwlock_wrlock(&emu->lock);
  size_t kept = 0;
  for (size_t i = 0; i < emu->ranges; i++) {
    const bf_emu_range *range = &emu->range[i].public;
    if (range->memory != BF_EMU_VARIABLE || range->address < first || range->address >= end)
      emu->range[kept++] = emu->range[i];
  }
  emu->ranges = kept;
  pthread_rwlock_unlock(&emu->lock);
}

bool bf_emu_find_entry(bf_emu *emu, uint64_t address, bf_emu_entry *entry) {
  pthread_rwlock_rdlock(&emu->lock);
  size_t at = search(emu, address);
  bool found = at < emu->ranges && emu->range[at].public.address <= address;
  if (found)
    *entry = emu->range[at];
  pthread_rwlock_unlock(&emu->lock);
  return found;
}

bool bf_emu_find(const bf_emu *emu, uint64_t address, bf_emu_range *range) {
  bf_emu_entry entry;
  bool found = bf_emu_find_entry((bf_emu *)(uintptr_t)emu, address, &entry);
  if (found)
    *range = entry.public;
  return found;
}

bool bf_emu_was_freed(bf_emu *emu, uint64_t address) {
  bool found = false;
  pthread_rwlock_rdlock(&emu->lock);
  for (unsigned i = 0; i < BF_EMU_FREED && !found; i++)
    found = emu->freed[i].first <= address && address < emu->freed[i].end;
  pthread_rwlock_unlock(&emu->lock);
  return found;
}

uint64_t bf_emu_used_bytes(const bf_emu *emu) { return emu->used_bytes; }

/* ---- Textures ---- */

/* Whether a place is free, and had textures with these levels, or with others. */
static bool is_free(const bf_emu_slot *slot, const bf_emu_texture *texture, unsigned levels,
                    bool is_same) {
  return !slot->is_used &&
         (slot->texture && slot->texture->levels == levels &&
          memcmp(slot->texture, texture, levels * sizeof *texture) == 0) == is_same;
}

/* A free place in the table of textures, if possible one that had the same before; false where
 * memory is exhausted. */
static bool find_place(bf_emu *emu, const bf_emu_texture *texture, unsigned levels, size_t *place) {
  for (unsigned again = 0; again < 2; again++)
    for (*place = 0; *place < emu->textures; ++*place)
      if (is_free(&emu->texture[*place], texture, levels, again == 0))
        return true;
  if (emu->textures == emu->texture_capacity) {
    size_t capacity = emu->texture_capacity ? 2 * emu->texture_capacity : 16;
    bf_emu_slot *grown = realloc(emu->texture, capacity * sizeof *grown);
    if (!grown)
      return false;
    emu->texture = grown;
    emu->texture_capacity = capacity;
  }
  emu->texture[emu->textures++] = (bf_emu_slot){NULL, 0, false};
  return true;
}

/* Whether a texture may have such texels. */
static bool is_texture(const bf_emu_texture *texture) {
  unsigned bits = texture->channel_bits, channels = texture->channels;
  return (bits == 8 || bits == 16 || bits == 32) &&
         (channels == 1 || channels == 2 || channels == 4) &&
         (texture->kind != BF_EMU_TEXEL_FLOAT || bits != 8) && texture->width > 0 &&
         texture->height > 0 && texture->depth > 0 &&
         (!texture->is_cube || texture->depth % 6 == 0);
}

int bf_emu_texture_add(bf_emu *emu, const bf_emu_texture *texture, uint64_t *handle,
                       bf_diagnostic *diagnostic) {
  size_t place;
  unsigned levels = texture->levels ? texture->levels : 1;
  for (unsigned i = 0; i < levels; i++)
    if (levels > BF_EMU_MOST_LEVELS || !is_texture(&texture[i]))
      return bf_fail(diagnostic, BF_BAD_INPUT, "texels of a form that no texture has");
  bf_emu_texture *made = malloc(levels * sizeof *made);
  if (made) {
    memcpy(made, texture, levels * sizeof *made);
    made->levels = levels;
  }
  if (!made || !find_place(emu, made, levels, &place)) {
    free(made);
    return bf_no_memory(diagnostic);
  }
  bf_emu_slot *slot = &emu->texture[place];
  bool is_same = is_free(slot, made, levels, true);
  free(slot->texture);
  *slot = (bf_emu_slot){made, slot->version + !is_same, true};
  *handle = (uint64_t)(slot->version - 1) << 32 | (place + 1);
  return BF_OK;
}

const bf_emu_texture *bf_emu_texture_find(const bf_emu *emu, uint64_t handle) {
  uint32_t place = (uint32_t)handle - 1;
  const bf_emu_slot *slot = place < emu->textures ? &emu->texture[place] : NULL;
  return slot && slot->is_used && slot->version - 1 == handle >> 32 ? slot->texture : NULL;
}

bool bf_emu_texture_remove(bf_emu *emu, uint64_t handle) {
  if (!bf_emu_texture_find(emu, handle))
    return false;
  emu->texture[(uint32_t)handle - 1].is_used = false;
  return true;
}
