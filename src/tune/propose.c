/* Hashes for a kernel.
 *
 * The rewritten code hashes absolute addresses. Shared memory of a block starts at 0 of them on
 * older GPUs and on the emulator, and may start behind the kilobyte that CUDA reserves per block
 * from compute capability 8.0 on (NVIDIA Ampere GPU Architecture Tuning Guide). That moves
 * addresses by addition, which a XOR hash does not commute with, so a hash is searched for both
 * places at once, and the worse of the two is predicted. */
#include "tune/propose.h"

#include "search/ladder.h"

#include <string.h>

enum { RESERVED_BYTES = 1024, PLACES = 2, WORD_BYTES = 4 };

/* ---- Workloads ---- */

/* What one workload holds. */
typedef struct sums {
  uint64_t executions, highest_byte;
  unsigned widest_bytes;
} sums;

static sums add_up(const bf_workload *workload) {
  sums total = {0};
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    const bf_access *access = bf_workload_get(workload, i);
    total.executions += access->count;
    if (access->width_bytes > total.widest_bytes)
      total.widest_bytes = access->width_bytes;
    for (uint64_t left = access->mask; left; left &= left - 1) {
      uint64_t end = (uint64_t)access->address[__builtin_ctzll(left)] + access->width_bytes;
      total.highest_byte = end > total.highest_byte ? end : total.highest_byte;
    }
  }
  return total;
}

/* Adds the accesses of a workload, moved by that many bytes, to another; sites are forgotten. */
static int add_moved(const bf_workload *from, uint32_t bytes, bf_workload *to,
                     bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < bf_workload_size(from); i++) {
    bf_access access = *bf_workload_get(from, i);
    access.site = NULL;
    for (uint64_t left = access.mask; left; left &= left - 1)
      access.address[__builtin_ctzll(left)] += bytes;
    int error = bf_workload_add(to, &access);
    if (error == BF_NO_MEMORY)
      return bf_no_memory(diagnostic);
    if (error)
      return bf_fail(diagnostic, error, "too many different accesses to choose a hash for");
  }
  return BF_OK;
}

/* The accesses of a kernel at all places where its shared memory can start. */
typedef struct placed {
  sums sums; /* of one place */
  unsigned places;
  bf_workload *at[PLACES];
  bf_workload *all;
} placed;

static void free_placed(placed *p) {
  for (unsigned i = 0; i < PLACES; i++)
    bf_workload_free(p->at[i]);
  bf_workload_free(p->all);
}

/* Where the accesses fill the allocation, they are not moved. Free also after an error. */
static int place(const bf_machine *machine, const bf_workload *workload, placed *p,
                 bf_diagnostic *diagnostic) {
  uint64_t allocation_bytes = bf_machine_limits(machine).allocation_bytes;
  p->sums = add_up(workload);
  p->places = p->sums.highest_byte + RESERVED_BYTES <= allocation_bytes ? PLACES : 1;
  if (bf_workload_create(&p->all) != BF_OK)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < p->places; i++) {
    if (bf_workload_create(&p->at[i]) != BF_OK)
      return bf_no_memory(diagnostic);
    BF_TRY(add_moved(workload, i * RESERVED_BYTES, p->at[i], diagnostic));
    BF_TRY(add_moved(workload, i * RESERVED_BYTES, p->all, diagnostic));
  }
  return BF_OK;
}

/* Wavefronts and conflicts of a workload under a hash (NULL: none). */
static int count_workload(const bf_machine *machine, const bf_workload *workload,
                          const bf_hash *hash, uint64_t *wavefronts, uint64_t *conflicts,
                          bf_diagnostic *diagnostic) {
  bf_counter *counter;
  BF_TRY(bf_counter_create(machine, hash, &counter, diagnostic));
  int error = BF_OK;
  *wavefronts = *conflicts = 0;
  for (size_t i = 0; i < bf_workload_size(workload) && !error; i++) {
    const bf_access *access = bf_workload_get(workload, i);
    bf_count count = {0};
    error = bf_counter_count(counter, access, &count, diagnostic);
    uint64_t own = bf_count_wavefronts(&count);
    *wavefronts += access->count * own;
    *conflicts += access->count * count.conflicts;
  }
  bf_counter_free(counter);
  return error;
}

/* The same at the place where it costs most. */
static int count_worst(const bf_machine *machine, const placed *p, const bf_hash *hash,
                       uint64_t *wavefronts, uint64_t *conflicts, bf_diagnostic *diagnostic) {
  *wavefronts = *conflicts = 0;
  for (unsigned i = 0; i < p->places; i++) {
    uint64_t own, own_conflicts;
    BF_TRY(count_workload(machine, p->at[i], hash, &own, &own_conflicts, diagnostic));
    if (own >= *wavefronts) {
      *wavefronts = own;
      *conflicts = own_conflicts;
    }
  }
  return BF_OK;
}

