/* Counting many accesses fast. Every way gives what bf_memory_count gives.
 *
 * Patterns that were counted lately are kept with their counts. What may move without changing a
 * count? With no hash, the bank of a word is the word modulo the banks. If all addresses move by
 * the same number of words, the banks of all words turn by the same amount: words that shared a
 * bank, or were equal, still do, and phases depend on lanes and on equality only. So a pattern is
 * kept relative to its first lane, rounded down to a word, or to the width where that is more:
 * moves then keep every address as aligned as it was, and whether addresses share a word. Where
 * two rows of banks are served together (row-pairs) a move must also keep which rows those are: it
 * is a multiple of two rows. Under a hash nothing may move, nor where locks or sectors count: such
 * patterns are kept with their own addresses.
 *
 * A pattern that is new is counted directly where banks serve distinct words, or every access, of
 * whole words: in one pass over the lanes, with a stamp per word that says when it was last met.
 * Where many patterns in a row were new, only one of PROBES is looked up and kept; the others are
 * counted directly at once, until one is found again.
 *
 * An access of several words fills as many neighbouring banks; it counts as one unit in one group
 * of banks, where no hash takes its words apart. Tables of locks have a counter of their own
 * (lock_counter.c). All else goes to bf_memory_count_locked. */
#include "memory/locks.h"
#include "memory/memo.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_WORDS = 1 << 18, /* that have a stamp */
  MOST_BANKS = 64,
  NEW_IN_A_ROW = 64, /* after which most patterns are not looked up any more */
  PROBES = 16,
  FEW_PROBES = 64,   /* where four times as many of those that were looked up were new */
  STAMP_COUNT = 256, /* above all numbers of lanes; a stamp is the number of the phase times this,
                        plus accesses in it */
};

/* How accesses of one operation and width are counted. */
typedef struct count_plan {
  bool is_possible; /* the machine has the operation, and it that width */
  bool is_direct;
  bool is_locking;   /* by lock_counter.c */
  bool is_one_phase; /* direct: all lanes at once, a word of 32 banks each */
  bool count_duplicates;
  bool estimated;
  uint32_t base_mask; /* of the first address: from where a pattern is kept */
  uint32_t key;
  unsigned unit_shift;     /* bytes of a unit, as a shift: a word, or all that a lane accesses */
  unsigned bank_shift;     /* words of a unit, as a shift */
  unsigned unit_bank_mask; /* groups of unit_words banks, less 1 */
  unsigned times;
  const bf_groups *groups;
  bf_side side;
} count_plan;

struct bf_counter {
  const bf_machine *machine;
  const bf_hash *hash;
  bool is_plain; /* the hash is none */
  bf_lock_hash lock_hash;
  bf_lock_counter *locks; /* NULL: the machine has no table of locks */
  const bf_memo_kernel *kernel;
  bf_memo *memo;
  uint32_t *stamp;       /* per unit; NULL where the memory is too large */
  uint8_t *bank_of_word; /* under a hash; NULL: the low bits */
  uint32_t phase;        /* the number of the next one, from 1 on */
  unsigned word_shift;
  uint32_t lanes_mask;
  count_plan plans[BF_OP_COUNT][BF_WIDTHS];
  uint64_t patterns; /* that were new so far */
  unsigned new_in_a_row;
  unsigned probe; /* accesses that were not looked up */
  bf_counter_pattern last;
  bf_access scratch;
};

/* ---- Plans ---- */

static bool is_power_of_two(uint64_t value) { return value && (value & (value - 1)) == 0; }

static unsigned log2_of(uint64_t value) { return (unsigned)__builtin_ctzll(value); }

/* From where patterns may be kept; 0: from address 0, so that they never move. */
static uint32_t base_mask(const bf_counter *counter, bf_op op, unsigned width_bytes) {
  const bf_machine *machine = counter->machine;
  bf_rule rule = machine->op[op].rule;
  uint32_t step = width_bytes > machine->word_bytes ? width_bytes : machine->word_bytes;
  bool by_phases = rule == BF_RULE_WORDS || rule == BF_RULE_ACCESSES;
  if (!counter->is_plain || !by_phases || !is_power_of_two(machine->word_bytes))
    return 0;
  if (machine->serve == BF_SERVE_ROW_PAIRS) {
    uint32_t rows = 2 * (machine->word_bytes << machine->bank_bits);
    step = rows > step ? rows : step;
  }
  return ~(step - 1);
}

