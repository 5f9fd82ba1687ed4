/* Inside room memory: operations that are not served in phases, most of them because they lock.
 * Each function adds its wavefronts, lock iterations, ideal and latency to *count. */
#ifndef BF_MEMORY_LOCKS_H
#define BF_MEMORY_LOCKS_H

#include "memory/memory.h"

/* Wavefronts of an access that is served in phases (rules WORDS and ACCESSES). */
unsigned bf_memory_phase_sum(const bf_machine *machine, const bf_hash *hash,
                             const bf_access *access);
/* The fewest load wavefronts any placement could need for the given lanes of an access. */
unsigned bf_memory_read_ideal(const bf_machine *machine, const bf_access *access, uint64_t lanes);

void bf_locks_loop(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                   bf_count *count);
void bf_locks_loop_halves(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                          bf_count *count);
void bf_locks_table(const bf_machine *machine, const bf_hash *hash, bf_lock_hash lock_hash,
                    const bf_access *access, bf_count *count);

/* Copies of 16 bytes per lane (copies.c). */
void bf_copies_count(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                     bf_count *count);

#endif
