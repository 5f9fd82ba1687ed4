/* Atomic operations that take locks. All run the same loop: the waiting lanes read and try to take
 * their lock, of the lanes that want one lock the lowest wins, winners write and are done, losers
 * try again. They differ in what a lock covers and in what an iteration costs.
 *
 * The perfect memory would give every word a bank and a lock of its own; then an access takes as
 * many iterations as its most wanted word has lanes, each with one read. */
#include "memory/locks.h"

#include <string.h>

/* Load wavefronts of the waiting lanes. */
static unsigned read_wavefronts(const bf_machine *machine, const bf_hash *hash,
                                const bf_access *access, uint64_t waiting) {
  bf_access load = *access;
  load.op = BF_OP_LD;
  load.mask = waiting;
  return bf_memory_phase_sum(machine, hash, &load);
}

static unsigned write_wavefronts(const bf_machine *machine, const bf_hash *hash,
                                 const bf_access *access, uint64_t winners) {
  bf_access store = *access;
  store.op = BF_OP_ST;
  store.mask = winners;
  return bf_memory_phase_sum(machine, hash, &store);
}

static uint32_t word_of(const bf_machine *machine, const bf_access *access, unsigned lane) {
  return access->address[lane] / machine->word_bytes;
}

/* Of the lanes in `waiting`, the lowest for each value of lock[lane]. */
static uint64_t lowest_per_lock(const uint32_t *lock, uint64_t waiting) {
  uint64_t winners = 0;
  for (uint64_t left = waiting; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    bool beaten = false;
    for (uint64_t rest = winners; rest && !beaten; rest &= rest - 1)
      beaten = lock[__builtin_ctzll(rest)] == lock[lane];
    if (!beaten)
      winners |= (uint64_t)1 << lane;
  }
  return winners;
}

/* Multiplicities of the addresses of an access; returns how many distinct ones there are. */
static unsigned multiplicities(const bf_access *access, unsigned *multiplicity) {
  uint32_t seen[BF_MAX_LANES];
  unsigned words = 0;
  for (uint64_t left = access->mask; left; left &= left - 1) {
    uint32_t address = access->address[__builtin_ctzll(left)];
    unsigned w = 0;
    while (w < words && seen[w] != address)
      w++;
    if (w == words) {
      multiplicity[words] = 0;
      seen[words++] = address;
    }
    multiplicity[w]++;
  }
  return words;
}

/* One lock per bank; an iteration costs its reads and two atomic wavefronts (measured on an H200,
 * tests/data/h200). */
void bf_locks_loop(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                   bf_count *count) {
  uint32_t lock[BF_MAX_LANES];
  unsigned multiplicity[BF_MAX_LANES];
  for (uint64_t left = access->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    lock[lane] = bf_hash_bank(hash, word_of(machine, access, lane));
  }
  for (uint64_t waiting = access->mask; waiting; count->lock_iterations++) {
    count->wavefronts_load += read_wavefronts(machine, hash, access, waiting);
    count->wavefronts_atomic += 2;
    waiting &= ~lowest_per_lock(lock, waiting);
  }
  unsigned words = multiplicities(access, multiplicity);
  count->ideal = 3 * bf_memory_best_packing(multiplicity, words, 1u << machine->bank_bits);
}

/* The lanes that win an iteration half by half. */
static uint64_t half_winners(const bf_access *access, const uint32_t *lock, uint64_t waiting,
                             uint64_t first_half) {
  uint64_t winners = lowest_per_lock(lock, waiting & first_half);
  uint64_t others = lowest_per_lock(lock, waiting & ~first_half);
  for (uint64_t left = others; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    for (uint64_t taken = winners & first_half; taken; taken &= taken - 1)
      if (access->address[__builtin_ctzll(taken)] == access->address[lane])
        others &= ~((uint64_t)1 << lane);
  }
  return winners | others;
}

/* Gives every address a lock of its own within each half: addresses of the first half are numbered
 * in order, further ones of the second half take numbers that no address of that half has. */
