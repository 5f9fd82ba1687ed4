/* What is known of memory by who looks for races: words and lines of every allocation, in memory
 * that the host gives when it is touched, and which launches were there. */
#include "emu/device.h"
#include "emu/race_check.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SMALL_BYTES = 1 << 22 };

bf_race_line *bf_race_lines(uint64_t bytes) {
  return calloc(bytes / BF_RACE_LINE_BYTES + 2, sizeof(bf_race_line));
}

static size_t bodies_of(size_t lines) {
  return (lines + BF_RACE_BODIES - 1) / BF_RACE_BODIES * BF_RACE_BODIES;
}

bf_race_body *bf_race_bodies(uint64_t bytes) {
  return calloc(bodies_of(bytes / BF_RACE_LINE_BYTES + 2), sizeof(bf_race_body));
}

/* Words for so many bytes; the last line is whole. */
static size_t words_of(uint64_t bytes) {
  return (size_t)(bytes / BF_RACE_WORD_BYTES) + BF_EMU_LANES + 1;
}

bf_race_word *bf_race_words(uint64_t bytes) {
  return calloc(words_of(bytes), sizeof(bf_race_word));
}

/* What lines of a region of a segment take. */
static uint64_t region_bytes(const bf_race_segment *of, uint64_t region) {
  uint64_t left = of->end - of->first - region * BF_RACE_REGION_BYTES;
  left = left < BF_RACE_REGION_BYTES ? left : BF_RACE_REGION_BYTES;
  return (left / BF_RACE_LINE_BYTES + 2) * (sizeof(bf_race_line) + sizeof(bf_race_body));
}

static size_t words_bytes(const bf_race_segment *of) {
  return words_of(of->end - of->first) * sizeof(bf_race_word);
}

static size_t lines_of(const bf_race_segment *of) {
  return (size_t)((of->end - of->first) / BF_RACE_LINE_BYTES + 2);
}

/* Bodies, and the lines behind them. */
static size_t bodies_bytes(const bf_race_segment *of) {
  size_t lines = lines_of(of);
  return bodies_of(lines) * sizeof(bf_race_body) + lines * sizeof(bf_race_line);
}

static size_t pages_of(const struct bf_race_memory *memory, const bf_race_segment *of) {
  return (size_t)(words_bytes(of) / memory->page_bytes) + 1;
}

static size_t regions_of(const bf_race_segment *of) {
  return (size_t)((of->end - of->first) / BF_RACE_REGION_BYTES) + 1;
}

/* Memory that the host gives when it is touched; is_huge: in large pages, as most of what a first
 * access costs is that a page comes. NULL: there is none. */
static void *reserve(size_t bytes, bool is_huge) {
  void *memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return NULL;
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
  return memory;
}

static void drop(void *memory, size_t bytes) {
  if (memory)
    munmap(memory, bytes);
}

/* Records of a segment: of a small one by malloc, as a process may have only so many pieces of
 * memory of its own, and kernels allocate thousands. */
static void *get(const bf_race_segment *of, size_t bytes, bool is_huge) {
  return words_bytes(of) <= SMALL_BYTES ? calloc(bytes, 1) : reserve(bytes, is_huge);
}

static void give_back(const bf_race_segment *of, void *memory, size_t bytes) {
  if (words_bytes(of) <= SMALL_BYTES)
    free(memory);
  else
    drop(memory, bytes);
}

/* Gives back what a segment has, and what it has taken. */
static void drop_segment(struct bf_race_memory *memory, const bf_race_segment *old) {
  for (size_t i = 0; old->paged && i < pages_of(memory, old); i++)
    memory->bytes -= old->paged[i] ? memory->page_bytes : 0;
  for (size_t i = 0; old->asked && i < regions_of(old); i++)
    memory->bytes -= old->asked[i] == BF_RACE_GRANTED ? region_bytes(old, i) : 0;
  give_back(old, old->word, words_bytes(old));
  give_back(old, old->body, bodies_bytes(old));
  free(old->paged);
  free(old->asked);
}

void bf_race_forget(bf_emu *emu) {
  struct bf_race_memory *memory = emu->race_memory;
  if (!memory)
    return;
  for (size_t i = 0; i < memory->segments; i++)
    drop_segment(memory, &memory->segment[i]);
  drop(memory->maker, BF_RACE_MAKERS * sizeof *memory->maker);
  drop(memory->turn, BF_RACE_MAKERS * sizeof *memory->turn);
  free(memory->segment);
  free(memory->launch);
  free(memory->dropped);
  free(memory->earlier);
  pthread_mutex_destroy(&memory->lock);
  free(memory);
  emu->race_memory = NULL;
}

/* What is known of a device without anything. NULL: out of memory. */
static struct bf_race_memory *create(void) {
  struct bf_race_memory *memory = calloc(1, sizeof *memory);
  long page_bytes = sysconf(_SC_PAGESIZE);
  if (memory) {
    memory->page_bytes = page_bytes > 0 ? (uint64_t)page_bytes : 4096;
    memory->maker = reserve(BF_RACE_MAKERS * sizeof *memory->maker, true);
    memory->turn = reserve(BF_RACE_MAKERS * sizeof *memory->turn, true);
  }
  if (memory && memory->maker && memory->turn) {
    pthread_mutex_init(&memory->lock, NULL);
    return memory;
  }
  if (memory)
    drop(memory->maker, BF_RACE_MAKERS * sizeof *memory->maker);
  free(memory);
  return NULL;
}

