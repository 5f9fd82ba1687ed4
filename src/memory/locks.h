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
/* changes NULL: every lane changes its word. */
void bf_locks_loop_halves(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                          const bf_changes *changes, bf_count *count);
void bf_locks_table(const bf_machine *machine, const bf_hash *hash, bf_lock_hash lock_hash,
                    const bf_access *access, bf_count *count);

/* Counts as bf_locks_table does, but faster and only for accesses of a word per lane, at most 32
 * lanes (lock_counter.c). */
typedef struct bf_lock_counter bf_lock_counter;
/* Whether it can count the operation. */
bool bf_lock_counter_serves(const bf_machine *machine, bf_op op, unsigned width_bytes);
/* NULL: out of memory. */
bf_lock_counter *bf_lock_counter_create(const bf_machine *machine, const bf_hash *hash,
                                        bf_lock_hash lock_hash, unsigned locks);
void bf_lock_counter_free(bf_lock_counter *counter);
unsigned bf_lock_counter_locks(const bf_lock_counter *counter);
/* The addresses must be known to be right, and the rule to have as many locks; estimated is left
 * out. */
void bf_lock_counter_count(bf_lock_counter *counter, const bf_op_rule *rule, uint32_t mask,
                           const uint32_t *address, bf_count *count);

/* Copies of 16 bytes per lane (copies.c). */
void bf_copies_count(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                     bf_count *count);

#endif
