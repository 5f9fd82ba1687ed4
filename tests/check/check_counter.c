/* The fast counter gives what bf_memory_count_locked gives: on every machine, with several hashes
 * of banks and of locks, for all operations and widths, by every kernel this CPU runs. Patterns are
 * of many kinds, come again, and come again elsewhere; some are wrong and must be refused alike. */
#include "../unit/random.h"
#include "memory/memo.h"

#include <stdlib.h>
#include <string.h>

/* Accesses per machine, hash and kernel; patterns of which they are; and accesses in a row of which
 * all are new, in turn with as many of which some are. */
enum { ACCESSES = 4000, KEPT = 64, ONLY_NEW = 500 };

static test_random state = {.state = 20240611};

static uint32_t below(uint64_t limit) { return (uint32_t)random_below(&state, limit ? limit : 1); }

/* An address that fits, seldom one that does not. */
static uint32_t some_address(const bf_machine *machine, unsigned width_bytes, uint64_t range) {
  uint64_t limit = range < machine->capacity_bytes ? range : machine->capacity_bytes;
  uint32_t address = below(limit / width_bytes) * width_bytes;
  if (below(4000) == 0)
    return address + below(width_bytes);
  return below(4000) == 0 ? (uint32_t)random_bits(&state) : address;
}

/* base + stride * lane, inside the memory. */
static void fill_stride(const bf_machine *machine, bf_access *access) {
  uint64_t units = machine->capacity_bytes / access->width_bytes;
  uint32_t base = below(units), stride = below(8) ? below(70) : below(units);
  for (unsigned lane = 0; lane < BF_MAX_LANES; lane++)
    access->address[lane] =
        (uint32_t)((base + (uint64_t)stride * lane) % units) * access->width_bytes;
}

static void fill_random(const bf_machine *machine, bf_access *access) {
  static const uint64_t ranges[] = {64, 256, 1024, 4096, UINT64_MAX};
  uint64_t range = ranges[below(5)];
  for (unsigned lane = 0; lane < BF_MAX_LANES; lane++)
    access->address[lane] = some_address(machine, access->width_bytes, range);
}

/* Lanes share addresses in pairs, or across any power of two. */
static void fill_pairs(const bf_machine *machine, bf_access *access) {
  unsigned step = 1U << below(5);
  fill_random(machine, access);
  for (unsigned lane = 0; lane < BF_MAX_LANES; lane++)
    access->address[lane] = access->address[lane & ~step];
}

/* The same access, moved. */
static void move(bf_access *access) {
  static const uint32_t steps[] = {1, 4, 8, 16, 128, 256, 4096};
  uint32_t by = steps[below(7)] * below(40);
  for (unsigned lane = 0; lane < BF_MAX_LANES; lane++)
    access->address[lane] += by;
}

static bf_access make_access(const bf_machine *machine) {
  bf_access access = {.op = (bf_op)below(BF_OP_COUNT), .count = 1};
  unsigned fixed = bf_op_fixed_width(access.op);
  access.width_bytes = fixed && below(100) ? fixed : 1U << below(5);
  uint64_t all = machine->lanes == 64 ? UINT64_MAX : (UINT64_C(1) << machine->lanes) - 1;
  access.mask = below(2) ? all : random_bits(&state) & (below(50) ? all : UINT64_MAX);
  if (below(4) == 0)
    access.mask &= UINT32_MAX;
  void (*const fill[])(const bf_machine *, bf_access *) = {fill_stride, fill_random, fill_pairs};
  fill[below(3)](machine, &access);
  return access;
}

static bool equal(const bf_count *a, const bf_count *b) {
  return a->wavefronts_load == b->wavefronts_load && a->wavefronts_store == b->wavefronts_store &&
         a->wavefronts_atomic == b->wavefronts_atomic && a->lock_iterations == b->lock_iterations &&
         a->ideal == b->ideal && a->conflicts == b->conflicts &&
         a->latency_cycles == b->latency_cycles && a->estimated == b->estimated;
}

/* Compares both counts of one access. */
static bool check_access(const bf_machine *machine, const bf_hash *hash, bf_lock_hash lock_hash,
                         bf_counter *counter, const bf_access *access) {
  bf_count expected, found;
  bf_diagnostic reference = {0}, fast = {0};
  int error = bf_memory_count_locked(machine, hash, lock_hash, access, &expected, &reference);
  int again = bf_counter_count(counter, access, &found, &fast);
  bool fine = error == again && (error == BF_OK ? equal(&expected, &found)
                                                : strcmp(reference.message, fast.message) == 0);
  if (!fine)
    printf("%s, %s: %s of %u bytes, mask %llx: %d (%u %u), not %d (%u %u)\n",
           bf_machine_name(machine), bf_hash_text(hash), bf_op_name(access->op),
           access->width_bytes, (unsigned long long)access->mask, again,
           found.wavefronts_load + found.wavefronts_store + found.wavefronts_atomic, found.ideal,
           error, expected.wavefronts_load + expected.wavefronts_store + expected.wavefronts_atomic,
           expected.ideal);
  return fine;
}

static bool check_pair(const bf_machine *machine, const bf_hash *hash,
                       const bf_memo_kernel *kernel) {
  static bf_access kept[KEPT];
  bf_counter *counter;
  bf_diagnostic diagnostic;
  bf_lock_hash lock_hash = BF_LOCK_PLAIN;
  bool fine = true;
  if (bf_counter_create(machine, hash, &counter, &diagnostic) != BF_OK)
    return false;
  bf_counter_use(counter, kernel);
  for (unsigned i = 0; i < KEPT; i++)
    kept[i] = make_access(machine);
  for (unsigned i = 0; fine && i < ACCESSES; i++) {
    bf_access *access = &kept[below(KEPT)];
    unsigned what = below(4);
    if (what == 0 || i / ONLY_NEW % 2)
      *access = make_access(machine);
    else if (what == 1)
      move(access);
    fine = check_access(machine, hash, lock_hash, counter, access);
    if (below(400) == 0) {
      lock_hash = (bf_lock_hash)below(BF_LOCK_ADD + 1);
      fine = fine && bf_counter_set_lock_hash(counter, lock_hash, &diagnostic) == BF_OK;
    }
  }
  bf_counter_free(counter);
  return fine;
}

static bool check_machine(const char *name) {
  static const char *const texts[] = {"none",     "fixed",      "add",
                                      "pad:32+1", "xor:0,5,31", "cute:3,2,3"};
  bf_machine *machine;
  bf_diagnostic diagnostic;
  bool fine = true;
  if (bf_machine_load(name, NULL, &machine, &diagnostic) != BF_OK)
    return false;
  bf_geometry geometry = bf_machine_geometry(machine);
  for (size_t h = 0; fine && h < sizeof texts / sizeof *texts; h++) {
    bf_hash *hash;
    if (bf_hash_parse(texts[h], &geometry, &hash, &diagnostic) != BF_OK)
      continue;
    for (unsigned k = 0; fine && bf_memo_available(k); k++)
      fine = check_pair(machine, hash, bf_memo_available(k));
    bf_hash_free(hash);
  }
  bf_machine_free(machine);
  return fine;
}

int main(void) {
  bool fine = true;
  for (unsigned i = 0; bf_machine_builtin(i); i++)
    fine = check_machine(bf_machine_builtin(i)) && fine;
  return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
