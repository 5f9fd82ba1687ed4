/* Counting wavefronts: the one place where accesses, machines and hashes meet.
 *
 * A machine serves an access in phases, groups of lanes that go together. In a phase every bank
 * delivers one word per wavefront, so the phase takes as many wavefronts as its fullest bank has
 * words; lanes that want the same word share it (or not, where the rule counts every access). The
 * locks of atomic operations are in locks.c. */
#include "memory/locks.h"
#include "memory/memory.h"

#include <string.h>

/* ---- Phases ---- */

/* True if every active lane's partner (lane ^ step) is inactive or has the same address. */
static bool lanes_pair_up(uint64_t mask, const uint32_t *address, unsigned step) {
  for (uint64_t left = mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left), partner = lane ^ step;
    if ((mask >> partner & 1) && address[partner] != address[lane])
      return false;
  }
  return true;
}

bool bf_groups_double(const bf_groups *groups, uint64_t mask, const uint32_t *address) {
  return groups->pair_merge && (lanes_pair_up(mask, address, 1) || lanes_pair_up(mask, address, 2));
}

const bf_groups *bf_groups_of(const bf_machine *machine, bf_op op, unsigned width_bytes) {
  const bf_groups *own = &machine->op[op].groups;
  return own->count ? own : &machine->groups[bf_op_side(op)][bf_width_index(width_bytes)];
}

void bf_phase_begin(bf_phase_walk *walk, const bf_machine *machine, const bf_access *access) {
  const bf_groups *groups = bf_groups_of(machine, access->op, access->width_bytes);
  walk->machine = machine;
  walk->access = access;
  walk->groups = groups;
  walk->merged = bf_groups_double(groups, access->mask, access->address);
  walk->group = walk->word = 0;
  walk->words_per_lane =
      access->width_bytes > machine->word_bytes ? access->width_bytes / machine->word_bytes : 1;
}

/* Lanes of the group the walk stands at. A machine that lists no groups serves all lanes at once.
 */
static uint64_t group_lanes(const bf_phase_walk *walk) {
  const bf_groups *groups = walk->groups;
  if (groups->count == 0)
    return UINT64_MAX;
  uint64_t lanes = groups->mask[walk->group];
  if (walk->merged && walk->group + 1 < groups->count)
    lanes |= groups->mask[walk->group + 1];
  return lanes;
}

static void next_group(bf_phase_walk *walk) {
  walk->word = 0;
  walk->group += walk->merged ? 2 : 1;
}

static void fill_phase(const bf_phase_walk *walk, uint64_t lanes, bf_phase *phase) {
  const bf_access *access = walk->access;
  bool split = walk->groups->split_words;
  unsigned from = split ? walk->word : 0, to = split ? walk->word + 1 : walk->words_per_lane;
  phase->words = 0;
  for (; lanes; lanes &= lanes - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(lanes);
    uint32_t word = access->address[lane] / walk->machine->word_bytes;
    for (unsigned k = from; k < to; k++) {
      phase->word[phase->words] = word + k;
      phase->lane[phase->words++] = (uint8_t)lane;
    }
  }
}

bool bf_phase_next(bf_phase_walk *walk, bf_phase *phase) {
  unsigned groups = walk->groups->count ? walk->groups->count : 1;
  while (walk->group < groups) {
    uint64_t lanes = group_lanes(walk) & walk->access->mask;
    if (lanes == 0) {
      next_group(walk);
      continue;
    }
    const bf_op_rule *rule = &walk->machine->op[walk->access->op];
    phase->extra = walk->groups->extra;
    phase->times = rule->times;
    phase->count_duplicates = rule->rule == BF_RULE_ACCESSES;
    fill_phase(walk, lanes, phase);
    if (walk->groups->split_words && walk->word + 1 < walk->words_per_lane)
      walk->word++;
    else
      next_group(walk);
    return true;
  }
  return false;
}

/* ---- Fullest bank ---- */

/* What banks hold of a phase: entries with equal bank and equal key are served together. */
typedef struct demand {
  unsigned entries;
  uint32_t bank[BF_PHASE_WORDS];
  uint64_t key[BF_PHASE_WORDS];
} demand;

enum { BUCKETS = 256 };

/* Largest number of entries in a bank, counting entries of equal key once unless `duplicates`.
 * Entries are chained by the low bits of their bank. */
