/* Where to put a pattern: the base addresses of a range at which it has the fewest conflicts.
 *
 * The range is reduced to representatives (align_zones.c). Each direction in which the words are
 * read is a composite of equal strided patterns: the conflicts of one strided pattern are counted
 * at every base that occurs (align_count.c, with the symmetry of its own, shorter extent), and
 * summed over the composite by sliding along. The best representatives are then taken back to all
 * bases of the range. */
#include "search/align.h"

#include <stdlib.h>
#include <string.h>

/* Limits that keep memory below about 3 GiB and time below some minutes. */
#define LARGEST_ADDRESS ((uint64_t)1 << 62)
#define LARGEST_TABLE ((uint64_t)1 << 27) /* entries of 4 bytes */
#define LARGEST_COUNT ((uint64_t)1 << 25) /* words of one strided pattern, five tables */
#define LARGEST_WORK 0x1p34               /* words hashed or numbers added */
#define LARGEST_WALK ((uint64_t)1 << 28)  /* pieces of zones in the range */
#define LARGEST_ANSWER ((size_t)1 << 24)  /* ranges of optimal bases */

/* ---- Patterns ---- */

/* a * b + c, or UINT64_MAX where that is too large for an address. */
static uint64_t multiply_add(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t result;
  if (__builtin_mul_overflow(a, b, &result) || __builtin_add_overflow(result, c, &result) ||
      result >= LARGEST_ADDRESS)
    return UINT64_MAX;
  return result;
}

uint64_t bf_align_extent(const bf_align_pattern *pattern) {
  uint64_t last_base =
      pattern->patterns > 1 ? multiply_add(pattern->distance, pattern->patterns - 1, 0) : 0;
  return multiply_add(pattern->stride, pattern->count - 1, last_base);
}

/* The same words read the other way. */
static bf_align_pattern transposed(const bf_align_pattern *pattern) {
  return (bf_align_pattern){.stride = pattern->distance,
                            .count = pattern->patterns,
                            .distance = pattern->stride,
                            .patterns = pattern->count};
}

/* Checks pattern and range; in *plain a distance that does not matter becomes 1. */
static int check(const bf_align_pattern *pattern, uint64_t from, uint64_t to,
                 bf_align_pattern *plain, bf_diagnostic *diagnostic) {
  *plain = *pattern;
  if (pattern->count == 0 || pattern->patterns == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "the pattern has no words");
  if (pattern->stride == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "the stride must be at least 1 word");
  if (pattern->patterns == 1)
    plain->distance = 1;
  if (plain->distance == 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "the distance must be at least 1 word");
  if (from > to)
    return bf_fail(diagnostic, BF_BAD_INPUT, "the range is empty: %llu is greater than %llu",
                   (unsigned long long)from, (unsigned long long)to);
  uint64_t extent = bf_align_extent(plain);
  if (to >= LARGEST_ADDRESS || extent >= LARGEST_ADDRESS)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "word addresses must stay below 2^62");
  if (multiply_add(pattern->count, pattern->patterns, 0) > UINT32_MAX / 2)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "the pattern has more than %u words",
                   UINT32_MAX / 2);
  return BF_OK;
}

/* ---- Sums over composites ---- */

typedef struct composite_sum {
  const bf_align_zones *single; /* of one strided pattern */
  uint64_t distance, patterns;
  uint32_t *values; /* conflicts of single patterns */
  uint32_t *total;
} composite_sum;

/* True if neighbouring composites among `length` bases share strided patterns. */
static bool slides(uint64_t length, uint64_t distance, uint64_t patterns) {
  return patterns > 1 && distance < length;
}

/* Adds up the composites at `length` bases by adding up whole stretches of bases. */
static void sum_stretches(const composite_sum *sum, uint64_t base, uint64_t length) {
  memset(sum->total, 0, length * sizeof *sum->total);
  for (uint64_t p = 0; p < sum->patterns; p++) {
    bf_align_read(sum->single, base + sum->distance * p, length, sum->values);
    for (uint64_t i = 0; i < length; i++)
      sum->total[i] += sum->values[i];
  }
}

