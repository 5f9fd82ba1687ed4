/* Speed of counting wavefronts, one core: bf_memory_count, and the fast counter when a pattern is
 * known, when it is new each time, with a hash, and with a table of locks. Prints one JSON line
 * each, by every kernel this CPU runs. */
#include "memory/memo.h"

#include <stdio.h>
#include <stdlib.h>

enum { SET = 4096 };

typedef struct access_set {
  const char *name, *machine;
  bf_op op;
  unsigned width_bytes;
  unsigned patterns; /* that come again and again; 0: every access is another */
  bool is_random;
} access_set;

static const access_set sets[] = {{"row", "hopper", BF_OP_LD, 4, 1, false},
                                  {"column", "hopper", BF_OP_LD, 4, 1, false},
                                  {"strides", "hopper", BF_OP_LD, 4, 64, false},
                                  {"float4", "hopper", BF_OP_LD, 16, 16, false},
                                  {"random", "hopper", BF_OP_LD, 4, 0, true},
                                  {"random float4", "hopper", BF_OP_LD, 16, 0, true},
                                  {"random atomics", "hopper", BF_OP_ATOM, 4, 0, true},
                                  {"random atomics, locks", "fermi", BF_OP_ATOM, 4, 0, true},
                                  {"column atomics, locks", "fermi", BF_OP_ATOM, 4, 0, false}};

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t limit) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)((random_state >> 16) % limit);
}

static void die(const bf_diagnostic *diagnostic) {
  fprintf(stderr, "bench_counter: %s\n", diagnostic->message);
  exit(2);
}

/* Addresses of 16 KiB of shared memory. */
static void fill(const access_set *set, unsigned number, bf_access *access) {
  unsigned units = 16384 / set->width_bytes, pattern = set->patterns ? number % set->patterns : 0;
  unsigned stride = set->name[0] == 'c' ? 32 : 1 + pattern;
  *access =
      (bf_access){.op = set->op, .width_bytes = set->width_bytes, .mask = UINT32_MAX, .count = 1};
  for (unsigned lane = 0; lane < 32; lane++)
    access->address[lane] = set->width_bytes * (set->is_random ? random_below(units)
                                                               : (number + stride * lane) % units);
}

typedef enum counting { REFERENCE, COUNTER } counting;

/* Accesses per second. */
static double measure(counting way, const bf_machine *machine, const bf_hash *hash,
                      bf_counter *counter, const bf_access *access) {
  uint64_t done = 0, sum = 0;
  double started = bf_seconds(), now;
  do {
    for (unsigned i = 0; i < SET; i++) {
      const bf_access *a = &access[i];
      bf_count count;
      int error = way == REFERENCE
                      ? bf_memory_count(machine, hash, a, &count, NULL)
                      : bf_counter_count_lanes(counter, a->op, a->width_bytes, (uint32_t)a->mask,
                                               a->address, &count, NULL);
      sum += !error ? count.ideal : 0;
    }
    done += SET;
    now = bf_seconds();
  } while (now - started < 0.2);
  return sum ? (double)done / (now - started) : 0;
}

static void bench(const access_set *set, const char *text, bf_access *access) {
  bf_machine *machine;
  bf_hash *hash;
  bf_counter *counter;
  bf_diagnostic diagnostic;
  if (bf_machine_load(set->machine, NULL, &machine, &diagnostic) != BF_OK)
    die(&diagnostic);
  bf_geometry geometry = bf_machine_geometry(machine);
  if (bf_hash_parse(text, &geometry, &hash, &diagnostic) != BF_OK ||
      bf_counter_create(machine, hash, &counter, &diagnostic) != BF_OK)
    die(&diagnostic);
  for (unsigned i = 0; i < SET; i++)
    fill(set, i, &access[i]);
  printf("{\"bench\": \"counter\", \"accesses\": \"%s\", \"hash\": \"%s\", "
         "\"unit\": \"million accesses per second and core\", \"reference\": %.2f",
         set->name, text, measure(REFERENCE, machine, hash, counter, access) / 1e6);
  for (unsigned k = 0; bf_memo_available(k); k++) {
    bf_counter_use(counter, bf_memo_available(k));
    printf(", \"%s\": %.2f", bf_memo_available(k)->name,
           measure(COUNTER, machine, hash, counter, access) / 1e6);
  }
  printf("}\n");
  bf_counter_free(counter);
  bf_hash_free(hash);
  bf_machine_free(machine);
}

int main(void) {
  bf_access *access = malloc(SET * sizeof *access);
  if (!access) {
    fprintf(stderr, "bench_counter: out of memory\n");
    return 2;
  }
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    bench(&sets[i], "none", access);
    bench(&sets[i], "fixed", access);
  }
  free(access);
  return 0;
}