static unsigned fullest_bank(const demand *d, bool duplicates) {
  int16_t head[BUCKETS], next[BF_PHASE_WORDS];
  uint16_t load[BF_PHASE_WORDS]; /* entries counted in the bank up to and with this one */
  unsigned fullest = 0;
  memset(head, -1, sizeof head);
  for (unsigned i = 0; i < d->entries; i++) {
    unsigned bucket = d->bank[i] % BUCKETS;
    unsigned before = 0;
    bool seen = false;
    for (int other = head[bucket]; other >= 0 && !(seen && !duplicates); other = next[other]) {
      if (d->bank[other] != d->bank[i])
        continue;
      if (load[other] > before)
        before = load[other];
      seen = seen || d->key[other] == d->key[i];
    }
    if (seen && !duplicates)
      continue;
    load[i] = (uint16_t)(before + 1);
    next[i] = head[bucket];
    head[bucket] = (int16_t)i;
    if (load[i] > fullest)
      fullest = load[i];
  }
  return fullest;
}

/* Multiplicities of the distinct keys in one bank, largest first. */
static unsigned bank_multiplicities(const demand *d, uint32_t bank, unsigned *multiplicity) {
  uint64_t key[BF_PHASE_WORDS];
  unsigned words = 0;
  for (unsigned i = 0; i < d->entries; i++) {
    if (d->bank[i] != bank)
      continue;
    unsigned w = 0;
    while (w < words && key[w] != d->key[i])
      w++;
    if (w == words) {
      key[words] = d->key[i];
      multiplicity[words++] = 0;
    }
    multiplicity[w]++;
  }
  for (unsigned i = 1; i < words; i++)
    for (unsigned j = i; j > 0 && multiplicity[j - 1] < multiplicity[j]; j--) {
      unsigned swap = multiplicity[j];
      multiplicity[j] = multiplicity[j - 1];
      multiplicity[j - 1] = swap;
    }
  return words;
}

/* Broadcasts that a bank needs to be done in `passes`: each pass serves one lane, or all lanes of
 * the word that is broadcast in it. More than `passes` means impossible. */
static unsigned broadcasts_needed(const unsigned *multiplicity, unsigned words, unsigned passes) {
  unsigned lanes = 0, needed = 0;
  for (unsigned w = 0; w < words; w++)
    lanes += multiplicity[w];
  for (; lanes > passes && needed < words; needed++)
    lanes -= multiplicity[needed] - 1;
  return lanes > passes ? passes + 1 : needed;
}

/* Passes where each bank serves one lane per pass, except that in each pass one word of the whole
 * memory is broadcast to all lanes that want it: the fewest, choosing those words well. */
static unsigned one_broadcast_passes(const demand *d) {
  for (unsigned passes = 1;; passes++) {
    unsigned total = 0;
    for (unsigned i = 0; i < d->entries; i++) {
      bool first = true;
      for (unsigned j = 0; j < i && first; j++)
        first = d->bank[j] != d->bank[i];
      unsigned multiplicity[BF_PHASE_WORDS];
      if (first)
        total += broadcasts_needed(multiplicity, bank_multiplicities(d, d->bank[i], multiplicity),
                                   passes);
    }
    if (total <= passes)
      return passes;
  }
}

static unsigned serve(bf_serve serve_rule, const demand *d, bool duplicates) {
  return serve_rule == BF_SERVE_ONE_BROADCAST && !duplicates ? one_broadcast_passes(d)
                                                             : fullest_bank(d, duplicates);
}

unsigned bf_phase_wavefronts(const bf_machine *machine, const bf_hash *hash,
                             const bf_phase *phase) {
  demand d = {.entries = phase->words};
  for (unsigned i = 0; i < phase->words; i++) {
    d.bank[i] = bf_hash_bank(hash, phase->word[i]);
    d.key[i] = phase->word[i];
    if (machine->serve == BF_SERVE_ROW_PAIRS)
      d.key[i] = bf_hash_place(hash, phase->word[i]) >> (machine->bank_bits + 1);
  }
  return phase->times * (serve(machine->serve, &d, phase->count_duplicates) + phase->extra);
}

/* ---- Ideal ---- */

/* Puts the words, largest first, into banks of at most `passes` accesses; words of equal size and
 * banks of equal load are tried once. */