/* ---- Candidates ---- */

typedef struct proposing {
  const bf_propose_options *options;
  bf_proposal *proposal;
  placed merged, written;
  uint64_t fewest_wavefronts; /* that any hash left */
  bf_diagnostic *diagnostic;
} proposing;

/* Whether the rewriter takes a hash for accesses of that many bytes. */
static bool is_usable(const bf_hash *hash, unsigned granule_bytes) {
  return bf_hash_is_row_preserving(hash) && bf_hash_get_cost(hash).instructions > 0 &&
         bf_hash_granule_words(hash) * WORD_BYTES >= granule_bytes;
}

/* Seconds that the next search may take; 0: as long as it likes. */
static double limit_of(const bf_propose_options *o) {
  const double least = 0.001;
  if (o->deadline <= 0)
    return o->time_limit_seconds;
  double left = o->deadline - bf_seconds();
  left = left > least ? left : least;
  return o->time_limit_seconds > 0 && o->time_limit_seconds < left ? o->time_limit_seconds : left;
}

/* The best hash of a class for accesses p; *hash stays NULL where there is none to use. */
static int solve(const proposing *c, const placed *p, unsigned granule_bytes, bf_class class_,
                 bf_hash **hash, bool *is_proven) {
  const bf_propose_options *o = c->options;
  bf_solve_options options = {.struct_bytes = sizeof options,
                              .method = BF_METHOD_EXACT,
                              .class_ = class_,
                              .keeps_rows = true,
                              .granule_bytes = granule_bytes,
                              .time_limit_seconds = limit_of(o),
                              .threads = o->threads,
                              .progress = o->progress,
                              .progress_context = o->progress_context};
  bf_solution solution;
  int error = bf_solve(o->machine, p->all, &options, &solution, c->diagnostic);
  if (error == BF_UNSUPPORTED)
    return BF_OK;
  BF_TRY(error);
  if (is_usable(solution.hash, granule_bytes)) {
    *hash = solution.hash;
    *is_proven = solution.proven && class_ == BF_CLASS_ROW;
    solution.hash = NULL;
  }
  bf_solution_clear(&solution);
  return BF_OK;
}

/* What a hash on accesses p does to the kernel. Accesses that are no longer merged are instructions
 * too. */
static int predict(proposing *c, const placed *p, const bf_hash *hash, bf_comparison *predicted) {
  uint64_t conflicts;
  unsigned own = bf_hash_get_cost(hash).instructions;
  predicted->before.wavefronts = c->proposal->wavefronts_before;
  predicted->after.instructions = (int64_t)(own * p->sums.executions) +
                                  (int64_t)p->sums.executions - (int64_t)c->merged.sums.executions;
  BF_TRY(count_worst(c->options->machine, p, hash, &predicted->after.wavefronts, &conflicts,
                     c->diagnostic));
  if (predicted->after.wavefronts < c->fewest_wavefronts)
    c->fewest_wavefronts = predicted->after.wavefronts;
  return BF_OK;
}

/* Whether there is a candidate with the same hash for the same accesses. */
static bool is_known(const bf_proposal *proposal, const bf_candidate *candidate) {
  for (unsigned i = 0; i < proposal->candidates; i++)
    if (proposal->candidate[i].keeps_merging == candidate->keeps_merging &&
        strcmp(bf_hash_text(proposal->candidate[i].hash), bf_hash_text(candidate->hash)) == 0)
      return true;
  return false;
}

/* Adds a candidate behind those that gain as much. */
static void insert(bf_proposal *proposal, const bf_candidate *candidate) {
  unsigned at = proposal->candidates++;
  double gain = bf_judge_gain(&candidate->predicted);
  for (; at > 0 && bf_judge_gain(&proposal->candidate[at - 1].predicted) < gain; at--)
    proposal->candidate[at] = proposal->candidate[at - 1];
  proposal->candidate[at] = *candidate;
}

/* The best row-preserving hash, and the best ones of one and two terms, which need fewer
 * instructions. The first is searched for as long as there is time. */
static const bf_class classes[] = {BF_CLASS_ROW, BF_CLASS_ONE_TERM, BF_CLASS_TWO_TERM};

