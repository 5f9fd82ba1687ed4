/* braak16, sections 3 to 5: sizes of the classes of hash functions, access patterns, and the
 * examples of the searches, worked through. */
#include "search/search.h"
#include "reproduce/reproduce.h"

#include <math.h>
#include <string.h>

enum { LANES = 32, MOST_BITS = 5 };

static const char follows[] =
    "which words meet in a bank follows from the published addresses and 32 banks.";

/* ---- Workloads ---- */

static int add_words(bf_workload *workload, const uint32_t *word, unsigned count,
                     bf_diagnostic *diagnostic) {
  bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .count = 1};
  for (unsigned i = 0; i < count; i++) {
    access.mask |= (uint64_t)1 << i;
    access.address[i] = 4 * word[i];
  }
  return bf_workload_add(workload, &access) == BF_OK ? BF_OK : bf_no_memory(diagnostic);
}

static int add_stride(bf_workload *workload, uint32_t stride, bf_diagnostic *diagnostic) {
  uint32_t word[LANES];
  for (uint32_t i = 0; i < LANES; i++)
    word[i] = i * stride;
  return add_words(workload, word, LANES, diagnostic);
}

/* Two strides, which a method searches a hash for; clear the solution. */
static int solve_strides(uint32_t one, uint32_t other, bf_method method, bool all_candidates,
                         bf_solution *solution, bf_diagnostic *diagnostic) {
  const bf_solve_options options = {
      .struct_bytes = sizeof options, .method = method, .all_candidates = all_candidates};
  bf_machine *machine;
  bf_workload *workload;
  BF_TRY(bf_machine_load("fermi", NULL, &machine, diagnostic));
  int error = bf_workload_create(&workload) == BF_OK ? BF_OK : bf_no_memory(diagnostic);
  if (!error)
    error = add_stride(workload, one, diagnostic);
  if (!error)
    error = add_stride(workload, other, diagnostic);
  if (!error)
    error = bf_solve(machine, workload, &options, solution, diagnostic);
  bf_workload_free(workload);
  bf_machine_free(machine);
  return error;
}

/* ---- Claims ---- */

/* The bits that a heuristic has chosen, in that order. */
static void list_chosen(const bf_solution *solution, char *text, size_t bytes) {
  size_t length = 0;
  text[0] = '\0';
  for (unsigned i = 0; i < solution->chosen_count && length < bytes; i++) {
    unsigned bit = 0;
    while (bit < 63 && !(solution->chosen[i] >> bit & 1))
      bit++;
    length += (size_t)snprintf(text + length, bytes - length, "%s%u", i ? ", " : "", bit);
  }
}

static void claim_same(bf_reproduce_run *run, const char *name, const char *published,
                       const char *ours) {
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                    .rule = BF_CLAIM_SAME,
                                                    .published_text = published,
                                                    .ours_text = ours,
                                                    .must_hold = true,
                                                    .why = "the search chooses otherwise."});
}

static int claim_givargis(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  static const struct {
    uint32_t one, other;
    const char *published;
  } examples[] = {{8, 45, "3, 4, 5, 6, 7"}, {8, 13, "3, 4, 6, 5, 7"}};
  for (unsigned i = 0; i < 2; i++) {
    bf_solution solution;
    char name[80], chosen[80];
    BF_TRY(solve_strides(examples[i].one, examples[i].other, BF_METHOD_GIVARGIS, false, &solution,
                         diagnostic));
    list_chosen(&solution, chosen, sizeof chosen);
    bf_solution_clear(&solution);
    snprintf(name, sizeof name, "bits that Givargis chooses, strides %u and %u", examples[i].one,
             examples[i].other);
    claim_same(run, name, examples[i].published, chosen);
  }
  return BF_OK;
}

/* The example of section 5.2: eight words, eight banks, five address bits. */
static int claim_imbalance(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  static const uint32_t word[8] = {27, 12, 6, 19, 11, 4, 28, 3};
  const bf_solve_options options = {.struct_bytes = sizeof options,
                                    .method = BF_METHOD_MIN_IMBALANCE};
  const bf_overrides overrides = {
      .struct_bytes = sizeof overrides, .banks = 8, .lanes = 8, .address_bits = 5};
  bf_machine *machine;
  bf_workload *workload;
  bf_solution solution;
  char chosen[80];
  BF_TRY(bf_machine_load("fermi", &overrides, &machine, diagnostic));
  int error = bf_workload_create(&workload) == BF_OK ? BF_OK : bf_no_memory(diagnostic);
  if (!error)
    error = add_words(workload, word, 8, diagnostic);
  if (!error)
    error = bf_solve(machine, workload, &options, &solution, diagnostic);
  if (!error) {
    list_chosen(&solution, chosen, sizeof chosen);
    bf_solution_clear(&solution);
    claim_same(run, "bits that minimum imbalance chooses, Fig. 6", "0, 3, 4", chosen);
  }
  bf_workload_free(workload);
  bf_machine_free(machine);
  return error;
}

