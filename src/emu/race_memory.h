/* Inside room emu: what is known of memory by who looks for races, and outlives launches. */
#ifndef BF_EMU_RACE_MEMORY_H
#define BF_EMU_RACE_MEMORY_H

#include "emu/race.h"

#include <pthread.h>

enum { BF_RACE_WORD_BYTES = 4 };

/* An access; 24 bytes. launch 0: none. */
typedef struct bf_race_record {
  uint32_t launch, block;
  uint32_t epoch; /* barriers and fences of the block before it */
  uint32_t order; /* meetings of the warp before it */
  uint32_t time;  /* fences of the device before it */
  uint16_t site;
  uint16_t who; /* thread, flags and bytes of the word */
} bf_race_record;

struct bf_race_word {
  bf_race_record write, read[2]; /* the last read, and the one before it of another thread */
};

/* An access of lanes in a row to words of a line. Word i of those is of the thread that lies
 * (i - first) >> shift behind that of the record. */
typedef struct bf_race_part {
  bf_race_record record;
  uint32_t mask;
  uint8_t first, shift;
  bool is_write;
} bf_race_part;

/* Two accesses to a word of global memory, each of a lane of a maker (race_slot.h); 0: none. */
typedef struct bf_race_slot {
  uint32_t last;  /* the last read */
  uint32_t other; /* the read before it of another thread, or the last write */
} bf_race_slot;

/* What is known of a line: accesses in a row, the oldest first, or two accesses of each word, or
 * what its words know. Which of them is told by the line, apart, so that the lines of much memory
 * stay in the caches of the host. */
enum { BF_RACE_LINE_BYTES = BF_RACE_WORD_BYTES * BF_EMU_LANES, BF_RACE_PARTS = 8 };
enum { BF_RACE_BODIES = 16 }; /* so many change places with each other (bf_race_body_of) */
struct bf_race_line {
  uint32_t parts : 8;
  bool is_in_slots : 1, is_in_words : 1, has_copies : 1;
  bool was_in_words : 1; /* once, so that words know what no longer counts */
  bool is_left_out : 1;  /* there is no memory for its words: it is not looked at */
  uint32_t launch;       /* is_in_slots, is_in_words: the last of all that were there */
};
union bf_race_body {
  struct {
    uint32_t block, epoch; /* of the last access */
  } words;
  bf_race_part part[BF_RACE_PARTS];
  bf_race_slot slot[BF_EMU_LANES];
};

/* The words of an allocation, and its lines. */
typedef struct bf_race_segment {
  uint64_t first, end, serial;
  bf_race_word *word;
  bf_race_line *line;
  bf_race_body *body;
  uint8_t *paged; /* for each page of words, whether it has been touched */
  uint8_t *asked; /* for each BF_RACE_REGION_BYTES: whether its lines may be touched */
} bf_race_segment;

/* Lines of so many bytes of memory get theirs at once. */
enum { BF_RACE_REGION_BYTES = 1 << 20 };
enum { BF_RACE_NOT_ASKED, BF_RACE_GRANTED, BF_RACE_REFUSED };

enum { BF_RACE_LOCKS = 4096 };

/* A launch whose accesses are known. opened and closed count what begins and ends on the device, so
 * that launches can be told which ran at the same time. */
typedef struct bf_race_launch {
  const struct bf_emu_races *races;  /* while it runs */
  uint32_t opened, closed, released; /* released: the clock at its last fence, once it has ended */
  const bf_emu_kernel *kernel;
  uint32_t number, grid[3], block[3];
  bool lets_go; /* launches that depend on it may begin before its end */
} bf_race_launch;

/* What a record holds, but for the lane, in two pieces: most of it is the same for all that the
 * warps of a block do in a while. */
typedef struct bf_race_turn {
  uint32_t launch, block, epoch, time;
} bf_race_turn;
typedef struct bf_race_maker {
  uint32_t turn, order;
  uint16_t site, who;
} bf_race_maker;

/* Of a device. */
struct bf_race_memory {
  bf_race_segment *segment;
  size_t segments, capacity;
  bf_race_launch *launch;
  size_t launches, launch_capacity;
  uint32_t next_number;     /* for launches without one */
  unsigned open;            /* launches that run, maybe several beside each other */
  uint32_t events;          /* that they began and ended */
  uint32_t clock;           /* fences of the device, since one of those began that run */
  pthread_mutex_t lock;     /* of launches and segments */
  bf_race_segment *dropped; /* of freed memory, and earlier arrays of segments, while others run */
  bf_race_segment **earlier;
  size_t dropped_count, earlier_count;
  uint8_t page_lock[BF_RACE_LOCKS];
  /* Who made accesses that slots know, and when; the first one is nobody. In memory that the host
   * gives when it is touched, as the rest. */
  bf_race_maker *maker;
  bf_race_turn *turn;
  uint32_t makers, turns;
  uint64_t page_bytes;
  uint64_t bytes, most_bytes; /* that records take, and may take */
  bool is_full;               /* some memory was not looked at for want of them */
};
enum { BF_RACE_MAKERS = 1 << 23, BF_RACE_MAKERS_AT_ONCE = 64 };

/* The next number of makers or turns for a worker, of which it takes some at once: from next to
 * end; 0: there is no room. */
uint32_t bf_race_number(struct bf_race_memory *memory, uint32_t *count, size_t bytes,
                        uint32_t next_end[2]);

/* What is known to a launch that is about to begin; NULL: out of memory. */
struct bf_race_memory *bf_race_begin(bf_emu *emu, const bf_emu_launch *launch);
/* Gives every allocation its segment, which races then have, and drops those of memory that was
 * freed; false: out of memory. */
bool bf_race_renew(bf_emu *emu, struct bf_emu_races *races);
/* Notes which launch has a number; those that all later ones follow are forgotten. */
bool bf_race_note_launch(struct bf_emu_races *races, const bf_emu_launch *launch);
/* The launch ends. */
void bf_race_end(struct bf_emu_races *races);

/* Whether so many bytes of records more may be taken, which they then are. */
bool bf_race_take(struct bf_race_memory *memory, uint64_t bytes);
/* Asks for the lines of a region of a segment, at the first access there. */
bool bf_race_ask(struct bf_race_memory *memory, bf_race_segment *of, uint64_t region);
/* The same for words of a segment, which become known. */
bool bf_race_ask_words(struct bf_race_memory *memory, bf_race_segment *of, uint64_t word,
                       uint64_t count);

#endif
