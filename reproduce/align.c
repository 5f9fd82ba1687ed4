/* nootaert as a whole: how the conflicts of strided patterns and matrices depend on where they
 * begin, about which bases they are symmetric, and what the symmetry saves. Then what the document
 * leaves out: arrays of matrices, and several matrices that are read together. */
#include "search/align.h"
#include "reproduce/align/placing.h"
#include "reproduce/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 14 };

/* ---- Symmetry points ---- */

/* The two ways to say about which bases patterns are symmetric: sums of a base and its image. */
typedef struct points {
  int64_t printed; /* as the document's formula and its equivalences give it */
  int64_t counted; /* 2^K - 1 - E, with the last word E behind the first */
} points;

static int64_t half_up(int64_t x) { return (x + 1) / 2; }

/* Of a pattern of count words, for the power of two 2^power of the formula. The document's
 * equivalences mirror b_j - x to b_j + x where the stride is odd, else to b_j + x + 1. */
static points single_points(int64_t stride, int64_t count, unsigned power) {
  int64_t point = ((int64_t)1 << power) + half_up(stride) - half_up(count * stride);
  return (points){2 * point + (stride % 2 == 0), ((int64_t)2 << power) - 1 - stride * (count - 1)};
}

/* The document's point for a composite of `patterns` patterns, distance apart. */
static int64_t composite_point(int64_t stride, int64_t count, int64_t distance, int64_t patterns,
                               unsigned power) {
  return ((int64_t)1 << power) + half_up(stride) - half_up(count * stride) -
         half_up(patterns * distance) - 1;
}

/* Conflicts of a strided pattern, by its definition. */
static uint32_t count_words(const bf_hash *hash, uint64_t base, uint64_t stride, uint64_t count) {
  uint64_t taken = 0; /* of at most 64 banks */
  uint32_t conflicts = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t bank = (uint64_t)1 << bf_hash_bank(hash, base + stride * i);
    conflicts += (taken & bank) != 0;
    taken |= bank;
  }
  return conflicts;
}

/* Conflicts of a composite, by its definition. */
static uint32_t count_pattern(const bf_hash *hash, const bf_align_pattern *pattern, uint64_t base) {
  uint32_t conflicts = 0;
  for (uint64_t p = 0; p < pattern->patterns; p++)
    conflicts += count_words(hash, base + pattern->distance * p, pattern->stride, pattern->count);
  return conflicts;
}

typedef struct tally {
  uint64_t pairs;            /* of a base and its image */
  uint64_t printed, counted; /* of those, with equal conflicts */
  uint64_t patterns, symmetric_as_printed, symmetric;
} tally;

enum { SMALL_BITS = 12, SMALL_WORDS = 1 << SMALL_BITS };

static bool equal_at(const uint32_t *conflicts, int64_t base, int64_t sum) {
  int64_t image = sum - base;
  return image >= 0 && image < SMALL_WORDS && conflicts[base] == conflicts[image];
}

/* Compares conflicts at all bases up to the symmetry points with those at their images. */
static void compare(const uint32_t *conflicts, int64_t stride, int64_t count, tally *to) {
  bool as_printed = true, as_counted = true;
  for (unsigned power = 0; power + 1 < SMALL_BITS; power++) {
    points sum = single_points(stride, count, power);
    for (int64_t base = 0; sum.printed > 0 && sum.counted > 0 && 2 * base <= sum.counted; base++) {
      bool printed = equal_at(conflicts, base, sum.printed);
      bool counted = equal_at(conflicts, base, sum.counted);
      to->pairs++;
      to->printed += printed;
      to->counted += counted;
      as_printed &= printed;
      as_counted &= counted;
    }
  }
  to->patterns++;
  to->symmetric_as_printed += as_printed;
  to->symmetric += as_counted;
}

