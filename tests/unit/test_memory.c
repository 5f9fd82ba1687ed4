/* Wavefront counts: against an independent count, and against what the documents say of older
 * machines and of atomics. */
#include "memory/memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t random_state;

static uint32_t random_below(uint32_t below) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)((random_state >> 16) % below);
}

static bf_machine *load(const char *name) {
  bf_machine *machine;
  bf_diagnostic diagnostic;
  if (bf_machine_load(name, NULL, &machine, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return machine;
}

static bf_hash *parse(const bf_machine *machine, const char *text) {
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash *hash;
  bf_diagnostic diagnostic;
  if (bf_hash_parse(text, &geometry, &hash, &diagnostic) != BF_OK)
    fail_msg("%s: %s", text, diagnostic.message);
  return hash;
}

static bf_count count_of(const bf_machine *machine, const bf_hash *hash, bf_lock_hash lock_hash,
                         const bf_access *access) {
  bf_count count;
  bf_diagnostic diagnostic;
  if (bf_memory_count_locked(machine, hash, lock_hash, access, &count, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return count;
}

/* An access of 4-byte words by the first `lanes` lanes. */
static bf_access words(bf_op op, const uint32_t *word, unsigned lanes) {
  bf_access access = {.op = op, .width_bytes = 4, .mask = bf_gf2_low_bits(lanes), .count = 1};
  for (unsigned i = 0; i < lanes; i++)
    access.address[i] = 4 * word[i];
  return access;
}

/* ---- Hopper against a count written another way ---- */

/* Loads and stores as the rules in tests/data/h200/README.md say, with sets of (bank, word). */
static unsigned plain_count(const bf_hash *hash, const bf_access *access) {
  unsigned group = access->width_bytes == 16 ? 8 : access->width_bytes == 8 ? 16 : 32;
  bool paired[2] = {true, true};
  for (unsigned lane = 0; lane < 32; lane++)
    for (unsigned s = 0; s < 2; s++) {
      unsigned other = lane ^ (1u << s);
      if ((access->mask >> lane & 1) && (access->mask >> other & 1) &&
          access->address[lane] != access->address[other])
        paired[s] = false;
    }
  if (access->op == BF_OP_LD && access->width_bytes >= 8 && (paired[0] || paired[1]))
    group *= 2;
  unsigned total = 0;
  for (unsigned first = 0; first < 32; first += group) {
    static uint32_t seen[32][64];
    unsigned load[32] = {0}, fullest = 0;
    for (unsigned lane = first; lane < first + group; lane++) {
      if (!(access->mask >> lane & 1))
        continue;
      unsigned parts = access->width_bytes > 4 ? access->width_bytes / 4 : 1;
      for (unsigned k = 0; k < parts; k++) {
        uint32_t word = access->address[lane] / 4 + k, bank = bf_hash_bank(hash, word);
        unsigned at = 0;
        while (at < load[bank] && seen[bank][at] != word)
          at++;
        if (at == load[bank])
          seen[bank][load[bank]++] = word;
        fullest = load[bank] > fullest ? load[bank] : fullest;
      }
    }
    total += fullest;
  }
  return total;
}

static void hopper_equals_plain_count(void **state) {
  (void)state;
  static const char *const texts[] = {
      "none",   "fixed",    "xor:2,7,21", "add",
      "mod:31", "pad:32+1", "cute:3,4,3", "bits:0^6,1^5^9,2^8,3^7,4"};
  bf_machine *machine = load("hopper");
  random_state = 3;
  for (unsigned round = 0; round < 4000; round++) {
    bf_hash *hash = parse(machine, texts[round % 8]);
    bf_access access = {.op = random_below(2) ? BF_OP_LD : BF_OP_ST,
                        .width_bytes = 1u << random_below(5),
                        .mask = random_below(3) ? 0xffffffff : 1 + random_below(0xfffffff),
                        .count = 1};
    uint32_t stride = random_below(40), noise = 1 + random_below(20), step = random_below(3);
    for (unsigned lane = 0; lane < 32; lane++)
      access.address[lane] =
          ((lane >> step) * stride + (random_below(2) ? random_below(noise) : 0)) *
          access.width_bytes;
    bf_count count = count_of(machine, hash, BF_LOCK_PLAIN, &access);
    unsigned expected = plain_count(hash, &access);
    assert_int_equal(count.wavefronts_load + count.wavefronts_store, expected);
    assert_true(count.ideal >= 1 && count.ideal <= expected);
    assert_int_equal(count.conflicts, expected - count.ideal);
    bf_hash_free(hash);
  }
  bf_machine_free(machine);
}

/* ---- Ideal ---- */

/* The fewest passes, by trying every placement of every word. */
static unsigned best_by_trying(const unsigned *size, unsigned words_left, unsigned *load,
                               unsigned banks) {
  if (words_left == 0) {
    unsigned fullest = 0;
    for (unsigned b = 0; b < banks; b++)
      fullest = load[b] > fullest ? load[b] : fullest;
    return fullest;
  }
  unsigned best = UINT32_MAX;
  for (unsigned b = 0; b < banks; b++) {
    load[b] += size[0];
    unsigned own = best_by_trying(size + 1, words_left - 1, load, banks);
    best = own < best ? own : best;
    load[b] -= size[0];
  }
  return best;
}

static void packing_is_the_best(void **state) {
  (void)state;
  random_state = 21;
  for (unsigned round = 0; round < 300; round++) {
    unsigned size[8], load[4] = {0}, count = 1 + random_below(8), banks = 1 + random_below(4);
    for (unsigned i = 0; i < count; i++)
      size[i] = 1 + random_below(6);
    assert_int_equal(bf_memory_best_packing(size, count, banks),
                     best_by_trying(size, count, load, banks));
  }
}

/* ---- Older machines ---- */

static unsigned loads(const bf_machine *machine, unsigned width, unsigned stride_bytes) {
  bf_hash *none = parse(machine, "none");
  bf_access access = {.op = BF_OP_LD, .width_bytes = width, .mask = 0xffffffff, .count = 1};
  for (unsigned lane = 0; lane < 32; lane++)
    access.address[lane] = lane * stride_bytes;
  bf_count count = count_of(machine, none, BF_LOCK_PLAIN, &access);
  bf_hash_free(none);
  return count.wavefronts_load;
}

/* CUDA C programming guide 4.2, F.3: two half-warps; bytes of one word conflict unless broadcast;
 * a double is two requests of two-way conflicts each. */
static void tesla_half_warps(void **state) {
  (void)state;
  bf_machine *tesla = load("tesla");
  assert_int_equal(loads(tesla, 4, 4), 2);
  assert_int_equal(loads(tesla, 4, 8), 4);
  assert_int_equal(loads(tesla, 4, 0), 2);
  assert_int_equal(loads(tesla, 1, 1), 8);
  assert_int_equal(loads(tesla, 1, 4), 2);
  assert_int_equal(loads(tesla, 8, 8), 8);
  bf_machine_free(tesla);
}

/* The guide's figures for 3.x: a stride of two 32-bit words is free in either mode, because rows
 * come in pairs or banks are eight bytes wide; three is free; 32 words two apart share rows. */
static void kepler_bank_modes(void **state) {
  (void)state;
  bf_machine *four = load("kepler"), *eight = load("kepler8");
  assert_int_equal(loads(four, 4, 4), 1);
  assert_int_equal(loads(four, 4, 8), 1);
  assert_int_equal(loads(four, 4, 16), 2);
  assert_int_equal(loads(eight, 4, 8), 1);
  assert_int_equal(loads(eight, 8, 8), 1);
  assert_int_equal(loads(eight, 8, 16), 2);
  bf_machine_free(four);
  bf_machine_free(eight);
}

/* ---- Fermi atomics (braak13) ---- */

/* index(id) = id * stride if id < conflicts else id */
static bf_access synthetic(uint32_t stride, unsigned conflicts) {
  uint32_t word[32];
  for (uint32_t id = 0; id < 32; id++)
    word[id] = id < conflicts ? id * stride : id;
  return words(BF_OP_ATOM, word, 32);
}

/* Position conflicts cost an iteration of the four states each, 32+18+36+32 = 118 cycles, against
 * the 108 + 120 per further conflict that were measured: the published error at most. */
static void fermi_position_conflicts(void **state) {
  (void)state;
  bf_machine *fermi = load("fermi");
  bf_hash *none = parse(fermi, "none");
  double sum = 0;
  for (unsigned conflicts = 1; conflicts <= 32; conflicts++) {
    bf_access access = synthetic(0, conflicts);
    bf_count count = count_of(fermi, none, BF_LOCK_PLAIN, &access);
    double measured = 108 + 120.0 * (conflicts - 1);
    double error = fabs(count.latency_cycles - measured) / count.latency_cycles;
    assert_int_equal(count.lock_iterations, conflicts);
    assert_int_equal(count.latency_cycles, 118 * conflicts);
    assert_true(error <= 0.085);
    sum += error;
  }
  assert_true(sum / 32 <= 0.029);
  bf_hash_free(none);
  bf_machine_free(fermi);
}

/* Stride 32: bank conflicts only; each level adds a read and a write. The hash removes all. */
static void fermi_bank_conflicts(void **state) {
  (void)state;
  bf_machine *fermi = load("fermi");
  bf_hash *none = parse(fermi, "none"), *hashed = parse(fermi, "fixed"), *add = parse(fermi, "add");
  for (unsigned conflicts = 1; conflicts <= 32; conflicts++) {
    bf_access access = synthetic(32, conflicts);
    bf_count plain = count_of(fermi, none, BF_LOCK_PLAIN, &access);
    assert_int_equal(plain.lock_iterations, 1);
    assert_int_equal(plain.latency_cycles, 50 + 68 * (conflicts < 2 ? 1 : conflicts));
  }
  bf_access all = synthetic(32, 32);
  assert_int_equal(count_of(fermi, hashed, BF_LOCK_XOR, &all).latency_cycles, 118);
  assert_int_equal(count_of(fermi, add, BF_LOCK_ADD, &all).latency_cycles, 118);
  bf_hash_free(none);
  bf_hash_free(hashed);
  bf_hash_free(add);
  bf_machine_free(fermi);
}

/* Stride 256: a lock conflict more every four bank conflicts (a stair). The hashes remove all lock
 * conflicts but only move some bank conflicts: 256 to bank 8, where lane 8 is, and 512 to bank 16.
 */
static void fermi_lock_conflicts(void **state) {
  (void)state;
  bf_machine *fermi = load("fermi");
  bf_hash *none = parse(fermi, "none"), *hashed = parse(fermi, "fixed");
  for (unsigned conflicts = 1; conflicts <= 32; conflicts++) {
    bf_access access = synthetic(256, conflicts);
    bf_count plain = count_of(fermi, none, BF_LOCK_PLAIN, &access);
    bf_count better = count_of(fermi, hashed, BF_LOCK_XOR, &access);
    assert_int_equal(plain.lock_iterations, (conflicts + 3) / 4);
    assert_int_equal(better.lock_iterations, 1);
    assert_true(better.latency_cycles <= plain.latency_cycles);
  }
  bf_access two = synthetic(256, 2), three = synthetic(256, 3);
  assert_int_equal(count_of(fermi, hashed, BF_LOCK_XOR, &two).wavefronts_load, 2);
  assert_int_equal(count_of(fermi, none, BF_LOCK_PLAIN, &three).wavefronts_load, 3);
  assert_int_equal(count_of(fermi, hashed, BF_LOCK_XOR, &three).wavefronts_load, 2);
  bf_hash_free(none);
  bf_hash_free(hashed);
  bf_machine_free(fermi);
}

/* Figure 2 of braak13: words 0, 1024 and 2048 share a lock, and 32 and 1056. */
static void fermi_locks_are_shared(void **state) {
  (void)state;
  bf_machine *fermi = load("fermi");
  bf_hash *none = parse(fermi, "none");
  const uint32_t word[8] = {0, 32, 1, 33, 0, 1024, 1056, 2048};
  bf_access access = words(BF_OP_ATOM, word, 8);
  assert_int_equal(count_of(fermi, none, BF_LOCK_PLAIN, &access).lock_iterations, 4);
  bf_hash_free(none);
  bf_machine_free(fermi);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hopper_equals_plain_count), cmocka_unit_test(packing_is_the_best),
      cmocka_unit_test(tesla_half_warps),          cmocka_unit_test(kepler_bank_modes),
      cmocka_unit_test(fermi_position_conflicts),  cmocka_unit_test(fermi_bank_conflicts),
      cmocka_unit_test(fermi_lock_conflicts),      cmocka_unit_test(fermi_locks_are_shared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
