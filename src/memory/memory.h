/* memory: banked memories as data (machines/) and the one function that counts wavefronts.
 *
 * A machine says how many lanes, banks and bytes per word it has, which lanes are served together
 * for each access width, and by which rule each operation is served. Counting walks the phases of
 * an access: each phase is a set of words served together, and costs as many wavefronts as its
 * fullest bank has words (docs/memory.md). */
#ifndef BF_MEMORY_H
#define BF_MEMORY_H

#include "access/access.h"
#include "base/base.h"
#include "hash/hash.h"

/* How a bank serves what a phase asks of it. */
typedef enum bf_serve {
  BF_SERVE_DISTINCT_WORDS, /* one word per wavefront, to any number of lanes */
  BF_SERVE_ROW_PAIRS,      /* two words 1 row apart in an aligned pair of rows count as one */
  BF_SERVE_ONE_BROADCAST, /* one lane per wavefront, but one word of the machine to all its lanes */
} bf_serve;

typedef enum bf_rule {
  BF_RULE_NONE,             /* the machine has no such operation */
  BF_RULE_WORDS,            /* fullest bank, distinct words */
  BF_RULE_ACCESSES,         /* fullest bank, every lane's access counted */
  BF_RULE_LOCK_LOOP,        /* one lock per bank; losers try again */
  BF_RULE_LOCK_LOOP_HALVES, /* the same, half-warp after half-warp, one lock per pair of banks */
  BF_RULE_LOCK_TABLE,       /* a table of locks and four states: read, update, write, branch */
  BF_RULE_SECTOR_COPY,      /* 16 bytes per lane, written sector by sector */
} bf_rule;

/* The lanes served together for one side and width. */
typedef struct bf_groups {
  unsigned contiguous; /* that many neighbouring lanes, or 0: as listed in mask */
  unsigned count;
  uint64_t mask[BF_MAX_LANES];
  bool pair_merge;  /* groups double when lanes pair up on the same address */
  bool split_words; /* a wide access is one request per word, lane groups by lane groups */
  unsigned extra;   /* wavefronts on top, per group */
  bool estimated;   /* assumed, neither measured nor published */
} bf_groups;

typedef struct bf_op_rule {
  bf_rule rule;
  unsigned times;     /* wavefronts per counted wavefront */
  bf_groups groups;   /* own lane groups; count 0: those of side and width */
  unsigned locks;     /* lock table: number of locks */
  unsigned cycles[4]; /* lock table: read, update, write, branch */
  bool estimated;
} bf_op_rule;

/* One line of a machine file, for people who ask where a number comes from. */
typedef struct bf_machine_fact {
  char *key, *value, *basis, *source;
} bf_machine_fact;

struct bf_machine {
  bf_arena arena;
  char *name, *title;
  unsigned lanes, bank_bits, word_bytes, address_bits;
  uint64_t capacity_bytes;
  bf_hash *none; /* what a NULL hash stands for */
  bf_serve serve;
  bf_groups groups[BF_SIDE_COUNT][BF_WIDTHS];
  bf_op_rule op[BF_OP_COUNT];
  bf_machine_fact *facts;
  size_t fact_count;
  char **source_name, **source_text;
  size_t source_count;
};

/* One built-in machine file, embedded by the build. */
typedef struct bf_embedded_machine {
  const char *name, *text;
} bf_embedded_machine;
extern const bf_embedded_machine bf_embedded_machines[]; /* ends with a NULL name */

/* Which values lanes, banks, word_bytes, capacity_bytes or address_bits may have, in words, when
 * value is not one of them; NULL when it is. */
