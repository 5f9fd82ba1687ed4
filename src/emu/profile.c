/* The conflict profile: wavefronts per site, counted while a kernel runs. Every worker of the
 * launch has sums of its own; they are added up when asked for. */
#include "emu/again.h"
#include "emu/costs.h"
#include "emu/event_count.h"
#include "emu/inner.h"
#include "emu/lined.h"

#include <stdlib.h>

/* Wavefronts of the block that a worker runs, and the most that one had. */
typedef struct block_sum {
  uint64_t block, wavefronts, most;
} block_sum;

struct bf_profile {
  const bf_machine *machine;
  const bf_hash *hash;  /* NULL: none */
  bf_counter **counter; /* per worker */
  bf_copied **copied;   /* per worker */
  bf_again **again;     /* per worker */
  bf_lined **tally;     /* per worker, made at its first access in line */
  unsigned workers, sites;
  bf_profile_row *sum; /* [worker][site] */
  bool is_borrowed;    /* sum is */
  bf_kept *kept;       /* the accesses themselves, or NULL */
  /* Of launches with samples: */
  const bf_sample_block *sample; /* of this launch, or NULL */
  bf_sample_sums *conflicts;     /* [worker][site]; NULL: there was none */
  block_sum *block;              /* per worker */
};

int bf_profile_create(const bf_machine *machine, const bf_hash *hash, const bf_emu_kernel *kernel,
                      unsigned workers, bf_profile **profile, bf_diagnostic *diagnostic) {
  bf_profile *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->machine = machine;
  made->hash = hash;
  made->workers = workers ? workers : bf_cores();
  made->sites = bf_emu_kernel_sites(kernel);
  made->sum = calloc((size_t)made->workers * (made->sites ? made->sites : 1), sizeof *made->sum);
  made->counter = calloc(made->workers, sizeof *made->counter);
  made->copied = calloc(made->workers, sizeof *made->copied);
  made->again = calloc(made->workers, sizeof *made->again);
  made->tally = calloc(made->workers, sizeof *made->tally);
  int error = made->sum && made->counter && made->copied && made->again && made->tally
                  ? BF_OK
                  : bf_no_memory(diagnostic);
  for (unsigned i = 0; i < made->workers && !error; i++)
    error = bf_counter_create(machine, hash, &made->counter[i], diagnostic);
  if (error)
    bf_profile_free(made);
  else
    *profile = made;
  return error;
}

void bf_profile_free(bf_profile *profile) {
  if (!profile)
    return;
  for (unsigned i = 0; profile->counter && i < profile->workers; i++)
    bf_counter_free(profile->counter[i]);
  for (unsigned i = 0; profile->copied && i < profile->workers; i++)
    bf_copied_free(profile->copied[i]);
  for (unsigned i = 0; profile->again && i < profile->workers; i++)
    bf_again_free(profile->again[i]);
  for (unsigned i = 0; profile->tally && i < profile->workers; i++)
    free(profile->tally[i]);
  bf_kept_free(profile->kept);
  free(profile->counter);
  free(profile->copied);
  free(profile->again);
  free(profile->tally);
  free(profile->conflicts);
  free(profile->block);
  if (!profile->is_borrowed)
    free(profile->sum);
  free(profile);
}

int bf_profile_keep(bf_profile *profile, size_t *budget, bf_diagnostic *diagnostic) {
  profile->kept = bf_kept_create(profile->workers, budget);
  return profile->kept ? BF_OK : bf_no_memory(diagnostic);
}

const bf_workload *bf_profile_accesses(const bf_profile *profile) {
  return profile->kept ? bf_kept_get(profile->kept) : NULL;
}

int bf_profile_weigh(bf_profile *profile, const bf_sample_block *sample,
                     bf_diagnostic *diagnostic) {
  profile->sample = NULL;
  if (!sample)
    return BF_OK;
  size_t sums = (size_t)profile->workers * (profile->sites ? profile->sites : 1);
  if (!profile->conflicts)
    profile->conflicts = calloc(sums, sizeof *profile->conflicts);
  if (!profile->block)
    profile->block = calloc(profile->workers, sizeof *profile->block);
  if (!profile->conflicts || !profile->block)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < profile->workers; i++)
    profile->block[i].block = UINT64_MAX; /* blocks of the launch before have the same numbers */
  profile->sample = sample;
  return BF_OK;
}

bf_sample_sums bf_profile_sums(const bf_profile *profile, unsigned site) {
  bf_sample_sums sums = {{0}};
  for (unsigned i = 0; profile->conflicts && i < profile->workers; i++)
    for (unsigned j = 0; j <= BF_SAMPLE_GROUPS; j++)
      sums.group[j] += profile->conflicts[(size_t)i * profile->sites + site].group[j];
  return sums;
}