static bool pack(const unsigned *size, unsigned words, unsigned *load, unsigned banks,
                 unsigned passes, unsigned *budget) {
  if (words == 0)
    return true;
  if ((*budget)-- == 0)
    return false;
  for (unsigned b = 0; b < banks; b++) {
    bool tried = false;
    for (unsigned other = 0; other < b && !tried; other++)
      tried = load[other] == load[b];
    if (tried || load[b] + size[0] > passes)
      continue;
    load[b] += size[0];
    bool done = pack(size + 1, words - 1, load, banks, passes, budget);
    load[b] -= size[0];
    if (done || *budget == 0)
      return done;
  }
  return false;
}

unsigned bf_memory_best_packing(const unsigned *multiplicity, unsigned words, unsigned banks) {
  unsigned size[BF_PHASE_WORDS], load[BF_PHASE_WORDS] = {0}, total = 0, largest = 0;
  for (unsigned i = 0; i < words; i++) {
    unsigned j = i;
    for (; j > 0 && size[j - 1] < multiplicity[i]; j--)
      size[j] = size[j - 1];
    size[j] = multiplicity[i];
    total += multiplicity[i];
    if (multiplicity[i] > largest)
      largest = multiplicity[i];
  }
  if (words <= banks)
    return largest;
  unsigned passes = (total + banks - 1) / banks;
  if (passes < largest)
    passes = largest;
  for (unsigned budget = 200000; !pack(size, words, load, banks, passes, &budget); budget = 200000)
    passes++;
  return passes;
}

/* The demand of a phase with every word in a bank of its own as far as banks reach. */
static unsigned spread(const bf_phase *phase, unsigned banks, demand *d, unsigned *multiplicity) {
  uint32_t seen[BF_PHASE_WORDS];
  unsigned words = 0;
  d->entries = phase->words;
  for (unsigned i = 0; i < phase->words; i++) {
    unsigned w = 0;
    while (w < words && seen[w] != phase->word[i])
      w++;
    if (w == words) {
      multiplicity[words] = 0;
      seen[words++] = phase->word[i];
    }
    multiplicity[w]++;
    d->bank[i] = w % banks;
    d->key[i] = phase->word[i];
  }
  return words;
}

unsigned bf_memory_phase_passes(const bf_machine *machine, const bf_phase *phase) {
  unsigned banks = 1u << machine->bank_bits, multiplicity[BF_PHASE_WORDS];
  demand d;
  if (!phase->count_duplicates && machine->serve == BF_SERVE_DISTINCT_WORDS &&
      phase->words <= banks)
    return 1;
  unsigned words = spread(phase, banks, &d, multiplicity), passes;
  if (phase->count_duplicates)
    passes = bf_memory_best_packing(multiplicity, words, banks);
  else if (machine->serve == BF_SERVE_ONE_BROADCAST)
    passes = one_broadcast_passes(&d);
  else if (machine->serve == BF_SERVE_ROW_PAIRS)
    passes = (words + 2 * banks - 1) / (2 * banks);
  else
    passes = (words + banks - 1) / banks;
  return passes;
}

static unsigned phase_ideal(const bf_machine *machine, const bf_phase *phase) {
  return phase->times * (bf_memory_phase_passes(machine, phase) + phase->extra);
}

/* ---- What an access costs in part, and elsewhere ---- */

/* Whether a bank has at most one word to deliver in each phase of an access, with groups of lanes
 * served together or not. */
static bool is_spread(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                      bool merged) {
  bf_phase_walk walk;
  bf_phase phase;
  bf_phase_begin(&walk, machine, access);
  walk.merged = merged;
  while (bf_phase_next(&walk, &phase))
    if (bf_phase_wavefronts(machine, hash, &phase) != phase.times * (1 + phase.extra))
      return false;
  return true;
}

/* Whether an operation is served word by word, so that nothing but the banks of words counts. */
static bool is_by_words(const bf_machine *machine, bf_op op) {
  bf_rule rule = machine->op[op].rule;
  return (rule == BF_RULE_WORDS || rule == BF_RULE_ACCESSES) &&
         machine->serve == BF_SERVE_DISTINCT_WORDS;
}

bool bf_memory_is_free_in_part(const bf_machine *machine, const bf_access *access) {
  bool can_merge = bf_groups_of(machine, access->op, access->width_bytes)->pair_merge;
  return is_by_words(machine, access->op) && is_spread(machine, machine->none, access, false) &&
         (!can_merge || is_spread(machine, machine->none, access, true));
}

