/* Inside room emu: an access that is checked for races, by the files race*.c. */
#ifndef BF_EMU_RACE_CHECK_H
#define BF_EMU_RACE_CHECK_H

#include "emu/race_memory.h"

enum { BF_RACE_MOST_BLOCKS = 1 << 26 };

/* Of records, beside the thread and the bytes of the word: who. */
enum {
  BF_RACE_THREAD = 0x3ff,
  BF_RACE_STRONG = 0x400,
  BF_RACE_COPY = 0x800,
  BF_RACE_FIRST_BYTE = 12
};

/* The makers and turns of a worker: the next numbers, the ends of those that it has taken, and by a
 * hash which it used last. */
enum { BF_RACE_MAKERS_KNOWN = 512, BF_RACE_TURNS_KNOWN = 64 };
typedef struct bf_race_makers {
  uint32_t maker[2], turn[2];
  uint32_t known[BF_RACE_MAKERS_KNOWN], known_turn[BF_RACE_TURNS_KNOWN];
} bf_race_makers;

/* Of a launch. */
struct bf_emu_races {
  struct bf_race_memory *memory;
  bf_race_segment *segment; /* as they were when it began */
  size_t segments;
  uint32_t number, opened;
  uint32_t last_release; /* the device's clock at the last fence of any block */
  uint32_t overlaps;     /* the launch that has let this one go, or 0 */
  bool lets_go;          /* as in bf_race_launch */
  uint32_t *released,
      *acquired;     /* per block: the clock at its last fence, at its last strong access */
  uint8_t *strength; /* per site */
  uint32_t followed; /* a launch before this one that it follows, the last that was asked for */
  bf_race_makers *makers; /* per worker */
};

/* What a store writes, once somebody wants to know it: 16 bytes for each lane. */
typedef struct bf_race_staged {
  uint32_t mask;
  bool is_known;
  const uint8_t *value; /* NULL: not known */
  uint8_t buffer[BF_EMU_LANES][16];
} bf_race_staged;

/* An access in the making. */
typedef struct bf_race_check {
  bf_emu_warp *warp;
  const bf_emu_op *op;
  struct bf_emu_races *races;
  bf_race_record now; /* but for thread and bytes */
  bool is_write, is_atomic, is_shared;
  bool is_clustered;         /* other blocks may have been at the same shared memory */
  const bf_emu_block *owner; /* of that memory */
  unsigned width_bytes;
  bf_race_staged *staged;
} bf_race_check;

/* Whether an earlier access, of a launch of its own, may overlap with this one in time. */
bool bf_race_may_overlap(const bf_race_check *what, const bf_race_record *old);
/* Whether fences put what a block did at a time before what another does now. */
bool bf_race_is_fenced(const struct bf_emu_races *races, uint64_t first, uint32_t time,
                       uint64_t second);
/* Whether an earlier access to shared memory, of another block than this one, was of its cluster:
 * what is known of memory outlives the block that it belonged to. */
bool bf_race_is_of_cluster(const bf_race_check *what, const bf_race_record *old);

/* Whether an earlier access and this one of who, at overlapping bytes, are not ordered. */
static inline bool bf_race_is_unordered(const bf_race_check *what, const bf_race_record *old,
                                        uint16_t who) {
  const bf_race_record *now = &what->now;
  if (!(old->who & who & 0xf000) || !old->launch)
    return false;
  if (old->launch != now->launch)
    return !what->is_shared && !(old->who & who & BF_RACE_STRONG) && bf_race_may_overlap(what, old);
  if (old->block != now->block)
    return (!what->is_shared || bf_race_is_of_cluster(what, old)) &&
           !(old->who & who & BF_RACE_STRONG) &&
           !bf_race_is_fenced(what->races, old->block, old->time, what->warp->block->index);
  if (old->who & BF_RACE_COPY)
    return !(who & BF_RACE_COPY);
  if (old->epoch != now->epoch || (old->who & who & BF_RACE_STRONG))
    return false;
  uint32_t differs = (old->who ^ who) & BF_RACE_THREAD;
  if (differs == 0)
    return false;
  return differs >= BF_EMU_LANES || old->order == now->order;
}

/* Which thread a lane is, and at which bytes of a word. */
static inline uint16_t bf_race_who(const bf_race_check *what, unsigned lane, unsigned bytes,
                                   unsigned shift) {
  return (uint16_t)(what->now.who | ((what->warp->index * BF_EMU_LANES + lane) & BF_RACE_THREAD) |
                    ((1u << bytes) - 1) << shift << BF_RACE_FIRST_BYTE);
}

/* Takes note of an access in halves of 16 and 8 bytes, as records are read: a host cannot hand what
 * was stored in smaller pieces to the next load. */