/* An XOR hash whose rows are random, by a generator of its own: the same on every machine. */
static int random_hash(uint64_t *state, const bf_geometry *geometry, bf_hash **hash,
                       bf_diagnostic *diagnostic) {
  uint64_t row[BF_HASH_MAX_BANK_BITS];
  do
    for (unsigned i = 0; i < geometry->bank_bits; i++) {
      *state = *state * 6364136223846793005u + 1442695040888963407u;
      row[i] = *state >> 30 & bf_gf2_low_bits(geometry->address_bits);
    }
  while (bf_gf2_rank(row, geometry->bank_bits) < geometry->bank_bits);
  return bf_hash_from_rows(row, geometry, hash, diagnostic);
}

static const uint64_t strides[] = {1, 3, 4, 6, 7, 8, 12, 45, 64}, counts[] = {5, 8, 16, 33};
enum { STRIDES = sizeof strides / sizeof *strides, COUNTS = sizeof counts / sizeof *counts };

/* Strided patterns of many sizes under random hashes, at every base. */
static int try_singles(unsigned hashes, tally *to, bf_diagnostic *diagnostic) {
  const bf_geometry geometry = {.bank_bits = 5, .address_bits = SMALL_BITS, .word_bytes = 4};
  uint32_t *conflicts = malloc(SMALL_WORDS * sizeof *conflicts);
  uint64_t state = 1;
  int error = conflicts ? BF_OK : bf_no_memory(diagnostic);
  for (unsigned h = 0; h < hashes && !error; h++) {
    bf_hash *hash;
    error = random_hash(&state, &geometry, &hash, diagnostic);
    for (unsigned i = 0; i < STRIDES * COUNTS && !error; i++) {
      uint64_t stride = strides[i / COUNTS], count = counts[i % COUNTS];
      for (uint64_t base = 0; base < SMALL_WORDS; base++)
        conflicts[base] = count_words(hash, base, stride, count);
      compare(conflicts, (int64_t)stride, (int64_t)count, to);
    }
    if (!error)
      bf_hash_free(hash);
  }
  free(conflicts);
  return error;
}

/* Square matrices by columns and by rows: whether both are symmetric about the same bases. */
static int try_squares(unsigned hashes, tally *to, bf_diagnostic *diagnostic) {
  const bf_geometry geometry = {.bank_bits = 5, .address_bits = 10, .word_bytes = 4};
  uint64_t state = 2;
  for (unsigned h = 0; h < hashes; h++)
    for (uint64_t side = 3; side <= 15; side += 4) {
      bf_align_pattern columns = {side, side, 1, side, false}, rows = {1, side, side, side, false};
      uint64_t sum = 1023 - bf_align_extent(&columns);
      bf_hash *hash;
      BF_TRY(random_hash(&state, &geometry, &hash, diagnostic));
      bool both = true;
      for (uint64_t base = 0; 2 * base <= sum; base++) {
        bool symmetric =
            count_pattern(hash, &columns, base) == count_pattern(hash, &columns, sum - base) &&
            count_pattern(hash, &rows, base) == count_pattern(hash, &rows, sum - base);
        to->pairs++;
        to->counted += symmetric;
        both &= symmetric;
      }
      to->patterns++;
      to->symmetric += both;
      bf_hash_free(hash);
    }
  return BF_OK;
}

static void claim_symmetry(bf_reproduce_run *run, const tally *single, const tally *square) {
  bf_reproduce_claim claim = {.name = "single strides have symmetry points, for all XOR hashes",
                              .rule = BF_CLAIM_ALL,
                              .published = (double)single->patterns,
                              .ours = (double)single->symmetric,
                              .published_text = "all",
                              .must_hold = true};
  bf_reproduce_claim_addf(run, &claim, "%llu of %llu patterns, %llu of %llu bases",
                          (unsigned long long)single->symmetric,
                          (unsigned long long)single->patterns, (unsigned long long)single->counted,
                          (unsigned long long)single->pairs);
  claim.name = "these are b_j as printed (section 4.1)";
  claim.ours = (double)single->symmetric_as_printed;
  claim.must_hold = false;
  claim.why = "by counting, the centres are (2^K - 1 - E) / 2 with the last word E behind the "
              "first; the printed ones are one higher, or half where stride and size are odd.";
  bf_reproduce_claim_addf(run, &claim, "%llu of %llu patterns, %llu of %llu bases",
                          (unsigned long long)single->symmetric_as_printed,
                          (unsigned long long)single->patterns, (unsigned long long)single->printed,
                          (unsigned long long)single->pairs);
  claim.name = "points of rows and columns of square matrices coincide";
  claim.published = (double)square->patterns;
  claim.ours = (double)square->symmetric;
  claim.must_hold = true;
  claim.why = NULL;
  bf_reproduce_claim_addf(run, &claim, "%llu of %llu matrices, at every base",
                          (unsigned long long)square->symmetric,
                          (unsigned long long)square->patterns);
}