double bf_profile_most_of_block(const bf_profile *profile) {
  uint64_t most = 0;
  for (unsigned i = 0; profile->block && i < profile->workers; i++)
    most = profile->block[i].most > most ? profile->block[i].most : most;
  return (double)most;
}

/* Adds an access of a sampled block to the sums of its group; returns how many it stands for. */
static uint64_t weigh(bf_profile *profile, const bf_emu_event *event, const bf_count *count) {
  const bf_sample_block *own = &profile->sample[event->sample];
  block_sum *block = &profile->block[event->worker];
  if (block->block != event->block)
    *block = (block_sum){event->block, 0, block->most};
  block->wavefronts += bf_count_wavefronts(count);
  block->most = block->wavefronts > block->most ? block->wavefronts : block->most;
  bf_sample_sums *sums = &profile->conflicts[(size_t)event->worker * profile->sites + event->site];
  sums->group[own->group] += own->weight * count->conflicts;
  return own->weight;
}

/* Keeps an access as the worst so far. */
static void keep_worst(bf_profile_row *row, const bf_emu_event *event, uint32_t wavefronts) {
  row->worst = wavefronts;
  row->worst_block = event->block;
  row->op = event->op;
  row->width_bytes = event->width_bytes;
  row->worst_access = (bf_access){
      .op = event->op, .width_bytes = event->width_bytes, .mask = event->mask, .count = 1};
  memcpy(row->worst_access.address, event->shared_address,
         BF_EMU_LANES * sizeof *event->shared_address);
}

/* What an access costs, and by what the counter knows it; that of copies is remembered. */
static int count_event(const bf_profile *profile, const bf_emu_event *event, bf_copied_cost *cost) {
  bf_counter *counter = profile->counter[event->worker];
  bool is_copy = event->op == BF_OP_CP16 && event->global_address && event->mask;
  if (is_copy && bf_copied_find(profile->copied[event->worker], event, cost))
    return BF_OK;
  BF_TRY(bf_emu_event_count(counter, profile->machine, profile->hash, event, &cost->count));
  cost->pattern = bf_counter_last(counter);
  if (is_copy)
    bf_copied_keep(&profile->copied[event->worker], event, cost);
  return BF_OK;
}

/* Adds so many times an access to the sums of its worker, and to what is kept; last is where it was
 * kept before, or NULL. */
static bf_kept_access *add(bf_profile *profile, const bf_emu_event *event,
                           const bf_copied_cost *cost, uint64_t times, bf_kept_access *last) {
  bf_profile_row *row = &profile->sum[(size_t)event->worker * profile->sites + event->site];
  const bf_count *count = &cost->count;
  row->executions += times;
  row->wavefronts_load += times * count->wavefronts_load;
  row->wavefronts_store += times * count->wavefronts_store;
  row->wavefronts_atomic += times * count->wavefronts_atomic;
  row->ideal += times * count->ideal;
  row->conflicts += times * count->conflicts;
  row->estimated |= count->estimated;
  uint32_t wavefronts = (uint32_t)bf_count_wavefronts(count);
  if (wavefronts > row->worst || (wavefronts == row->worst && event->block < row->worst_block))
    keep_worst(row, event, wavefronts);
  return profile->kept ? bf_kept_add(profile->kept, event, cost->pattern, times, last) : last;
}

/* Adds what an entry of a worker's tally has counted. */
static void settle_entry(bf_profile *profile, unsigned worker, bf_lined_entry *entry,
                         const bf_lined_cost *of) {
  uint32_t address[BF_EMU_LANES];
  if (!entry->times)
    return;
  bf_lined_addresses(entry, of, address);
  bf_emu_event event = {.site = entry->key.site,
                        .worker = worker,
                        .block = entry->block,
                        .space = BF_PTX_SPACE_SHARED,
                        .op = of->op,
                        .width_bytes = of->width_bytes,
                        .mask = entry->key.mask,
                        .shared_address = address};
  add(profile, &event, &of->cost, entry->times, NULL);
  entry->times = 0;
}

static void settle(void *context, unsigned worker) {
  bf_profile *profile = context;
  bf_lined *tally = worker < profile->workers ? profile->tally[worker] : NULL;
  if (!tally || tally->left == BF_LINED_TURN)
    return;
  for (unsigned i = 0; i < BF_LINED_SETS; i++)
    for (unsigned j = 0; j < BF_LINED_WAYS; j++)
      settle_entry(profile, worker, &tally->entry[i][j], &tally->cost[i][j]);
  tally->left = BF_LINED_TURN;
}