static inline void bf_race_note(const bf_race_check *what, bf_race_record *to, uint16_t who) {
  uint64_t tail = what->now.time | (uint64_t)what->now.site << 32 | (uint64_t)who << 48;
  memcpy(to, &what->now, offsetof(bf_race_record, time));
  memcpy(&to->time, &tail, sizeof tail);
}

/* Takes note of a read of a word. */
static inline void bf_race_note_reader(const bf_race_check *what, bf_race_word *word,
                                       uint16_t who) {
  const bf_race_record *last = &word->read[0];
  if (last->block != what->now.block || last->launch != what->now.launch ||
      (last->who ^ who) & BF_RACE_THREAD)
    word->read[1] = *last;
  bf_race_note(what, &word->read[0], who);
}

/* The line of an address, and its words. */
typedef struct bf_race_place {
  bf_race_segment *of; /* NULL: shared memory */
  uint64_t number;     /* of the line */
  bf_race_line *line;
  bf_race_body *body, *bodies; /* of it, of all */
  bf_race_word *word;          /* of the address */
  bf_race_word *first_word;    /* of the line, or of the memory where that begins inside the line */
  unsigned first;              /* the number of that in its line */
} bf_race_place;

/* Where the body of a line is: lines that are a power of two apart, as those of the rows of a
 * matrix are, would have theirs in the same few sets of the host's caches. */
static inline uint64_t bf_race_body_of(uint64_t line) {
  return line ^ ((line >> 4 ^ line >> 8) & (BF_RACE_BODIES - 1));
}

static inline bf_race_place bf_race_place_of(bf_race_line *lines, bf_race_body *bodies,
                                             bf_race_word *words, uint64_t first,
                                             uint64_t address) {
  uint64_t line = address / BF_RACE_LINE_BYTES - first / BF_RACE_LINE_BYTES;
  uint64_t begin = address / BF_RACE_LINE_BYTES * BF_RACE_LINE_BYTES;
  begin = begin < first ? first : begin;
  return (bf_race_place){.number = line,
                         .line = &lines[line],
                         .body = &bodies[bf_race_body_of(line)],
                         .bodies = bodies,
                         .word = &words[(address - first) / BF_RACE_WORD_BYTES],
                         .first_word = &words[(begin - first) / BF_RACE_WORD_BYTES],
                         .first = (unsigned)(begin % BF_RACE_LINE_BYTES / BF_RACE_WORD_BYTES)};
}

/* The same in shared memory of a block. */
static inline bf_race_place bf_race_place_in(const bf_emu_block *block, uint64_t offset) {
  return bf_race_place_of(block->lines, block->bodies, block->words, 0, offset);
}

/* Whether launches up to this number are over for this one and all that come. */
static inline bool bf_race_is_past(const bf_race_check *what, uint32_t launch) {
  const bf_emu_launch *now = what->warp->worker->flight->launch;
  if (what->races->overlaps && launch >= what->races->overlaps)
    return false;
  return launch != what->now.launch && (!now->follows || launch <= now->settled);
}

/* The later of two launches. */
static inline uint32_t bf_race_later(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* The thread of a word of a part, with its flags. */
static inline uint16_t bf_race_who_at(const bf_race_part *part, unsigned word) {
  return (uint16_t)(part->record.who + ((word - part->first) >> part->shift));
}

/* race_say.c: says who else was at the byte; false: the launch has ended. */
bool bf_race_report(const bf_race_check *what, const bf_race_record *other, bool other_writes,
                    unsigned lane, uint64_t address);

/* race_word.c: what a store writes, 16 bytes for each lane; NULL: not known. */
const uint8_t *bf_race_value(const bf_race_check *what);
/* Checks all bytes of a lane, which lie in one line or begin the next; false: the launch has ended.
 * memory is where they are. */
bool bf_race_check_lane(const bf_race_check *what, const bf_race_place *at, unsigned lane,
                        uint64_t address, const uint8_t *memory);

/* race_line.c: the words of a line are accessed one by one; false: there is no memory for that, and
 * the line is not looked at any more. */
bool bf_race_spread(const bf_race_check *what, const bf_race_place *at);
/* How many bytes lanes are apart that access words in a row, a power of two; 0: they do not. */
unsigned bf_race_row_step(const bf_race_check *what, uint32_t mask, const uint64_t *address);
/* The lanes of such a row, whose first line is given, that are left to check one by one. */
uint32_t bf_race_pass_row(const bf_race_check *what, const bf_race_place *at, uint64_t address,
                          unsigned step);
/* The lanes that read what two lanes before them read: two readers are all that is kept. */
uint32_t bf_race_read_again(const bf_race_check *what, uint32_t mask, const uint64_t *address);

/* race_global.c: checks lanes in global memory; false: the launch has ended. */
bool bf_race_check_global(const bf_race_check *what, uint32_t mask, const uint64_t *address);

#endif