/* Fig. 6: every histogram and imbalance of the three steps, as printed. */
static void claim_steps(bf_reproduce_run *run) {
  static uint32_t word[8] = {27, 12, 6, 19, 11, 4, 28, 3};
  static const struct {
    unsigned step, bit;
    double imbalance;
    unsigned histogram[8];
  } printed[] = {
      {0, 0, 0, {4, 4}},
      {0, 1, 0.25, {3, 5}},
      {0, 2, 0, {4, 4}},
      {0, 3, 0, {4, 4}},
      {0, 4, 0.25, {5, 3}},
      {1, 1, 0.75, {3, 0, 1, 4}},
      {1, 2, 1, {0, 4, 4, 0}},
      {1, 3, 0, {2, 2, 2, 2}},
      {1, 4, 0.25, {3, 2, 1, 2}},
      {2, 1, 0.75, {1, 0, 2, 0, 1, 2, 0, 2}},
      {2, 2, 1, {0, 2, 0, 2, 2, 2, 0, 0}},
      {2, 4, 0.25, {2, 1, 1, 1, 0, 1, 1, 1}},
  };
  enum { PRINTED = sizeof printed / sizeof *printed };
  static const unsigned chosen[2] = {0, 3};
  const bf_shape shape = {.words = 8, .ideal = 1, .weight = 1, .word = word};
  unsigned imbalances = 0, histograms = 0;
  for (unsigned i = 0; i < PRINTED; i++) {
    uint32_t bin[8] = {0};
    unsigned histogram[8] = {0};
    for (unsigned w = 0; w < 8; w++)
      for (unsigned s = 0; s < printed[i].step; s++)
        bin[w] |= (word[w] >> chosen[s] & 1) << s;
    double found =
        bf_search_imbalance(&shape, bin, (uint64_t)1 << printed[i].bit, printed[i].step, histogram);
    imbalances += found == printed[i].imbalance;
    histograms += memcmp(histogram, printed[i].histogram, sizeof histogram) == 0;
  }
  bf_reproduce_claim claim = {.name = "imbalances of Fig. 6",
                              .rule = BF_CLAIM_ALL,
                              .published_text = "12 values",
                              .published = PRINTED,
                              .ours = imbalances,
                              .why = "by the formula they are others."};
  bf_reproduce_claim_addf(run, &claim, "%u of %u are the same", imbalances, PRINTED);
  claim.name = "histograms of Fig. 6";
  claim.published_text = "12 histograms";
  claim.ours = histograms;
  claim.why =
      "the last one of bit 2 is printed with two bins exchanged: no word of the example has "
      "bits 2 and 0 set and bit 3 clear.";
  bf_reproduce_claim_addf(run, &claim, "%u of %u are the same", histograms, PRINTED);
}

/* Section 4.1: for a stride S0 2^k with odd S0, bits k and those above it leave no conflicts. Every
 * stride whose 32 words are within 48 KB. */
static int claim_strides(bf_reproduce_run *run, const bf_machine *machine,
                         bf_diagnostic *diagnostic) {
  enum { WORDS = 48 * 1024 / 4 };
  bf_geometry geometry = bf_machine_geometry(machine);
  unsigned strides = 0, free_of_conflicts = 0;
  for (uint32_t stride = 1; (LANES - 1) * stride < WORDS; stride++) {
    bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .count = 1, .mask = UINT32_MAX};
    bf_hash *hash;
    bf_count count;
    char text[20];
    snprintf(text, sizeof text, "perm:%u", (unsigned)__builtin_ctz(stride));
    for (uint32_t i = 0; i < LANES; i++)
      access.address[i] = 4 * i * stride;
    BF_TRY(bf_hash_parse_banks(text, &geometry, &hash, diagnostic));
    int error = bf_memory_count(machine, hash, &access, &count, diagnostic);
    bf_hash_free(hash);
    BF_TRY(error);
    strides++;
    free_of_conflicts += count.conflicts == 0;
  }
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name =
                                                    "strides S0 2^k without conflicts by bits k "
                                                    "and above (4.1)",
                                                .rule = BF_CLAIM_ALL,
                                                .published_text = "all: the best possible",
                                                .published = strides,
                                                .ours = free_of_conflicts,
                                                .why = "conflicts are left."},
                          "%u of %u", free_of_conflicts, strides);
  return BF_OK;
}