const char *bf_machine_refuses(const char *quantity, uint64_t value);
/* Whether an operation is a loop, in which a lane tries again where another was faster. */
static inline bool bf_machine_tries_again(const bf_machine *machine, bf_op op) {
  return machine->op[op].rule == BF_RULE_LOCK_LOOP ||
         machine->op[op].rule == BF_RULE_LOCK_LOOP_HALVES;
}
/* Sets count and masks of groups of neighbouring lanes; the last group may be smaller. */
void bf_groups_fill(bf_groups *groups, unsigned lanes);
/* Sets address_bits and none from the capacity and checks that the parts of the machine fit each
 * other: banks and allocation, banks and locks, lane groups and BF_PHASE_WORDS. */
int bf_machine_measure(bf_machine *machine, bf_diagnostic *diagnostic);
bf_trace_limits bf_machine_limits(const bf_machine *machine);

/* All that is left of trace as a workload; name is for messages. */
int bf_workload_take(bf_trace *trace, const char *name, bf_workload **workload,
                     bf_diagnostic *diagnostic);
/* How much of a trace is read. */
typedef struct bf_reading_limits {
  size_t most;  /* different accesses: of more half are left out, and again (bf_workload_thin) */
  double until; /* a file is read no further then (bf_seconds; 0: to its end); pipes always are */
  /* or NULL: is told now and then how far that is (of size 0 where it is not known); false: no
   * further */
  bool (*tell)(void *context, uint64_t bytes, uint64_t size);
  void *context;
  double read; /* becomes the share of the file's bytes that was read; 0 where it is not known */
} bf_reading_limits;
/* The same in bounded memory and time. With up to 32 lanes the workload is narrow
 * (bf_workload_create_narrow). */
int bf_workload_sample(bf_trace *trace, const char *name, bf_reading_limits *limits, unsigned lanes,
                       bf_workload **workload, bf_diagnostic *diagnostic);
/* The same for a file. */
int bf_workload_read_sample(const char *path, bf_trace_form form, bf_reading_limits *limits,
                            const bf_machine *machine, bf_workload **workload,
                            bf_diagnostic *diagnostic);

/* Hash of the lock table's upper part: which lock of its bank a word uses. */
typedef enum bf_lock_hash { BF_LOCK_PLAIN, BF_LOCK_XOR, BF_LOCK_ADD } bf_lock_hash;

/* The lock that a word uses, of a table of that many locks. */
uint32_t bf_locks_number(const bf_machine *machine, const bf_hash *hash, bf_lock_hash lock_hash,
                         unsigned locks, uint32_t word);

/* Refuses a hash (NULL: none) that knows another number of banks than the machine has. */
int bf_memory_check_hash(const bf_machine *machine, const bf_hash *hash, bf_diagnostic *diagnostic);

/* bf_memory_count with a choice of lock hash (lock tables only). */
int bf_memory_count_locked(const bf_machine *machine, const bf_hash *hash, bf_lock_hash lock_hash,
                           const bf_access *access, bf_count *count, bf_diagnostic *diagnostic);

/* Whether an access has no conflicts without a hash, whichever of its lanes take part: no bank has
 * two of its words in a phase. false: that is not shown. */
bool bf_memory_is_free_in_part(const bf_machine *machine, const bf_access *access);
/* Bytes by which all lanes of an access can be moved, any number of times, without changing its
 * wavefronts without a hash: a word, which moves every bank's words to its neighbour, or two rows
 * where more than banks counts (pairs of rows, locks). */
uint32_t bf_memory_offset_period(const bf_machine *machine, bf_op op);

/* The lane groups that serve an operation of that width: its own, or those of its side. */
const bf_groups *bf_groups_of(const bf_machine *machine, bf_op op, unsigned width_bytes);
/* Whether two groups are served together: they pair-merge, and all lanes pair up. */
bool bf_groups_double(const bf_groups *groups, uint64_t mask, const uint32_t *address);

enum { BF_PHASE_WORDS = 256 };

/* Words served together, one entry per lane and word: duplicates are kept. The phase's wavefronts
 * are times * (fullest bank + extra) under the rule. */
