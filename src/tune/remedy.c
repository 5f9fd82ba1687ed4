/* From the accesses of a kernel to a fix. The ladder is climbed with all of them or, where there
 * are many, with those that weigh most; its steps are then counted with all, and one is chosen by
 * these counts. */
#include "tune/remedy.h"

#include "search/ladder.h"
#include "tune/array_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Seconds that an exact search may take, of which there are two. Where others had the processors
 * most of that time, the search is made again with more of it, twice at most. */
#define REMEDY_SECONDS 0.25
enum { MOST_CLIMBS = 3, MORE_SECONDS = 4 };
/* Accesses that the ladder is climbed with. */
enum { MOST_CLIMBED = 256 };

/* ---- Counting ---- */

/* What accesses cost, and where they end. */
typedef struct counted {
  uint64_t accesses, wavefronts, conflicts, bytes_used;
} counted;

static uint64_t end_of(const bf_access *access) {
  uint64_t end = 0;
  for (uint64_t left = access->mask; left; left &= left - 1) {
    uint64_t own = (uint64_t)access->address[__builtin_ctzll(left)] + access->width_bytes;
    end = own > end ? own : end;
  }
  return end;
}

/* Counts all accesses under a hash; weight (NULL: not wanted) gets the conflicts of each. */
static int count(const bf_machine *machine, const char *hash, bf_lock_hash lock_hash,
                 const bf_workload *workload, counted *sum, uint64_t *weight,
                 bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash *parsed = NULL;
  bf_counter *counter = NULL;
  *sum = (counted){0};
  int error = bf_hash_parse(hash, &geometry, &parsed, diagnostic);
  if (!error)
    error = bf_counter_create(machine, parsed, &counter, diagnostic);
  if (!error)
    error = bf_counter_set_lock_hash(counter, lock_hash, diagnostic);
  for (size_t i = 0; i < bf_workload_size(workload) && !error; i++) {
    const bf_access *access = bf_workload_get(workload, i);
    bf_count own = {0};
    error = bf_counter_count(counter, access, &own, diagnostic);
    uint64_t end = end_of(access);
    sum->accesses += access->count;
    sum->wavefronts += access->count * bf_count_wavefronts(&own);
    sum->conflicts += access->count * own.conflicts;
    sum->bytes_used = end > sum->bytes_used ? end : sum->bytes_used;
    if (weight)
      weight[i] = access->count * own.conflicts;
  }
  bf_counter_free(counter);
  bf_hash_free(parsed);
  return error;
}

/* ---- The accesses that weigh most ---- */

/* An access of the workload, and what it weighs. */
typedef struct heavy {
  uint64_t weight;
  size_t index;
} heavy;

static int compare_heavy(const void *a, const void *b) {
  const heavy *x = a, *y = b;
  if (x->weight != y->weight)
    return x->weight < y->weight ? 1 : -1;
  return (x->index > y->index) - (x->index < y->index);
}

/* Adds the heaviest so many of a list to the chosen ones. */
static void mark_heaviest(heavy *list, size_t count, size_t most, bool *is_chosen) {
  qsort(list, count, sizeof *list, compare_heavy);
  for (size_t i = 0, marked = 0; i < count && marked < most; i++) {
    marked += !is_chosen[list[i].index];
    is_chosen[list[i].index] = true;
  }
}

/* Chooses half by their conflicts and half by how often they are made, and the one that ends last,
 * which says how much memory padding takes. */
static int choose(const bf_workload *all, const uint64_t *conflicts, bool *is_chosen,
                  bf_diagnostic *diagnostic) {
  size_t size = bf_workload_size(all), last = 0;
  heavy *list = calloc(size + 1, sizeof *list);
  if (!list)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < size; i++) {
    list[i] = (heavy){conflicts[i], i};
    if (end_of(bf_workload_get(all, i)) > end_of(bf_workload_get(all, last)))
      last = i;
  }
  is_chosen[last] = true;
  mark_heaviest(list, size, MOST_CLIMBED / 2, is_chosen);
  for (size_t i = 0; i < size; i++)
    list[i] = (heavy){bf_workload_get(all, i)->count, i};
  mark_heaviest(list, size, MOST_CLIMBED / 2, is_chosen);
  free(list);
  return BF_OK;
}