/* ---- The example ---- */

static const bf_geometry cache = {.bank_bits = 13, .address_bits = 26, .word_bytes = 4};
static const bf_align_pattern square = {976, 976, 1, 976, true};
static const uint64_t last_base = 5000000;

static void claim_points(bf_reproduce_run *run, const bf_alignment *found) {
  const double published[] = {48000, 572288, 1620864};
  bf_reproduce_claim claim = {.name = "symmetry points of the example",
                              .rule = BF_CLAIM_WORDS,
                              .published_text = "48000, 572288, 1620864, ...",
                              .is_so = found->symmetry_count >= 3,
                              .must_hold = true};
  for (unsigned i = 0; i < 3 && claim.is_so; i++)
    claim.is_so = found->symmetry_points[i] == published[i];
  bf_reproduce_claim_addf(run, &claim, "%g, %g, %.0f, %.0f", found->symmetry_points[0],
                          found->symmetry_points[1], found->symmetry_points[2],
                          found->symmetry_points[3]);
  int64_t point = composite_point(976, 976, 1, 976, 19);
  claim.name = "the first of them by the formula of section 4.2";
  claim.published_text = "48000";
  claim.is_so = point == 48000;
  claim.must_hold = false;
  claim.why = "the printed formula gives one less than the printed example; counting agrees with "
              "the example.";
  bf_reproduce_claim_addf(run, &claim, "%lld", (long long)point);
}

static void claim_best(bf_reproduce_run *run, const bf_alignment *found) {
  bool first = found->optimal_count && found->optimal[0].from == 3539056 &&
               found->optimal[0].to == 3539296,
       mirrored = true;
  for (size_t i = 1; i < found->optimal_count; i++) { /* each is the image of one before it */
    bool is_image = false;
    for (size_t k = 0; k < i; k++)
      for (size_t s = 0; s < found->symmetry_count; s++)
        is_image |= (double)(found->optimal[k].from + found->optimal[i].to) ==
                    2 * found->symmetry_points[s];
    mirrored &= is_image;
  }
  bf_reproduce_fact(run, "optimal bases of the example", "3539056 to 3539296", first, true, NULL,
                    "%llu to %llu", (unsigned long long)found->optimal[0].from,
                    (unsigned long long)found->optimal[0].to);
  bf_reproduce_fact(run, "the others are its images about symmetry points", "all",
                    mirrored && found->optimal_count > 1, true, NULL, "%zu of %zu ranges",
                    mirrored ? found->optimal_count - 1 : 0, found->optimal_count - 1);
  double saved = 100 * (1 - (double)found->conflicts / (double)found->worst);
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "best against worst base, 0 to 5000000",
                                                    .rule = BF_CLAIM_VALUE,
                                                    .published = 59,
                                                    .ours = saved,
                                                    .unit = "% fewer",
                                                    .must_hold = true});
}

/* Under the low bits as index the base changes nothing. */
static int claim_contrast(bf_reproduce_run *run, const bf_alignment *hashed,
                          bf_diagnostic *diagnostic) {
  bf_alignment plain;
  bf_hash *none;
  BF_TRY(bf_hash_parse("none", &cache, &none, diagnostic));
  int error = bf_align_search(none, &square, 0, 20000, false, &plain, diagnostic);
  bf_hash_free(none);
  BF_TRY(error);
  bf_reproduce_fact(
      run, "alignment matters under XOR hashes, not under bit selection", "significant impact",
      plain.conflicts == plain.worst && hashed->conflicts < hashed->worst, true, NULL,
      "%llu to %llu conflicts, without a hash always %llu", (unsigned long long)hashed->conflicts,
      (unsigned long long)hashed->worst, (unsigned long long)plain.worst);
  bf_alignment_clear(&plain);
  return BF_OK;
}

