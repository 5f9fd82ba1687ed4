/* The search for a map of one array.
 *
 * Maps of one term are tried one by one, which is quick and also gives the best CuTe swizzle. Where
 * they leave conflicts, the exact search of room search is asked for row-preserving hashes of more
 * terms, as long as an element is a power of two of at most 16 bytes. Paddings are tried too. */
#include "source/suggest.h"

#include "search/ladder.h"

#include <stdlib.h>
#include <string.h>

/* Accesses that candidates are compared by; the result is counted with all. */
enum { MOST_COMPARED = 1024, MOST_SHIFT = 20, MOST_WIDTH = 6, MOST_PAD = 32, WORD_BYTES = 4 };

typedef struct searching {
  const bf_suggest_options *options;
  const bf_shared_array *array;
  bf_counter *counter; /* without a hash */
  bf_suggestions *result;
  uint64_t elements; /* of the array, or up to the last one touched */
  uint64_t written_accesses, merged_accesses;
  unsigned widest_bytes, merged_bytes; /* of accesses written, and merged */
  bool has_merging;                    /* ptxas makes fewer accesses than are written */
  bf_diagnostic *diagnostic;
} searching;

static bool is_power(uint64_t number) { return number && (number & (number - 1)) == 0; }

const char *bf_suggestion_name(bf_suggestion_kind kind) {
  static const char *const names[] = {"swizzle", "padding", "cute"};
  return names[kind];
}

/* ---- Counting ---- */

/* Sums over accesses, moved by the map (NULL: as they are): all, or where there are more than
 * `most` one of every `step`, not always the same of them, and so many times. */
static int count_moved(bf_counter *counter, const bf_workload *workload, const bf_index_map *map,
                       size_t most, uint64_t *wavefronts, uint64_t *conflicts,
                       bf_diagnostic *diagnostic) {
  size_t size = bf_workload_size(workload), step = most < size ? (size + most - 1) / most : 1;
  *wavefronts = *conflicts = 0;
  for (size_t first = 0; first < size; first += step) {
    size_t length = size - first < step ? size - first : step;
    const bf_access *access =
        bf_workload_get(workload, first + (first * UINT64_C(0x9E3779B97F4A7C15) >> 40) % length);
    bf_access moved = map ? bf_index_move(map, access) : *access;
    bf_count count = {0};
    BF_TRY(bf_counter_count(counter, &moved, &count, diagnostic));
    *wavefronts += access->count * length * bf_count_wavefronts(&count);
    *conflicts += access->count * length * count.conflicts;
  }
  return BF_OK;
}

uint64_t bf_suggest_touched(const bf_workload *workload) {
  uint64_t end = 0;
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    const bf_access *access = bf_workload_get(workload, i);
    for (uint64_t left = access->mask; left; left &= left - 1) {
      uint64_t own = (uint64_t)access->address[__builtin_ctzll(left)] + access->width_bytes;
      end = own > end ? own : end;
    }
  }
  return end;
}

int bf_suggest_count(const bf_machine *machine, const bf_workload *workload,
                     const bf_index_map *map, uint64_t *wavefronts, uint64_t *conflicts,
                     bf_diagnostic *diagnostic) {
  bf_counter *counter;
  BF_TRY(bf_counter_create(machine, NULL, &counter, diagnostic));
  int error = count_moved(counter, workload, map, SIZE_MAX, wavefronts, conflicts, diagnostic);
  bf_counter_free(counter);
  return error;
}

/* Sums over a workload. */
typedef struct sums {
  uint64_t accesses, wavefronts, ideal, conflicts;
  uint64_t end_bytes; /* behind the last byte touched */
  unsigned widest_bytes;
  bool estimated;
  size_t worst;
} sums;

static void add_extent(const bf_access *access, sums *sum) {
  if (access->width_bytes > sum->widest_bytes)
    sum->widest_bytes = access->width_bytes;
  for (uint64_t left = access->mask; left; left &= left - 1) {
    uint64_t end = (uint64_t)access->address[__builtin_ctzll(left)] + access->width_bytes;
    sum->end_bytes = end > sum->end_bytes ? end : sum->end_bytes;
  }
}