/* Forgets what no launch that comes can race with: makers always, what is known of memory where it
 * takes half of what it may. */
static void forget_past(struct bf_race_memory *memory) {
  memory->bytes -= memory->makers * sizeof *memory->maker + memory->turns * sizeof *memory->turn;
  memory->makers = memory->turns = 0;
  if (memory->bytes <= memory->most_bytes / 2 && !memory->is_full)
    return;
  for (size_t i = 0; i < memory->segments; i++)
    drop_segment(memory, &memory->segment[i]);
  memory->segments = 0;
  memory->is_full = false;
}

struct bf_race_memory *bf_race_begin(bf_emu *emu, const bf_emu_launch *launch) {
  struct bf_race_memory *memory = emu->race_memory;
  if (!memory && !(memory = emu->race_memory = create()))
    return NULL;
  pthread_mutex_lock(&memory->lock);
  memory->most_bytes = launch->race_bytes ? launch->race_bytes : UINT64_MAX / 2;
  bool is_behind_all = launch->number ? memory->next_number <= launch->settled : !launch->follows;
  if (!memory->open && is_behind_all && !launch->overlaps)
    forget_past(memory);
  if (!memory->open++)
    memory->clock = 1;
  pthread_mutex_unlock(&memory->lock);
  return memory;
}

/* Records for an allocation; none where the host has no room, which leaves it unchecked. */
static bf_race_segment make_segment(struct bf_race_memory *memory, const bf_emu_range *range) {
  bf_race_segment made = {.first = range->address & ~(uint64_t)(BF_RACE_WORD_BYTES - 1),
                          .end = range->address + range->bytes,
                          .serial = range->serial};
  made.asked = calloc(regions_of(&made), 1);
  made.paged = calloc(pages_of(memory, &made), 1);
  made.body = get(&made, bodies_bytes(&made), true);
  made.line = made.body ? (bf_race_line *)(made.body + bodies_of(lines_of(&made))) : NULL;
  made.word = made.asked && made.paged && made.body ? get(&made, words_bytes(&made), false) : NULL;
  memory->is_full |= !made.word;
  return made;
}

bool bf_race_take(struct bf_race_memory *memory, uint64_t bytes) {
  uint64_t taken = __atomic_add_fetch(&memory->bytes, bytes, __ATOMIC_RELAXED);
  if (taken <= memory->most_bytes)
    return true;
  __atomic_sub_fetch(&memory->bytes, bytes, __ATOMIC_RELAXED);
  __atomic_store_n(&memory->is_full, true, __ATOMIC_RELAXED);
  return false;
}

uint32_t bf_race_number(struct bf_race_memory *memory, uint32_t *count, size_t bytes,
                        uint32_t next_end[2]) {
  if (next_end[0] == next_end[1]) {
    if (__atomic_load_n(count, __ATOMIC_RELAXED) > BF_RACE_MAKERS - 1024 * BF_RACE_MAKERS_AT_ONCE ||
        !bf_race_take(memory, BF_RACE_MAKERS_AT_ONCE * bytes))
      return 0;
    uint32_t first = __atomic_fetch_add(count, BF_RACE_MAKERS_AT_ONCE, __ATOMIC_RELAXED);
    next_end[0] = first + (first == 0);
    next_end[1] = first + BF_RACE_MAKERS_AT_ONCE;
  }
  return next_end[0]++;
}