/* Section 5.1: which candidates are left, and that nothing is lost with the others. */
static int claim_candidates(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  bf_solution few, all, equal;
  char tested[40];
  BF_TRY(solve_strides(4, 6, BF_METHOD_BIT_VECTOR, false, &few, diagnostic));
  snprintf(tested, sizeof tested, "%llu of %llu", (unsigned long long)few.candidates_tested,
           (unsigned long long)few.candidates_total);
  claim_same(run, "candidates to evaluate for strides 4 and 6", "188 of 4480", tested);
  int error = solve_strides(4, 6, BF_METHOD_BIT_VECTOR, true, &all, diagnostic);
  if (!error) {
    bf_reproduce_fact(run, "a limited set needs to be evaluated", "the best of all is among them",
                      few.conflicts_after == all.conflicts_after, true, "the best of all is not.",
                      "%llu conflicts left, %llu with all 4480",
                      (unsigned long long)few.conflicts_after,
                      (unsigned long long)all.conflicts_after);
    bf_solution_clear(&all);
  }
  bf_solution_clear(&few);
  BF_TRY(error);
  BF_TRY(solve_strides(8, 24, BF_METHOD_BIT_VECTOR, false, &equal, diagnostic));
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "strides 8 and 24, whose k is equal: k1 = k, mask = 0",
                                 .rule = BF_CLAIM_SAME,
                                 .published_text = "perm:3",
                                 .ours_text = bf_hash_text(equal.hash),
                                 .derived = "the search is defined so.",
                                 .why = "the search chooses otherwise."});
  bf_solution_clear(&equal);
  return BF_OK;
}

/* Table 1, for 14 address bits and 32 banks. */
static void claim_sizes(bf_reproduce_run *run) {
  const bf_geometry geometry = {.bank_bits = 5, .address_bits = 14, .word_bytes = 4};
  bf_class_sizes sizes = bf_search_class_sizes(&geometry);
  const double published[] = {1.2e21, 1.2e14, 10, 4480, 2002, 9.7e7};
  const double ours[] = {pow(10, sizes.xor_based),   pow(10, sizes.unique_xor),
                         pow(10, sizes.bit_vector),  pow(10, sizes.bit_vector_xor),
                         pow(10, sizes.permutation), pow(10, sizes.bitwise_xor)};
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "functions of each class (Table 1)",
                                                    .published_list = published,
                                                    .ours_list = ours,
                                                    .count = 6,
                                                    .derived = "both count by a formula.",
                                                    .why = "the formulas differ."});
  double exponent = floor(sizes.all);
  bool is_same = exponent == 24660 && fabs(pow(10, sizes.all - exponent) - 2.3) <= 0.1;
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = "all functions (Table 1)",
                                                .rule = BF_CLAIM_WORDS,
                                                .published_text = "2.3e24660",
                                                .is_so = is_same,
                                                .derived = "both count by a formula.",
                                                .why = "the formulas differ."},
                          "%.2fe%.0f", pow(10, sizes.all - exponent), exponent);
}

/* ---- Patterns ---- */

/* Wavefronts of a warp whose lane i reads word(i). */
static int count_ways(const bf_machine *machine, const uint32_t *word, unsigned *ways,
                      bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .count = 1, .mask = UINT32_MAX};
  bf_hash *none;
  bf_count count;
  BF_TRY(bf_hash_parse("none", &geometry, &none, diagnostic));
  for (unsigned i = 0; i < LANES; i++)
    access.address[i] = 4 * word[i];
  int error = bf_memory_count(machine, none, &access, &count, diagnostic);
  *ways = !error ? (unsigned)count.conflicts + 1 : 0;
  bf_hash_free(none);
  return error;
}