/* What accesses cost as they are. */
static int add_up(const searching *s, const bf_workload *workload, sums *sum) {
  uint64_t worst = 0;
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    const bf_access *access = bf_workload_get(workload, i);
    bf_count count = {0};
    BF_TRY(bf_counter_count(s->counter, access, &count, s->diagnostic));
    sum->accesses += access->count;
    sum->wavefronts += access->count * bf_count_wavefronts(&count);
    sum->ideal += access->count * count.ideal;
    sum->conflicts += access->count * count.conflicts;
    sum->estimated |= count.estimated;
    add_extent(access, sum);
    if (count.conflicts > worst) {
      worst = count.conflicts;
      sum->worst = i;
    }
  }
  return BF_OK;
}

/* What the array costs, and which accesses candidates are counted with. */
static int count_before(searching *s) {
  const bf_shared_array *a = s->array;
  bf_suggestions *r = s->result;
  sums written = {0}, merged = {0};
  BF_TRY(add_up(s, a->workload, &written));
  if (a->merged)
    BF_TRY(add_up(s, a->merged, &merged));
  const sums *before = a->merged ? &merged : &written;
  r->accesses = before->accesses;
  r->wavefronts = before->wavefronts;
  r->ideal = before->ideal;
  r->conflicts = before->conflicts;
  r->estimated = before->estimated;
  r->worst = written.worst;
  s->written_accesses = written.accesses;
  s->merged_accesses = merged.accesses;
  s->widest_bytes = written.widest_bytes;
  s->merged_bytes = merged.widest_bytes;
  s->has_merging = a->merged && merged.accesses != written.accesses &&
                   bf_workload_size(a->workload) <= MOST_COMPARED;
  uint64_t bytes = a->bytes ? a->bytes : written.end_bytes;
  s->elements = (bytes + a->element_bytes - 1) / a->element_bytes;
  return BF_OK;
}

/* ---- Candidates ---- */

/* What a suggestion costs in wavefronts: its own, and what the instructions that make the accesses
 * and their addresses are worth. */
static double cost_of(const searching *s, const bf_suggestion *suggestion) {
  uint64_t accesses = suggestion->keeps_merging ? s->merged_accesses : s->written_accesses;
  return bf_cost_in_wavefronts((double)suggestion->wavefronts,
                               (double)accesses * (1 + suggestion->instructions));
}

/* Whether a is to be preferred to b. */
static bool is_better(const searching *s, const bf_suggestion *a, const bf_suggestion *b) {
  if (!b->exists)
    return true;
  double cost = cost_of(s, a), other = cost_of(s, b);
  if (cost < other || other < cost)
    return cost < other;
  if (a->extra_bytes != b->extra_bytes)
    return a->extra_bytes < b->extra_bytes;
  return a->is_direct && !b->is_direct;
}

/* Whether ptxas still merges: it must see that rows begin at multiples of the merged accesses. */
static bool keeps_merging(const searching *s, const bf_index_map *map) {
  uint64_t pitch_bytes = (map->row_elements + map->pad_elements) * map->element_bytes;
  return s->has_merging && map->row_elements && bf_index_is_direct(map, s->array) &&
         pitch_bytes % s->merged_bytes == 0;
}

/* Counts a suggestion with about that many accesses at most. */
static int count_suggestion(const searching *s, size_t most, bf_suggestion *suggestion) {
  const bf_workload *workload = suggestion->keeps_merging ? s->array->merged : s->array->workload;
  return count_moved(s->counter, workload, &suggestion->map, most, &suggestion->wavefronts,
                     &suggestion->conflicts, NULL);
}

/* Takes a map for a kind of suggestion, if it is better than what there is. */
static void consider(const searching *s, const bf_index_map *map, uint64_t extra_bytes,
                     bf_suggestion_kind kind) {
  bf_suggestion own = {.exists = true,
                       .map = *map,
                       .extra_bytes = extra_bytes,
                       .keeps_merging = keeps_merging(s, map)};
  bf_suggestion *best = &s->result->of[kind];
  if (count_suggestion(s, MOST_COMPARED, &own) != BF_OK)
    return; /* it does not fit the machine */
  own.is_direct = bf_index_is_direct(map, s->array);
  own.instructions = bf_index_instructions(map, s->array);
  if (is_better(s, &own, best))
    *best = own;
}