static void perfect_locks(const bf_access *access, uint64_t first_half, uint32_t *lock) {
  for (unsigned half = 0; half < 2; half++) {
    uint64_t lanes = access->mask & (half ? ~first_half : first_half);
    uint64_t used = 0;
    for (unsigned pass = 0; pass < 2; pass++)
      for (uint64_t left = lanes; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(left);
        uint64_t before = (access->mask & first_half) | (lanes & (((uint64_t)1 << lane) - 1));
        if (half == 0)
          before = lanes & (((uint64_t)1 << lane) - 1);
        bool known = false;
        for (uint64_t rest = before & access->mask; rest && !known; rest &= rest - 1) {
          unsigned other = (unsigned)__builtin_ctzll(rest);
          known = access->address[other] == access->address[lane];
          if (known)
            lock[lane] = lock[other];
        }
        if (pass == 1 && !known)
          lock[lane] = (uint32_t)__builtin_ctzll(~used);
        if (known || pass == 1)
          used |= (uint64_t)1 << lock[lane];
      }
  }
}

/* Iterations and atomic wavefronts for given locks. */
static unsigned run_halves(const bf_access *access, const uint32_t *lock, uint64_t first_half,
                           unsigned *atomic_wavefronts, uint64_t *waiting_masks) {
  unsigned iterations = 0;
  for (uint64_t waiting = access->mask; waiting; iterations++) {
    waiting_masks[iterations] = waiting;
    *atomic_wavefronts += 2 * ((waiting & first_half) != 0) + 2 * ((waiting & ~first_half) != 0);
    waiting &= ~half_winners(access, lock, waiting, first_half);
  }
  return iterations;
}

/* The same of words whose values are known: a winner of its half still loses where the word is no
 * longer what it read. Of lanes that wait, those for which there is nothing to change may leave
 * before they try. */
static unsigned run_changes(const bf_access *access, const uint32_t *lock, uint64_t first_half,
                            const bf_changes *changes, unsigned *atomic_wavefronts,
                            uint64_t *waiting_masks) {
  uint64_t value[BF_MAX_LANES], new[BF_MAX_LANES], old[BF_MAX_LANES];
  unsigned same[BF_MAX_LANES], iterations = 0; /* the first lane with the same word */
  for (uint64_t left = access->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    same[lane] = lane;
    for (uint64_t rest = access->mask & (((uint64_t)1 << lane) - 1); rest; rest &= rest - 1)
      if (access->address[__builtin_ctzll(rest)] == access->address[lane]) {
        same[lane] = (unsigned)__builtin_ctzll(rest);
        break;
      }
    memcpy(&value[lane], changes->memory + access->address[lane], sizeof *value);
  }
  for (uint64_t waiting = access->mask; waiting; iterations++) {
    uint64_t trying = waiting;
    waiting_masks[iterations] = waiting;
    for (uint64_t left = waiting; left; left &= left - 1) {
      unsigned lane = (unsigned)__builtin_ctzll(left);
      old[lane] = value[same[lane]];
      new[lane] = changes->apply(old[lane], changes->operand[lane], 0);
      if (changes->may_leave && new[lane] == old[lane])
        trying &= ~((uint64_t)1 << lane);
    }
    *atomic_wavefronts += 2 * ((trying & first_half) != 0) + 2 * ((trying & ~first_half) != 0);
    waiting = trying;
    for (uint64_t left = lowest_per_lock(lock, trying & first_half) |
                         lowest_per_lock(lock, trying & ~first_half);
         left; left &= left - 1) {
      unsigned lane = (unsigned)__builtin_ctzll(left);
      if (value[same[lane]] != old[lane])
        continue;
      value[same[lane]] = new[lane];
      waiting &= ~((uint64_t)1 << lane);
    }
  }
  return iterations;
}

/* Half-warp after half-warp, one lock per pair of banks; the second half loses where the first has
 * just locked the same address; two atomic wavefronts per half with waiting lanes (measured on an
 * H200, tests/data/h200). */