/* Decides whether accesses are counted directly, and how. */
static void make_direct(const bf_counter *counter, unsigned width_bytes, count_plan *plan) {
  const bf_machine *machine = counter->machine;
  unsigned word = machine->word_bytes, banks = 1U << machine->bank_bits;
  plan->unit_shift = log2_of(width_bytes > word ? width_bytes : word);
  plan->bank_shift = plan->unit_shift - log2_of(word);
  plan->unit_bank_mask = (banks >> plan->bank_shift) - 1;
  unsigned unit_words = 1U << plan->bank_shift;
  bool whole = unit_words <= banks && bf_hash_granule_words(counter->hash) >= unit_words;
  plan->is_direct =
      machine->serve == BF_SERVE_DISTINCT_WORDS && whole && !plan->groups->split_words;
  plan->is_one_phase = plan->groups->count <= 1 && plan->unit_bank_mask == 31;
}

static void make_plan(const bf_counter *counter, bf_op op, unsigned width_bytes, count_plan *plan) {
  const bf_machine *machine = counter->machine;
  const bf_op_rule *rule = &machine->op[op];
  plan->is_possible =
      rule->rule != BF_RULE_NONE && bf_access_check_width(op, width_bytes, NULL) == BF_OK;
  if (!plan->is_possible)
    return;
  plan->groups = bf_groups_of(machine, op, width_bytes);
  plan->side = bf_op_side(op);
  plan->times = rule->times;
  plan->estimated = rule->estimated || plan->groups->estimated;
  plan->count_duplicates = rule->rule == BF_RULE_ACCESSES;
  plan->base_mask = base_mask(counter, op, width_bytes);
  plan->key = 1 + (uint32_t)op * BF_WIDTHS + bf_width_index(width_bytes);
  if (counter->stamp && (rule->rule == BF_RULE_WORDS || rule->rule == BF_RULE_ACCESSES))
    make_direct(counter, width_bytes, plan);
  plan->is_locking = counter->locks && bf_lock_counter_serves(machine, op, width_bytes) &&
                     rule->locks == bf_lock_counter_locks(counter->locks);
}

/* Makes the counter of the table of locks, where the machine has one that it can count. */
static int make_locks(bf_counter *counter, bf_diagnostic *diagnostic) {
  const bf_machine *machine = counter->machine;
  bf_lock_counter_free(counter->locks);
  counter->locks = NULL;
  for (int op = 0; op < BF_OP_COUNT && !counter->locks; op++) {
    if (!bf_lock_counter_serves(machine, (bf_op)op, machine->word_bytes))
      continue;
    counter->locks =
        bf_lock_counter_create(machine, counter->hash, counter->lock_hash, machine->op[op].locks);
    if (!counter->locks)
      return bf_no_memory(diagnostic);
  }
  return BF_OK;
}

static bool allocate(bf_counter *counter) {
  const bf_machine *machine = counter->machine;
  uint64_t words = machine->capacity_bytes / machine->word_bytes + 1;
  bool small = words <= MOST_WORDS && 1U << machine->bank_bits <= MOST_BANKS &&
               is_power_of_two(machine->word_bytes);
  counter->memo = aligned_alloc(64, BF_MEMO_PATTERNS * sizeof *counter->memo);
  if (!counter->memo)
    return false;
  bf_counter_forget(counter);
  if (!small)
    return true;
  counter->word_shift = log2_of(machine->word_bytes);
  counter->stamp = calloc(words, sizeof *counter->stamp);
  if (!counter->stamp)
    return false;
  if (counter->is_plain)
    return true;
  counter->bank_of_word = malloc(words + 3); /* kernels read 4 bytes at a time */
  for (uint64_t word = 0; counter->bank_of_word && word < words; word++)
    counter->bank_of_word[word] = (uint8_t)bf_hash_bank(counter->hash, word);
  return counter->bank_of_word != NULL;
}