/* ---- What it costs ---- */

/* Bases to evaluate where all 2^bits are asked for, and the whole work by the two ways. */
static int claim_cost(bf_reproduce_run *run, const bf_hash *hash, bool quick,
                      bf_diagnostic *diagnostic) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "cost", "Bases to evaluate of the example, by address bits",
      "address bits|bases|evaluated|once in|new with the last bit|as section 4.1 has it");
  uint64_t before = 0, step = 0, extent = bf_align_extent(&square);
  bool linear = true;
  for (unsigned bits = 20; bits <= 26; bits++) {
    bf_align_zones zones = bf_align_find_zones(hash, extent, true);
    uint64_t bases = ((uint64_t)1 << bits) - extent;
    bf_align_need(&zones, 0, bases - 1);
    uint64_t needed = bf_align_needed(&zones);
    bf_align_zones_free(&zones);
    bf_reproduce_cell(table, "%u", bits);
    bf_reproduce_cell(table, "%llu", (unsigned long long)bases);
    bf_reproduce_cell(table, "%llu", (unsigned long long)needed);
    bf_reproduce_cell(table, "%.1f", (double)bases / (double)needed);
    bf_reproduce_cell(table, "%llu", (unsigned long long)(needed - before));
    bf_reproduce_cell(table, "%lld", (long long)half_up((int64_t)extent));
    if (bits > 21)
      linear &= needed - before == step;
    step = needed - before;
    before = needed;
  }
  bf_reproduce_claim claim = {
      .name = "cost with every further address bit",
      .rule = BF_CLAIM_WORDS,
      .published_text = "a range of the same width more",
      .is_so = linear,
      .must_hold = true,
      .derived = "which bases are evaluated follows from the symmetry points, which are counted "
                 "above."};
  bf_reproduce_claim_addf(run, &claim, "%llu bases more each, of twice as many",
                          (unsigned long long)step);
  claim.name = "width of a primitive range of the example";
  claim.published_text = "476288, the distance of its points from powers of two";
  claim.is_so = step == 476288;
  bf_reproduce_claim_addf(run, &claim, "%llu", (unsigned long long)step);
  if (quick)
    return BF_OK;
  bf_alignment fast, full;
  double start = bf_seconds();
  BF_TRY(bf_align_search(hash, &square, 0, last_base, true, &fast, diagnostic));
  double middle = bf_seconds();
  int error = bf_align_search(hash, &square, 0, last_base, false, &full, diagnostic);
  double end = bf_seconds();
  if (!error) {
    bf_reproduce_fact(run, "search of primitive ranges finds what brute force does",
                      "only these need be searched", bf_align_same(&fast, &full), true, NULL,
                      "%s at all %llu bases",
                      bf_align_same(&fast, &full) ? "the same" : "not the same",
                      (unsigned long long)full.bases);
    bf_reproduce_note(run,
                      "Of %llu bases %llu are evaluated, in %.3f s; all of them take %.3f s. Both "
                      "slide from base to base; word by word it would be %.1e words.",
                      (unsigned long long)fast.bases, (unsigned long long)fast.evaluated,
                      middle - start, end - middle, 2.0 * 976 * 976 * (double)fast.bases);
    bf_alignment_clear(&full);
  }
  bf_alignment_clear(&fast);
  return error;
}

static int study_example(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  bf_hash *hash;
  bf_alignment found = {0};
  BF_TRY(bf_hash_parse("xor:0,13,8191", &cache, &hash, diagnostic));
  int error = bf_align_search(hash, &square, 0, last_base, true, &found, diagnostic);
  if (!error) {
    claim_points(run, &found);
    claim_best(run, &found);
    error = claim_contrast(run, &found, diagnostic);
  }
  if (!error)
    error = claim_cost(run, hash, bf_reproduce_is_quick(run), diagnostic);
  bf_alignment_clear(&found);
  bf_hash_free(hash);
  return error;
}