/* The same where bases a distance apart share all but one of their patterns:
 * total(b + distance) = total(b) - single(b) + single(b + distance * patterns). */
static void sum_sliding(const composite_sum *sum, uint64_t base, uint64_t length) {
  uint64_t distance = sum->distance, reach = distance * sum->patterns;
  const uint32_t *values = sum->values;
  uint32_t *total = sum->total;
  bf_align_read(sum->single, base, length + reach - distance, sum->values);
  memset(total, 0, length * sizeof *total);
  for (uint64_t p = 0; p < sum->patterns; p++)
    for (uint64_t i = 0; i < distance; i++)
      total[i] += values[distance * p + i];
  for (uint64_t i = 0; i + distance < length; i++)
    total[i + distance] = total[i] - values[i] + values[i + reach];
}

/* Adds the conflicts of the composite to the needed representatives of a zone. */
static void add_to_zone(const composite_sum *sum, bf_align_zone *zone) {
  uint64_t length = zone->last - zone->first + 1;
  if (slides(length, sum->distance, sum->patterns))
    sum_sliding(sum, zone->first, length);
  else
    sum_stretches(sum, zone->first, length);
  for (uint64_t i = 0; i < length; i++)
    zone->conflicts[i] += sum->total[i];
}

/* What one direction costs: bases of the largest zone, entries of the longest table of single
 * patterns' conflicts, and words hashed or numbers added. */
typedef struct expense {
  uint64_t longest, values;
  double work;
} expense;

/* Marks what the needed representatives of one zone need of the single patterns. */
static void need_singles(const bf_align_zone *zone, const bf_align_pattern *pattern,
                         bf_align_zones *single, expense *sum) {
  uint64_t length = zone->last - zone->first + 1, values = length;
  if (slides(length, pattern->distance, pattern->patterns)) {
    values += pattern->distance * (pattern->patterns - 1);
    sum->work += (double)values;
    bf_align_need(single, zone->first, zone->first + values - 1);
  } else {
    /* Every stretch is also looked up in up to 42 zones, which costs as much as 32 additions. */
    sum->work += (double)(length + 32) * (double)pattern->patterns;
    for (uint64_t p = 0; p < pattern->patterns && sum->work <= LARGEST_WORK; p++)
      bf_align_need(single, zone->first + pattern->distance * p,
                    zone->last + pattern->distance * p);
  }
  sum->longest = length > sum->longest ? length : sum->longest;
  sum->values = values > sum->values ? values : sum->values;
}

/* Marks what all zones need of the single patterns and adds up the cost. */
static expense need_all_singles(const bf_align_zones *zones, const bf_align_pattern *pattern,
                                bf_align_zones *single) {
  expense sum = {0};
  for (unsigned i = 0; i < zones->count; i++)
    if (zones->zone[i].needed)
      need_singles(&zones->zone[i], pattern, single, &sum);
  uint64_t needed = bf_align_needed(single);
  uint64_t classes = pattern->stride < needed ? pattern->stride : needed;
  sum.work += (double)needed + (double)classes * (double)pattern->count;
  return sum;
}

/* Refuses what would take too much time or memory. */
static int check_expense(const expense *cost, const bf_align_pattern *pattern,
                         const bf_align_zones *single, bf_diagnostic *diagnostic) {
  if (pattern->count > LARGEST_COUNT)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "a strided pattern has more than %llu words",
                   (unsigned long long)LARGEST_COUNT);
  if (cost->work > LARGEST_WORK)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "about %.2g words to look at, more than the %.2g allowed; narrow the range",
                   cost->work, LARGEST_WORK);
  if (bf_align_needed(single) > LARGEST_TABLE || cost->values > LARGEST_TABLE)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "tables of more than %llu entries are needed; narrow the range",
                   (unsigned long long)LARGEST_TABLE);
  return BF_OK;
}

