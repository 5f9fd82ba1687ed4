/* Inside room emu: what is known of memory by who looks for races, and outlives launches. */
#ifndef BF_EMU_RACE_MEMORY_H
#define BF_EMU_RACE_MEMORY_H

#include "emu/race.h"

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

/* What is known of a line: such accesses, the oldest first, or what its words know. */
enum { BF_RACE_LINE_BYTES = BF_RACE_WORD_BYTES * BF_EMU_LANES, BF_RACE_PARTS = 8 };
struct bf_race_line {
  uint8_t parts;
  bool is_in_words, has_copies;
  bool was_in_words;     /* once, so that words know what no longer counts */
  uint32_t block, epoch; /* is_in_words: of the last access */
  uint32_t launch;       /* is_in_words: the last of all that were there */
  bf_race_part part[BF_RACE_PARTS];
};

/* The words of an allocation, and its lines. */
typedef struct bf_race_segment {
  uint64_t first, end, serial;
  bf_race_word *word;
  bf_race_line *line;
} bf_race_segment;

/* A launch whose accesses are known. */
typedef struct bf_race_launch {
  const bf_emu_kernel *kernel;
  uint32_t number, grid[3], block[3];
  bool lets_go; /* launches that depend on it may begin before its end */
} bf_race_launch;

/* Of a device. */
struct bf_race_memory {
  bf_race_segment *segment;
  size_t segments, capacity;
  bf_race_launch *launch;
  size_t launches, launch_capacity;
  uint32_t next_number; /* for launches without one */
};

/* Gives every allocation its segment and drops those of memory that was freed; false: out of
 * memory. */
bool bf_race_renew(bf_emu *emu, struct bf_race_memory *memory);
/* Notes which launch has a number; those that all later ones follow are forgotten. */
bool bf_race_note_launch(struct bf_race_memory *memory, const bf_emu_launch *launch,
                         uint32_t number);

#endif