int bf_counter_create(const bf_machine *machine, const bf_hash *hash, bf_counter **out,
                      bf_diagnostic *diagnostic) {
  *out = NULL;
  BF_TRY(bf_memory_check_hash(machine, hash, diagnostic));
  bf_counter *counter = calloc(1, sizeof *counter);
  int error = BF_OK;
  if (!counter)
    return bf_no_memory(diagnostic);
  counter->machine = machine;
  counter->is_plain = !hash || strcmp(bf_hash_text(hash), "none") == 0;
  counter->hash = counter->is_plain ? machine->none : hash;
  counter->kernel = bf_memo_best();
  counter->phase = 1;
  counter->lanes_mask = machine->lanes >= 32 ? UINT32_MAX : (1U << machine->lanes) - 1;
  if (!error && !allocate(counter))
    error = bf_no_memory(diagnostic);
  if (!error)
    error = make_locks(counter, diagnostic);
  for (int op = 0; !error && op < BF_OP_COUNT; op++)
    for (unsigned w = 0; w < BF_WIDTHS; w++)
      make_plan(counter, (bf_op)op, 1U << w, &counter->plans[op][w]);
  if (!error)
    *out = counter;
  else
    bf_counter_free(counter);
  return error;
}

void bf_counter_free(bf_counter *counter) {
  if (!counter)
    return;
  bf_lock_counter_free(counter->locks);
  free(counter->memo);
  free(counter->stamp);
  free(counter->bank_of_word);
  free(counter);
}

int bf_counter_set_lock_hash(bf_counter *counter, bf_lock_hash lock_hash,
                             bf_diagnostic *diagnostic) {
  if (lock_hash == counter->lock_hash)
    return BF_OK;
  counter->lock_hash = lock_hash;
  bf_counter_forget(counter);
  return make_locks(counter, diagnostic);
}

void bf_counter_use(bf_counter *counter, const bf_memo_kernel *kernel) { counter->kernel = kernel; }

void bf_counter_forget(bf_counter *counter) {
  memset(counter->memo, 0, BF_MEMO_PATTERNS * sizeof *counter->memo);
}

/* ---- Direct counting ---- */

/* What a phase needs: as it is, and at best; 0 at best where only the reference can say. */
typedef struct passes {
  unsigned needed, best;
} passes;

/* The number of a new phase. Numbers begin again, with all stamps cleared, before they overflow. */
static uint32_t begin_phase(bf_counter *counter) {
  if (counter->phase == UINT32_MAX / STAMP_COUNT) {
    const bf_machine *machine = counter->machine;
    uint64_t words = machine->capacity_bytes / machine->word_bytes + 1;
    memset(counter->stamp, 0, words * sizeof *counter->stamp);
    counter->phase = 1;
  }
  return counter->phase++ * STAMP_COUNT;
}

/* The group of banks that holds the unit at an address. */
static inline unsigned bank_of(const bf_counter *counter, const count_plan *plan,
                               uint32_t address) {
  if (!counter->bank_of_word)
    return address >> plan->unit_shift & plan->unit_bank_mask;
  return counter->bank_of_word[address >> counter->word_shift] >> plan->bank_shift;
}

/* Distinct units per bank; the fullest bank decides. */
static passes count_distinct(bf_counter *counter, const count_plan *plan, const uint32_t *address,
                             uint32_t lanes) {
  uint8_t load[MOST_BANKS] = {0};
  uint32_t stamp = begin_phase(counter);
  unsigned fullest = 0, distinct = 0, banks = plan->unit_bank_mask + 1;
  for (uint32_t left = lanes; left; left &= left - 1) {
    uint32_t at = address[__builtin_ctz(left)];
    unsigned bank = bank_of(counter, plan, at);
    uint32_t *mark = &counter->stamp[at >> plan->unit_shift];
    unsigned is_new = *mark != stamp;
    *mark = stamp;
    distinct += is_new;
    load[bank] = (uint8_t)(load[bank] + is_new);
    fullest = load[bank] > fullest ? load[bank] : fullest;
  }
  return (passes){fullest, (distinct + banks - 1) / banks};
}

/* Accesses per bank; at best those of the word that most lanes want, as long as there is a bank for
 * each word. */