/* Bytes that the array must grow by so that an XOR map stays inside it. */
static uint64_t growth(const searching *s, const bf_index_map *map) {
  uint64_t all = 0;
  for (unsigned i = 0; i < map->terms; i++)
    all |= map->term[i].mask;
  uint64_t block = all ? UINT64_C(1) << (64 - __builtin_clzll(all)) : 1;
  return (block - s->elements % block) % block * map->element_bytes;
}

/* The lowest bit of an element index that may be changed: the elements of the widest access, and
 * of a word, stay together. */
static unsigned lowest_bit(const searching *s) {
  unsigned element = s->array->element_bytes, keep = s->widest_bytes, bit = 0;
  keep = keep < WORD_BYTES ? WORD_BYTES : keep;
  while ((uint64_t)element << bit < keep)
    bit++;
  return bit;
}

static void try_one_term(const searching *s) {
  bf_index_map map = {.element_bytes = s->array->element_bytes, .terms = 1};
  unsigned first = lowest_bit(s);
  for (unsigned base = first; base < first + MOST_WIDTH; base++)
    for (unsigned width = 1; width < MOST_WIDTH; width++)
      for (unsigned shift = width; shift < MOST_SHIFT; shift++) {
        if (UINT64_C(1) << (base + shift) >= s->elements)
          break;
        map.term[0] =
            (bf_hash_term){.shift = (int)shift, .mask = ((UINT64_C(1) << width) - 1) << base};
        consider(s, &map, growth(s, &map), BF_SUGGEST_SWIZZLE);
        consider(s, &map, growth(s, &map), BF_SUGGEST_CUTE);
      }
}

/* The terms of a hash of words as terms of element indices; false where it has too many. */
static bool map_of_hash(const bf_hash *hash, unsigned element_bytes, bf_index_map *map) {
  bf_hash_term term[2 * 64];
  unsigned count = bf_hash_terms(&hash->forward, term);
  *map = (bf_index_map){.element_bytes = element_bytes};
  for (unsigned i = 0; i < count; i++) {
    if (term[i].shift == 0)
      continue;
    if (term[i].shift < 0 || map->terms == BF_INDEX_MOST_TERMS)
      return false;
    uint64_t bytes = term[i].mask * WORD_BYTES;
    map->term[map->terms++] = (bf_hash_term){.shift = term[i].shift, .mask = bytes / element_bytes};
  }
  return map->terms > 0;
}

/* Row-preserving hashes of several terms. */
static int try_exact(const searching *s) {
  static const bf_class classes[] = {BF_CLASS_ROW, BF_CLASS_TWO_TERM};
  unsigned granule =
      s->widest_bytes > s->array->element_bytes ? s->widest_bytes : s->array->element_bytes;
  bf_geometry geometry = bf_machine_geometry(s->options->machine);
  if (!is_power(s->array->element_bytes) || granule > 16 || geometry.word_bytes != WORD_BYTES)
    return BF_OK;
  for (unsigned i = 0; i < sizeof classes / sizeof *classes; i++) {
    bf_solve_options options = {.struct_bytes = sizeof options,
                                .method = BF_METHOD_EXACT,
                                .class_ = classes[i],
                                .keeps_rows = true,
                                .granule_bytes = granule > WORD_BYTES ? granule : WORD_BYTES,
                                .time_limit_seconds = s->options->time_limit_seconds,
                                .threads = s->options->threads};
    bf_solution solution;
    bf_index_map map;
    int error =
        bf_solve(s->options->machine, s->array->workload, &options, &solution, s->diagnostic);
    if (error == BF_UNSUPPORTED)
      continue;
    BF_TRY(error);
    if (bf_hash_is_row_preserving(solution.hash) &&
        map_of_hash(solution.hash, s->array->element_bytes, &map))
      consider(s, &map, growth(s, &map), BF_SUGGEST_SWIZZLE);
    bf_solution_clear(&solution);
  }
  return BF_OK;
}

/* ---- Padding ---- */

/* Whether vectors stay aligned when the distance of two rows is that many elements. */
static bool keeps_alignment(const searching *s, uint64_t pitch_elements) {
  return pitch_elements * s->array->element_bytes % s->widest_bytes == 0;
}