/* Adds the conflicts of one direction of reading to the needed representatives of all zones. */
static int add_direction(const bf_hash *hash, const bf_align_pattern *pattern, bool use_symmetry,
                         bf_align_zones *zones, bf_diagnostic *diagnostic) {
  bf_align_zones single =
      bf_align_find_zones(hash, pattern->stride * (pattern->count - 1), use_symmetry);
  expense cost = need_all_singles(zones, pattern, &single);
  int error = check_expense(&cost, pattern, &single, diagnostic);
  if (error)
    return error;
  composite_sum sum = {
      .single = &single, .distance = pattern->distance, .patterns = pattern->patterns};
  sum.values = calloc(cost.values, sizeof *sum.values);
  sum.total = calloc(cost.longest, sizeof *sum.total);
  error = sum.values && sum.total ? bf_align_zones_allocate(&single) : BF_NO_MEMORY;
  if (!error)
    error = bf_align_count_strided(hash, pattern->stride, pattern->count, &single);
  for (unsigned i = 0; i < zones->count && !error; i++)
    if (zones->zone[i].needed)
      add_to_zone(&sum, &zones->zone[i]);
  bf_align_zones_free(&single);
  free(sum.values);
  free(sum.total);
  return !error ? BF_OK : bf_no_memory(diagnostic);
}

/* ---- The best bases ---- */

typedef struct range_list {
  bf_align_range *range;
  size_t count, capacity;
} range_list;

/* Adds from..to, which lies behind all others, joining it to the last one where they touch. */
static int append(range_list *list, uint64_t from, uint64_t to) {
  if (list->count && list->range[list->count - 1].to + 1 == from) {
    list->range[list->count - 1].to = to;
    return BF_OK;
  }
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? list->capacity * 2 : 16;
    bf_align_range *grown = realloc(list->range, capacity * sizeof *grown);
    if (!grown)
      return BF_NO_MEMORY;
    list->range = grown;
    list->capacity = capacity;
  }
  list->range[list->count++] = (bf_align_range){from, to};
  return BF_OK;
}

/* Fewest and most conflicts of all representatives. */
static void find_extremes(const bf_align_zones *zones, bf_alignment *alignment) {
  alignment->conflicts = UINT64_MAX;
  alignment->worst = 0;
  for (unsigned z = 0; z < zones->count; z++) {
    const bf_align_zone *zone = &zones->zone[z];
    for (uint64_t i = 0; zone->needed && i <= zone->last - zone->first; i++) {
      uint32_t conflicts = zone->conflicts[i];
      alignment->conflicts = conflicts < alignment->conflicts ? conflicts : alignment->conflicts;
      alignment->worst = conflicts > alignment->worst ? conflicts : alignment->worst;
    }
  }
}

/* The residues of a zone with the best conflicts: those needed, and their mirror images. */
static int find_best_residues(const bf_align_zone *zone, uint64_t best, range_list *found) {
  int error = BF_OK;
  for (uint64_t i = 0; zone->needed && i <= zone->last - zone->first && !error; i++)
    if (zone->conflicts[i] == best)
      error = append(found, zone->first + i, zone->first + i);
  size_t direct = found->count;
  for (size_t i = direct; zone->mirrored && i-- > 0 && !error;) {
    bf_align_range image = {zone->low + (zone->high - found->range[i].to),
                            zone->low + (zone->high - found->range[i].from)};
    uint64_t behind = found->range[found->count - 1].to + 1;
    if (image.from < behind) /* the centre itself */
      image.from = behind;
    if (image.from <= image.to)
      error = append(found, image.from, image.to);
  }
  return error;
}

/* Appends what best residues the zone has at the bases base .. base + length - 1. */
static int append_piece(const bf_align_zone *zone, const range_list *best, uint64_t base,
                        uint64_t length, range_list *optimal) {
  uint64_t first = bf_align_residue(zone, base), last = first + (length - 1);
  int error = BF_OK;
  for (size_t i = 0; i < best->count && best->range[i].from <= last && !error; i++) {
    uint64_t from = best->range[i].from < first ? first : best->range[i].from;
    uint64_t to = best->range[i].to > last ? last : best->range[i].to;
    if (from <= to)
      error = append(optimal, base + (from - first), base + (to - first));
  }
  return error;
}