/* The accesses that the ladder is climbed with, the caller's to free. */
static int select_accesses(const bf_machine *machine, const bf_costs_kernel *kernel,
                           bf_lock_hash lock_hash, bf_workload **selected,
                           bf_diagnostic *diagnostic) {
  size_t size = bf_workload_size(kernel->access);
  uint64_t *conflicts = calloc(size + 1, sizeof *conflicts);
  bool *is_chosen = calloc(size + 1, sizeof *is_chosen);
  counted unused;
  int error = conflicts && is_chosen && bf_workload_create(selected) == BF_OK
                  ? BF_OK
                  : bf_no_memory(diagnostic);
  if (!error)
    error = count(machine, "none", lock_hash, kernel->access, &unused, conflicts, diagnostic);
  if (!error && size > MOST_CLIMBED)
    error = choose(kernel->access, conflicts, is_chosen, diagnostic);
  for (size_t i = 0; i < size && !error; i++)
    if ((size <= MOST_CLIMBED || is_chosen[i]) &&
        bf_workload_add(*selected, bf_workload_get(kernel->access, i)) != BF_OK)
      error = bf_no_memory(diagnostic);
  free(conflicts);
  free(is_chosen);
  return error;
}

/* ---- Padding of rows ---- */

/* Words of the widest access: padding by less would misalign it. */
static unsigned granule(const bf_workload *workload, unsigned word_bytes) {
  unsigned widest = word_bytes;
  for (size_t i = 0; i < bf_workload_size(workload); i++)
    if (bf_workload_get(workload, i)->width_bytes > widest)
      widest = bf_workload_get(workload, i)->width_bytes;
  return widest / word_bytes;
}

/* A step of the ladder that pads, and is best with these accesses. */
typedef struct padding {
  const bf_machine *machine;
  bf_lock_hash lock_hash;
  const bf_workload *selected;
  char hash[sizeof(((bf_ladder_step *)0)->hash)];
  uint64_t conflicts;
} padding;

/* Tries all paddings of a row. Ones that do not fit the memory, or cost more of it, are worse. */
static void try_row(padding *best, const bf_array_row *row) {
  bf_geometry geometry = bf_machine_geometry(best->machine);
  unsigned step = granule(best->selected, geometry.word_bytes);
  for (unsigned pad = step; pad < 1u << geometry.bank_bits; pad += step) {
    char text[sizeof best->hash];
    counted sum;
    snprintf(text, sizeof text, "pad:%llu+%u",
             (unsigned long long)(row->bytes / geometry.word_bytes), pad);
    if (count(best->machine, text, best->lock_hash, best->selected, &sum, NULL, NULL) == BF_OK &&
        sum.conflicts < best->conflicts) {
      best->conflicts = sum.conflicts;
      memcpy(best->hash, text, sizeof text);
    }
  }
}

static bool is_padding(const bf_ladder_step *step, uint64_t *row, uint64_t *pad) {
  unsigned long long words, more;
  char rest;
  bool is = sscanf(step->hash, "pad:%llu+%llu%c", &words, &more, &rest) == 2;
  *row = is ? words : 0;
  *pad = is ? more : 0;
  return is;
}

/* The row of an array that a step pads; NULL: it is none. */
static const bf_array_row *row_of(const bf_machine *machine, const bf_ladder_step *step,
                                  const bf_array_row *row, unsigned rows) {
  uint64_t words, pad;
  for (unsigned i = 0; is_padding(step, &words, &pad) && i < rows; i++)
    if (row[i].bytes == words * bf_machine_geometry(machine).word_bytes)
      return &row[i];
  return NULL;
}

/* Where a step pads what is no row of the array, and to pad a row leaves no more: the step does
 * that, which can be written in the source. */