/* Makes one dimension longer. */
static void try_dimension(const searching *s, unsigned dimension) {
  const bf_shared_array *a = s->array;
  uint64_t inner = 1;
  for (unsigned i = dimension + 1; i < a->dimensions; i++)
    inner *= a->dimension[i];
  for (uint64_t pad = 1; pad <= MOST_PAD; pad++) {
    uint64_t row = a->dimension[dimension] * inner;
    bf_index_map map = {.element_bytes = a->element_bytes,
                        .row_elements = row,
                        .pad_elements = pad * inner,
                        .padded_dimension = dimension,
                        .padded_by = pad};
    uint64_t more = s->elements / row * pad * inner;
    if (keeps_alignment(s, row + pad * inner))
      consider(s, &map, more * a->element_bytes, BF_SUGGEST_PADDING);
  }
}

/* Leaves elements out behind every so many of a flat array. */
static void try_flat_padding(const searching *s) {
  for (uint64_t row = 4; row <= 1024 && row < s->elements; row *= 2)
    for (uint64_t pad = 1; pad <= 8; pad *= 2) {
      bf_index_map map = {
          .element_bytes = s->array->element_bytes, .row_elements = row, .pad_elements = pad};
      uint64_t more = (s->elements - 1) / row * pad;
      if (keeps_alignment(s, row) && keeps_alignment(s, pad))
        consider(s, &map, more * s->array->element_bytes, BF_SUGGEST_PADDING);
    }
}

/* Makes each element larger than its members need: by multiples of what it is aligned to. */
static void try_element(const searching *s) {
  unsigned bytes = s->array->element_bytes, align = s->array->alignment_bytes;
  for (unsigned pad = WORD_BYTES; pad <= 16 && bytes > s->widest_bytes; pad += WORD_BYTES) {
    bf_index_map map = {.element_bytes = bytes, .element_pad_bytes = pad};
    bool is_aligned = !align || bytes % align || pad % align == 0;
    if (is_aligned && (bytes + pad) % s->widest_bytes == 0)
      consider(s, &map, s->elements * pad, BF_SUGGEST_PADDING);
  }
}

static void try_padding(const searching *s) {
  if (s->array->dimensions < 2)
    try_flat_padding(s);
  for (unsigned i = 1; i < s->array->dimensions; i++)
    try_dimension(s, i);
  if (s->array->dimensions)
    try_element(s);
}

/* ---- The result ---- */

/* Counts a suggestion with all accesses; one that is not worth its cost is dropped. */
static void finish(const searching *s, bf_suggestion *suggestion) {
  bf_suggestion as_is = {.wavefronts = s->result->wavefronts,
                         .keeps_merging = s->array->merged != NULL};
  suggestion->exists = suggestion->exists && count_suggestion(s, SIZE_MAX, suggestion) == BF_OK &&
                       suggestion->wavefronts < as_is.wavefronts &&
                       cost_of(s, suggestion) < cost_of(s, &as_is);
}

/* The kind that costs least, or -1. */
static int find_best(const searching *s) {
  const bf_suggestions *r = s->result;
  int best = -1;
  for (int i = 0; i < BF_SUGGEST_KINDS; i++)
    if (r->of[i].exists && (best < 0 || is_better(s, &r->of[i], &r->of[best])))
      best = i;
  return best;
}

static int search(searching *s) {
  bf_suggestions *r = s->result;
  BF_TRY(count_before(s));
  if (r->conflicts == 0)
    return BF_OK;
  try_one_term(s);
  if (!r->of[BF_SUGGEST_SWIZZLE].exists || r->of[BF_SUGGEST_SWIZZLE].conflicts)
    BF_TRY(try_exact(s));
  try_padding(s);
  for (int i = 0; i < BF_SUGGEST_KINDS; i++)
    finish(s, &r->of[i]);
  r->best = find_best(s);
  return BF_OK;
}

int bf_suggest(const bf_suggest_options *options, const bf_shared_array *array,
               bf_suggestions *suggestions, bf_diagnostic *diagnostic) {
  *suggestions = (bf_suggestions){.best = -1};
  searching s = {
      .options = options, .array = array, .result = suggestions, .diagnostic = diagnostic};
  BF_TRY(bf_counter_create(options->machine, NULL, &s.counter, diagnostic));
  int error = search(&s);
  bf_counter_free(s.counter);
  return error;
}