/* Walks the range zone by zone and collects all best bases. */
static int collect(const bf_align_zones *zones, const range_list *best, uint64_t from, uint64_t to,
                   range_list *optimal, bf_diagnostic *diagnostic) {
  for (uint64_t base = from; base <= to;) {
    const bf_align_zone *zone = bf_align_zone_of(zones, base);
    uint64_t left = zone->high - bf_align_residue(zone, base);
    uint64_t length = left < to - base ? left + 1 : to - base + 1;
    int error = append_piece(zone, &best[zone - zones->zone], base, length, optimal);
    if (error)
      return bf_no_memory(diagnostic);
    if (optimal->count > LARGEST_ANSWER)
      return bf_fail(diagnostic, BF_UNSUPPORTED,
                     "more than %zu ranges of optimal bases; narrow the range", LARGEST_ANSWER);
    base += length;
  }
  return BF_OK;
}

/* Fills conflicts, worst and the optimal bases. */
static int find_optimal(const bf_align_zones *zones, uint64_t from, uint64_t to,
                        bf_alignment *alignment, bf_diagnostic *diagnostic) {
  range_list optimal = {0}, best[BF_ALIGN_MAX_ZONES] = {{0}};
  int error = BF_OK;
  find_extremes(zones, alignment);
  if (alignment->conflicts == alignment->worst) {
    error = append(&optimal, from, to);
  } else if (zones->zone[0].period && (to - from) / zones->zone[0].period > LARGEST_WALK) {
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "the range holds more than %llu copies of the same bases; narrow it",
                   (unsigned long long)LARGEST_WALK);
  } else {
    for (unsigned i = 0; i < zones->count && !error; i++)
      error = find_best_residues(&zones->zone[i], alignment->conflicts, &best[i]);
    if (!error)
      error = collect(zones, best, from, to, &optimal, diagnostic);
    for (unsigned i = 0; i < zones->count; i++)
      free(best[i].range);
  }
  alignment->optimal = optimal.range;
  alignment->optimal_count = optimal.count;
  return error == BF_NO_MEMORY ? bf_no_memory(diagnostic) : error;
}

/* The centres (2^K - 1 - extent) / 2 inside the range: about each of them all bases from 0 on are
 * mirrored. K may exceed the address bits, since bits beyond them do not matter. */
static int find_symmetry_points(uint64_t extent, uint64_t from, uint64_t to,
                                bf_alignment *alignment) {
  alignment->symmetry_points = calloc(64, sizeof *alignment->symmetry_points);
  if (!alignment->symmetry_points)
    return BF_NO_MEMORY;
  for (unsigned bits = 0; bits < 64; bits++) {
    uint64_t last = bf_gf2_low_bits(bits);
    if (last <= extent)
      continue;
    uint64_t twice = last - extent;
    if (twice >= 2 * from && twice <= 2 * to)
      alignment->symmetry_points[alignment->symmetry_count++] = (double)twice / 2;
  }
  return BF_OK;
}

/* ---- Entry ---- */

/* Evaluates the needed representatives of all zones. */
static int evaluate(const bf_hash *hash, const bf_align_pattern *pattern, bool use_symmetry,
                    bf_align_zones *zones, bf_diagnostic *diagnostic) {
  if (bf_align_needed(zones) > LARGEST_TABLE)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "%llu bases to evaluate, more than the %llu allowed; narrow the range",
                   (unsigned long long)bf_align_needed(zones), (unsigned long long)LARGEST_TABLE);
  if (bf_align_zones_allocate(zones) != BF_OK)
    return bf_no_memory(diagnostic);
  int error = add_direction(hash, pattern, use_symmetry, zones, diagnostic);
  if (!error && pattern->also_transposed) {
    bf_align_pattern other = transposed(pattern);
    error = add_direction(hash, &other, use_symmetry, zones, diagnostic);
  }
  return error;
}

