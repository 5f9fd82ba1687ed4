/* What is known of memory by who looks for races: words and lines of every allocation, in memory
 * that the host gives when it is touched, and which launches were there. */
#include "emu/race_memory.h"
#include "emu/device.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { MOST_HUGE_BYTES = 1 << 30 };

bf_race_line *bf_race_lines(uint64_t bytes) {
  return calloc(bytes / BF_RACE_LINE_BYTES + 2, sizeof(bf_race_line));
}

/* Words for so many bytes; the last line is whole. */
static size_t words_of(uint64_t bytes) {
  return (size_t)(bytes / BF_RACE_WORD_BYTES) + BF_EMU_LANES + 1;
}

bf_race_word *bf_race_words(uint64_t bytes) {
  return calloc(words_of(bytes), sizeof(bf_race_word));
}

static size_t words_bytes(const bf_race_segment *of) {
  return words_of(of->end - of->first) * sizeof(bf_race_word);
}

static size_t lines_bytes(const bf_race_segment *of) {
  return (size_t)((of->end - of->first) / BF_RACE_LINE_BYTES + 2) * sizeof(bf_race_line);
}

static void drop_segment(const bf_race_segment *old) {
  if (old->word)
    munmap(old->word, words_bytes(old));
  if (old->line)
    munmap(old->line, lines_bytes(old));
}

/* Memory that the host gives when it is touched, in large pages where it is not much: most of what
 * a first access costs is that a page comes. NULL: there is none. */
static void *reserve(size_t bytes) {
  void *memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return NULL;
#ifdef MADV_HUGEPAGE
  if (bytes <= MOST_HUGE_BYTES)
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return memory;
}

void bf_race_forget(bf_emu *emu) {
  struct bf_race_memory *memory = emu->race_memory;
  if (!memory)
    return;
  for (size_t i = 0; i < memory->segments; i++)
    drop_segment(&memory->segment[i]);
  free(memory->segment);
  free(memory->launch);
  free(memory);
  emu->race_memory = NULL;
}

/* Words for an allocation; none where the host has no room, which leaves it unchecked. */
static bf_race_segment make_segment(const bf_emu_range *range) {
  bf_race_segment made = {range->address & ~(uint64_t)(BF_RACE_WORD_BYTES - 1),
                          range->address + range->bytes, range->serial, NULL, NULL};
  made.line = reserve(lines_bytes(&made));
  made.word = made.line ? reserve(words_bytes(&made)) : NULL;
  return made;
}

/* Both lists are sorted by address. */
bool bf_race_renew(bf_emu *emu, struct bf_race_memory *memory) {
  size_t count = bf_emu_ranges(emu, NULL, 0), old = 0;
  bf_emu_range *range = malloc((count + 1) * sizeof *range);
  bf_race_segment *segments = malloc((count + 1) * sizeof *segments);
  if (!range || !segments) {
    free(range);
    free(segments);
    return false;
  }
  count = bf_emu_ranges(emu, range, count);
  for (size_t i = 0; i < count; i++) {
    while (old < memory->segments && (memory->segment[old].first < (range[i].address & ~3ull) ||
                                      (memory->segment[old].first == (range[i].address & ~3ull) &&
                                       memory->segment[old].serial != range[i].serial)))
      drop_segment(&memory->segment[old++]);
    if (old < memory->segments && memory->segment[old].serial == range[i].serial)
      segments[i] = memory->segment[old++];
    else
      segments[i] = make_segment(&range[i]);
  }
  while (old < memory->segments)
    drop_segment(&memory->segment[old++]);
  free(memory->segment);
  free(range);
  memory->segment = segments;
  memory->segments = count;
  return true;
}

bool bf_race_note_launch(struct bf_race_memory *memory, const bf_emu_launch *launch,
                         uint32_t number) {
  size_t kept = 0;
  for (size_t i = 0; i < memory->launches; i++)
    if (launch->number && memory->launch[i].number > launch->settled)
      memory->launch[kept++] = memory->launch[i];
  memory->launches = kept;
  if (kept == memory->launch_capacity) {
    size_t capacity = kept ? 2 * kept : 16;
    bf_race_launch *grown = realloc(memory->launch, capacity * sizeof *grown);
    if (!grown)
      return false;
    memory->launch = grown;
    memory->launch_capacity = capacity;
  }
  bf_race_launch *made = &memory->launch[memory->launches++];
  *made = (bf_race_launch){.kernel = launch->kernel, .number = number};
  memcpy(made->grid, launch->grid, sizeof made->grid);
  memcpy(made->block, launch->block, sizeof made->block);
  return true;
}
