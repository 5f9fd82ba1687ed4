/* The count of bf_locks_table for one word per lane, in two passes over the lanes instead of one
 * per iteration. A lane wins in the iteration whose number is the count of lower lanes that want
 * its lock. From the last iteration to the first, lanes only join those that read: so the fullest
 * bank is known from what joins. */
#include "memory/locks.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 1 << 18, MOST_BANKS = 64, MOST_LANES = 32, LOCK_LIMIT = 1 << 16 };

struct bf_lock_counter {
  unsigned word_shift, locks;
  uint8_t *bank_of_word;
  uint16_t *lock_of_word;
  /* Lanes of the access at hand that were met; all 0 between two accesses. */
  uint8_t *lanes_of_word, *lanes_of_lock;
};

static bool is_power_of_two(uint64_t value) { return value && (value & (value - 1)) == 0; }

/* Whether all lanes of a word each are one phase, served by the words of the fullest bank. */
static bool is_one_phase(const bf_machine *machine, bf_op op) {
  const bf_op_rule *rule = &machine->op[op];
  const bf_groups *groups = bf_groups_of(machine, op, machine->word_bytes);
  return rule->rule == BF_RULE_WORDS && rule->times == 1 && groups->count <= 1 &&
         groups->extra == 0 && !groups->split_words;
}

bool bf_lock_counter_serves(const bf_machine *machine, bf_op op, unsigned width_bytes) {
  const bf_op_rule *rule = &machine->op[op];
  return rule->rule == BF_RULE_LOCK_TABLE && width_bytes == machine->word_bytes &&
         rule->locks <= LOCK_LIMIT && 1U << machine->bank_bits <= MOST_BANKS &&
         machine->capacity_bytes / machine->word_bytes < MOST_WORDS &&
         is_power_of_two(machine->word_bytes) && machine->serve == BF_SERVE_DISTINCT_WORDS &&
         is_one_phase(machine, BF_OP_LD) && is_one_phase(machine, BF_OP_ST);
}

bf_lock_counter *bf_lock_counter_create(const bf_machine *machine, const bf_hash *hash,
                                        bf_lock_hash lock_hash, unsigned locks) {
  uint64_t words = machine->capacity_bytes / machine->word_bytes + 1;
  bf_lock_counter *counter = calloc(1, sizeof *counter);
  if (!counter)
    return NULL;
  counter->word_shift = (unsigned)__builtin_ctz(machine->word_bytes);
  counter->locks = locks;
  counter->bank_of_word = malloc(words);
  counter->lock_of_word = malloc(words * sizeof *counter->lock_of_word);
  counter->lanes_of_word = calloc(words, 1);
  counter->lanes_of_lock = calloc(LOCK_LIMIT, 1);
  if (!counter->bank_of_word || !counter->lock_of_word || !counter->lanes_of_word ||
      !counter->lanes_of_lock) {
    bf_lock_counter_free(counter);
    return NULL;
  }
  for (uint32_t word = 0; word < words; word++) {
    counter->bank_of_word[word] = (uint8_t)bf_hash_bank(hash, word);
    counter->lock_of_word[word] = (uint16_t)bf_locks_number(machine, hash, lock_hash, locks, word);
  }
  return counter;
}

void bf_lock_counter_free(bf_lock_counter *counter) {
  if (!counter)
    return;
  free(counter->bank_of_word);
  free(counter->lock_of_word);
  free(counter->lanes_of_word);
  free(counter->lanes_of_lock);
  free(counter);
}

unsigned bf_lock_counter_locks(const bf_lock_counter *counter) { return counter->locks; }

/* Sets winners[i] to the lanes that win in iteration i; returns the number of iterations. */
static unsigned find_winners(bf_lock_counter *counter, uint32_t mask, const uint32_t *address,
                             uint32_t *winners) {
  unsigned iterations = 0;
  for (uint32_t left = mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    uint8_t *met =
        &counter->lanes_of_lock[counter->lock_of_word[address[lane] >> counter->word_shift]];
    unsigned turn = (*met)++;
    if (turn == iterations)
      winners[iterations++] = 0;
    winners[turn] |= 1U << lane;
  }
  return iterations;
}

/* Readers of an iteration and those after it, by bank. */
typedef struct reading {
  uint8_t words[MOST_BANKS];
  unsigned fullest, most_wanted; /* words of a bank, lanes of a word */
} reading;

/* Adds the lanes that win in one iteration to the readers; returns the wavefronts of their write.
 * No two of them have the same lock, so their words differ. */
static unsigned add_winners(bf_lock_counter *counter, uint32_t lanes, const uint32_t *address,
                            reading *reads) {
  uint8_t written[MOST_BANKS] = {0};
  unsigned writes = 0;
  for (; lanes; lanes &= lanes - 1) {
    uint32_t word = address[__builtin_ctz(lanes)] >> counter->word_shift;
    unsigned bank = counter->bank_of_word[word];
    unsigned wanted = ++counter->lanes_of_word[word];
    reads->words[bank] = (uint8_t)(reads->words[bank] + (wanted == 1));
    written[bank]++;
    writes = written[bank] > writes ? written[bank] : writes;
    reads->fullest = reads->words[bank] > reads->fullest ? reads->words[bank] : reads->fullest;
    reads->most_wanted = wanted > reads->most_wanted ? wanted : reads->most_wanted;
  }
  return writes;
}

/* Clears what an access has left. */
static void forget(bf_lock_counter *counter, uint32_t mask, const uint32_t *address) {
  for (uint32_t left = mask; left; left &= left - 1) {
    uint32_t word = address[__builtin_ctz(left)] >> counter->word_shift;
    counter->lanes_of_word[word] = 0;
    counter->lanes_of_lock[counter->lock_of_word[word]] = 0;
  }
}

void bf_lock_counter_count(bf_lock_counter *counter, const bf_op_rule *rule, uint32_t mask,
                           const uint32_t *address, bf_count *count) {
  uint32_t winners[MOST_LANES];
  reading reads = {.fullest = 0};
  unsigned iterations = find_winners(counter, mask, address, winners);
  *count = (bf_count){.lock_iterations = iterations};
  for (unsigned i = iterations; i-- > 0;) {
    count->wavefronts_store += add_winners(counter, winners[i], address, &reads);
    count->wavefronts_load += reads.fullest;
  }
  count->latency_cycles = rule->cycles[0] * count->wavefronts_load +
                          rule->cycles[2] * count->wavefronts_store +
                          (rule->cycles[1] + rule->cycles[3]) * iterations;
  count->ideal = 2 * reads.most_wanted;
  unsigned wavefronts = count->wavefronts_load + count->wavefronts_store;
  count->conflicts = wavefronts > count->ideal ? wavefronts - count->ideal : 0;
  forget(counter, mask, address);
}
