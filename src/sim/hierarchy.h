/* sim/hierarchy: global memory below the load/store units. Each multiprocessor has a first-level
 * cache (l1.c); all share the second-level cache and the memory channels (l2.c, dram.c).
 *
 * Time moves in spans: multiprocessors run for a span of cycles by themselves, and what they asked
 * for is then put in order and served. A span is no longer than return_cycles, so no answer can be
 * due within the span in which it is computed. */
#ifndef BF_SIM_HIERARCHY_H
#define BF_SIM_HIERARCHY_H

#include "sim/sim.h"

enum { BF_SIM_SECTOR_BYTES = 32, BF_SIM_LINE_BYTES = 128 };

/* Entries in the access queue of a slice (braak15, 7.2.1). Only loads that wait for a hit are kept
 * to it; where they fill it, nothing else reaches the slice. */
enum { BF_SIM_SLICE_QUEUE = 8 };

/* The number of sectors in a mask of four: digit `mask` of a table. */
static inline unsigned bf_sim_sectors(uint8_t mask) {
  return (unsigned)(UINT64_C(0x4332322132212110) >> 4 * (mask & 15) & 15);
}

/* The second word of l2_atomics. */
enum { BF_SIM_ATOMICS_WORDS = 1 };

typedef enum bf_sim_request_kind {
  BF_SIM_LOAD,
  BF_SIM_PAST, /* a load that goes past the first-level cache */
  BF_SIM_STORE,
  BF_SIM_ATOMIC, /* is answered, as a load */
  BF_SIM_REDUCE, /* is not, but for the news that it has happened, as a store */
  BF_SIM_LANDED, /* no request: news of a copy, of the multiprocessor to itself (copies.c) */
  BF_SIM_NEWS,   /* no request either: of barriers of block `token` (sm.c) */
  BF_SIM_WAIT,   /* a load that goes round in the queue of its slice until it hits; R-GPU only */
} bf_sim_request_kind;

/* Sectors of one 128-byte line. */
typedef struct bf_sim_request {
  uint64_t cycle; /* at which it leaves the multiprocessor */
  uint64_t line;  /* address / 128 */
  uint32_t sm;
  uint32_t token;      /* the caller's: comes back with the answer */
  uint8_t sectors;     /* mask */
  uint8_t kind;        /* bf_sim_request_kind */
  uint16_t operations; /* atomics, as l2_atomics counts them */
  uint16_t later;      /* atomics: cycles by which the answer comes later than that of a load */
  uint8_t same;        /* atomics on floats: most of a word */
  bool is_copy;        /* of the copy engine */
} bf_sim_request;

typedef struct bf_sim_memory bf_sim_memory;

int bf_sim_memory_create(const bf_sim_gpu *gpu, bf_sim_memory **memory, bf_diagnostic *diagnostic);
void bf_sim_memory_free(bf_sim_memory *memory);
/* Hands over a request that leaves its multiprocessor. Requests of a span may come in any order:
 * they are served in the order of (cycle, sm, order of adding for that sm). 0 or BF_NO_MEMORY. */
int bf_sim_memory_add(bf_sim_memory *memory, const bf_sim_request *request);
/* The same for so many, of which none is handed over where there is no room for all. */
int bf_sim_memory_add_all(bf_sim_memory *memory, const bf_sim_request *request, size_t count);
/* Serves what reaches the second-level cache before cycle `until`, which does not become less from
 * call to call. Calls answer for every request whose data, or for stores and reductions the news
 * that it has happened, is on its way back by then, with the cycle at which it reaches the
 * multiprocessor; that is at least return_cycles behind the `until` of the call before. Of a
 * request that is answered line, sm, token, sectors and kind are known; nothing is added from
 * within an answer. Requests that are added later must not reach the second-level cache before
 * `until`. */
int bf_sim_memory_advance(bf_sim_memory *memory, uint64_t until,
                          void (*answer)(void *context, const bf_sim_request *request,
                                         uint64_t cycle),
                          void *context);
/* The first cycle at which advance would have something to do; where only stores are left, the
 * cycle at which the last of them is done. UINT64_MAX: nothing is waiting. */
uint64_t bf_sim_memory_next(const bf_sim_memory *memory);
/* Loads that wait for a hit in the queue of one slice: those that are there now, in the fullest
 * one, and the most that have ever been. */
unsigned bf_sim_memory_waiting(const bf_sim_memory *memory);
unsigned bf_sim_memory_most_waiting(const bf_sim_memory *memory);
/* The part of the second-level cache that is not empty; 1 without one. */
double bf_sim_memory_used(const bf_sim_memory *memory);
/* Adds hits, misses (both in sectors) and bytes to the result. */
void bf_sim_memory_count(const bf_sim_memory *memory, bf_sim_result *result);

/* ---- First-level cache of one multiprocessor ---- */

typedef struct bf_sim_l1 bf_sim_l1;

/* With l1_bytes 0 every load misses, and only the limit on lines in flight is kept. */
int bf_sim_l1_create(const bf_sim_gpu *gpu, bf_sim_l1 **l1, bf_diagnostic *diagnostic);
void bf_sim_l1_free(bf_sim_l1 *l1);

typedef enum bf_sim_l1_outcome {
  BF_SIM_L1_HIT,    /* all sectors are there */
  BF_SIM_L1_MISS,   /* *request must be sent; the token will be answered */
  BF_SIM_L1_JOINED, /* all that is missing is on its way already; the token will be answered */
  BF_SIM_L1_FULL,   /* no more lines can be in flight: try again later */
} bf_sim_l1_outcome;
/* A load of sectors of a line for token. On MISS, request->line, sectors, token and kind are set
 * (sectors: those that are not on their way yet). */
bf_sim_l1_outcome bf_sim_l1_load(bf_sim_l1 *l1, uint64_t line, uint8_t sectors, uint32_t token,
                                 bf_sim_request *request);
/* A store: the cache is written through, and lines that it has are updated. */
void bf_sim_l1_store(bf_sim_l1 *l1, uint64_t line, uint8_t sectors);
/* An answer has come: the sectors are there, and every token whose sectors are complete is told. */
void bf_sim_l1_fill(bf_sim_l1 *l1, const bf_sim_request *request,
                    void (*done)(void *context, uint32_t token), void *context);
/* Asks the host's memory for all of it, before many answers are taken. */
void bf_sim_l1_prefetch(const bf_sim_l1 *l1);
/* Lines in flight. */
unsigned bf_sim_l1_waiting(const bf_sim_l1 *l1);
void bf_sim_l1_count(const bf_sim_l1 *l1, bf_sim_result *result);

/* ---- Caches as such (cache.c): sectored, set-associative, least recently used goes first ----
 * Lines are below 2^56. */

typedef struct bf_sim_cache bf_sim_cache;

/* lines is a multiple of ways; sets need not be a power of two. */
int bf_sim_cache_create(uint64_t lines, unsigned ways, bf_sim_cache **cache,
                        bf_diagnostic *diagnostic);
void bf_sim_cache_free(bf_sim_cache *cache);
/* Which of the sectors are present; marks the line as used. */
uint8_t bf_sim_cache_look(bf_sim_cache *cache, uint64_t line, uint8_t sectors);
/* Puts sectors in, dirty or clean. Where a line goes for it, *evicted is that line and *dirty its
 * dirty sectors; else *dirty is 0. */
void bf_sim_cache_fill(bf_sim_cache *cache, uint64_t line, uint8_t sectors, bool is_dirty,
                       uint64_t *evicted, uint8_t *dirty);

#endif