/* ---- Larger than the document ---- */

/* A memory in which matrices of 61 x 61 words are what those of 976 are in the example. */
static const bf_geometry small_cache = {.bank_bits = 9, .address_bits = 18, .word_bytes = 4};
enum { SIDE = 61, MATRIX_WORDS = SIDE * SIDE };

/* An array of matrices, one every `pitch` words: the pitch between back to back and the next power
 * of two with the fewest conflicts of all rows and columns, the first matrix at its own best base.
 */
static void study_arrays(bf_reproduce_run *run, const bf_hash *hash, uint64_t first) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "arrays", "Arrays of 61 x 61 matrices: conflicts of all rows and columns",
      "matrices|back to back|next power of two|best pitch|conflicts|of which had one alone");
  uint64_t alone = bf_placing_own(hash, SIDE, first);
  for (unsigned matrices = 2; matrices <= 16; matrices *= 2) {
    uint64_t best = UINT64_MAX, best_pitch = 0, packed = 0, power = 0;
    for (uint64_t pitch = MATRIX_WORDS; pitch <= 4096; pitch++) {
      uint64_t conflicts = 0;
      for (unsigned k = 0; k < matrices; k++)
        conflicts += bf_placing_own(hash, SIDE, first + pitch * k);
      packed = pitch == MATRIX_WORDS ? conflicts : packed;
      power = pitch == 4096 ? conflicts : power;
      if (conflicts < best) {
        best = conflicts;
        best_pitch = pitch;
      }
    }
    bf_reproduce_cell(table, "%u", matrices);
    bf_reproduce_cell(table, "%llu", (unsigned long long)packed);
    bf_reproduce_cell(table, "%llu", (unsigned long long)power);
    bf_reproduce_cell(table, "%llu", (unsigned long long)best_pitch);
    bf_reproduce_cell(table, "%llu", (unsigned long long)best);
    bf_reproduce_cell(table, "%llu", (unsigned long long)(alone * matrices));
  }
}

/* The base from `from` on, among `bases` of them, at which one more matrix adds the fewest
 * conflicts; its own alone where is_alone. */
static uint64_t best_next(const bf_placing *placed, uint64_t from, uint64_t bases, uint64_t step,
                          bool is_alone) {
  uint64_t best = UINT64_MAX, best_base = from;
  for (uint64_t base = from; base < from + bases; base += step) {
    uint64_t conflicts = bf_placing_readings(placed) * bf_placing_own(placed->hash, SIDE, base);
    for (unsigned a = 0; a < placed->matrices && !is_alone && conflicts < best; a++)
      conflicts += bf_placing_between(placed, placed->base[a], base) +
                   bf_placing_between(placed, base, placed->base[a]);
    if (conflicts < best) {
      best = conflicts;
      best_base = base;
    }
  }
  return best_base;
}

typedef enum placing_way { PACKED, ALONE, TOGETHER, WAYS } placing_way;

/* Places matrices behind each other: without gaps, each at its own best base, or where all that are
 * placed by then have the fewest conflicts. */
static bf_placing place(const bf_hash *hash, bf_placing_mode mode, unsigned matrices,
                        placing_way way, uint64_t step) {
  bf_placing placing = {.mode = mode, .hash = hash, .side = SIDE};
  uint64_t from = 0;
  while (placing.matrices < matrices) {
    uint64_t base = way == PACKED ? from : best_next(&placing, from, 8192, step, way == ALONE);
    placing.base[placing.matrices++] = base;
    from = base + MATRIX_WORDS;
  }
  return placing;
}