uint32_t bf_memory_offset_period(const bf_machine *machine, bf_op op) {
  return is_by_words(machine, op) ? machine->word_bytes
                                  : 2u * machine->word_bytes << machine->bank_bits;
}

/* ---- The one count ---- */

unsigned bf_memory_phase_sum(const bf_machine *machine, const bf_hash *hash,
                             const bf_access *access) {
  bf_phase_walk walk;
  bf_phase phase;
  unsigned sum = 0;
  bf_phase_begin(&walk, machine, access);
  while (bf_phase_next(&walk, &phase))
    sum += bf_phase_wavefronts(machine, hash, &phase);
  return sum;
}

unsigned bf_memory_read_ideal(const bf_machine *machine, const bf_access *access, uint64_t lanes) {
  bf_access load = *access;
  bf_phase_walk walk;
  bf_phase phase;
  unsigned sum = 0;
  load.op = BF_OP_LD;
  load.mask = lanes;
  bf_phase_begin(&walk, machine, &load);
  while (bf_phase_next(&walk, &phase))
    sum += phase_ideal(machine, &phase);
  return sum;
}

static void count_phases(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                         bf_count *count) {
  bf_phase_walk walk;
  bf_phase phase;
  unsigned sum = 0;
  bf_phase_begin(&walk, machine, access);
  while (bf_phase_next(&walk, &phase)) {
    unsigned wavefronts = bf_phase_wavefronts(machine, hash, &phase);
    unsigned best = phase.times * (1 + phase.extra);
    sum += wavefronts;
    count->ideal += wavefronts == best ? best : phase_ideal(machine, &phase);
  }
  bf_side side = bf_op_side(access->op);
  if (side == BF_SIDE_LOAD)
    count->wavefronts_load = sum;
  else if (side == BF_SIDE_STORE)
    count->wavefronts_store = sum;
  else
    count->wavefronts_atomic = sum;
  count->lock_iterations = side == BF_SIDE_ATOMIC;
}

int bf_memory_check_hash(const bf_machine *machine, const bf_hash *hash,
                         bf_diagnostic *diagnostic) {
  if (!hash || hash->geometry.bank_bits == machine->bank_bits)
    return BF_OK;
  return bf_fail(diagnostic, BF_BAD_INPUT, "a hash for %u banks, but machine '%s' has %u",
                 1u << hash->geometry.bank_bits, machine->name, 1u << machine->bank_bits);
}

int bf_memory_count_locked(const bf_machine *machine, const bf_hash *hash, bf_lock_hash lock_hash,
                           const bf_access *access, bf_count *count, bf_diagnostic *diagnostic) {
  memset(count, 0, sizeof *count);
  bf_trace_limits limits = bf_machine_limits(machine);
  int fault;
  BF_TRY(bf_access_check(access, &limits, &fault, diagnostic));
  const bf_op_rule *rule = &machine->op[access->op];
  switch (rule->rule) {
  case BF_RULE_NONE:
    break; /* refused by bf_access_check */
  case BF_RULE_WORDS:
  case BF_RULE_ACCESSES:
    count_phases(machine, hash, access, count);
    break;
  case BF_RULE_LOCK_LOOP:
    bf_locks_loop(machine, hash, access, count);
    break;
  case BF_RULE_LOCK_LOOP_HALVES:
    bf_locks_loop_halves(machine, hash, access, NULL, count);
    break;
  case BF_RULE_LOCK_TABLE:
    bf_locks_table(machine, hash, lock_hash, access, count);
    break;
  case BF_RULE_SECTOR_COPY:
    bf_copies_count(machine, hash, access, count);
    break;
  }
  count->estimated =
      rule->estimated || bf_groups_of(machine, access->op, access->width_bytes)->estimated;
  uint32_t wavefronts = (uint32_t)bf_count_wavefronts(count);
  count->conflicts = wavefronts > count->ideal ? wavefronts - count->ideal : 0;
  return BF_OK;
}

int bf_memory_count(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                    bf_count *count, bf_diagnostic *diagnostic) {
  memset(count, 0, sizeof *count);
  BF_TRY(bf_memory_check_hash(machine, hash, diagnostic));
  return bf_memory_count_locked(machine, hash ? hash : machine->none, BF_LOCK_PLAIN, access, count,
                                diagnostic);
}
