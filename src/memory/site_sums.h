/* site_sums: what the accesses of a trace cost, summed by site. Accesses without a site are grouped
 * by operation, width and class. */
#ifndef BF_MEMORY_SITE_SUMS_H
#define BF_MEMORY_SITE_SUMS_H

#include "memory/memory.h"

typedef struct bf_sum {
  uint64_t accesses, wavefronts, ideal, conflicts, latency_cycles;
} bf_sum;

typedef struct bf_site_sum {
  const char *key;
  bf_sum sum;
  uint64_t worst_line; /* the first access with the most conflicts, and its explanation */
  uint32_t worst_conflicts;
  char worst[256];
} bf_site_sum;

typedef struct bf_site_sums bf_site_sums;
/* hash NULL: none. The machine and the hash are borrowed. */
int bf_site_sums_create(const bf_machine *machine, const bf_hash *hash, bf_lock_hash lock_hash,
                        bf_site_sums **sums, bf_diagnostic *diagnostic);
/* Groups all accesses by operation, width and class, those with a site too; before the first. */
void bf_site_sums_by_class(bf_site_sums *sums);
/* An empty one with the machine and the hashes of sums. */
int bf_site_sums_like(const bf_site_sums *sums, bf_site_sums **fresh, bf_diagnostic *diagnostic);
/* Counts access and adds it. count gets the count of one execution, unless NULL. */
int bf_site_sums_add(bf_site_sums *sums, const bf_access *access, bf_count *count,
                     bf_diagnostic *diagnostic);
/* From here on until the end, repeats in one trace are added as known (access.h) says; they are all
 * added at the end only. */
int bf_site_sums_begin_repeats(bf_site_sums *sums, bf_trace_known *known,
                               bf_diagnostic *diagnostic);
void bf_site_sums_end_repeats(bf_site_sums *sums);
/* Must be called when sites of accesses that were added may be freed. */
void bf_site_sums_forget_sites(bf_site_sums *sums);
/* Adds the rows of other, whose accesses have line numbers of the same trace. */
int bf_site_sums_join(bf_site_sums *sums, const bf_site_sums *other, bf_diagnostic *diagnostic);
/* The rows, most conflicts first, then by key; valid until something is added. */
const bf_site_sum *bf_site_sums_rows(bf_site_sums *sums, size_t *count);
bf_sum bf_site_sums_total(const bf_site_sums *sums);
void bf_site_sums_free(bf_site_sums *sums);

/* How a trace is read. */
typedef struct bf_site_sums_reading {
  unsigned threads; /* 0: as many as there are cores */
  /* Called now and then with the bytes of the file read so far and its size (0: not known); false
   * stops with BF_STOPPED. NULL: nobody listens. */
  bool (*progress)(void *context, uint64_t bytes, uint64_t size);
  void *context;
} bf_site_sums_reading;

/* Adds all accesses of trace (its file's name is for messages), by several threads. The sums is
 * the same for any number of them. */
int bf_site_sums_read(bf_site_sums *sums, bf_trace *trace, const char *file,
                      const bf_site_sums_reading *reading, bf_diagnostic *diagnostic);

#endif