int bf_align_search(const bf_hash *hash, const bf_align_pattern *given, uint64_t from, uint64_t to,
                    bool use_symmetry, bf_alignment *alignment, bf_diagnostic *diagnostic) {
  memset(alignment, 0, sizeof *alignment);
  bf_align_pattern pattern;
  int error = check(given, from, to, &pattern, diagnostic);
  if (error)
    return error;
  uint64_t extent = bf_align_extent(&pattern);
  bf_align_zones zones = bf_align_find_zones(hash, extent, use_symmetry);
  bf_align_need(&zones, from, to);
  alignment->bases = to - from + 1;
  alignment->evaluated = bf_align_needed(&zones);
  error = evaluate(hash, &pattern, use_symmetry, &zones, diagnostic);
  if (!error)
    error = find_optimal(&zones, from, to, alignment, diagnostic);
  if (!error && hash->kind == BF_HASH_LINEAR &&
      find_symmetry_points(extent, from, to, alignment) != BF_OK)
    error = bf_no_memory(diagnostic);
  bf_align_zones_free(&zones);
  if (error)
    bf_alignment_clear(alignment);
  return error;
}

int bf_align(const bf_hash *hash, const bf_align_pattern *pattern, uint64_t from, uint64_t to,
             bf_alignment *alignment, bf_diagnostic *diagnostic) {
  memset(alignment, 0, sizeof *alignment);
  if (!hash)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "alignment needs a hash, which says how many banks there are");
  return bf_align_search(hash, pattern, from, to, true, alignment, diagnostic);
}

void bf_alignment_clear(bf_alignment *alignment) {
  if (!alignment)
    return;
  free(alignment->optimal);
  free(alignment->symmetry_points);
  memset(alignment, 0, sizeof *alignment);
}

bool bf_align_same(const bf_alignment *a, const bf_alignment *b) {
  if (a->conflicts != b->conflicts || a->worst != b->worst || a->bases != b->bases ||
      a->optimal_count != b->optimal_count)
    return false;
  for (size_t i = 0; i < a->optimal_count; i++)
    if (a->optimal[i].from != b->optimal[i].from || a->optimal[i].to != b->optimal[i].to)
      return false;
  return true;
}

/* ---- Text forms ---- */

/* Parses "FIRST<separator>SECOND", two numbers and nothing else. */
static int parse_pair(const char *what, const char *text, char separator, uint64_t *first,
                      uint64_t *second, bf_diagnostic *diagnostic) {
  const char *at = text;
  if (!bf_parse_number(&at, first))
    return bf_fail_at(diagnostic, what, 1, text, at, "expected a whole number");
  if (*at != separator)
    return bf_fail_at(diagnostic, what, 1, text, at, "expected '%c' and a second number",
                      separator);
  at++;
  if (!bf_parse_number(&at, second))
    return bf_fail_at(diagnostic, what, 1, text, at, "expected a whole number");
  if (*at)
    return bf_fail_at(diagnostic, what, 1, text, at, "unexpected text after the %s", what);
  return BF_OK;
}

int bf_align_parse_matrix(const char *text, bf_align_pattern *pattern, bf_diagnostic *diagnostic) {
  uint64_t rows, columns;
  if (strncmp(text, "0x", 2) == 0) /* no row, and no hexadecimal number either */
    return bf_fail_at(diagnostic, "matrix", 1, text, text, "a matrix has at least one row");
  BF_TRY(parse_pair("matrix", text, 'x', &rows, &columns, diagnostic));
  if (columns == 0)
    return bf_fail_at(diagnostic, "matrix", 1, text, strchr(text, 'x') + 1,
                      "a matrix has at least one column");
  *pattern = (bf_align_pattern){.stride = columns,
                                .count = rows,
                                .distance = 1,
                                .patterns = columns,
                                .also_transposed = true};
  return BF_OK;
}

int bf_align_parse_range(const char *text, uint64_t *from, uint64_t *to,
                         bf_diagnostic *diagnostic) {
  BF_TRY(parse_pair("range", text, ':', from, to, diagnostic));
  if (*from > *to)
    return bf_fail_at(diagnostic, "range", 1, text, strchr(text, ':') + 1,
                      "the range is empty: %llu is greater than %llu", (unsigned long long)*from,
                      (unsigned long long)*to);
  return BF_OK;
}