/* Remembers an access in line, so that it is not told of again. */
static void remember(bf_profile *profile, const bf_emu_event *event, const bf_copied_cost *cost) {
  bf_lined **tally = &profile->tally[event->worker];
  bf_lined_cost *of;
  if (!*tally)
    *tally = bf_lined_create();
  bf_lined_entry *entry = *tally ? bf_lined_place(*tally, event->line, &of) : NULL;
  if (!entry || event->block > UINT32_MAX)
    return;
  settle_entry(profile, event->worker, entry, of);
  *entry = (bf_lined_entry){.key = *event->line, .block = (uint32_t)event->block};
  *of = (bf_lined_cost){*cost, event->op, event->width_bytes,
                        event->shared_address[BF_FIRST_LANE(event->mask)]};
}

/* Counts one access. */
static void count_access(void *context, const bf_emu_event *event) {
  bf_profile *profile = context;
  if (event->space != BF_PTX_SPACE_SHARED || event->worker >= profile->workers)
    return;
  bf_copied_cost cost;
  bf_again_entry *place, *known = bf_again_find(&profile->again[event->worker], event, &place);
  if (known) {
    cost = (bf_copied_cost){known->count, {known->number, known->base}};
  } else if (count_event(profile, event, &cost) != BF_OK) {
    profile->sum[(size_t)event->worker * profile->sites + event->site].failed++;
    return;
  }
  uint64_t times = profile->sample ? weigh(profile, event, &cost.count) : 1;
  bf_kept_access *kept = add(profile, event, &cost, times, known ? known->kept : NULL);
  if (known)
    known->kept = kept;
  else if (place)
    bf_again_set(place, event, &cost, kept);
  /* Of those that try again it matters which warps make them. */
  if (bf_machine_tries_again(profile->machine, event->op))
    profile->sum[(size_t)event->worker * profile->sites + event->site].rivals |=
        UINT32_C(1) << event->warp % 32;
  else if (event->line)
    remember(profile, event, &cost);
}

/* Adds what the hardware accesses by itself. The matrices of wgmma take a wavefront for every row
 * of the memory, in which nothing conflicts whatever the layout is; copies take none
 * (tests/data/h200/README.md). */
static void count_operands(void *context, const bf_emu_event *event) {
  bf_profile *profile = context;
  if (event->worker >= profile->workers)
    return;
  bf_profile_row *row = &profile->sum[(size_t)event->worker * profile->sites + event->site];
  uint64_t times = profile->sample ? profile->sample[event->sample].weight : 1;
  uint64_t matrix_bytes = event->operand[BF_OPERAND_A].bytes + event->operand[BF_OPERAND_B].bytes;
  for (unsigned i = 0; i < BF_OPERANDS; i++) {
    const bf_operand *what = &event->operand[i];
    bool is_matrix = i == BF_OPERAND_A || i == BF_OPERAND_B;
    bool has_range = what->most_bytes != 0;
    if (what->bytes)
      bf_operand_add(
          &row->operand[i],
          &(bf_operand_sum){.what = *what,
                            .times = times,
                            .bytes = times * what->bytes,
                            .least_bytes = times * (has_range ? what->least_bytes : what->bytes),
                            .most_bytes = times * (has_range ? what->most_bytes : what->bytes),
                            .wavefronts = is_matrix ? times * bf_memory_operand_wavefronts(
                                                                  profile->machine, what->bytes)
                                                    : 0});
  }
  uint64_t wavefronts = times * bf_memory_operand_wavefronts(profile->machine, matrix_bytes);
  row->executions += matrix_bytes ? times : 0;
  row->wavefronts_load += wavefronts;
  row->ideal += wavefronts;
}

bf_emu_observer bf_profile_observer(bf_profile *profile) {
  return (bf_emu_observer){.access = count_access,
                           .operands = count_operands,
                           .context = profile,
                           .as_merged = true,
                           .tally = profile->tally,
                           .tallies = profile->workers,
                           .settle = settle};
}

bf_profile_memory bf_profile_memory_of(const bf_profile *profile) {
  size_t rows = (size_t)profile->workers * profile->sites;
  return (bf_profile_memory){rows * sizeof *profile->sum, profile->sites, profile->workers};
}

void bf_profile_move(bf_profile *profile, bf_profile_row *rows) {
  free(profile->sum);
  profile->sum = rows;
  profile->is_borrowed = true;
}

bf_profile_row bf_profile_get(const bf_profile *profile, unsigned site) {
  return bf_profile_sum(profile->sum + site, profile->sites, profile->workers);
}

unsigned bf_profile_rivals(const bf_profile *profile) {
  uint32_t warps = 0;
  for (unsigned i = 0; i < profile->sites * profile->workers; i++)
    warps |= profile->sum[i].rivals;
  return (unsigned)__builtin_popcount(warps);
}

/* ---- Parts ---- */

struct bf_profile_part {
  unsigned sites;
  bf_profile_row *row;
  size_t accesses; /* of bf_profile_accesses */
  uint64_t *count; /* of each, or NULL */
};