bool bf_race_ask(struct bf_race_memory *memory, bf_race_segment *of, uint64_t region) {
  uint8_t answer = BF_RACE_GRANTED, none = BF_RACE_NOT_ASKED;
  if (!bf_race_take(memory, region_bytes(of, region)))
    answer = BF_RACE_REFUSED;
  bool is_first = __atomic_compare_exchange_n(&of->asked[region], &none, answer, false,
                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  if (!is_first && answer == BF_RACE_GRANTED)
    __atomic_sub_fetch(&memory->bytes, region_bytes(of, region), __ATOMIC_RELAXED);
  return (is_first ? answer : none) == BF_RACE_GRANTED;
}

bool bf_race_ask_words(struct bf_race_memory *memory, bf_race_segment *of, uint64_t word,
                       uint64_t count) {
  uint64_t first = word * sizeof(bf_race_word) / memory->page_bytes;
  uint64_t last = ((word + count) * sizeof(bf_race_word) - 1) / memory->page_bytes;
  for (uint64_t page = first; page <= last; page++) {
    if (__atomic_load_n(&of->paged[page], __ATOMIC_RELAXED))
      continue;
    if (!bf_race_take(memory, memory->page_bytes))
      return false;
    if (__atomic_exchange_n(&of->paged[page], 1, __ATOMIC_RELAXED))
      __atomic_sub_fetch(&memory->bytes, memory->page_bytes, __ATOMIC_RELAXED);
  }
  return true;
}

/* Drops a segment, or keeps it until no launch runs that may look at it. */
static bool drop_later(struct bf_race_memory *memory, const bf_race_segment *old) {
  if (memory->open == 1) {
    drop_segment(memory, old);
    return true;
  }
  bf_race_segment *grown =
      realloc(memory->dropped, (memory->dropped_count + 1) * sizeof *memory->dropped);
  if (!grown)
    return false;
  memory->dropped = grown;
  memory->dropped[memory->dropped_count++] = *old;
  return true;
}

/* The same for an array of segments. */
static bool free_later(struct bf_race_memory *memory, bf_race_segment *old) {
  if (memory->open == 1) {
    free(old);
    return true;
  }
  bf_race_segment **grown =
      realloc(memory->earlier, (memory->earlier_count + 1) * sizeof *memory->earlier);
  if (!grown)
    return false;
  memory->earlier = grown;
  memory->earlier[memory->earlier_count++] = old;
  return true;
}

/* Fills in the segments of ranges; both lists are sorted by address. */
static bool fill_segments(struct bf_race_memory *memory, const bf_emu_range *range, size_t count,
                          bf_race_segment *segments) {
  size_t old = 0;
  bool fine = true;
  for (size_t i = 0; i < count; i++) {
    while (old < memory->segments && (memory->segment[old].first < (range[i].address & ~3ull) ||
                                      (memory->segment[old].first == (range[i].address & ~3ull) &&
                                       memory->segment[old].serial != range[i].serial)))
      fine &= drop_later(memory, &memory->segment[old++]);
    if (old < memory->segments && memory->segment[old].serial == range[i].serial)
      segments[i] = memory->segment[old++];
    else
      segments[i] = make_segment(memory, &range[i]);
  }
  while (old < memory->segments)
    fine &= drop_later(memory, &memory->segment[old++]);
  fine &= free_later(memory, memory->segment);
  memory->segment = segments;
  memory->segments = count;
  return fine;
}

bool bf_race_renew(bf_emu *emu, struct bf_emu_races *races) {
  struct bf_race_memory *memory = races->memory;
  pthread_mutex_lock(&memory->lock);
  size_t count = bf_emu_ranges(emu, NULL, 0);
  bf_emu_range *range = malloc((count + 1) * sizeof *range);
  bf_race_segment *segments = malloc((count + 1) * sizeof *segments);
  bool fine = range && segments;
  if (fine)
    fine = fill_segments(memory, range, bf_emu_ranges(emu, range, count), segments);
  else
    free(segments);
  free(range);
  races->segment = memory->segment;
  races->segments = memory->segments;
  pthread_mutex_unlock(&memory->lock);
  return fine;
}

/* Gives a list of launches room for one more. */
static bool grow_launches(struct bf_race_memory *memory) {
  if (memory->launches < memory->launch_capacity)
    return true;
  size_t capacity = memory->launches ? 2 * memory->launches : 16;
  bf_race_launch *grown = realloc(memory->launch, capacity * sizeof *grown);
  if (!grown)
    return false;
  memory->launch = grown;
  memory->launch_capacity = capacity;
  return true;
}

bool bf_race_note_launch(struct bf_emu_races *races, const bf_emu_launch *launch) {
  struct bf_race_memory *memory = races->memory;
  pthread_mutex_lock(&memory->lock);
  size_t kept = 0;
  for (size_t i = 0; i < memory->launches; i++)
    if (memory->launch[i].races || (launch->number && memory->launch[i].number > launch->settled))
      memory->launch[kept++] = memory->launch[i];
  memory->launches = kept;
  bool fine = grow_launches(memory);
  if (fine) {
    bf_race_launch *made = &memory->launch[memory->launches++];
    races->opened = ++memory->events;
    *made = (bf_race_launch){
        .races = races, .opened = races->opened, .kernel = launch->kernel, .number = races->number};
    memcpy(made->grid, launch->grid, sizeof made->grid);
    memcpy(made->block, launch->block, sizeof made->block);
  }
  pthread_mutex_unlock(&memory->lock);
  return fine;
}

void bf_race_end(struct bf_emu_races *races) {
  struct bf_race_memory *memory = races->memory;
  pthread_mutex_lock(&memory->lock);
  for (size_t i = 0; i < memory->launches; i++) {
    bf_race_launch *launch = &memory->launch[i];
    if (launch->races != races)
      continue;
    launch->races = NULL;
    launch->closed = ++memory->events;
    launch->released = races->last_release;
    launch->lets_go = races->lets_go;
  }
  memory->open--;
  for (size_t i = 0; i < memory->dropped_count && !memory->open; i++)
    drop_segment(memory, &memory->dropped[i]);
  for (size_t i = 0; i < memory->earlier_count && !memory->open; i++)
    free(memory->earlier[i]);
  if (!memory->open)
    memory->dropped_count = memory->earlier_count = 0;
  pthread_mutex_unlock(&memory->lock);
}