/* Makes candidates of the hashes for accesses p that save something. */
static int try_accesses(proposing *c, const placed *p, unsigned granule_bytes) {
  for (unsigned i = c->options->only_terms ? 1 : 0; i < sizeof classes / sizeof *classes; i++) {
    bf_candidate own = {.granule_bytes = granule_bytes, .keeps_merging = p == &c->merged};
    BF_TRY(solve(c, p, granule_bytes, classes[i], &own.hash, &own.is_proven));
    if (!own.hash)
      continue;
    int error = predict(c, p, own.hash, &own.predicted);
    bool saves = own.predicted.after.wavefronts < own.predicted.before.wavefronts;
    if (!error && saves && !is_known(c->proposal, &own))
      insert(c->proposal, &own);
    else
      bf_hash_free(own.hash);
    BF_TRY(error);
  }
  return BF_OK;
}

static unsigned wider(unsigned a, unsigned b) { return a > b ? a : b; }

/* Tries the granule that keeps merged accesses whole and, where that of the PTX is smaller, the
 * latter. */
static int try_granules(proposing *c) {
  const bf_propose_options *o = c->options;
  unsigned written = wider(wider(o->granule_bytes, c->written.sums.widest_bytes), WORD_BYTES);
  unsigned merged = wider(written, c->merged.sums.widest_bytes);
  BF_TRY(try_accesses(c, &c->merged, merged));
  return merged > written ? try_accesses(c, &c->written, written) : BF_OK;
}

static void explain(const proposing *c) {
  bf_proposal *proposal = c->proposal;
  char *reason = proposal->reason;
  size_t size = sizeof proposal->reason;
  if (proposal->candidates && bf_judge_is_worth(&proposal->candidate[0].predicted))
    return;
  if (c->merged.sums.executions == 0)
    snprintf(reason, size, "no access to shared memory was seen");
  else if (proposal->conflicts_before == 0)
    snprintf(reason, size, "there are no conflicts to remove");
  else if (c->fewest_wavefronts >= proposal->wavefronts_before)
    snprintf(reason, size, "no row-preserving hash removes conflicts");
  else
    snprintf(reason, size, "the best hash saves %llu of %llu wavefronts, less than it costs",
             (unsigned long long)(proposal->wavefronts_before - c->fewest_wavefronts),
             (unsigned long long)proposal->wavefronts_before);
}

static int propose(proposing *c) {
  const bf_propose_options *o = c->options;
  BF_TRY(place(o->machine, o->written, &c->written, c->diagnostic));
  BF_TRY(place(o->machine, o->merged ? o->merged : o->written, &c->merged, c->diagnostic));
  BF_TRY(count_worst(o->machine, &c->merged, NULL, &c->proposal->wavefronts_before,
                     &c->proposal->conflicts_before, c->diagnostic));
  c->fewest_wavefronts = c->proposal->wavefronts_before;
  if (c->proposal->conflicts_before)
    BF_TRY(try_granules(c));
  explain(c);
  return BF_OK;
}

int bf_propose(const bf_propose_options *options, bf_proposal *proposal,
               bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(options->machine);
  *proposal = (bf_proposal){0};
  if (geometry.bank_bits != 5 || geometry.word_bytes != WORD_BYTES)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "kernels are rewritten for 32 banks of 4 bytes; machine '%s' has %u of %u",
                   bf_machine_name(options->machine), 1u << geometry.bank_bits,
                   geometry.word_bytes);
  proposing c = {.options = options, .proposal = proposal, .diagnostic = diagnostic};
  int error = propose(&c);
  free_placed(&c.merged);
  free_placed(&c.written);
  if (error)
    bf_proposal_clear(proposal);
  return error;
}

/* The accesses of a workload (NULL: none) whose site is the name of an array. */
static int pick_array(const bf_workload *from, const char *array, bf_workload **to,
                      bf_diagnostic *diagnostic) {
  *to = NULL;
  if (!from)
    return BF_OK;
  int error = bf_workload_create(to);
  for (size_t i = 0; i < bf_workload_size(from) && !error; i++) {
    const bf_access *access = bf_workload_get(from, i);
    if (access->site && strcmp(access->site, array) == 0)
      error = bf_workload_add(*to, access);
  }
  return error ? bf_no_memory(diagnostic) : BF_OK;
}

int bf_propose_array(const bf_propose_options *options, const char *array, bf_proposal *proposal,
                     bf_diagnostic *diagnostic) {
  bf_propose_options own = *options;
  bf_workload *merged = NULL, *written = NULL;
  *proposal = (bf_proposal){0};
  int error = pick_array(options->merged, array, &merged, diagnostic);
  if (!error)
    error = pick_array(options->written, array, &written, diagnostic);
  own.merged = merged;
  own.written = written;
  if (!error)
    error = bf_propose(&own, proposal, diagnostic);
  bf_workload_free(merged);
  bf_workload_free(written);
  return error;
}

void bf_proposal_clear(bf_proposal *proposal) {
  for (unsigned i = 0; i < proposal->candidates; i++)
    bf_hash_free(proposal->candidate[i].hash);
  *proposal = (bf_proposal){0};
}