static void prefer_rows(const bf_machine *machine, bf_lock_hash lock_hash,
                        const bf_costs_kernel *kernel, const bf_workload *selected,
                        const bf_array_row *row, unsigned rows, bf_ladder_step *step) {
  uint64_t words, pad;
  counted sum;
  if (!is_padding(step, &words, &pad) || row_of(machine, step, row, rows))
    return;
  padding best = {machine, lock_hash, selected, "", UINT64_MAX};
  for (unsigned i = 0; i < rows; i++)
    if (row[i].bytes % bf_machine_geometry(machine).word_bytes == 0)
      try_row(&best, &row[i]);
  if (!best.hash[0] ||
      count(machine, best.hash, lock_hash, kernel->access, &sum, NULL, NULL) != BF_OK ||
      sum.conflicts > step->conflicts)
    return;
  memcpy(step->hash, best.hash, sizeof step->hash);
  step->conflicts = sum.conflicts;
}

/* What to write in the source: longer rows of the array, where rows are known; else how to change
 * the index. */
static int write_code(const bf_machine *machine, const bf_ladder_step *step,
                      const bf_array_row *row, unsigned rows, bf_remedy *remedy,
                      bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(machine);
  const bf_array_row *own = row_of(machine, step, row, rows);
  uint64_t words, pad;
  is_padding(step, &words, &pad);
  pad *= geometry.word_bytes;
  if (own && pad % own->element_bytes == 0) {
    uint64_t elements = own->bytes / own->element_bytes;
    snprintf(remedy->code, sizeof remedy->code,
             "tile[][%llu] in place of tile[][%llu], for %s of %u bytes",
             (unsigned long long)(elements + pad / own->element_bytes),
             (unsigned long long)elements,
             own->element_bytes == geometry.word_bytes ? "words" : "elements", own->element_bytes);
    return BF_OK;
  }
  bf_hash *hash;
  bf_text code = {0};
  BF_TRY(bf_hash_parse(step->hash, &geometry, &hash, diagnostic));
  if (bf_hash_write_code(hash, &code) && code.data)
    snprintf(remedy->code, sizeof remedy->code, "%s", code.data);
  bf_text_free(&code);
  bf_hash_free(hash);
  return BF_OK;
}

/* ---- Finding ---- */

static int refuse(bf_remedy *remedy, const char *reason) {
  snprintf(remedy->reason, sizeof remedy->reason, "%s", reason);
  return BF_OK;
}

/* Counts the steps of a ladder with all accesses, and chooses by that. */
static int count_steps(const bf_machine *machine, bf_lock_hash lock_hash,
                       const bf_costs_kernel *kernel, bf_ladder *ladder,
                       bf_diagnostic *diagnostic) {
  uint64_t bytes_used = 0;
  for (unsigned i = 0; i < ladder->count; i++) {
    counted sum;
    BF_TRY(count(machine, ladder->step[i].hash, lock_hash, kernel->access, &sum, NULL, diagnostic));
    ladder->step[i].conflicts = sum.conflicts;
    bytes_used = sum.bytes_used;
    if (i)
      continue; /* the first is to do nothing */
    ladder->accesses = sum.accesses;
    ladder->wavefronts_before = sum.wavefronts;
    ladder->conflicts_before = sum.conflicts;
  }
  bf_ladder_recommend(ladder, bytes_used);
  return BF_OK;
}

/* Takes the step of a ladder that is recommended, where it leaves less than there is. */
static int take(const bf_costs_kernel *kernel, const bf_ladder *ladder, bf_remedy *remedy) {
  const bf_ladder_step *step = &ladder->step[ladder->recommended];
  uint64_t without = ladder->step[0].conflicts;
  if (without < kernel->conflicts && without <= step->conflicts) {
    snprintf(remedy->reason, sizeof remedy->reason, "without the hash it has %llu conflicts",
             (unsigned long long)without);
    return BF_OK;
  }
  if (ladder->recommended == 0)
    return refuse(remedy, ladder->reason);
  if (step->conflicts >= kernel->conflicts)
    return refuse(remedy, "no step of the ladder leaves less than the hash that it has");
  remedy->exists = true;
  snprintf(remedy->name, sizeof remedy->name, "%s", step->name);
  snprintf(remedy->hash, sizeof remedy->hash, "%s", step->hash);
  snprintf(remedy->reason, sizeof remedy->reason, "%s", ladder->reason);
  remedy->after = step->conflicts;
  return BF_OK;
}