static passes count_all(bf_counter *counter, const count_plan *plan, const uint32_t *address,
                        uint32_t lanes) {
  uint8_t load[MOST_BANKS] = {0};
  uint32_t stamp = begin_phase(counter);
  unsigned fullest = 0, distinct = 0, most = 0, banks = plan->unit_bank_mask + 1;
  for (uint32_t left = lanes; left; left &= left - 1) {
    uint32_t at = address[__builtin_ctz(left)];
    unsigned bank = bank_of(counter, plan, at);
    uint32_t *mark = &counter->stamp[at >> plan->unit_shift];
    uint32_t accesses = *mark - stamp < STAMP_COUNT ? *mark - stamp + 1 : 1;
    *mark = stamp + accesses;
    distinct += accesses == 1;
    most = accesses > most ? accesses : most;
    load[bank]++;
    fullest = load[bank] > fullest ? load[bank] : fullest;
  }
  return (passes){fullest, distinct <= banks ? most : 0};
}

/* All lanes at once, where the kernel can. Numbers of lanes among the stamps are never taken for
 * stamps, which begin with STAMP_COUNT. */
static passes count_at_once(const bf_counter *counter, const count_plan *plan,
                            const uint32_t *address, uint32_t lanes) {
  bf_served served = counter->kernel->serve(address, lanes, plan->unit_shift, counter->bank_of_word,
                                            counter->stamp);
  if (plan->count_duplicates)
    return (passes){served.accesses, served.sharing};
  return (passes){served.words, 1};
}

/* Counts one phase. */
static passes count_phase(bf_counter *counter, const count_plan *plan, const uint32_t *address,
                          uint32_t lanes) {
  if (plan->is_one_phase && counter->kernel->serve)
    return count_at_once(counter, plan, address, lanes);
  return plan->count_duplicates ? count_all(counter, plan, address, lanes)
                                : count_distinct(counter, plan, address, lanes);
}

/* What an access costs that needs that many passes, and at best so many. */
static inline bf_count count_of(const count_plan *plan, unsigned needed, unsigned best) {
  bf_count count = {.ideal = best, .estimated = plan->estimated};
  count.wavefronts_load = plan->side == BF_SIDE_LOAD ? needed : 0;
  count.wavefronts_store = plan->side == BF_SIDE_STORE ? needed : 0;
  count.wavefronts_atomic = plan->side == BF_SIDE_ATOMIC ? needed : 0;
  count.lock_iterations = plan->side == BF_SIDE_ATOMIC;
  count.conflicts = needed > best ? needed - best : 0;
  return count;
}

/* Counts an access whose addresses are known to be right; false where only the reference can. */
static bool count_directly(bf_counter *counter, const count_plan *plan, uint32_t mask,
                           const uint32_t *address, bf_count *count) {
  const bf_groups *groups = plan->groups;
  if (plan->is_one_phase && counter->kernel->serve &&
      (!groups->count || !(mask & ~groups->mask[0]))) {
    passes p = count_at_once(counter, plan, address, mask);
    *count = count_of(plan, plan->times * (p.needed + groups->extra),
                      plan->times * (p.best + groups->extra));
    return p.best != 0;
  }
  bool doubled = bf_groups_double(groups, mask, address);
  unsigned number = groups->count ? groups->count : 1, sum = 0, ideal = 0;
  for (unsigned g = 0; g < number; g += doubled ? 2 : 1) {
    uint32_t lanes = groups->count ? (uint32_t)groups->mask[g] : UINT32_MAX;
    if (doubled && g + 1 < number)
      lanes |= (uint32_t)groups->mask[g + 1];
    lanes &= mask;
    if (!lanes)
      continue;
    passes p = count_phase(counter, plan, address, lanes);
    if (p.best == 0)
      return false;
    sum += plan->times * (p.needed + groups->extra);
    ideal += plan->times * (p.best + groups->extra);
  }
  *count = count_of(plan, sum, ideal);
  return true;
}

/* ---- Accesses ---- */

static int count_by_reference(bf_counter *counter, bf_op op, unsigned width_bytes, uint32_t mask,
                              const uint32_t *address, bf_count *count, bf_diagnostic *diagnostic) {
  bf_access *access = &counter->scratch;
  access->op = op;
  access->width_bytes = width_bytes;
  access->mask = mask;
  access->count = 1;
  for (unsigned lane = 0; lane < BF_MEMO_LANES; lane++)
    access->address[lane] = address[lane];
  return bf_memory_count_locked(counter->machine, counter->hash, counter->lock_hash, access, count,
                                diagnostic);
}