typedef struct bf_phase {
  unsigned words;
  unsigned extra, times;
  bool count_duplicates;
  uint32_t word[BF_PHASE_WORDS];
  uint8_t lane[BF_PHASE_WORDS]; /* the lane that asks for word[i] */
} bf_phase;

/* Walks the phases of an access whose rule is WORDS or ACCESSES. */
typedef struct bf_phase_walk {
  const bf_machine *machine;
  const bf_access *access;
  const bf_groups *groups;
  bool merged;
  unsigned group, word, words_per_lane;
} bf_phase_walk;
void bf_phase_begin(bf_phase_walk *walk, const bf_machine *machine, const bf_access *access);
bool bf_phase_next(bf_phase_walk *walk, bf_phase *phase);

/* Wavefronts of one phase under hash. */
unsigned bf_phase_wavefronts(const bf_machine *machine, const bf_hash *hash, const bf_phase *phase);
/* For rule SECTOR_COPY: the number of wavefronts, and for each active lane which of them writes its
 * 16 bytes. */
unsigned bf_copy_wavefronts(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                            uint8_t *wavefront);

/* bf_memory_count for cp.async of 16 bytes from known places: from has an address for each lane.
 * is_cached: through the first-level cache (.ca), else past it (.cg). Other accesses, and from
 * NULL: as bf_memory_count. */
int bf_memory_count_copy(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                         const uint64_t *from, bool is_cached, bf_count *count,
                         bf_diagnostic *diagnostic);

/* What a 64-bit atomic that is a loop of compare-and-swap does to its words. */
typedef struct bf_changes {
  uint64_t (*apply)(uint64_t old, uint64_t operand, uint64_t nothing);
  const uint64_t *operand; /* of each lane */
  const uint8_t *memory;   /* that addresses are offsets in, before the access */
  bool may_leave;          /* min, max: lanes leave the loop where nothing is to change */
} bf_changes;

/* bf_memory_count for add64 with known values: lanes lose only where the word has another value
 * than they have read. Other accesses, other rules, and changes NULL: as bf_memory_count. */
int bf_memory_count_changes(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                            const bf_changes *changes, bf_count *count, bf_diagnostic *diagnostic);

/* The fewest passes that any placement of the phase's words could need. */
unsigned bf_memory_phase_passes(const bf_machine *machine, const bf_phase *phase);

/* The fewest passes in which banks can serve words with these multiplicities, each word in one
 * bank and each pass serving one access per bank: exact. */
unsigned bf_memory_best_packing(const unsigned *multiplicity, unsigned words, unsigned banks);

/* Wavefronts in which the matrix units read operands of so many bytes from shared memory: whole
 * rows, whatever the layout is. An H200 counts so for wgmma, and conflicts nowhere
 * (tests/data/h200/hopper.csv). */
uint64_t bf_memory_operand_wavefronts(const bf_machine *machine, uint64_t bytes);

/* ---- Counting many accesses ---- */

/* From now on the counter gives what bf_memory_count_locked gives with that hash. */
int bf_counter_set_lock_hash(bf_counter *counter, bf_lock_hash lock_hash,
                             bf_diagnostic *diagnostic);
/* bf_counter_count for an access of at most 32 lanes, once. address has 32 entries; those of lanes
 * outside mask mean nothing. */
int bf_counter_count_lanes(bf_counter *counter, bf_op op, unsigned width_bytes, uint32_t mask,
                           const uint32_t *address, bf_count *count, bf_diagnostic *diagnostic);

/* How to know an access again at little cost: two that a counter gave the same number and base are
 * equal; equal ones may have several numbers. Number 0: not known. */
typedef struct bf_counter_pattern {
  uint64_t number;
  uint32_t base;
} bf_counter_pattern;
/* Of the last access that was counted. */
bf_counter_pattern bf_counter_last(const bf_counter *counter);
/* The bits of the first active address on which counts of that operation and width depend where
 * all addresses move together. */
uint32_t bf_counter_matter(const bf_counter *counter, bf_op op, unsigned width_bytes);

#endif