/* Section 3.2: a transposed tile of 16 x 16, and the steps of a Fast Walsh Transform. */
static int claim_patterns(bf_reproduce_run *run, const bf_machine *machine,
                          bf_diagnostic *diagnostic) {
  static const uint32_t strides[] = {512, 128, 32, 8};
  double ways[4], published[] = {1, 1, 1, 4};
  uint32_t word[LANES];
  unsigned found;
  for (uint32_t i = 0; i < LANES; i++)
    word[i] = i;
  BF_TRY(count_ways(machine, word, &found, diagnostic));
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "tile of 16 x 16, loading (3.2.1)",
                                                    .published = 1,
                                                    .ours = found,
                                                    .unit = "-way",
                                                    .derived = follows,
                                                    .why = "banks are others."});
  for (uint32_t i = 0; i < LANES; i++)
    word[i] = i % 16 * 16 + i / 16;
  BF_TRY(count_ways(machine, word, &found, diagnostic));
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "transpose of 16 x 16 (3.2.2)",
                                                    .published = 8,
                                                    .ours = found,
                                                    .unit = "-way",
                                                    .derived = follows,
                                                    .why = "banks are others."});
  for (unsigned s = 0; s < 4; s++) {
    for (uint32_t i = 0; i < LANES; i++)
      word[i] = ((i - (i & (strides[s] - 1))) << 2) + (i & (strides[s] - 1));
    BF_TRY(count_ways(machine, word, &found, diagnostic));
    ways[s] = found;
  }
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "Fast Walsh Transform, strides 512, 128, 32 and 8 (3.2.4)",
                                 .published_list = published,
                                 .ours_list = ways,
                                 .count = 4,
                                 .unit = "-way",
                                 .derived = follows,
                                 .why = "banks are others."});
  unsigned conflicting = 0;
  for (uint32_t s = 1; s < 256; s *= 2) {
    for (uint32_t i = 0; i < LANES; i++)
      word[i] = 2 * s * i;
    BF_TRY(count_ways(machine, word, &found, diagnostic));
    conflicting += found > 1;
  }
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = "steps of the reduction with conflicts "
                                                        "(3.2.3)",
                                                .rule = BF_CLAIM_ALL,
                                                .published_text = "all powers of two",
                                                .published = 8,
                                                .ours = conflicting,
                                                .derived = follows,
                                                .why = "banks are others."},
                          "%u of 8", conflicting);
  return BF_OK;
}

/* Bit-vectors, or pairs of them with XOR and a mask, that leave no conflicts of a warp's words. */
static int count_free(const bf_machine *machine, const uint32_t *word, bool with_xor,
                      unsigned *free_of_conflicts, bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .count = 1, .mask = UINT32_MAX};
  for (unsigned i = 0; i < LANES; i++)
    access.address[i] = 4 * word[i];
  *free_of_conflicts = 0;
  for (unsigned k1 = 0; k1 <= geometry.address_bits - MOST_BITS; k1++)
    for (unsigned k2 = 0; k2 < (with_xor ? geometry.address_bits : 1); k2++)
      for (unsigned mask = 0; mask < (with_xor ? 1U << MOST_BITS : 1); mask++) {
        char text[40];
        bf_hash *hash;
        bf_count count;
        if (with_xor && k1 == k2)
          continue; /* bits cancel each other */
        snprintf(text, sizeof text, with_xor ? "xor:%u,%u,%u" : "perm:%u", k1, k2, mask);
        BF_TRY(bf_hash_parse_banks(text, &geometry, &hash, diagnostic));
        int error = bf_memory_count(machine, hash, &access, &count, diagnostic);
        bf_hash_free(hash);
        BF_TRY(error);
        *free_of_conflicts += count.conflicts == 0;
      }
  return BF_OK;
}

/* Section 4.2: the Fast Walsh Transform of stride 8 has lanes in bits 0 to 2 and 5 to 6, which one
 * vector of bits cannot have and two can. */
static int claim_vectors(bf_reproduce_run *run, const bf_machine *machine,
                         bf_diagnostic *diagnostic) {
  uint32_t word[LANES];
  unsigned one, two;
  for (uint32_t i = 0; i < LANES; i++)
    word[i] = i / 8 * 32 + i % 8;
  BF_TRY(count_free(machine, word, false, &one, diagnostic));
  BF_TRY(count_free(machine, word, true, &two, diagnostic));
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "bits of the Fast Walsh Transform of stride 8 (4.2)",
                            .rule = BF_CLAIM_WORDS,
                            .published_text = "no single bit-vector has them, two with XOR do",
                            .is_so = one == 0 && two > 0,
                            .must_hold = true,
                            .derived = follows,
                            .why = "banks are others."},
      "%u of 10 bit-vectors and %u of 4480 with XOR leave no conflicts", one, two);
  return BF_OK;
}

static int reproduce_search(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  bf_machine *machine;
  claim_sizes(run);
  BF_TRY(bf_machine_load("fermi", NULL, &machine, diagnostic));
  int error = claim_patterns(run, machine, diagnostic);
  if (!error)
    error = claim_strides(run, machine, diagnostic);
  if (!error)
    error = claim_vectors(run, machine, diagnostic);
  bf_machine_free(machine);
  BF_TRY(error);
  BF_TRY(claim_candidates(run, diagnostic));
  BF_TRY(claim_givargis(run, diagnostic));
  BF_TRY(claim_imbalance(run, diagnostic));
  claim_steps(run);
  return BF_OK;
}

const bf_reproduction bf_reproduce_search[] = {
    {"hash-search", "examples of the searches", "braak16, sections 3-5, Table 1, Fig. 6",
     "Sizes of the classes of hash functions, conflicts of two patterns, and what the searches "
     "choose for the sets of words that the text works through.",
     reproduce_search},
    {NULL, NULL, NULL, NULL, NULL},
};