/* Seconds of processors that this process had; 0: not known. */
static double processor_seconds(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now))
    return 0;
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Climbs the ladder. What it finds without a limit of the caller's own must not hang on what else
 * the machine does: time that others had does not count. */
static int climb(const bf_machine *machine, const bf_workload *selected, double limit_seconds,
                 bf_ladder *ladder, bf_diagnostic *diagnostic) {
  bf_solve_options options = {.struct_bytes = sizeof options,
                              .method = BF_METHOD_EXACT,
                              .time_limit_seconds =
                                  limit_seconds > 0 ? limit_seconds : REMEDY_SECONDS};
  for (unsigned climbs = 1;; climbs++) {
    double before = processor_seconds();
    BF_TRY(bf_solve_ladder(machine, selected, &options, ladder, diagnostic));
    double used = processor_seconds() - before;
    bool is_cut = ladder->seconds > 0.5 * options.time_limit_seconds;
    if (limit_seconds > 0 || climbs == MOST_CLIMBS || !is_cut || used <= 0 ||
        used > 0.5 * ladder->seconds)
      return BF_OK;
    options.time_limit_seconds *= MORE_SECONDS;
  }
}

/* Finds a remedy for a kernel whose accesses are all known. */
static int find(const bf_machine *machine, bf_lock_hash lock_hash, const bf_costs_kernel *kernel,
                double limit_seconds, bf_remedy *remedy, bf_diagnostic *diagnostic) {
  bf_ladder ladder;
  bf_workload *selected = NULL;
  bf_array_row row[BF_ARRAY_ROWS];
  unsigned rows = bf_array_rows_find(kernel->access, bf_machine_lanes(machine), row);
  int error = select_accesses(machine, kernel, lock_hash, &selected, diagnostic);
  if (!error)
    error = climb(machine, selected, limit_seconds, &ladder, diagnostic);
  if (!error)
    error = count_steps(machine, lock_hash, kernel, &ladder, diagnostic);
  bf_ladder_step *step = &ladder.step[error ? 0 : ladder.recommended];
  if (!error)
    prefer_rows(machine, lock_hash, kernel, selected, row, rows, step);
  bf_workload_free(selected);
  if (!error)
    error = take(kernel, &ladder, remedy);
  if (!error && remedy->exists)
    error = write_code(machine, step, row, rows, remedy, diagnostic);
  if (!error)
    return BF_OK;
  return error == BF_NO_MEMORY ? error : refuse(remedy, diagnostic->message);
}

/* ---- Tiles that the hardware moves ---- */

/* Where copies and wgmma reach, and what they agree on: the bytes of rows of tensor copies without
 * a swizzle (0: there are none), and whether anything there needs another layout. */
typedef struct moved {
  bool is_any, is_bulk, is_read_plain, is_swizzled, differs;
  uint32_t row_bytes;
} moved;

static bool overlaps(const bf_access *access, const bf_operand *what) {
  for (uint64_t left = access->mask; left; left &= left - 1) {
    uint64_t at = access->address[__builtin_ctzll(left)];
    if (at < what->end && at + access->width_bytes > what->first)
      return true;
  }
  return false;
}

/* Whether an access that conflicts touches what an operand does. */
static bool is_in_conflict(const bf_costs_kernel *kernel, const uint64_t *conflicts,
                           const bf_operand *what) {
  for (size_t i = 0; i < bf_workload_size(kernel->access); i++)
    if (conflicts[i] && overlaps(bf_workload_get(kernel->access, i), what))
      return true;
  return false;
}