/* A pattern that is new: by the fastest way that there is. */
static int count_new(bf_counter *counter, const count_plan *plan, bool right, bf_op op,
                     unsigned width_bytes, uint32_t mask, const uint32_t *address, bf_count *count,
                     bf_diagnostic *diagnostic) {
  if (right && plan->is_locking && counter->locks) {
    bf_lock_counter_count(counter->locks, &counter->machine->op[op], mask, address, count);
    count->estimated = plan->estimated;
    return BF_OK;
  }
  if (right && plan->is_direct && count_directly(counter, plan, mask, address, count))
    return BF_OK;
  return count_by_reference(counter, op, width_bytes, mask, address, count, diagnostic);
}

/* Whether all addresses of the pattern, starting at base, are aligned and inside the memory. Base
 * is a multiple of the width. */
static bool fits(const bf_counter *counter, const bf_memo *memo, uint32_t base,
                 unsigned width_bytes) {
  return (int64_t)base + memo->lowest >= 0 && (memo->bits & (width_bytes - 1)) == 0 &&
         (int64_t)base + memo->highest + width_bytes <= (int64_t)counter->machine->capacity_bytes;
}

/* Counts an access without looking for its pattern, where many before it had none that was known;
 * false where it is to be looked up. */
static bool count_unseen(bf_counter *counter, const count_plan *plan, unsigned width_bytes,
                         uint32_t mask, const uint32_t *address, bf_count *count) {
  unsigned probes = counter->new_in_a_row < 4 * NEW_IN_A_ROW ? PROBES : FEW_PROBES;
  if (counter->new_in_a_row < NEW_IN_A_ROW || !plan->is_direct || ++counter->probe % probes == 0)
    return false;
  uint64_t last = counter->machine->capacity_bytes - width_bytes;
  return counter->machine->capacity_bytes >= width_bytes && last <= UINT32_MAX &&
         counter->kernel->fits(address, mask, (uint32_t)last, width_bytes - 1) &&
         count_directly(counter, plan, mask, address, count);
}

int bf_counter_count_lanes(bf_counter *counter, bf_op op, unsigned width_bytes, uint32_t mask,
                           const uint32_t *address, bf_count *count, bf_diagnostic *diagnostic) {
  bool is_width = is_power_of_two(width_bytes) && width_bytes <= 16;
  const count_plan *plan =
      is_width && (unsigned)op < BF_OP_COUNT ? &counter->plans[op][log2_of(width_bytes)] : NULL;
  counter->last = (bf_counter_pattern){0};
  if (!plan || !plan->is_possible || mask == 0 || (mask & ~counter->lanes_mask))
    return count_by_reference(counter, op, width_bytes, mask, address, count, diagnostic);
  if (count_unseen(counter, plan, width_bytes, mask, address, count))
    return BF_OK;
  uint32_t base = address[__builtin_ctz(mask)] & plan->base_mask;
  uint64_t key = (uint64_t)plan->key << 32 | mask;
  bool found;
  bf_memo *memo = counter->kernel->find(counter->memo, address, key, base, &found);
  bool right = fits(counter, memo, base, width_bytes);
  if (!found)
    memo->number = ++counter->patterns;
  counter->new_in_a_row = found ? 0 : counter->new_in_a_row + 1;
  if (right)
    counter->last = (bf_counter_pattern){memo->number, base};
  if (found && right) {
    *count = memo->count;
    return BF_OK;
  }
  int error = count_new(counter, plan, right, op, width_bytes, mask, address, count, diagnostic);
  if (!error)
    memo->count = *count;
  else if (!found)
    memo->key = 0;
  return error;
}

uint32_t bf_counter_matter(const bf_counter *counter, bf_op op, unsigned width_bytes) {
  return ~counter->plans[op][log2_of(width_bytes)].base_mask;
}

bf_counter_pattern bf_counter_last(const bf_counter *counter) { return counter->last; }

int bf_counter_count(bf_counter *counter, const bf_access *access, bf_count *count,
                     bf_diagnostic *diagnostic) {
  if (access->mask > UINT32_MAX || access->count == 0)
    return bf_memory_count_locked(counter->machine, counter->hash, counter->lock_hash, access,
                                  count, diagnostic);
  return bf_counter_count_lanes(counter, access->op, access->width_bytes, (uint32_t)access->mask,
                                access->address, count, diagnostic);
}