void bf_locks_loop_halves(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                          const bf_changes *changes, bf_count *count) {
  uint64_t first_half = bf_gf2_low_bits(machine->lanes / 2);
  uint32_t lock[BF_MAX_LANES];
  uint64_t waiting[BF_MAX_LANES];
  unsigned atomic_wavefronts = 0, ideal = 0;
  for (uint64_t left = access->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    lock[lane] = bf_hash_bank(hash, word_of(machine, access, lane)) >> 1;
  }
  count->lock_iterations =
      changes ? run_changes(access, lock, first_half, changes, &atomic_wavefronts, waiting)
              : run_halves(access, lock, first_half, &atomic_wavefronts, waiting);
  count->wavefronts_atomic = atomic_wavefronts;
  for (unsigned i = 0; i < count->lock_iterations; i++)
    count->wavefronts_load += read_wavefronts(machine, hash, access, waiting[i]);
  perfect_locks(access, first_half, lock);
  unsigned best = changes ? run_changes(access, lock, first_half, changes, &ideal, waiting)
                          : run_halves(access, lock, first_half, &ideal, waiting);
  for (unsigned i = 0; i < best; i++)
    ideal += bf_memory_read_ideal(machine, access, waiting[i]);
  count->ideal = ideal;
}

int bf_memory_count_changes(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                            const bf_changes *changes, bf_count *count, bf_diagnostic *diagnostic) {
  const bf_op_rule *rule = &machine->op[access->op];
  if (access->op != BF_OP_ADD64 || rule->rule != BF_RULE_LOCK_LOOP_HALVES || !changes)
    return bf_memory_count(machine, hash, access, count, diagnostic);
  memset(count, 0, sizeof *count);
  BF_TRY(bf_memory_check_hash(machine, hash, diagnostic));
  bf_locks_loop_halves(machine, hash ? hash : machine->none, access, changes, count);
  count->estimated |= rule->estimated;
  uint64_t wavefronts = bf_count_wavefronts(count);
  count->conflicts = wavefronts > count->ideal ? wavefronts - count->ideal : 0;
  return BF_OK;
}

/* Which of the locks of its bank a word uses: bits above the bank, folded by the lock hash with the
 * four bits above them (Table I of braak13: addr[11:7] xor or add addr[15:12]). */
static uint32_t lock_in_bank(const bf_machine *machine, bf_lock_hash lock_hash, uint32_t word,
                             uint32_t locks_per_bank) {
  uint32_t high = word >> machine->bank_bits;
  uint32_t above = high / locks_per_bank;
  if (lock_hash == BF_LOCK_XOR)
    high ^= above;
  else if (lock_hash == BF_LOCK_ADD)
    high += above;
  return high % locks_per_bank;
}

uint32_t bf_locks_number(const bf_machine *machine, const bf_hash *hash, bf_lock_hash lock_hash,
                         unsigned locks, uint32_t word) {
  uint32_t banks = 1u << machine->bank_bits;
  uint32_t locks_per_bank = locks / banks ? locks / banks : 1;
  return bf_hash_bank(hash, word) + banks * lock_in_bank(machine, lock_hash, word, locks_per_bank);
}

/* A table of locks shared by the words that map to them, and four states per iteration. Reads and
 * writes cost their latency once per bank-conflict level; the write of the winners is a store. */
void bf_locks_table(const bf_machine *machine, const bf_hash *hash, bf_lock_hash lock_hash,
                    const bf_access *access, bf_count *count) {
  const bf_op_rule *rule = &machine->op[access->op];
  uint32_t lock[BF_MAX_LANES];
  unsigned multiplicity[BF_MAX_LANES];
  for (uint64_t left = access->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    uint32_t word = word_of(machine, access, lane);
    lock[lane] = bf_locks_number(machine, hash, lock_hash, rule->locks, word);
  }
  for (uint64_t waiting = access->mask; waiting; count->lock_iterations++) {
    uint64_t winners = lowest_per_lock(lock, waiting);
    unsigned reads = read_wavefronts(machine, hash, access, waiting);
    unsigned writes = write_wavefronts(machine, hash, access, winners);
    count->wavefronts_load += reads;
    count->wavefronts_store += writes;
    count->latency_cycles +=
        rule->cycles[0] * reads + rule->cycles[1] + rule->cycles[2] * writes + rule->cycles[3];
    waiting &= ~winners;
  }
  unsigned words = multiplicities(access, multiplicity), most = 0;
  for (unsigned w = 0; w < words; w++)
    most = multiplicity[w] > most ? multiplicity[w] : most;
  count->ideal = 2 * most;
}