static void add_moved(moved *all, bf_operand_kind kind, const bf_operand_sum *sum) {
  const bf_operand *what = &sum->what;
  bool is_matrix = kind == BF_OPERAND_A || kind == BF_OPERAND_B;
  all->is_any = true;
  all->is_bulk |= !what->type[0];
  all->is_swizzled |= what->swizzle_bytes != 0;
  all->is_read_plain |= is_matrix && !what->swizzle_bytes;
  if (is_matrix || !what->type[0] || !what->rows)
    return;
  uint32_t row_bytes = what->bytes / what->rows;
  all->differs |= sum->varies || (all->row_bytes && all->row_bytes != row_bytes);
  all->row_bytes = row_bytes;
}

/* What the hardware moves where there are conflicts. */
static int find_moved(const bf_machine *machine, const char *hash, bf_lock_hash lock_hash,
                      const bf_costs_kernel *kernel, moved *all, bf_diagnostic *diagnostic) {
  counted sum;
  *all = (moved){.is_any = false};
  uint64_t *conflicts = calloc(bf_workload_size(kernel->access) + 1, sizeof *conflicts);
  int error = conflicts
                  ? count(machine, hash, lock_hash, kernel->access, &sum, conflicts, diagnostic)
                  : bf_no_memory(diagnostic);
  for (size_t i = 0; i < kernel->lines && !error; i++)
    for (unsigned kind = 0; kind < BF_OPERAND_FAR_LOADED; kind++) {
      const bf_operand_sum *own = &kernel->line[i].operand[kind];
      if (own->times && is_in_conflict(kernel, conflicts, &own->what))
        add_moved(all, (bf_operand_kind)kind, own);
    }
  free(conflicts);
  return error;
}

/* A tile with conflicts that tensor copies move without a swizzle can have one; that is as wide as
 * its rows are. No hash and no padding fits such a tile otherwise. */
static int find_swizzle(const bf_machine *machine, bf_lock_hash lock_hash,
                        const bf_costs_kernel *kernel, const moved *all, bf_remedy *remedy,
                        bf_diagnostic *diagnostic) {
  uint32_t width = all->row_bytes;
  counted sum;
  if (all->is_bulk)
    return refuse(remedy, "the tile is moved by bulk copies, which keep bytes in a row: a copy for "
                          "each row can leave room behind it, and a tensor copy can swizzle");
  if (all->is_swizzled || all->is_read_plain || all->differs ||
      (width != 32 && width != 64 && width != 128))
    return refuse(remedy, "the tile is moved by tensor copies or read by wgmma, which no padding "
                          "and no hash fits: bankfold layout says which layout is best for all");
  snprintf(remedy->hash, sizeof remedy->hash, "tma:%u", width);
  BF_TRY(count(machine, remedy->hash, lock_hash, kernel->access, &sum, NULL, diagnostic));
  if (sum.conflicts >= kernel->conflicts)
    return refuse(remedy, "the tile is moved by tensor copies, whose swizzle removes no conflicts: "
                          "bankfold layout says which layout is best for all");
  remedy->exists = true;
  remedy->after = sum.conflicts;
  snprintf(remedy->name, sizeof remedy->name, "swizzle");
  snprintf(remedy->code, sizeof remedy->code,
           "CU_TENSOR_MAP_SWIZZLE_%uB in the tensor map, and byte address ^ (address >> 3 & 0x%x) "
           "where threads access the tile",
           width, width - 16);
  return BF_OK;
}

/* Accesses of a kernel that are wgmma reading matrices, of which no access is kept. */
static uint64_t by_wgmma(const bf_costs_kernel *kernel) {
  uint64_t times = 0;
  for (size_t i = 0; i < kernel->lines; i++)
    times += kernel->line[i].operand[BF_OPERAND_B].times;
  return times;
}

/* ---- Arrays beside such tiles ---- */

/* A kernel in two: accesses to what copies move or wgmma reads, and those to all else. */
typedef struct parted {
  bf_costs_kernel moved, own;
  bool has_moved; /* there are copies or products, wherever they are */
} parted;

