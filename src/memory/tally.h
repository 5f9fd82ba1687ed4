/* tally: what the accesses of a trace cost, summed by site. Accesses without a site are grouped by
 * operation, width and class. */
#ifndef BF_MEMORY_TALLY_H
#define BF_MEMORY_TALLY_H

#include "memory/memory.h"

typedef struct bf_sum {
  uint64_t accesses, wavefronts, ideal, conflicts, latency_cycles;
} bf_sum;

typedef struct bf_tally_row {
  const char *key;
  bf_sum sum;
  uint64_t worst_line; /* the first access with the most conflicts, and its explanation */
  uint32_t worst_conflicts;
  char worst[256];
} bf_tally_row;

typedef struct bf_tally bf_tally;
/* hash NULL: none. The machine and the hash are borrowed. */
int bf_tally_create(const bf_machine *machine, const bf_hash *hash, bf_lock_hash lock_hash,
                    bf_tally **tally, bf_diagnostic *diagnostic);
/* An empty one with the machine and the hashes of tally. */
int bf_tally_like(const bf_tally *tally, bf_tally **fresh, bf_diagnostic *diagnostic);
/* Counts access and adds it. count gets the count of one execution, unless NULL. */
int bf_tally_add(bf_tally *tally, const bf_access *access, bf_count *count,
                 bf_diagnostic *diagnostic);
/* Must be called when sites of accesses that were added may be freed. */
void bf_tally_forget_sites(bf_tally *tally);
/* Adds the rows of other, whose accesses have line numbers of the same trace. */
int bf_tally_join(bf_tally *tally, const bf_tally *other, bf_diagnostic *diagnostic);
/* The rows, most conflicts first, then by key; valid until something is added. */
const bf_tally_row *bf_tally_rows(bf_tally *tally, size_t *count);
bf_sum bf_tally_total(const bf_tally *tally);
void bf_tally_free(bf_tally *tally);

/* How a trace is read. */
typedef struct bf_tally_reading {
  unsigned threads; /* 0: as many as there are cores */
  /* Called now and then with the bytes of the file read so far and its size (0: not known); false
   * stops with BF_STOPPED. NULL: nobody listens. */
  bool (*progress)(void *context, uint64_t bytes, uint64_t size);
  void *context;
} bf_tally_reading;

/* Adds all accesses of trace (its file's name is for messages), by several threads. The tally is
 * the same for any number of them. */
int bf_tally_read(bf_tally *tally, bf_trace *trace, const char *file,
                  const bf_tally_reading *reading, bf_diagnostic *diagnostic);

#endif