/* One way to place matrices that are read together in one mode, as a row of the table. */
static int study_placement(bf_reproduce_table *table, bf_placing placing, const char *name,
                           double *packed, bf_diagnostic *diagnostic) {
  uint64_t conflicts = bf_placing_count(&placing);
  bf_text bases = {0};
  if (conflicts != bf_placing_count_plainly(&placing))
    return bf_fail(diagnostic, BF_BAD_INPUT, "conflicts by sets of banks and by words differ");
  for (unsigned i = 0; i < placing.matrices; i++)
    bf_text_addf(&bases, "%s%llu", i ? ", " : "", (unsigned long long)placing.base[i]);
  *packed = *packed < 0 ? (double)conflicts : *packed;
  bf_reproduce_cell(table, "%u", placing.matrices);
  bf_reproduce_cell(table, "%s",
                    placing.mode == BF_PLACING_SUM ? "equal rows, equal columns"
                                                   : "rows with columns");
  bf_reproduce_cell(table, "%s", name);
  bf_reproduce_cell(table, "%s", bases.data ? bases.data : "");
  bf_reproduce_cell(table, "%llu", (unsigned long long)conflicts);
  bf_reproduce_cell(table, "%+.1f%%", 100 * ((double)conflicts / *packed - 1));
  bf_text_free(&bases);
  return BF_OK;
}

/* Matrices that are read together. */
static int study_several(bf_reproduce_run *run, const bf_hash *hash, bool quick,
                         bf_diagnostic *diagnostic) {
  static const char *const names[WAYS] = {"back to back", "each aligned alone", "aligned together"};
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "several", "Several 61 x 61 matrices that are read together",
      "matrices|read together|placement|bases|conflicts|against back to back");
  unsigned done = 2;
  for (unsigned mode = BF_PLACING_SUM; mode <= BF_PLACING_PRODUCT; mode++)
    for (unsigned matrices = 2; matrices <= (quick ? 2u : 3u); matrices++) {
      double packed = -1;
      for (unsigned way = 0; way < WAYS; way++) {
        BF_TRY(bf_reproduce_step(run, done++, STEPS, names[way], diagnostic));
        uint64_t step = quick ? 64 : mode == BF_PLACING_SUM ? 1 : 8;
        bf_placing placing = place(hash, (bf_placing_mode)mode, matrices, (placing_way)way, step);
        BF_TRY(study_placement(table, placing, names[way], &packed, diagnostic));
      }
    }
  bf_reproduce_note(run,
                    "Where every row meets every column, a bank counts once for each pair of a row "
                    "and a column that both have it, and as each matrix fills all banks evenly, no "
                    "placement changes much: the document's assumption that matrices do not meet "
                    "cannot be had by placing them. Where equal rows meet, it can.");
  return BF_OK;
}

static int study_larger(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  const bf_align_pattern matrix = {SIDE, SIDE, 1, SIDE, true};
  bf_hash *hash;
  bf_alignment found;
  BF_TRY(bf_hash_parse("xor:0,9,511", &small_cache, &hash, diagnostic));
  int error = bf_align_search(hash, &matrix, 0, 1 << 17, true, &found, diagnostic);
  if (!error) {
    study_arrays(run, hash, found.optimal[0].from);
    error = study_several(run, hash, bf_reproduce_is_quick(run), diagnostic);
    bf_alignment_clear(&found);
  }
  bf_hash_free(hash);
  return error;
}

static int run_align(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  unsigned hashes = bf_reproduce_is_quick(run) ? 2 : 10;
  tally single = {0}, squares = {0};
  BF_TRY(bf_reproduce_step(run, 0, STEPS, "symmetry points, by counting", diagnostic));
  BF_TRY(try_singles(hashes, &single, diagnostic));
  BF_TRY(try_squares(hashes, &squares, diagnostic));
  claim_symmetry(run, &single, &squares);
  BF_TRY(bf_reproduce_step(run, 1, STEPS, "the example", diagnostic));
  BF_TRY(study_example(run, diagnostic));
  return study_larger(run, diagnostic);
}

const bf_reproduction bf_reproduce_align[] = {
    {"align", "alignment of matrices", "nootaert, sections 2-5",
     "Strided patterns and square matrices under random XOR hashes at every base of a small "
     "memory, "
     "and the document's example: a matrix of 976 x 976 words in a cache of 2^13 sets. Then what "
     "it "
     "leaves out, with matrices of 61 x 61 in 2^9 sets: arrays of them, and several at once.",
     run_align},
    {NULL, NULL, NULL, NULL, NULL},
};