void bf_profile_part_free(bf_profile_part *part) {
  if (!part)
    return;
  free(part->row);
  free(part->count);
  free(part);
}

bf_profile_part *bf_profile_start(const bf_profile *profile) {
  bf_profile_part *made = calloc(1, sizeof *made);
  const bf_workload *accesses = bf_profile_accesses(profile);
  if (!made)
    return NULL;
  made->sites = profile->sites;
  made->accesses = accesses ? bf_workload_size(accesses) : 0;
  made->row = calloc(profile->sites + 1, sizeof *made->row);
  made->count = calloc(made->accesses + 1, sizeof *made->count);
  if (!made->row || !made->count) {
    bf_profile_part_free(made);
    return NULL;
  }
  for (unsigned i = 0; i < profile->sites; i++)
    made->row[i] = bf_profile_get(profile, i);
  for (size_t i = 0; i < made->accesses; i++)
    made->count[i] = bf_workload_get(accesses, i)->count;
  return made;
}

/* row = now - row, for all that is summed. */
static void subtract(bf_profile_row *row, const bf_profile_row *now) {
  bf_profile_row before = *row;
  *row = *now;
  row->executions -= before.executions;
  row->failed -= before.failed;
  row->wavefronts_load -= before.wavefronts_load;
  row->wavefronts_store -= before.wavefronts_store;
  row->wavefronts_atomic -= before.wavefronts_atomic;
  row->ideal -= before.ideal;
  row->conflicts -= before.conflicts;
  for (unsigned i = 0; i < BF_OPERANDS; i++) {
    row->operand[i].times -= before.operand[i].times;
    row->operand[i].bytes -= before.operand[i].bytes;
    row->operand[i].least_bytes -= before.operand[i].least_bytes;
    row->operand[i].most_bytes -= before.operand[i].most_bytes;
    row->operand[i].wavefronts -= before.operand[i].wavefronts;
  }
}

bool bf_profile_since(const bf_profile *profile, bf_profile_part *start) {
  bf_profile_part *now = bf_profile_start(profile);
  if (!now || (profile->kept && now->accesses < start->accesses)) {
    bf_profile_part_free(now);
    return false;
  }
  for (unsigned i = 0; i < start->sites; i++)
    subtract(&start->row[i], &now->row[i]);
  for (size_t i = 0; i < start->accesses; i++)
    now->count[i] -= start->count[i];
  free(start->count);
  start->count = now->count;
  start->accesses = now->accesses;
  now->count = NULL;
  bf_profile_part_free(now);
  return true;
}

void bf_profile_repeat(bf_profile *profile, const bf_profile_part *part) {
  for (unsigned i = 0; i < part->sites; i++) {
    bf_profile_row *row = &profile->sum[i];
    row->executions += part->row[i].executions;
    row->failed += part->row[i].failed;
    row->wavefronts_load += part->row[i].wavefronts_load;
    row->wavefronts_store += part->row[i].wavefronts_store;
    row->wavefronts_atomic += part->row[i].wavefronts_atomic;
    row->ideal += part->row[i].ideal;
    row->conflicts += part->row[i].conflicts;
    row->rivals |= part->row[i].rivals;
    for (unsigned j = 0; j < BF_OPERANDS; j++)
      bf_operand_add(&row->operand[j], &part->row[i].operand[j]);
  }
  for (size_t i = 0; profile->kept && i < part->accesses; i++)
    if (part->count[i])
      bf_kept_count(profile->kept, i, part->count[i]);
}

bf_profile_row bf_profile_sum(const bf_profile_row *row, unsigned sites, unsigned workers) {
  bf_profile_row total = {0};
  for (unsigned i = 0; i < workers; i++, row += sites) {
    total.executions += row->executions;
    total.failed += row->failed;
    total.wavefronts_load += row->wavefronts_load;
    total.wavefronts_store += row->wavefronts_store;
    total.wavefronts_atomic += row->wavefronts_atomic;
    total.ideal += row->ideal;
    total.conflicts += row->conflicts;
    total.estimated |= row->estimated;
    total.rivals |= row->rivals;
    for (unsigned j = 0; j < BF_OPERANDS; j++)
      bf_operand_add(&total.operand[j], &row->operand[j]);
    /* Which thread of the host had which blocks must not be seen. */
    if (row->worst > total.worst ||
        (row->worst && row->worst == total.worst && row->worst_block < total.worst_block)) {
      total.worst = row->worst;
      total.worst_block = row->worst_block;
      total.op = row->op;
      total.width_bytes = row->width_bytes;
      total.worst_access = row->worst_access;
    }
  }
  total.wavefronts = total.wavefronts_load + total.wavefronts_store + total.wavefronts_atomic;
  return total;
}