/* Whether an access touches what the hardware moves or reads; *has_moved: it does so anywhere. */
static bool is_moved(const bf_costs_kernel *kernel, const bf_access *access, bool *has_moved) {
  for (size_t i = 0; i < kernel->lines; i++)
    for (unsigned kind = 0; kind < BF_OPERAND_FAR_LOADED; kind++) {
      const bf_operand_sum *sum = &kernel->line[i].operand[kind];
      *has_moved |= sum->times != 0;
      if (sum->times && overlaps(access, &sum->what))
        return true;
    }
  return false;
}

static void free_parts(parted *parts) {
  bf_workload_free(parts->moved.access);
  bf_workload_free(parts->own.access);
}

/* Parts a kernel; what it gives is freed by free_parts, after a failure too. */
static int part(const bf_machine *machine, const char *hash, bf_lock_hash lock_hash,
                const bf_costs_kernel *kernel, parted *parts, bf_diagnostic *diagnostic) {
  *parts = (parted){*kernel, *kernel, false};
  parts->moved.access = parts->own.access = NULL;
  if (bf_workload_create(&parts->moved.access) != BF_OK ||
      bf_workload_create(&parts->own.access) != BF_OK)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < bf_workload_size(kernel->access); i++) {
    const bf_access *access = bf_workload_get(kernel->access, i);
    bool moves = is_moved(kernel, access, &parts->has_moved);
    if (bf_workload_add(moves ? parts->moved.access : parts->own.access, access) != BF_OK)
      return bf_no_memory(diagnostic);
  }
  counted sum;
  BF_TRY(count(machine, hash, lock_hash, parts->moved.access, &sum, NULL, diagnostic));
  parts->moved.conflicts = sum.conflicts;
  BF_TRY(count(machine, hash, lock_hash, parts->own.access, &sum, NULL, diagnostic));
  parts->own.conflicts = sum.conflicts;
  return BF_OK;
}

/* Finds a remedy for each part that has conflicts, and takes the one that leaves fewer. */
static int find_parts(const bf_machine *machine, const char *hash, bf_lock_hash lock_hash,
                      const parted *parts, double limit_seconds, bf_remedy *remedy,
                      bf_diagnostic *diagnostic) {
  bf_remedy beside = *remedy;
  moved all;
  if (parts->moved.conflicts) {
    BF_TRY(find_moved(machine, hash, lock_hash, &parts->moved, &all, diagnostic));
    BF_TRY(find_swizzle(machine, lock_hash, &parts->moved, &all, remedy, diagnostic));
    remedy->after += remedy->exists ? parts->own.conflicts : 0;
  }
  if (!parts->own.conflicts)
    return BF_OK;
  BF_TRY(find(machine, lock_hash, &parts->own, limit_seconds, &beside, diagnostic));
  beside.after += beside.exists ? parts->moved.conflicts : 0;
  size_t used = strlen(beside.code);
  if (beside.exists && parts->has_moved)
    snprintf(beside.code + used, sizeof beside.code - used,
             ", in arrays that no copy moves and no wgmma reads");
  if (!parts->moved.conflicts ||
      (beside.exists && (!remedy->exists || beside.after < remedy->after)))
    *remedy = beside;
  return BF_OK;
}

int bf_remedy_find(const bf_machine *machine, const char *hash, bf_lock_hash lock_hash,
                   const bf_costs_kernel *kernel, double limit_seconds, bf_remedy *remedy,
                   bf_diagnostic *diagnostic) {
  *remedy = (bf_remedy){.before = kernel->conflicts};
  counted sum = {0};
  if (kernel->conflicts == 0)
    return BF_OK;
  if (kernel->is_cut)
    return refuse(remedy, "not searched: too many different accesses (a trace has them all)");
  if (kernel->access)
    BF_TRY(count(machine, hash, lock_hash, kernel->access, &sum, NULL, diagnostic));
  if (sum.conflicts != kernel->conflicts || sum.accesses != kernel->accesses - by_wgmma(kernel))
    return refuse(remedy, "not searched: not all of its accesses are known");
  parted parts;
  int error = part(machine, hash, lock_hash, kernel, &parts, diagnostic);
  if (!error)
    error = find_parts(machine, hash, lock_hash, &parts, limit_seconds, remedy, diagnostic);
  free_parts(&parts);
  return error;
}
